/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the files of the model share among themselves. All of it runs with the token held.
 */
#ifndef EMULATOR_MODEL_H
#define EMULATOR_MODEL_H

#include "emulator/verbs/cmd.h"
#include "emulator/transport/commit.h"
#include "emulator/port_counter.h"
#include "emulator/engine.h"
#include "emulator/transport/frame.h"
#include "emulator/journal/writer.h"

/** typedef cmd_fn - carries out a command of a client, see emulator/verbs/cmd.h. Return: 0 or -errno. */
typedef int cmd_fn(struct engine *e, u32 client, struct hca_cmd *cmd);

#define CMD_FN(op, fn) cmd_fn cmd_##fn;
HCA_COMMANDS(CMD_FN)
#undef CMD_FN

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

/** qp_xrc_srq() - the SRQ numbered @srqn of the target QP's domain, index + 1; 0: none. */
u32 qp_xrc_srq(struct hca *hca, const struct hca_qp *qp, u32 srqn);

#define FIRST_QP 17u /* 0 and 1 are special (IBTA 3.5.10), a few more are kept back as HCAs do */

/* --- tab.c --- */

/** tab_init() - fresh tables. */
void tab_init(struct hca *hca);
/** tab_at() - entry @i, which must be below tab_max(). */
struct hca_obj *tab_at(struct hca *hca, enum hca_table t, u32 i);
u32 tab_max(enum hca_table t);
/**
 * tab_find() - a free slot for an object of @dev, of which there may be @limit.
 * Return: index, -EINVAL (no such device), -EOPNOTSUPP (a limit of 0) or -ENOMEM. The slot is free
 * until tab_own().
 */
int tab_find(struct hca *hca, enum hca_table t, u32 dev, u32 limit);
/** tab_want() - as tab_find(), of slot @i. Return: @i, or also -EBUSY: it is in use. */
int tab_want(struct hca *hca, enum hca_table t, u32 dev, u32 limit, u32 i);
/** tab_own() - the slot is filled in and belongs to the client from now on. */
void tab_own(struct hca *hca, enum hca_table t, u32 i, u32 client, u32 dev);
/** tab_free() - give a slot back. */
void tab_free(struct hca *hca, enum hca_table t, u32 i);
/** tab_owned() - entry @i (any number) if the client owns it, else NULL. */
void *tab_owned(struct hca *hca, enum hca_table t, u32 client, u32 i);
/** tab_recount() - set all counts from what is there. */
void tab_recount(struct hca *hca, enum hca_table t);

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
 * ring ahead of what is complete, or behind what was sent, is a broken client: nothing is posted.
 */
static inline u32 sq_posted(struct seg_hdr *seg, const struct hca_qp *qp)
{
	const struct wq_ctl *ctl = seg_ptr(seg, qp->sq_ring);
	const struct req_state *s = &qp->req;
	u32 prod = qp->sq_depth ? load_acquire(&ctl->prod) : 0;
	u32 ahead = prod - s->una;

	return qp->sq_depth && ahead <= qp->sq_depth && ahead >= s->next - s->una ? prod : s->next;
}

static inline u32 srq_posted(struct seg_hdr *seg, const struct hca_srq *srq)
{
	const struct wq_ctl *ctl = seg_ptr(seg, srq->ring);
	u32 prod = load_acquire(&ctl->prod);

	return prod - srq->cons <= srq->depth ? prod : srq->cons;
}

static inline u32 rq_posted(struct seg_hdr *seg, const struct hca_qp *qp)
{
	const struct wq_ctl *ctl = seg_ptr(seg, qp->rq_ring);
	u32 prod = qp->rq_depth ? load_acquire(&ctl->prod) : 0;

	return qp->rq_depth && prod - qp->resp.rq_cons <= qp->rq_depth ? prod : qp->resp.rq_cons;
}

/* --- emulator/verbs/cq.c --- */

/** cq_make_room() - look how far the client has got. Return: false: the CQ has overrun. */
bool cq_make_room(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq);

/**
 * cq_reserve() - the slot for the CQ's next entry, to be filled in and published by a commit.
 * Return: NULL when the CQ has overrun (the event is raised, the caller goes on without an entry).
 */
