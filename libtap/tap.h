/* SPDX-License-Identifier: MIT */
/**
 * DOC: the tap: what sees each call of verbs and rdma_cm that a program makes.
 *
 * Theory of operation
 * -------------------
 * The tap stands between a program and the library that it would use otherwise: the shim, or the
 * installed libraries. It only knows the public API. It wraps exported functions (exports.c),
 * generated from the descriptions in traces/calls/table.h. verbs.h calls other functions through
 * pointers: the tap patches the tables of the objects that the library below returns (ops.c, wr.c,
 * cq_ex.c, dm.c), and keeps the original pointers. Calls within a call, such as those of librdmacm
 * to libibverbs, are carried out, and nobody sees them.
 *
 * Its users see operations in the order of enum tap_slot: before an operation the outermost user
 * first, after it the innermost first. A hook that is called before returns TAP_ANSWER if it has
 * set the operation's result itself, with errno: the operation is not carried out, and neither that
 * user nor those further in are called after it. docs/design/tap.md has the rules.
 *
 * The files in layers; each uses only those before it:
 *  - state.c: the users that are on, and the calling thread
 *  - object_table.c: the registry of objects, found by address without a lock. An object is
 *    registered when a line of text names it for the first time, before the program can use it.
 *    This includes objects that librdmacm creates.
 *  - process.c: start and end of the users in a process and its threads
 *  - call.c: a call of the control path
 *  - post.c, wr.c, poll.c, cq_ex.c, dm.c: wrappers of the data path
 *  - wait.c: waits for descriptors
 *  - memory_use.c, fault.c: uses of memory that a user watches
 *  - ops.c: wrappers of function pointers, and patching
 *  - exports.c, newer.c, devices.c, forward.c: exported wrappers
 *
 * Users must never harm the program. Hooks run within tap_enter() and tap_leave(); they may call
 * verbs, which no user sees. errno belongs to the library below, or to the hook that answers: the
 * tap restores it.
 */
#ifndef LIBTAP_TAP_H
#define LIBTAP_TAP_H

#include "libtap/object_table.h"

/** enum tap_verdict - what a hook says that is called before an operation. */
enum tap_verdict {
	TAP_PASS,
	TAP_ANSWER, /* the hook has set the result: do not carry it out */
};

/**
 * struct tap_op - what all operations have.
 * @answered: a hook has set the result
 * @seen: if so, users that have passed the operation on, from the outermost one
 * @scratch: what each user keeps from its first hook to its last; undefined at first
 */
struct tap_op {
	u32 seen;
	bool answered;
	struct tap_scratch {
		void *ptr;
		u64 word[4];
	} scratch[TAP_USERS];
};

/**
 * struct tap_call - a call of the control path.
 * @args: its arguments, as in struct vcall_parsed
 * @ret: its result, integers sign-extended; @err: errno after it
 * @failed: its error (vcall_error()), 0: none
 * @text: its line; complete in call_end
 * @ending: ordinal of the object that it destroys, 0: none
 * @inexact: the program has made a call newer than the table; a call of the table that succeeds
 *	does the same, but one that fails may differ
 */
struct tap_call {
	struct tap_op op;
	enum vcall call;
	const u64 *args;
	u64 ret;
	int err;
	int failed;
	struct vcall_text *text;
	u32 ending;
	bool inexact;
};

/** enum tap_queue - where work requests are posted to. */
enum tap_queue {
	TAP_SEND,
	TAP_RECV,
	TAP_SRQ,
	TAP_WQ,
	TAP_TAG_OPS, /* ibv_post_srq_ops() */
};

/** tap_post_fn - a function of the library below that posts @chain to @handle. */
typedef int (*tap_post_fn)(void *handle, void *chain, void *bad);

/**
 * struct tap_post - a post of a chain of work requests.
 * @obj: the QP, SRQ or WQ; NULL: unknown. @handle: its address
 * @send, @recv, @ops: the chain; @bad...: the first one that was refused, if @ret is not 0
 * @low: carries it out: for a hook that does so later
 * @ret: 0, or an error
 */
struct tap_post {
	struct tap_op op;
	enum tap_queue queue;
	struct tap_obj *obj;
	void *handle;
	union {
		void *chain;
		struct ibv_send_wr *send;
		struct ibv_recv_wr *recv;
		struct ibv_ops_wr *ops;
	};
	union {
		void *bad;
		struct ibv_send_wr *bad_send;
		struct ibv_recv_wr *bad_recv;
		struct ibv_ops_wr *bad_ops;
	};
	tap_post_fn low;
	int ret;
};

