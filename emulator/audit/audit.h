/* SPDX-License-Identifier: MIT */
/**
 * DOC: the audit checks whether all of HCA memory is consistent.
 *
 * Theory of operation
 * -------------------
 * The audit is one pass over the tables, from referrers to the objects that they refer to. It
 * checks each live object (owner, ranges, indices, states) and counts it for its owner, its device,
 * its table and each object that it refers to, in scratch memory. At the end these counts must
 * equal those that the objects keep: a reference too few means a use after free, one too many an
 * EBUSY without reason.
 *
 * It is fast enough to run after each step of a long random walk: its cost depends on the tables'
 * high marks, not on their sizes. It is for tests and for `rdmaemu status --audit`; the engine does
 * not call it.
 */
#ifndef EMULATOR_AUDIT_AUDIT_H
#define EMULATOR_AUDIT_AUDIT_H

#include "emulator/hca.h"

/**
 * hca_audit() - check every invariant of the HCA's memory. Token held, between two steps.
 * @why: receives a line about the first violation; "" if there is none
 * Return: 0, -EINVAL for a violation, -ENOMEM.
 */
int hca_audit(const struct hca *hca, char *why, size_t size);

/* --- among the audit's own files */

/**
 * struct audit - one audit.
 * @refs: by table and index: referrers found
 * @opens: clients that have an XRC domain open
 * @clients: client slots up to the last one in use
 * @client_n, @dev_n: objects found, by owner and by device
 * @pending: requests in the backlog of an identifier
 * @listed, @owned: CM events in the lists of their channels, of their identifiers
 * @mws, @dm: windows, and bytes of device memory, by device
 */
struct audit {
	const struct hca *hca;
	char *why;
	size_t size;
	u32 *refs[TAB_COUNT];
	u32 *opens;
	u32 clients;
	u32 (*client_n)[TAB_COUNT];
	u32 (*dev_n)[TAB_COUNT];
	u32 n[TAB_COUNT];
	u32 *mws;
	u64 *dm;
	u32 *pending;
	u32 listed, owned;
};

/** audit_fail() - report a violation. Return: -EINVAL. */
int audit_fail(const struct audit *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define MUST(cond, ...)                                                                            \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return audit_fail(a, __VA_ARGS__);                                         \
	} while (0)

static inline bool power_of_two(u32 n)
{
	return n && !(n & (n - 1));
}

/** audit_is_live() - whether entry @i of a table is in use. */
bool audit_is_live(const struct audit *a, enum hca_table t, u32 i);
/** audit_owner() - the owner of entry @i of a table: client index + 1, or 0. */
u32 audit_owner(const struct audit *a, enum hca_table t, u32 i);
/**
 * audit_use() - count a reference of @owner's object to entry @i of a table.
 * Return: false when @owner does not own that entry.
 */
bool audit_use(struct audit *a, enum hca_table t, u32 i, u32 owner);
/** audit_use_pd() - as audit_use() for a PD, which @owner may also have imported. */
bool audit_use_pd(struct audit *a, u32 i, u32 owner);
/** audit_use_xref() - count an object that was made through the XRC reference @xref, index + 1. */
void audit_use_xref(struct audit *a, u32 xref);

/* --- object.c, qp.c, cm.c, node.c: one object each -------------------------------------------- */
int audit_mr(struct audit *a, u32 i);
int audit_cq(struct audit *a, u32 i);
int audit_srq(struct audit *a, u32 i);
int audit_ah(struct audit *a, u32 i);
int audit_xrcd(struct audit *a, u32 i);
int audit_ref(struct audit *a, u32 i);
int audit_mcast(struct audit *a, u32 i);
int audit_wq(struct audit *a, u32 i);
int audit_ind(struct audit *a, u32 i);
int audit_flow(struct audit *a, u32 i);
int audit_tag(struct audit *a, u32 i);
int audit_dm(struct audit *a, u32 i);
int audit_qp(struct audit *a, u32 i);
int audit_cmch(struct audit *a, u32 i);
int audit_cmid(struct audit *a, u32 i);
/** audit_nodes() - check all nodes. */
int audit_nodes(struct audit *a);
int audit_cmev(struct audit *a, u32 i);
int audit_cmmc(struct audit *a, u32 i);
/** audit_cm_lists() - after all objects: check the lists and counts of connection management. */
int audit_cm(const struct audit *a);

#endif