static inline struct cqe *cq_reserve(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as in commit_fill() */
	struct cqe *ring = seg_ptr(seg, cq->ring + CQ_HDR);

	if (unlikely(cq->overrun ||
		     (cq->prod - cq->cons >= cq->depth && !cq_make_room(e, seg, cq))))
		return NULL;
	return &ring[cq->prod & (cq->depth - 1)];
}
/** cq_has_room() - whether cq_reserve() would find a slot, no event raised when not. */
bool cq_has_room(struct seg_hdr *seg, const struct hca_cq *cq);
/** cq_notify() - after an entry was published: send the event the client armed for, if it did. */
void cq_notify(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq, bool solicited);
/** cq_event_redo() - finish the sending of an event in which a holder died. */
void cq_event_redo(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq);
/** cq_event_fire() - send the event that the client has armed for, if it still waits for one. */
void cq_event_fire(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq);
/**
 * cq_entry_lost() - a completion of the QP finds no room in @cq: before the commit of what follows from it.
 */
void cq_entry_lost(struct engine *e, struct hca_qp *qp, const struct hca_cq *cq);
/** chan_push() - queue an event on a client's channel and wake its reader. */
void chan_push(struct engine *e, u32 owner, u32 chan, const struct chan_event *ev);
/** chan_wake() - only wake its reader: one count of the channel's descriptor. */
void chan_wake(struct engine *e, u32 owner, u32 chan);
/** qp_event_raise() - an async event of a QP, with its journal entry. */
void qp_event_raise(struct engine *e, struct hca_qp *qp, u32 event, u32 cause, u32 info);

/* --- deadline.c --- */

/** typedef deadline_fn - look at an object with a bit, serve what is due. Return: its deadline, 0: none. */
typedef u64 (*deadline_fn)(struct engine *e, u32 slot, u64 now);
/** deadline_set() - an object of a kind whose @bits and @sum these are has a deadline; 0: nothing. */
void deadline_set(struct engine *e, u64 *bits, u64 *sum, u32 slot, u64 deadline);
/** deadline_scan() - look at all, of @n slots, that have a bit. Return: the next deadline, or ~0. */
u64 deadline_scan(struct engine *e, u64 *bits, u64 *sum, u32 n, u64 now, deadline_fn look);

/* --- emulator/transport/cq.c --- */

/** cq_mod_count_entry() - one more entry that is waited for. Return: whether its event is to come now. */
bool cq_mod_count_entry(struct engine *e, struct hca_cq *cq);
/** cq_mod_timer_arm() - the event of the entries counted so far has a deadline. */
void cq_mod_timer_arm(struct engine *e, struct hca_cq *cq);
/** cq_mod_timers() - send the events whose period has passed. Return: the next deadline, or ~0. */
u64 cq_mod_timers(struct engine *e, u64 now);

/* --- commit.c: see also commit.h --- */

/** commit_wq() - publish a step of a WQ: a receive taken, a new state, at most one entry of @cq. */
void commit_wq(struct engine *e, struct hca_wq *wq, u32 cons, u32 state, struct hca_cq *cq,
	       struct cqe *cqe);
/** commit_redo() - apply what a dead holder had committed. */
void commit_redo(struct engine *e);

/* --- emulator/verbs/mr.c --- */

/**
 * mem_local() - check a scatter/gather list against the protection domain and turn it into memory.
 * @need: ACC_LOCAL_WRITE when it is written to, else 0
 * @used: bytes that the message takes of it; entries beyond are counted but not looked at
 * Return: 0, or -EACCES with the refused key in *bad. *total gets the sum of lengths.
 */
int mem_local(struct hca *hca, u32 pd, const struct wq_sge *sge, u32 n, u32 need, u64 used,
	      struct hca_mem *mem, u64 *total, u32 *bad);
/**
 * mem_remote() - check a remote key for [va, va + len) and @need; the memory goes to *mem.
 * @pd: the QP's, or for XRC that of the SRQ which the request names
 */
int mem_remote(struct hca *hca, const struct hca_qp *qp, u32 pd, u32 rkey, u64 va, u64 len,
	       u32 need, struct hca_mem *mem);

/* --- emulator/verbs/mw.c --- */

/**
 * mr_find_slot() - a free slot for a region or window of @dev, of which there may be @limit: that of the key that is asked for.
 * Return: as tab_want().
 */
