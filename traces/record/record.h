/* SPDX-License-Identifier: MIT */
/**
 * DOC: librdmaemu-record.so: what a program calls of libibverbs and librdmacm, written into a trace directory.
 *
 * Theory of operation
 * -------------------
 * The recorder stands between a program and whatever library it would have without it: the shim, or the
 * installed one over a real HCA. It knows nothing but the public API. Exported functions are wrapped, by the
 * description in traces/calls/calls.h (control.c); calls that verbs.h makes through pointers are met by putting our functions into
 * the tables of the objects that the library below returns (ops.c, wr.c, cq_ex.c), whose own are kept
 * beside. What a call does in its turn (librdmacm calling libibverbs) is carried out and not recorded: a thread that
 * is within a recorded call passes.
 *
 * Each object has a struct rec_obj, found by its address without a lock (object_table.c). It gets one when it is first seen, which is
 * when a line of text names it, before the program can use it: also those that librdmacm makes on its own.
 *
 * Memory is recorded as the replay will need it: a shadow of each MR has what the trace says so far; what differs from it
 * when it is about to be sent, or where peers can read it, is recorded before the call (memory.c).
 *
 * Whatever goes wrong with the recording is no business of the program's: it is said on stderr, once, or in the trace.
 */
#ifndef TRACES_RECORD_RECORD_H
#define TRACES_RECORD_RECORD_H

#include "libshim/interpose/interpose.h"
#include "traces/calls/calls.h"
#include "traces/vtrace/write.h"

#include <pthread.h>

/** enum rec_payload - what is recorded of the bytes of messages. */
enum rec_payload {
	REC_FULL, /* all of them */
	REC_HASH, /* their CRC */
	REC_NONE,
};

/**
 * struct rec_thread - a thread of the program.
 * @ord: its ordinal in the trace, 0: none yet. @epoch: of the process that gave it
 * @depth: calls of ours that it is in
 * @makes: kinds of objects (bits of enum vobj) that the call which is under way may have made in passing
 */
struct rec_thread {
	u32 ord;
	u32 epoch;
	u32 depth;
	u32 makes;
	struct vcall_text *text;
	u8 *bounce; /* REC_BOUNCE bytes */
};

#define REC_BOUNCE (64u << 10)

extern __thread struct rec_thread rec_thread __attribute__((tls_model("initial-exec")));

/**
 * struct rec_state - the recording.
 * @state: 0 before the first call, then REC_ON or REC_OFF
 * @epoch: forks that led to this process
 * @lock: objects, shadows
 * @per_wr: bytes of payload that one work request may leave in the trace
 * @room: bytes that shadows and contents may still take
 * @real: the trace gets a profile of the device
 */
struct rec_state {
	u32 state;
	u32 epoch;
	pid_t pid;
	enum rec_payload payload;
	u32 per_wr;
	u64 room;
	bool real;
	pthread_mutex_t lock;
	struct vt_writer w;
};

#define REC_ON	1u
#define REC_OFF 2u

extern struct rec_state rec;

/* --- init.c: beginning and end --- */

/** rec_start() - the first call of the program. Return: whether calls are recorded. */
bool rec_start(void);
/** rec_thread_init() - the calling thread has what it needs. Return: false: there is no memory. */
bool rec_thread_init(void);
/** rec_note() - say in the trace what was not recorded. */
__attribute__((format(printf, 1, 2))) void rec_note(const char *fmt, ...);

/**
 * rec_enter() - whether the call that this thread begins is to be recorded: it is the program's own, and
 * there is a trace. If so, rec_leave() at its end.
 */
static inline bool rec_enter(void)
{
	if (rec_thread.depth)
		return false;
	if (unlikely(load_acquire(&rec.state) != REC_ON) && !rec_start())
		return false;
	if (unlikely(!rec_thread.ord || rec_thread.epoch != rec.epoch) && !rec_thread_init())
		return false;
	rec_thread.depth++;
	return true;
}

static inline void rec_leave(void)
{
	rec_thread.depth--;
}

/** struct rec_span - from when to when. */
struct rec_span {
	u64 begin;
	u64 t_begin;
};

/**
 * rec_cqex_flush_open() - something else of this thread is about to be recorded: what it has polled by now is recorded
 * before, also where ibv_end_poll() is still to come.
 */
void rec_cqex_flush_open(void);

/** rec_span_begin() - a call begins. */
static inline struct rec_span rec_span_begin(void)
{
	struct rec_span s;

	rec_cqex_flush_open();
	s.t_begin = vt_now();
	s.begin = vt_order_next(&rec.w);
	return s;
}

/** rec_record_begin() - a place for a record, as vt_rec_reserve(). A thread's records are played in the order of their places. */
static inline struct vt_rec *rec_record_begin(enum vt_kind kind, size_t body)
{
	rec_cqex_flush_open();
	return vt_rec_reserve(&rec.w, kind, body);
}

/** rec_record_stamp() - a call has ended: fill in a record's head. */
static inline void rec_record_stamp(struct vt_rec *r, struct rec_span s)
{
	r->thread = rec_thread.ord;
	r->begin = s.begin;
	r->t_begin = s.t_begin;
	r->end = vt_order_next(&rec.w);
	r->t_end = vt_now();
}

