/* SPDX-License-Identifier: MIT */
/**
 * DOC: the latest work requests of a queue pair, for the journal's description of a failed one.
 *
 * A completion in error has the wr_id and the number of the queue pair, and nothing else that is
 * defined. The log finds the requests of that wr_id: each side of a queue pair has a ring with as
 * many places as the device has granted requests, so an outstanding one is in it.
 *
 * That costs a post about 10 ns, so a run keeps requests only if somebody asks for the journal.
 */
#ifndef LIBTAP_USERS_REQUEST_LOG_H
#define LIBTAP_USERS_REQUEST_LOG_H

#include "libtap/tap.h"

/** sges_bytes() - of @n entries, as a program gives it: none, if that is negative. */
static inline u64 sges_bytes(const struct ibv_sge *sge, int n)
{
	u64 bytes = 0;
	int i;

	for (i = 0; i < n; i++)
		bytes += sge[i].length;
	return bytes;
}

/**
 * struct request_entry - a request. Other threads read it while it is overwritten.
 * @when: when it was posted, ns of CLOCK_MONOTONIC_COARSE
 * @remote: address at the peer
 * @keys: lkey of its first entry, and rkey << 32
 * @shape: enum ibv_wr_opcode, or REQUEST_RECV, and number of entries << 32
 */
struct request_entry {
	u64 wr_id;
	u64 when;
	u64 bytes;
	u64 remote;
	u64 keys;
	u64 shape;
};

/** struct request_ring - requests of one side. @posted: so far; @mask: places - 1 */
struct request_ring {
	struct request_entry *entry;
	u64 posted;
	u64 mask;
};

/** struct request_log - requests of a queue pair. Without memory a ring has no places. */
struct request_log {
	struct request_ring sends, recvs;
};

/** struct request_found - what is known of a request. @recv: a receive; @opcode: of a send */
struct request_found {
	bool recv;
	u32 opcode;
	u64 bytes;
};

/** request_log_enabled - whether requests of queue pairs are kept. */
extern bool request_log_enabled;
/** request_log_start() - the process begins. Requests are kept if the environment says so. */
void request_log_start(void);
/** request_log_make() - a queue pair was created. @cap: what was granted */
void request_log_make(struct request_log *l, const struct ibv_qp_cap *cap);
/** request_log_free() - it has ended. */
void request_log_free(struct request_log *l);
/** request_log_keeps() - whether requests are kept: request_log_post() does something. */
static inline bool request_log_keeps(const struct request_log *l)
{
	return l->sends.entry || l->recvs.entry;
}
/** request_log_post() - a chain of sends or receives is being posted. */
void request_log_post(struct request_log *l, const struct tap_post *p);
/** request_log_wr() - hook wr: a request of a batch, and what belongs to it. */
void request_log_wr(struct request_log *l, const struct ibv_qp_ex *ex, const struct tap_wr_op *op);
/**
 * request_log_find() - the requests that were posted with this wr_id.
 * @status: of the completion, which may tell that it is a send
 * @text: set to their sizes, keys, ordinals and age; of several what they have in common
 * Return: false: there is none, or they are not of one kind.
 */
bool request_log_find(const struct request_log *l, u64 wr_id, enum ibv_wc_status status,
		      struct request_found *found, char *text, size_t size);

#endif
