/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the files of the model share among themselves. All of it runs with the token held.
 */
#ifndef EMULATOR_MODEL_H
#define EMULATOR_MODEL_H

#include "emulator/cmd.h"
#include "emulator/engine.h"

static inline u32 qp_slot(const struct hca *hca, const struct hca_qp *qp)
{
	return (u32)(qp - hca->qp);
}

/** seg_of() - the segment of the QP's or CQ's owner (@owner is index + 1), or NULL. */
static inline struct seg_hdr *seg_of(struct engine *e, u32 owner)
{
	return e->host->seg(e->ctx, owner - 1);
}

static inline void *seg_ptr(struct seg_hdr *seg, u64 off)
{
	return (char *)seg + off;
}

/** seg_range_ok() - whether a client may have a ring of @size bytes at @off. */
static inline bool seg_range_ok(u64 off, u64 size)
{
	return !(off & 63) && off >= SEG_HEAP_OFF && off < SEG_SIZE && size <= SEG_SIZE - off;
}

/**
 * next_slot() - where to look for a free slot after @i: round a window of twice what is in use, so
 * that big tables stay sparse and scans short.
 */
static inline u32 next_slot(u32 i, u32 in_use, u32 first, u32 max)
{
	u32 window = min_u32(max, max_u32(1024, 2 * in_use));

	return i + 1 >= window ? first : i + 1;
}

#define FIRST_QP 17u /* 0 and 1 are special (IBTA 3.5.10), a few more are kept back as HCAs do */

/* --- ring access --- */

static inline struct sq_wqe *sq_slot(struct seg_hdr *seg, const struct hca_qp *qp, u32 i)
{
	return seg_ptr(seg, qp->sq_ring + sizeof(struct wq_ctl) +
				    (u64)(i & (qp->sq_depth - 1)) * qp->sq_stride);
}

static inline struct rq_wqe *rq_slot(struct seg_hdr *seg, const struct hca_qp *qp, u32 i)
{
	return seg_ptr(seg, qp->rq_ring + sizeof(struct wq_ctl) +
				    (u64)(i & (qp->rq_depth - 1)) * qp->rq_stride);
}

/**
 * sq_posted() - work requests posted, as an absolute index. A producer index that is more than the
 * ring ahead of what is complete is a broken client: only the ring's depth is believed.
 */
static inline u32 sq_posted(struct seg_hdr *seg, const struct hca_qp *qp)
{
	const struct wq_ctl *ctl = seg_ptr(seg, qp->sq_ring);
	u32 prod = qp->sq_depth ? load_acquire(&ctl->prod) : 0;

	return qp->sq_depth && prod - qp->req.una <= qp->sq_depth ? prod : qp->req.una;
}

static inline u32 rq_posted(struct seg_hdr *seg, const struct hca_qp *qp)
{
	const struct wq_ctl *ctl = seg_ptr(seg, qp->rq_ring);
	u32 prod = qp->rq_depth ? load_acquire(&ctl->prod) : 0;

	return qp->rq_depth && prod - qp->resp.rq_cons <= qp->rq_depth ? prod : qp->resp.rq_cons;
}

/* --- cq.c --- */

/**
 * cq_reserve() - the slot for the CQ's next entry, to be filled in and published by a commit.
 * Return: NULL when the CQ has overrun (the event is raised, the caller goes on without an entry).
 */
struct cqe *cq_reserve(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq);
/** cq_notify() - after an entry was published: send the event the client armed for, if it did. */
void cq_notify(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq, bool solicited);
/** cq_event_redo() - finish the sending of an event in which a holder died. */
void cq_event_redo(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq);
/** chan_push() - queue an event on a client's channel and wake its reader. */
void chan_push(struct engine *e, u32 owner, u32 chan, const struct chan_event *ev);
/** qp_event() - an async event of a QP, with its journal entry. */
void qp_event(struct engine *e, struct hca_qp *qp, u32 event, u32 cause, u32 info);