int mr_find_slot(struct hca *hca, const struct cmd_reg_mr *c, u32 dev, u32 limit);
/** mr_next_key() - the next key of a region's or window's slot: its low byte changes, it is never 0. */
u32 mr_next_key(const struct hca *hca, const struct hca_mr *mr);
/**
 * mw_invalidate() - SEND_WITH_INV and LOCAL_INV: the type 2 window's key is refused from now on.
 * @turn: which request of @qp asks: mw_turn_sq() or mw_turn_rq()
 * @go: do it; false: only say whether it can be done
 * Return: 0 or -EACCES.
 */
int mw_invalidate(struct hca *hca, const struct hca_qp *qp, u32 pd, u32 rkey, u32 turn, bool go);
/** mw_turn_sq() - of the work request that the requester is at, which changes a window. */
static inline u32 mw_turn_sq(const struct hca_qp *qp)
{
	return qp->req.next & ~(1u << 31);
}
/** mw_turn_rq() - of the SEND_WITH_INV that the responder is at. */
static inline u32 mw_turn_rq(const struct hca_qp *qp)
{
	return qp->resp.epsn | 1u << 31;
}
/**
 * mw_bind() - execute a BIND_MW work request.
 * Return: WC status with the key in *info, or WCS_SUCCESS.
 */
u32 mw_bind(struct hca *hca, struct hca_qp *qp, const struct sq_wqe *w, u32 *info);
/** mw_find() - the window in slot @index of the table of regions, or NULL. */
struct hca_mr *mw_find(struct hca *hca, u32 index);
/** mw_unbind() - the window's key is refused from now on, if it has one. */
void mw_unbind(struct hca *hca, struct hca_mr *mw);
/** mw_is_orphan() - whether it is a window over a region of @owner, who has died. */
bool mw_is_orphan(const struct hca *hca, const struct hca_mr *mw, u32 owner);
/** mw_unbind_qp() - unbind the type 2 windows of a QP that goes. */
void mw_unbind_qp(struct hca *hca, const struct hca_qp *qp);

/* --- emulator/verbs/qp.c, emulator/verbs/qp_modify.c --- */

/** qp_clear() - a QP in RESET has no attributes, and nothing under way. */
void qp_clear(struct engine *e, struct hca_qp *qp);
/** qp_refs_add() - count what a QP refers to, @d 1, or uncount it, @d -1. */
void qp_refs_add(struct hca *hca, const struct hca_qp *qp, int d);
/** qp_retire() - free a QP's slot; what it counted stays with the device. */
void qp_retire(struct hca *hca, struct hca_qp *qp);
/** qp_sq_stride() - bytes of a send queue's slot. */
static inline u32 qp_sq_stride(const struct cmd_qp *c)
{
	return sq_stride(c->max_sge, c->max_inline) + ALIGN_UP(c->max_tso_hdr, 64u);
}
/** shared_qp() - own_qp(), or the target QP behind a reference when it was @opened. */
struct hca_qp *shared_qp(struct hca *hca, u32 client, u32 handle, bool opened);
/** qp_adopt() - a target QP becomes that of the client who has opened it. */
void qp_adopt(struct hca *hca, struct hca_qp *qp, struct hca_ref *r);
/** qp_adopt_redo() - finish an adoption in which a holder died. */
void qp_adopt_redo(struct hca *hca, struct hca_qp *qp);
/** own_qp() - the client's QP in slot @handle, or NULL. */
struct hca_qp *own_qp(struct hca *hca, u32 client, u32 handle);
struct hca_cq *own_cq(struct hca *hca, u32 client, u32 handle);
/** own_pd() - a PD that the client made or imported, or NULL. */
struct hca_pd *own_pd(struct hca *hca, u32 client, u32 handle);
static inline struct hca_limits *lim_of(struct hca *hca, u32 dev)
{
	return &hca->dev[dev].lim;
}

/** qp_port() - the port that a QP was given; number 0 before it is in INIT. */
static inline struct hca_port *qp_port(struct hca *hca, const struct hca_qp *qp)
{
	return &hca->dev[qp->dev].port[qp->attr.port_num];
}

/**
 * qp_path_update() - the QP's P_Key and paths are looked up again: its attributes have changed, or what
 * its port has.
 */
