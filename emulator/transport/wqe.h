/* SPDX-License-Identifier: MIT */
/**
 * DOC: work requests of send queues: opcodes, checks, lengths. See wqe.c.
 */
#ifndef EMULATOR_TRANSPORT_WQE_H
#define EMULATOR_TRANSPORT_WQE_H

#include "emulator/engine.h"

/**
 * struct verdict - why a work request fails. Fits two registers.
 * @status: enum ib_wc_status; WCS_SUCCESS: it does not
 * @cause, @info: for the journal: enum journal_cause, and what that says
 */
struct verdict {
	u32 status;
	u32 cause;
	u32 info;
};

static inline struct verdict wqe_verdict(u32 status, u32 cause, u32 info)
{
	return (struct verdict){ .status = status, .cause = cause, .info = info };
}

/**
 * struct wqe_op - an opcode on the wire, and which QP types have it (a bit each): ibv_post_send(3).
 */
struct wqe_op {
	u8 op; /* enum burst_op */
	u8 flags; /* enum burst_flags */
	u16 types;
};
extern const struct wqe_op wqe_ops[WR_COUNT];

/** wqe_is_atomic() - FETCH_AND_ADD or CMP_AND_SWP, whose response has what the word was. */
static inline bool wqe_is_atomic(u32 opcode)
{
	return opcode == WR_ATOMIC_CMP_AND_SWP || opcode == WR_ATOMIC_FETCH_AND_ADD;
}

/** wqe_has_result() - READ or atomic: the response has data for the scatter list. */
static inline bool wqe_has_result(u32 opcode)
{
	return opcode == WR_RDMA_READ || wqe_is_atomic(opcode);
}

/**
 * wqe_is_rd() - answered by a response, not by an ACK, and counted among the outstanding READs and
 * atomics: READ, atomics (IBTA 9.7.5.1.4), ATOMIC WRITE and FLUSH, whose response is that of a
 * READ of 0 bytes (annex A19).
 */
static inline bool wqe_is_rd(u32 opcode)
{
	return wqe_has_result(opcode) || opcode == WR_ATOMIC_WRITE || opcode == WR_FLUSH;
}

/** wqe_response_op() - the burst that answers a request of wqe_is_rd(). */
static inline u8 wqe_response_op(u32 opcode)
{
	return wqe_is_atomic(opcode) ? BOP_ATOMIC_ACK : BOP_READ_RESP;
}

/* --- wqe.c --- */

/**
 * wqe_check() - check a WQE before any of it is sent, and find its memory.
 * @slot: in the ring; @w: the private copy of its header
 * Return: the verdict; with WCS_SUCCESS *len is set, and *mem unless it is a READ or atomic.
 */
struct verdict wqe_check(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			 const struct sq_wqe *slot, const struct sq_wqe *w, struct hca_mem *mem,
			 u64 *len);
/** wqe_burst() - the next @chunk bytes, of @total in @mem, of the WQE that *s has come to. */
void wqe_burst(const struct hca_qp *qp, const struct req_state *s, const struct sq_wqe *w,
	       const struct hca_mem *mem, u64 total, u64 chunk, struct burst *b);
/** wqe_allowed() - whether QPs of the type have the opcode. */
bool wqe_allowed(u32 qp_type, u32 opcode);
/** wqe_mask() - the opcodes that a QP of the type has on a device of these limits, a bit each. */
u32 wqe_mask(u32 qp_type, const struct hca_limits *lim);
/** wqe_len() - the message length of a WQE: its list's or inline payload's. */
u64 wqe_len(const struct hca_qp *qp, const struct sq_wqe *w);
/** wqe_response_len() - bytes that READ responses to a request of wqe_is_rd() have in all. */
u64 wqe_response_len(const struct hca_qp *qp, const struct sq_wqe *w);

#endif