int cmd_create_cq(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_resize_cq(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_destroy_cq(struct engine *e, u32 client, struct hca_cmd *cmd);

/* --- commit.c --- */

/** commit_req() - publish a requester step: new state, new QP state, at most one entry of @cq. */
void commit_req(struct engine *e, struct hca_qp *qp, const struct req_state *s, u32 qp_state,
		struct hca_cq *cq, struct cqe *cqe);
void commit_resp(struct engine *e, struct hca_qp *qp, const struct resp_state *s, u32 qp_state,
		 struct hca_cq *cq, struct cqe *cqe);
/** commit_redo() - apply what a dead holder had committed. */
void commit_redo(struct engine *e);

/* --- mr.c --- */

/**
 * mem_local() - check a scatter/gather list against the protection domain and turn it into memory.
 * @need: ACC_LOCAL_WRITE when it is written to, else 0
 * @used: bytes that the message takes of it; entries beyond are counted but not looked at
 * Return: 0, or -EACCES with the refused key in *bad. *total gets the sum of lengths.
 */
int mem_local(struct hca *hca, const struct hca_qp *qp, const struct wq_sge *sge, u32 n, u32 need,
	      u64 used, struct hca_mem *mem, u64 *total, u32 *bad);
/** mem_remote() - check a remote key for [va, va + len) and @need; the memory goes to *mem. */
int mem_remote(struct hca *hca, const struct hca_qp *qp, u32 rkey, u64 va, u64 len, u32 need,
	       struct hca_mem *mem);
/** mr_invalidate() - SEND_WITH_INV: the key is refused from now on. Return: 0 or -EACCES. */
int mr_invalidate(struct hca *hca, const struct hca_qp *qp, u32 rkey);

int cmd_alloc_pd(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_dealloc_pd(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_reg_mr(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_rereg_mr(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_dereg_mr(struct engine *e, u32 client, struct hca_cmd *cmd);

/* --- qp.c, qp_modify.c --- */

int cmd_create_qp(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_destroy_qp(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_query_qp(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_modify_qp(struct engine *e, u32 client, struct hca_cmd *cmd);
/** qp_retire() - free a QP's slot; what it counted stays with the device. */
void qp_retire(struct hca *hca, struct hca_qp *qp);
/** qp_release() - drop a QP's references and free its slot. */
void qp_release(struct engine *e, struct hca_qp *qp);
/** own_qp() - the client's QP in slot @handle, or NULL. */
struct hca_qp *own_qp(struct hca *hca, u32 client, u32 handle);
struct hca_cq *own_cq(struct hca *hca, u32 client, u32 handle);
struct hca_pd *own_pd(struct hca *hca, u32 client, u32 handle);

/* --- requester.c --- */

/** req_rewind() - go back to the oldest unacknowledged packet. */
void req_rewind(struct req_state *s, u32 mtu);
/** req_fail() - the oldest incomplete WQE ends with @status, the QP goes to ERR. */
void req_fail(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 status, u32 cause,
	      u32 info);
/** req_timeout() - the QP's deadline has passed. */
void req_timeout(struct engine *e, struct hca_qp *qp);
/**
 * wqe_check() - what is wrong with a WQE before anything of it is sent, or where its memory is.
 * @slot: in the ring; @w: the copy of its header to go by
 * Return: a WC status with *cause and *info for the journal, or WCS_SUCCESS with *mem and *len.
 */
u32 wqe_check(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, const struct sq_wqe *slot,
	      const struct sq_wqe *w, struct hca_mem *mem, u64 *len, u32 *cause, u32 *info);
/** wqe_len() - the message length of a WQE: its list's or inline payload's. */
u64 wqe_len(const struct hca_qp *qp, const struct sq_wqe *w);
/** wqe_is_rd() - READ or atomic: answered by a response, not by an ACK. */
static inline bool wqe_is_rd(u32 opcode)
{
	return opcode == WR_RDMA_READ || opcode == WR_ATOMIC_CMP_AND_SWP ||
	       opcode == WR_ATOMIC_FETCH_AND_ADD;
}

/* --- train.c --- */

/**
 * train_send() - send the small WRITEs that wait, up to WQE @posted, as one.
 * Return: false when there is nothing of the kind: the ordinary way is to be taken.
 */
bool train_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 posted);

/* --- completer.c --- */

int comp_input(struct engine *e, struct hca_qp *qp, const struct burst *b);
/** cqe_fill_send() - a send queue completion of the WQE in @slot (absolute index). */
void cqe_fill_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w, u32 slot,
		   u32 status, struct cqe *cqe);

/* --- responder.c, resp_read.c --- */

int resp_input(struct engine *e, struct hca_qp *qp, const struct burst *b);
/** resp_start() - a burst back to the requester: one packet, no payload yet. */
void resp_start(const struct hca_qp *qp, u32 psn, u8 op, u8 syndrome, struct burst *b);
/** resp_ack() - send an ACK or NAK for @psn. */
int resp_ack(struct engine *e, struct hca_qp *qp, u32 psn, u8 syndrome);
/**
 * resp_nak_fail() - refuse the request: NAK, QP to ERR, event.
 * @recv_status: completes the current receive with it when not WCS_SUCCESS
 */
int resp_nak_fail(struct engine *e, struct hca_qp *qp, u32 psn, u8 nak, u32 recv_status, u32 event,
		  u32 cause, u32 info);
/** resp_flush_one() - the oldest receive of a QP in ERR is flushed. */
void resp_flush_one(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg);
int resp_read(struct engine *e, struct hca_qp *qp, const struct burst *b, bool dup);
int resp_atomic(struct engine *e, struct hca_qp *qp, const struct burst *b, bool dup);
/** resp_atomic_recover() - find out whether an atomic that a dead holder had begun was executed. */
void resp_atomic_recover(struct engine *e, struct hca_qp *qp);

/* --- flush.c --- */

/** qp_flush() - complete what is left on a QP in ERR. Return: true when nothing is left. */
bool qp_flush(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg);

/* --- run.c --- */

/** xmit() - put a burst on the wire. Return: as hca_input(). */
int xmit(struct engine *e, const struct burst *b);
/** timer_arm() - (re)arm the QP's one timer; 0 disarms. */
void timer_arm(struct engine *e, struct hca_qp *qp, u64 deadline);
/** qp_stall() - leave the QP to the fabric process: memory or a segment is out of reach here. */
void qp_stall(struct engine *e, struct hca_qp *qp);

static inline bool budget_left(const struct engine *e)
{
	return e->budget_bytes > 0 && e->budget_wrs > 0;
}

static inline void dev_count(struct hca *hca, const struct hca_qp *qp, enum hca_counter c)
{
	hca->dev[qp->dev].counters[c]++;
}

#endif