/* --- object_table.c: objects --- */

struct rec_ctx; /* ops.c */
struct rec_wr; /* wr.c */
struct rec_cqex; /* cq_ex.c */
struct rec_recvs; /* received.c */

/**
 * struct rec_mr - an MR.
 * @addr, @len: the program's memory; of device memory and the like there is none: @len is 0
 * @iova: by which work requests name @addr
 * @shadow: what the trace says is there; NULL: there was no room for it
 * @rkey: by which peers name it
 * @on_demand: what was not touched yet is not to be
 * @exposed: peers can read it, or atomics return it
 * @twin: its memory, or part of it, is another one's as well: what the trace says of one it says of both
 */
struct rec_mr {
	u64 addr;
	u64 len;
	u64 iova;
	u8 *shadow;
	u32 rkey;
	bool on_demand;
	bool exposed;
	bool twin;
	bool landed; /* messages were received in it that differed from the shadow */
	struct rec_obj *next; /* of those that are exposed */
	struct rec_obj *next_shadow; /* of those that have one */
};

/**
 * struct rec_obj - an object of the program's.
 * @key: its address
 * @ctx: of which the library's own functions are taken; NULL for objects of the rdma_cm
 * @passing: a call has made it in passing
 * @alias: another key by which it is found (lkey, QP number), 0: none
 * @empty: CQ: polls that found nothing
 */
struct rec_obj {
	u64 key;
	u32 ord;
	u8 kind; /* enum vobj */
	bool passing;
	struct rec_obj *ctx_obj;
	struct rec_ctx *ctx;
	u64 alias;
	union {
		struct rec_mr mr;
		u64 empty;
		struct rec_wr *wr;
	};
	struct rec_cqex *ex;
	struct rec_recvs *recvs; /* QP, SRQ: receives that are posted */
	const void *srq; /* QP: the address of its SRQ */
	bool datagrams; /* QP: a GRH comes before the payload */
	void *low[2]; /* functions of a WQ or DM, as the library below had made it */
};

/** rec_obj_find() - the object at this address. Return: NULL: none of this kind is known there. */
struct rec_obj *rec_obj_find(enum vobj kind, const void *obj);
/** rec_find_key() - the MR of an lkey, the QP of a number. */
struct rec_obj *rec_obj_find_mr(const struct rec_obj *ctx, u32 lkey);
struct rec_obj *rec_obj_find_qpn(const struct rec_obj *ctx, u32 qpn);
/** rec_obj_set_alias() - an object gets the number by which it is found: an MR's lkey, a QP's number. */
void rec_obj_set_alias(struct rec_obj *o, u32 number);
/**
 * rec_obj_name() - struct vcall_env.name: an object's ordinal. It gets one when a call has made it; what else is not
 * known may be gone already (an rdma_cm_id points to a QP that was destroyed), and is not looked at.
 */
u32 rec_obj_name(void *arg, enum vobj kind, const void *obj, bool fresh);
/** rec_obj_drop() - the object is no more. @ord: as it was before the call; nothing is done if it has changed */
void rec_obj_drop(enum vobj kind, const void *obj, u32 ord);
/** rec_obj_for_each() - call @fn for each object of a kind. */
void rec_obj_for_each(enum vobj kind, void (*fn)(struct rec_obj *));
/** rec_obj_forget_all() - in a child of fork(): no object is known. */
void rec_obj_forget_all(void);

/** rec_obj_ord() - ordinal of an object, or 0. */
static inline u32 rec_obj_ord(enum vobj kind, const void *obj)
{
	const struct rec_obj *o = obj ? rec_obj_find(kind, obj) : NULL;

	return o ? o->ord : 0;
}

/* --- control.c: lines --- */

extern const struct vcall_env rec_env;

/** struct rec_call - a call of the control path under way. @ending: ordinal of what it ends */
struct rec_call {
	enum vcall call;
	const u64 *args;
	struct rec_span span;
	u32 ending;
};

/** rec_call_begin(), rec_call_end() - around a call; between rec_enter() and rec_leave(). errno is kept. */
void rec_call_begin(struct rec_call *c, enum vcall call, const u64 *args);
void rec_call_end(struct rec_call *c, u64 ret);

/* --- devices.c, profile.c --- */

/** rec_devices_add() - a context was seen first: what its device is, and what others there are, if the trace has it not. errno is kept. */
void rec_devices_add(struct ibv_context *ctx);
/** rec_devices_add_address() - the same of the IP address of a port that a call, which went well, may have told the program. */
void rec_devices_add_address(enum vcall call, const u64 *args);
/** rec_devices_reset() - in a child of fork(). */
void rec_devices_reset(void);
/** rec_profile_write() - the trace gets a profile of the emulator's like this device, with @devices of them. */
void rec_profile_write(struct ibv_context *ctx, u32 devices);

/* --- ops.c: functions in objects --- */

/**
 * struct rec_ctx - a context, as the library below had made it.
 * @ops, @vx: its tables
 */
