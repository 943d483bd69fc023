/* SPDX-License-Identifier: MIT */
/**
 * DOC: the audit: whether all of HCA memory is consistent with itself.
 *
 * Theory of operation
 * -------------------
 * One pass over the tables, from the referrers to what they refer to. Each live object is checked by
 * itself (owner, ranges, indices, states) and counts itself with its owner, its device, its table and
 * each object that it refers to, in scratch memory of the audit's own. In the end what was counted
 * must be what the objects' own counts say: a reference too few is a use after free to come, one
 * too many an EBUSY that nobody can explain.
 *
 * It is meant to be run after each step of a long random walk: its cost goes by the tables' high
 * marks, not by their sizes. For tests, and for `rdmaemu status --audit`; nothing of the model
 * calls it.
 */
#ifndef EMULATOR_AUDIT_AUDIT_H
#define EMULATOR_AUDIT_AUDIT_H

#include "emulator/hca.h"

/**
 * hca_audit() - check every invariant of the HCA's memory. Token held, between two steps.
 * @why: gets a line about the first thing that is wrong; "" when nothing is
 * Return: 0, -EINVAL when something is wrong, -ENOMEM when it could not be found out.
 */
int hca_audit(const struct hca *hca, char *why, size_t size);

/* --- among the audit's own files */

/**
 * struct audit - one audit.
 * @refs: by table and index: referrers found
 * @opens: XRC domains: who has them open
 * @clients: client slots up to the last one in use
 * @client_n, @dev_n: objects found, by owner and by device
 * @pending: requests in the backlog of an identifier
 * @listed, @owned: events of connections in the lists of their channels, of their identifiers
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

/** audit_fail() - say what is wrong. Return: -EINVAL. */
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

/** audit_is_live() - whether entry @i of a table is somebody's. */
bool audit_is_live(const struct audit *a, enum hca_table t, u32 i);
/** audit_owner() - whose entry @i of a table is: index + 1, or 0. */
u32 audit_owner(const struct audit *a, enum hca_table t, u32 i);
/**
 * audit_use() - @owner's object refers to entry @i of a table, which counts it.
 * Return: false when that is not @owner's.
 */
bool audit_use(struct audit *a, enum hca_table t, u32 i, u32 owner);
/** audit_use_pd() - as audit_use() of a PD, which may also be one that @owner has imported. */
bool audit_use_pd(struct audit *a, u32 i, u32 owner);
/** audit_use_xref() - an object that was made through the XRC reference @xref, index + 1. */
void audit_use_xref(struct audit *a, u32 xref);

/* One object each: object.c, qp.c, cm.c. */
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
/** audit_nodes() - all nodes. */
int audit_nodes(struct audit *a);
int audit_cmev(struct audit *a, u32 i);
int audit_cmmc(struct audit *a, u32 i);
/** audit_cm() - after all objects: the lists and counts of connection management. */
int audit_cm(const struct audit *a);

#endif