void qp_path_update(struct hca *hca, struct hca_qp *qp);
/** hca_lid_index() - a port's LID leads to it. */
void hca_lid_index(struct hca *hca, u32 dev, u32 port);
/** own_dev() - whether it is a device of the client's node: programs have no others. */
static inline bool own_dev(const struct hca *hca, u32 client, u32 dev)
{
	return dev < hca->n_devs && hca->dev[dev].node == hca->client[client].node;
}
/** port_of() - a port that exists, or NULL. */
static inline struct hca_port *port_of(struct hca *hca, u32 dev, u32 port)
{
	if (dev >= hca->n_devs || !port || port > hca->dev[dev].n_ports)
		return NULL;
	return &hca->dev[dev].port[port];
}

/* --- emulator/transport/requester.c, emulator/transport/wqe.c --- */

/* A burst, and what one READ request asks for, is at most this long. */
#define REQ_CHUNK (1u << 20)

/** qp_chunk() - the same for a QP whose links may be slow. A power of two, and whole packets. */
static inline u64 qp_chunk(const struct hca_qp *qp)
{
	return REQ_CHUNK >> qp->chunk_shift;
}

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
/** wqe_allowed() - whether QPs of the type have the opcode. */
bool wqe_allowed(u32 qp_type, u32 opcode);
/** wqe_mask() - the opcodes that a QP of the type has on a device of these limits, a bit each. */
u32 wqe_mask(u32 qp_type, const struct hca_limits *lim);
/** struct wqe_op - an opcode on the wire, and which QP types have it (a bit each): ibv_post_send(3). */
struct wqe_op {
	u8 op; /* enum burst_op */
	u8 flags; /* enum burst_flags */
	u16 types;
};
extern const struct wqe_op wqe_ops[WR_COUNT];
/** wqe_len() - the message length of a WQE: its list's or inline payload's. */
u64 wqe_len(const struct hca_qp *qp, const struct sq_wqe *w);
/** wqe_is_rd() - READ or atomic: answered by a response, not by an ACK. */
static inline bool wqe_is_rd(u32 opcode)
{
	return opcode == WR_RDMA_READ || opcode == WR_ATOMIC_CMP_AND_SWP ||
	       opcode == WR_ATOMIC_FETCH_AND_ADD;
}

/** qp_reliable() - its requests are acknowledged. */
static inline bool qp_reliable(const struct hca_qp *qp)
{
	return qp->type == QPT_RC || qp->type == QPT_XRC_SEND || qp->type == QPT_XRC_RECV;
}
/** qp_is_connected() - it has one peer, with or without ACKs. */
static inline bool qp_is_connected(const struct hca_qp *qp)
{
	return qp->type == QPT_UC || qp_reliable(qp);
}

/* --- emulator/transport/write_batch.c --- */

/**
 * write_batch_send() - send the small WRITEs that wait, up to WQE @posted, as one.
 * Return: false when there is nothing of the kind: the ordinary way is to be taken.
 */
bool write_batch_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 posted);

/* --- emulator/transport/completer.c --- */

/** comp_ack() - an ACK or NAK has come. Return: as hca_input(). */
int comp_ack(struct engine *e, struct hca_qp *qp, u32 psn, u8 aeth);
/** comp_input() - a response has come. Return: as hca_input(). */
int comp_input(struct engine *e, struct hca_qp *qp, const struct burst *b);
/**
 * req_outstanding() - whether packet @psn waits for an answer: it is neither older than what is outstanding,
 * nor never sent.
 */
static inline bool req_outstanding(const struct hca_qp *qp, u32 psn)
{
	return (qp->state == QPS_RTS || qp->state == QPS_SQD) &&
	       psn_diff(psn, qp->req.una_psn) >= 0 && psn_diff(psn, qp->req.next_psn) < 0;
}
/** req_progress() - something was acknowledged: retries are counted anew. */
void req_progress(struct hca_qp *qp, struct req_state *s);
/** req_complete() - the only WQE under way in *s, which is to be the QP's state, is done. */
void req_complete(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, struct req_state *s);
/** cqe_fill_send() - a send queue completion of the WQE in @slot (absolute index). */
void cqe_fill_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w, u32 slot,
		   u32 status, struct cqe *cqe);

/* --- emulator/transport/rxq.c: see also emulator/transport/rxq.h --- */

/**
 * rx_give_back() - a QP goes in mid-message: the slot of the SRQ's receive that it holds is the
 * client's again, who is told by an entry that reports nothing.
 */