/** enum tap_wr_what - a call of ibv_wr_*(). */
enum tap_wr_what {
	TAP_WR_STARTING, /* before ibv_wr_start() */
	TAP_WR_START, /* after it: the library holds the QP's lock until the batch ends */
	TAP_WR_OP, /* an opcode */
	TAP_WR_UD_ADDR,
	TAP_WR_XRC_SRQN,
	TAP_WR_SGE,
	TAP_WR_SGE_LIST,
	TAP_WR_INLINE,
	TAP_WR_INLINE_LIST,
};

/**
 * struct tap_wr_op - one call of ibv_wr_*(), before it is carried out (TAP_WR_START: after it).
 * Members that its @what or @opcode does not have are 0.
 * @opcode: TAP_WR_OP: enum ibv_wr_opcode, or VCALL_WR_FLUSH
 * @key: rkey; of SEND_WITH_INV and LOCAL_INV the one to invalidate; of BIND_MW the new one
 * @imm: immediate data; @compare_add, @swap: of atomics; @swap: also the value of an ATOMIC_WRITE
 * @level: of FLUSH, as @type; @len: its bytes
 * @n: entries of @sge or @buf
 */
struct tap_wr_op {
	enum tap_wr_what what;
	u32 opcode;
	u32 key;
	u32 imm;
	u64 addr;
	u64 compare_add;
	u64 swap;
	u64 len;
	u8 type;
	u8 level;
	u16 hdr_sz;
	u16 mss;
	const void *hdr;
	const struct ibv_mw *mw;
	const struct ibv_mw_bind_info *bind;
	struct ibv_ah *ah;
	u32 qpn; /* of TAP_WR_UD_ADDR, or the SRQ number of TAP_WR_XRC_SRQN */
	u32 qkey;
	size_t n;
	const struct ibv_sge *sge;
	const struct ibv_data_buf *buf;
};

/**
 * struct tap_batch - the end of a batch of ibv_wr_*().
 * @abort: by ibv_wr_abort()
 * @ret: 0, or an error. If a hook answers, the batch is aborted.
 */
struct tap_batch {
	struct tap_op op;
	struct tap_obj *obj;
	struct ibv_qp_ex *ex;
	bool abort;
	int ret;
};

/**
 * struct tap_poll - ibv_poll_cq(). A hook may change completions, take some out, and add some, up
 * to @n.
 * @obj: the CQ; NULL: unknown
 * @again: a hook has taken completions out, and the program's array has room: poll once more
 */
struct tap_poll {
	struct tap_op op;
	struct tap_obj *obj;
	struct ibv_cq *cq;
	int n;
	struct ibv_wc *wc;
	int ret;
	bool again;
};

/** enum tap_cqex_what - a call of an extended CQ. */
enum tap_cqex_what {
	TAP_CQEX_START,
	TAP_CQEX_NEXT,
	TAP_CQEX_END,
};

/**
 * struct tap_cqex - ibv_start_poll(), ibv_next_poll() or ibv_end_poll().
 * @ret: 0: there is a current entry, which tap_cqex_read() reads; ENOENT: none
 */
struct tap_cqex {
	struct tap_op op;
	enum tap_cqex_what what;
	struct tap_obj *obj;
	struct ibv_cq_ex *ex;
	struct ibv_poll_cq_attr *attr;
	int ret;
};

/** enum tap_cqop_what - another call about a CQ. */
enum tap_cqop_what {
	TAP_CQ_ARM, /* ibv_req_notify_cq() */
	TAP_CQ_EVENT, /* ibv_get_cq_event() */
	TAP_CQ_ACK, /* ibv_ack_cq_events() */
};

/**
 * struct tap_cqop - another call about a CQ.
 * @cq: of TAP_CQ_EVENT, set after it, if it has found an event
 * @n: the call's number: solicited_only, or acknowledged events
 * @err: errno after it
 * @again: TAP_CQ_EVENT: a hook has withheld the event, and acknowledged it: wait for the next one
 */
struct tap_cqop {
	struct tap_op op;
	enum tap_cqop_what what;
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel;
	void *cq_context;
	u64 n;
	int ret;
	int err;
	bool again;
};

struct pollfd;

/** struct tap_dm - a copy to (@to) or from device memory. */
struct tap_dm {
	struct tap_op op;
	struct tap_obj *obj;
	struct ibv_dm *dm;
	bool to;
	u64 off;
	void *host; /* only read, if @to */
	u64 len;
	int ret;
};

/** enum tap_memory - what the program does with memory. TAP_MEMORY_CHANGED: mprotect(2) */
enum tap_memory {
	TAP_MEMORY_READ,
	TAP_MEMORY_WRITTEN,
	TAP_MEMORY_UNMAPPED,
	TAP_MEMORY_CHANGED,
};

/**
 * struct tap_fault - a thread has used memory without the right to do so.
 * @write: it has written there
 * @library: a library below has, on behalf of the program
 * @place: the instruction
 * @step: set by the hook: call @stepped after this instruction (tap_fault_can_step())
 */