struct rec_ctx {
	struct ibv_context_ops ops;
	struct verbs_context vx;
};

/** rec_ctx_attach() - put our functions into a context. Return: NULL: there is no memory. */
struct rec_ctx *rec_ctx_attach(struct ibv_context *ctx);
/** rec_obj_context() - the context of an object. NULL: of the rdma_cm's. */
const struct ibv_context *rec_obj_context(enum vobj kind, const void *obj);
/** rec_ctx_find() - the tables of an object's context. Return: NULL: it is not known. */
struct rec_ctx *rec_ctx_find(const struct ibv_context *ctx);
/** rec_wq_attach(), rec_dm_attach() - put our functions into an object. dm.c has those of a DM. */
void rec_wq_attach(struct rec_obj *o, struct ibv_wq *wq);
void rec_dm_attach(struct rec_obj *o, struct ibv_dm *dm);

/* --- post.c, tag_ops.c, poll.c, wr.c, cq_ex.c: the data path --- */

int rec_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int rec_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int rec_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int rec_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad);
int rec_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int rec_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
/**
 * rec_poll_begin() - begin the record of a poll, with the empty ones before it. rec_record_stamp() and vt_rec_commit() end it.
 * @cq: NULL: it is not known
 * @ret: what the poll has returned, or minus errno's value
 * @wc: where its @n completions are to be written
 * Return: NULL: the trace takes no more.
 */
struct vt_rec *rec_poll_begin(struct rec_obj *cq, int ret, u32 n, struct vt_wc **wc);
int rec_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/** rec_poll_record_empty() - record how many polls of a CQ found nothing: it is no more. */
void rec_poll_record_empty(struct rec_obj *cq);

/** rec_sge_fill() - fill in a piece of memory. Return: its MR, or NULL. */
struct rec_obj *rec_sge_fill(struct vt_sge *to, const struct ibv_sge *sge,
			     const struct rec_obj *ctx, bool without_key);

/** rec_wr_attach() - put our functions into a QP that has an ibv_qp_ex. */
void rec_wr_attach(struct rec_obj *o, struct ibv_qp_ex *ex);
void rec_wr_free(struct rec_obj *o);
/** rec_cqex_attach() - put our functions into an extended CQ. */
void rec_cqex_attach(struct rec_obj *o, struct ibv_cq_ex *ex);
void rec_cqex_free(struct rec_obj *o);

/* --- received.c --- */

/** rec_recv_posted() - @n receives are about to be posted to a QP or SRQ. @o: NULL: it is not known */
void rec_recv_posted(struct rec_obj *o, const struct ibv_recv_wr *wr, u32 n);
/** rec_recv_refused() - the last @n of them were not, from @bad on. */
void rec_recv_refused(struct rec_obj *o, const struct ibv_recv_wr *bad, u32 n);
/** rec_recv_reset() - a QP has none any more. @o: NULL: it is not known */
void rec_recv_reset(struct rec_obj *o);
/** rec_recv_completed() - the CRC of what a completion has received, where that is known. */
void rec_recv_completed(struct vt_wc *wc, const struct rec_obj *ctx);
void rec_recv_free(struct rec_obj *o);
/** rec_recv_forget() - in a child of fork(). */
void rec_recv_forget(void);

/* --- memory.c --- */

/** rec_mr_new() - an MR was registered: its first contents. @addr 0: it is no memory of the program's */
void rec_mr_new(struct rec_obj *o, u64 addr, u64 len, u64 iova, u64 access);
/** rec_mr_final() - what it holds before it is deregistered, or at the end. */
void rec_mr_final(struct rec_obj *o);
void rec_mr_free(struct rec_obj *o);
/** rec_mem_scan_exposed() - record what the program has changed where peers can read it. @send: of many calls one */
void rec_mem_scan_exposed(bool send);
/**
 * rec_mem_scan_rkey() - the same of what a READ or an atomic names, if it is memory of this program: programs that are both
 * sides write there without a call in between.
 */
void rec_mem_scan_rkey(u32 rkey, u64 addr, u64 len);
/** rec_mem_scan_sge() - record what has changed in memory that is about to be sent. Return: whether the trace knows the bytes. */
bool rec_mem_scan_sge(struct rec_obj *mr, u64 addr, u32 len);
/** rec_mem_landed() - a message was received at @addr of the program's memory, which has @bytes there now. */
void rec_mem_landed(u64 addr, const u8 *bytes, u64 len);
/** rec_mr_address() - where in the program's memory an address in a work request is. @mr: of its key, or NULL */
u64 rec_mr_address(const struct rec_obj *mr, u64 addr);
/** rec_mr_forget() - in a child of fork(): an MR of the parent's. */
void rec_mr_forget(struct rec_obj *mr);
/** rec_mem_read() - copy the program's memory, if it is there. */
bool rec_mem_read(void *to, u64 addr, size_t len);
/** rec_mem_crc() - of the program's memory; what is not there counts as nothing. */
u32 rec_mem_crc(u32 before, u64 addr, u64 len);

#endif