void rx_give_back(struct engine *e, struct hca_qp *qp);
/** wq_flush() - complete the receives of a WQ in ERR with WR_FLUSH_ERR. */
void wq_flush(struct engine *e, struct hca_wq *wq);

/* --- emulator/transport/uc.c, emulator/transport/ud.c, emulator/verbs/mcast.c --- */

int uc_input(struct engine *e, struct hca_qp *qp, const struct burst *b);
int ud_input(struct engine *e, struct hca_qp *qp, const struct burst *b);
/** ud_address() - give a datagram its address. Return: WC status. */
u32 ud_address(struct engine *e, struct hca_qp *qp, const struct sq_wqe *w, struct burst *b);
/** mcast_input() - deliver a datagram to the group's members. Return: as hca_input(). */
int mcast_input(struct engine *e, const struct burst *b);

/* --- emulator/verbs/av.c --- */

/**
 * av_check() - check an address and find its device.
 * Return: 0, -EINVAL, -ENODATA (no such source GID) or -ETIMEDOUT (nobody has the address).
 */
int av_check(struct hca *hca, u32 dev, struct hca_av *av);
/** av_is_mcast() - a multicast GID, or an InfiniBand multicast LID. */
bool av_is_mcast(const struct hca_av *av);
/** av_is_relayed() - struct hca_path.via of a datagram on @path to @av: groups may have members anywhere. */
static inline bool av_is_relayed(const struct hca *hca, const struct hca_path *path,
				 const struct hca_av *av)
{
	return unlikely(hca->n_via) &&
	       (av_is_mcast(av) ||
		relay_is_needed(hca, path->src_dev, path->src_port, path->dst_dev, path->dst_port));
}
/** gid_is_mcast() - a multicast group's. */
bool gid_is_mcast(const u8 gid[16]);

/* --- emulator/verbs/srq.c, emulator/transport/tag.c, emulator/verbs/xrcd.c --- */

/**
 * qp_recv_srq() - the SRQ that a request to @qp takes its receive from; NULL: the QP's own queue.
 * @srqn: XRC: the SRQ's number, which must be one of the target QP's domain
 */
static inline struct hca_srq *qp_recv_srq(struct hca *hca, const struct hca_qp *qp, u32 srqn)
{
	u32 i = unlikely(qp->type == QPT_XRC_RECV) ? qp_xrc_srq(hca, qp, srqn) : qp->srq;

	return i ? &hca->srq[i - 1] : NULL;
}
struct hca_srq *own_srq(struct hca *hca, u32 client, u32 handle);
/** ref_target() - what a client's reference of @kind names, index + 1; 0: it has no such one. */
u32 ref_target(struct hca *hca, u32 client, u32 handle, enum hca_ref_kind kind);
/** ref_use() - something is made through the reference @xref (index + 1), @d 1, or ends, @d -1. */
void ref_use(struct hca *hca, u32 xref, int d);
/** ref_new() - a reference for a client. Return: its handle or -ENOMEM. */
int ref_new(struct hca *hca, u32 client, u32 dev, enum hca_ref_kind kind, u32 index,
	    u32 async_chan);
/** ref_next() - another client's reference to the same object, or NULL. */
struct hca_ref *ref_next(struct hca *hca, enum hca_ref_kind kind, u32 index, u32 not_owner);
/** tm_forget() - a QP is reset or destroyed: the tags that have a message of it go with it. */
void tm_forget(struct hca *hca, struct hca_qp *qp);
/** tm_recount() - set what is counted of tags from what is there. */
void tm_recount(struct hca *hca);

/* --- emulator/verbs/wq.c, emulator/verbs/flow.c, emulator/verbs/flow_counter.c, emulator/transport/raw.c: see also emulator/transport/eth.h --- */

/**
 * raw_send() - put the next frame of a RAW_PACKET work request on the wire.
 * @at: where it has got: 0 at first; kept by the caller between calls
 * Return: 0 when that was the last; 1 with *at moved on: another is to come; -EAGAIN with *at moved
 * on: the rest of this one is to be tried again; another negative value: a WC status, negated, which
 * the work request fails with, with *cause and *info for the journal.
 */
int raw_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, const struct sq_wqe *slot,
	     const struct sq_wqe *w, u64 *at, u32 *cause, u32 *info);

/* --- emulator/verbs/dm.c, emulator/verbs/import.c --- */