struct tap_fault {
	u64 addr;
	bool write;
	bool library;
	bool step;
	const void *place;
};

/**
 * struct tap_user - a user of the tap. Every hook but @start may be NULL.
 * @slot: its place among the users
 * @objects: it sees objects and what happens to them, by the hooks from @call_begin to @dm_end
 * @start: at the first call of the process. Return: whether the user is on
 * @thread_start: at the first call of a thread. Return: false: no memory; its calls pass unseen
 * @thread_end: at the end of such a thread
 * @fork_child: in a child of fork(), before it starts anew
 * @finish: at the end of the process
 * @note: text about what the tap cannot see
 * @call_begin: before a call
 * @call_returned: directly after it, before its objects are registered; it may change the result
 * @call_end: after the line is complete and the objects are registered, before they are patched and
 *	before those are gone that the call has destroyed
 * @object_new: after registration, before call_end; @object_gone: before it is forgotten
 * @post_quiet: whether that post need not be shown; @poll_quiet: likewise polls that find nothing.
 *	NULL: they always are. Asked only if no other user sees them.
 * @wr_batch_begin, @wr_batch_end: around ibv_wr_complete() and ibv_wr_abort()
 * @wait: before a thread waits for descriptors, maybe of epoll instances, without a timeout
 * @memory: before a system call of the program uses memory, while tap_memory_watch() is on
 * @fault: a fault, in the handler of the signal. Return: whether the instruction may run again
 * @stepped: it has, in the handler of another signal
 * @direct: the program has got at the queues of an object: what it does there is not seen
 * @devices: a list of @n devices, which librdmacm may have asked for: to shorten in place
 * @devices_free: it is about to be freed
 * @contexts: a list of rdma_get_devices(): to shorten in place
 */
struct tap_user {
	enum tap_slot slot;
	bool objects;
	bool (*start)(void);
	bool (*thread_start)(void);
	void (*thread_end)(void);
	void (*fork_child)(void);
	void (*finish)(void);
	void (*note)(const char *text);
	enum tap_verdict (*call_begin)(struct tap_call *c);
	void (*call_returned)(struct tap_call *c);
	void (*call_end)(struct tap_call *c);
	void (*object_new)(struct tap_obj *o);
	void (*object_gone)(struct tap_obj *o);
	bool (*post_quiet)(enum tap_queue queue, struct tap_obj *o, const void *chain);
	bool (*poll_quiet)(void);
	enum tap_verdict (*post_begin)(struct tap_post *p);
	void (*post_end)(struct tap_post *p);
	void (*wr)(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op);
	enum tap_verdict (*wr_batch_begin)(struct tap_batch *b);
	void (*wr_batch_end)(struct tap_batch *b);
	enum tap_verdict (*poll_begin)(struct tap_poll *p);
	void (*poll_end)(struct tap_poll *p);
	enum tap_verdict (*cqex_begin)(struct tap_cqex *p);
	void (*cqex_end)(struct tap_cqex *p);
	enum tap_verdict (*cq_begin)(struct tap_cqop *p);
	void (*cq_end)(struct tap_cqop *p);
	enum tap_verdict (*dm_begin)(struct tap_dm *d);
	void (*dm_end)(struct tap_dm *d);
	void (*wait)(const struct pollfd *fds, size_t n);
	void (*memory)(u64 addr, u64 len, enum tap_memory use);
	bool (*fault)(struct tap_fault *fault);
	void (*stepped)(void);
	void (*direct)(const struct tap_obj *o);
	void (*devices)(struct ibv_device **list, int *n);
	void (*devices_free)(struct ibv_device **list);
	void (*contexts)(struct ibv_context **list, int *n);
};

/** TAP_USER() - make a user known to the tap that it is linked with. */
#define TAP_USER(user)                                                                             \
	static const struct tap_user *const tap_user_##user                                        \
		__attribute__((used, section("tap_users"))) = &(user)

/* --- state.c --- */

/** tap_note() - tell the users what the tap cannot see. */
__attribute__((format(printf, 1, 2))) void tap_note(const char *fmt, ...);

/** tap_now() - CLOCK_MONOTONIC in ns. */
u64 tap_now(void);

/* --- call.c --- */

/** tap_call_fail() - set the result by which a call reports the error @err. */
void tap_call_fail(struct tap_call *c, int err);

/* --- cq_ex.c --- */

/**
 * tap_cqex_read() - read the fields that the CQ was created with, of the current entry of an
 * extended CQ. Others are 0.
 * @ts: its time stamp, 0: none
 */
void tap_cqex_read(const struct tap_obj *cq, struct ibv_cq_ex *ex, struct ibv_wc *wc, u64 *ts);

#endif