/** dm_find_imported() - the device memory @handle, made on context @ctx of a device of the client's node. */
struct hca_dm *dm_find_imported(struct hca *hca, u32 client, u32 handle, u64 ctx);
/** dm_hand_over() - device memory of a dead owner stays while others have regions on it. */
void dm_hand_over(struct hca *hca, u32 owner);
/** pd_is_imported() - whether the client has imported the PD, and not given it back. */
bool pd_is_imported(const struct hca *hca, u32 client, u32 pd);
/** pd_free_import_refs() - a PD is no more: nobody has it imported. */
void pd_free_import_refs(struct hca *hca, u32 pd);

/* --- emulator/transport/relay.c: see also engine.h --- */

/**
 * qp_ack_timeout_ns() - a QP's time-out for acknowledges; of those with a peer in another fabric at least
 * a quarter of a second. For QPs that have one.
 */
u64 qp_ack_timeout_ns(const struct hca *hca, const struct hca_qp *qp);
/**
 * relay_timer_early() - a QP's timer has run out, but what it waits for is still to leave for a link: the timer
 * was set once more.
 */
bool relay_timer_early(struct engine *e, struct hca_qp *qp);
/**
 * relay_stalled() - a QP is stalled in the fabric process. It is rung when it can go on; but whoever waits has a
 * timer, too. What it has sent to another fabric is to be acknowledged in time all the same.
 */
void relay_stalled(struct engine *e, struct hca_qp *qp);
/** relay_resumed() - a QP is not stalled: the timer is that of its acknowledge. */
void relay_resumed(struct engine *e, struct hca_qp *qp);
/** relay_ack_overdue() - whether a QP that waits for its link should have had an acknowledge by now. */
bool relay_ack_overdue(struct engine *e, struct hca_qp *qp);
/**
 * relay_is_needed_raw() - whether frames that a port sends are the fabric process's: every port of the fabric may get them,
 * and there is a link on the way to one of them that takes time or is looked at.
 */
bool relay_is_needed_raw(const struct hca *hca, u32 dev, u32 port);
/** relay_set_chunk() - qp->chunk_shift for the QP's path as its links are now. */
void relay_set_chunk(const struct hca *hca, struct hca_qp *qp);

/* --- emulator/transport/flush.c --- */

/** qp_flush() - complete what is left on a QP in ERR, or SQE. Return: true when nothing is left. */
bool qp_flush(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg);

/* --- emulator/transport/wire.c --- */

/** wire_send() - put a burst on the wire. Return: as hca_input(). */
int wire_send(struct engine *e, const struct burst *b);
/**
 * qp_addressed() - whether a burst is the QP's: it takes packets of its own transport, a connected one
 * from its peer only (IBTA 9.6.1.1); P_Keys must go together.
 */
bool qp_addressed(const struct hca_qp *qp, const struct burst *b);
/** wire_send_ack() - put an ACK or NAK of @psn to the QP's peer on the wire. Return: as hca_input(). */
int wire_send_ack(struct engine *e, const struct hca_qp *qp, u32 psn, u8 aeth);
/** qp_timer_arm() - (re)arm the QP's one timer; 0 disarms. */
static inline void qp_timer_arm(struct engine *e, struct hca_qp *qp, u64 deadline)
{
	qp->deadline = deadline;
	deadline_set(e, e->hca->timer_bits, e->hca->timer_sum, qp_slot(qp), deadline);
}
/** qp_timers() - run the timers of QPs that are due. Return: the next deadline, or ~0. */
u64 qp_timers(struct engine *e, u64 now);
/** qp_stall() - leave the QP to the fabric process: memory or a segment is out of reach here. */
void qp_stall(struct engine *e, struct hca_qp *qp);

static inline bool budget_left(const struct engine *e)
{
	return e->budget_bytes > 0 && e->budget_wrs > 0;
}

/** port_is_down() - ports are up, but for rare moments: one word that all share says so. */
static inline bool port_is_down(struct hca *hca, u32 dev, u32 port)
{
	struct hca_port *p;

	if (likely(!hca->watched) || !hca->ports_down)
		return false;
	p = port_of(hca, dev, port);
	return !p || p->state != PORT_ACTIVE;
}

/** dev_count() - something happened that the QP's port counts. */
static inline void dev_count(struct hca *hca, const struct hca_qp *qp, enum hca_counter c)
{
	qp_port(hca, qp)->counters[c]++;
}

#endif
