/* SPDX-License-Identifier: MIT */
/**
 * DOC: a random walk of several programs through the verbs API, compared with a model.
 *
 * Theory of operation
 * -------------------
 * ACTORS processes create, use, misuse and destroy verbs objects at random. The model of all of
 * them lies in memory that they share, with the state of the random numbers: one process at a time
 * has the turn, predicts what the verb it calls will answer, calls it, and lets the model do what
 * the HCA does with the work that is then possible (vmodel_run()). So all is one sequence that
 * follows from the seed, though it is made of calls in four processes.
 *
 * After each step everything that the model has completed must really complete: each process that
 * has completions or events to come gets a turn in which it polls until they are there (settle).
 * Each must be the next that the model expects of that queue; none may be left over; and the data
 * must be where it belongs. Then the next step follows, from a state that both sides agree upon.
 *
 * Without turns ("free"), each process walks in a world of its own, all at the same time: what they
 * share then is the fabric.
 *
 * The model knows nothing of PSNs, bursts or tokens: it takes the oldest request of a queue, checks
 * it at both ends as docs/reference/errors.md has it, and writes down what each end must see.
 */
#ifndef TESTS_MODEL_WALK_VERBS_H
#define TESTS_MODEL_WALK_VERBS_H

#include "tests/lib/c/vb.h"

#define ACTORS	  4
#define VMAX	  8 /* objects of a kind that an actor may have */
#define VPDS	  3 /* of PDs: what is of different ones does not go together */
#define VDEPTH	  16 /* deepest work queue */
#define VSGE	  2
#define VEXPECT	  64
#define VCHECKS	  64 /* pieces of data that are checked after a step */
#define VFILES	  2 /* that XRC domains may be named by */
#define VMACS	  4 /* Ethernet addresses of a world */
#define VGRH	  40 /* bytes that a datagram's receive has before the payload */
#define VSENDS	  3 /* requests posted at once */
#define CQ_ROOM	  512
#define AREA_SRC  (64u << 10) /* never written; begins with VMACS frames' headers */
#define MAC_ROOM  64u /* where one of those, and some payload, is */
#define AREA_DST  (128u << 10)
#define AREA_WORD (AREA_SRC + AREA_DST) /* words for atomics */
#define N_WORDS	  64
#define AREA	  (AREA_WORD + 4096u)

/* Arguments of a FLUSH: enum ibv_placement_type, and enum ibv_selectivity_level << 4. */
enum { FLUSH_GLOBAL = 1, FLUSH_PERSISTENT = 2, FLUSH_MR = 1 << 4 };

enum vkind {
	V_PD,
	V_CQ,
	V_MR,
	V_AH,
	V_MW,
	V_XRCD,
	V_DM,
	V_SRQ,
	V_QP,
	V_FLOW,
	V_KINDS,
};

/** enum vuse - what an object refers to, in its @uses. */
enum vuse {
	U_PD, /* also: flow's QP */
	U_CQ, /* of sends; SRQ: its own */
	U_RCQ,
	U_SRQ,
	U_XRCD,
	VUSES,
};

/**
 * struct vwr - a work request.
 * @rkey: remote; SEND_WITH_INV and LOCAL_INV: to be invalidated; BIND_MW: the new one
 * @addr: remote; BIND_MW: of the window
 * @compare_add, @swap: of atomics. FLUSH: its length; type, and level << 4
 * @to: number of the remote QP (UD) or SRQ (XRC)
 * @mac: whom a frame goes to
 */
struct vwr {
	uint64_t id;
	enum ibv_wr_opcode op;
	unsigned int flags;
	uint32_t len, imm, rkey;
	uint64_t addr, compare_add, swap;
	int n;
	struct ibv_sge sge[VSGE];
	uint32_t to, qkey;
	struct vobj *ah, *mw, *mr;
	uint64_t bind_len;
	unsigned int bind_access;
	uint32_t mac;
};

/** struct vwc - a completion that must come. */
struct vwc {
	uint64_t id;
	int status;
	int opcode;
	uint32_t len, imm; /* immediate, or invalidated key */
	unsigned int flags;
	uint32_t qpn, src_qp; /* sender of a datagram, or 0 */
};

/** struct vlist - completions to come, in order. */
struct vlist {
	struct vwc wc[VEXPECT];
	uint32_t head, tail;
};

struct vqueue {
	struct vwr wr[VDEPTH];
	uint32_t depth, max_sge;
	uint32_t posted; /* by the API */
	uint32_t done; /* executed by the model */
	uint32_t freed; /* completions polled: slots that may be used again */
};

/**
 * struct vqp - a queue pair.
 * @begun: SQD: where in the send queue it stops
 * @notify: SQD: its being drained is to be told
 */
struct vqp {
	enum ibv_qp_type type;
	uint32_t qpn, qkey;
	bool builder; /* can be posted to by ibv_wr_*() */
	enum ibv_qp_state state;
	struct vobj *peer; /* whom its attributes name; NULL: nobody */
	uint32_t peer_qpn;
	unsigned int access;
	uint32_t max_inline;
	uint8_t max_rd, max_dest_rd, rnr_retry;
	uint32_t mtu; /* of the path, bytes */
	bool sig_all;
	struct vqueue sq, rq;
	struct vlist send, recv;
	uint32_t begun;
	bool notify;
	int ev_req, ev_access, ev_last, ev_drained; /* events to come */
	bool last; /* on an SRQ: LAST_WQE_REACHED was raised */
};

struct vsrq {
	struct vqueue q;
	bool xrc;
	uint32_t srqn; /* of XRC */
	struct vlist recv; /* of XRC: to its own CQ */
};

/** struct vmw - a window: what it lets through, while it is bound. */
struct vmw {
	enum ibv_mw_type type;
	uint32_t rkey; /* that the program gave or got last */
	uint32_t last; /* that was bound last */
	uint32_t key; /* 0: not bound */
	uint32_t qpn; /* that bound it */
	struct vobj *mr;
	uint64_t addr, iova, len;
	unsigned int access;
};

enum varm { ARM_NONE, ARM_SOLICITED, ARM_ANY };

/** struct vcq - @events: to come; @unacked: read, not acknowledged. */
struct vcq {
	bool chan;
	enum varm armed;
	uint32_t events, unacked;
};

/** struct vobj - what the model knows of an object. */
struct vobj {
	enum vkind kind;
	int actor;
	bool live;
	int refs;
	int busy; /* MR: work that waits and names it */
	struct vobj *uses[VUSES];
	void *ptr; /* in the actor's process */
	union {
		struct {
			uint64_t addr, iova, len;
			unsigned int access;
			uint32_t key;
		} mr;
		struct {
			int file; /* 0: private */
		} xrcd;
		struct {
			uint32_t mac;
		} flow;
		struct vcq cq;
		struct vmw mw;
		struct vsrq srq;
		struct vqp qp;
	};
};

/** struct vcheck - data that must lie somewhere: pieces from the source area, or a word. */
struct vcheck {
	struct ibv_sge src[VSGE], dst[VSGE];
	int n_src, n_dst;
	uint32_t len;
	bool is_word;
	uint64_t word;
	uint64_t id; /* of the request */
	int op;
};

/** struct vcall - what the owner of the turn is asked to do for another. */
struct vcall {
	void (*fn)(struct vobj *o, struct vobj *other);
	struct vobj *o, *other;
	int back;
};

/** struct world - the model, and what belongs to a walk. */
struct world {
	int actors; /* 1: free */
	int first; /* its number, where there is one only */
	uint64_t seed, rnd, step, steps, next_id;
	_Atomic(uint32_t) turn;
	_Atomic(bool) failed;
	_Atomic(bool) finished;
	struct vcall call;
	uint64_t verbs, refused, completions, errors;
	uint64_t flushes, word_writes; /* FLUSH and ATOMIC_WRITE that succeeded */
	uint8_t *area[ACTORS];
	uint64_t words[ACTORS][N_WORDS];
	union ibv_gid gid;
	int gid_index;
	uint32_t mtu; /* the port's, bytes */
	int file[VFILES + 1];
	struct vobj obj[ACTORS][V_KINDS][VMAX];
	struct vcheck check[VCHECKS];
	uint32_t n_check;
};

/**
 * struct vkind_ops - a kind of object.
 * @create: call the verb that creates it, well or badly, and compare what it answers. Sets @live
 * @destroy: call the verb that destroys it; must return EBUSY exactly if there are @refs
 * @use: anything else; may be NULL
 */
struct vkind_ops {
	const char *name;
	uint32_t weight;
	void (*create)(struct vobj *o);
	int (*destroy)(struct vobj *o);
	void (*use)(struct vobj *o);
};

extern const struct vkind_ops vkinds[V_KINDS];
extern struct world *wd;
extern int me; /* actor number of this process */
extern struct ibv_context *ctx;
extern struct ibv_comp_channel *chan;

/* --- walk_verbs.c */

/** vwalk() - this process's part of the walk, from its first turn to the end. */
void vwalk(void);
void vfail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
uint32_t vpick(uint32_t n);
bool vchance(uint32_t n);
struct vobj *vany(int actor, enum vkind kind);
/** expect_ret() - a verb returned @ret; it must be @want. */
void expect_ret(const char *verb, int ret, int want);
/**
 * expect_ptr() - a verb returned @p; it must be NULL with errno @want, or not NULL if that is 0.
 */
bool expect_ptr(const char *verb, const void *p, int want);
void vborn(struct vobj *o, void *ptr);
/** run_on() - @fn in the actor's process, which has the turn for as long. */
void run_on(int actor, void (*fn)(struct vobj *, struct vobj *), struct vobj *o,
	    struct vobj *other);

/* --- walk_verbs_settle.c, walk_verbs_data.c */

/** settle() - everything that the model expects has come, and nothing else. */
void settle(void);
/** check_data() - data lie where the step has put them. */
void check_data(void);

/* --- walk_verbs_cq.c */

void vcq_create(struct vobj *o);
int vcq_destroy(struct vobj *o);
void vcq_use(struct vobj *o);
/** vcq_events() - read what has come on the channel; each event must be one that is to come. */
void vcq_events(void);

/* --- walk_verbs_srq.c */

void vsrq_create(struct vobj *o);
int vsrq_destroy(struct vobj *o);
void vsrq_use(struct vobj *o);
void vxrcd_create(struct vobj *o);
int vxrcd_destroy(struct vobj *o);
/** same_domain() - whether two openings are of one XRC domain. */
bool same_domain(const struct vobj *a, const struct vobj *b);

/* --- walk_verbs_more.c: address handles, memory windows, device memory, flows */

void vah_create(struct vobj *o);
int vah_destroy(struct vobj *o);
void vmw_create(struct vobj *o);
int vmw_destroy(struct vobj *o);
void vmw_use(struct vobj *o);
void vdm_create(struct vobj *o);
int vdm_destroy(struct vobj *o);
void vdm_use(struct vobj *o);
void vflow_create(struct vobj *o);
int vflow_destroy(struct vobj *o);

/* --- walk_verbs_qp.c */

void vqp_create(struct vobj *o);
int vqp_destroy(struct vobj *o);
bool vqp_is_xrc(const struct vobj *o);

/* --- walk_verbs_modify.c */

void vqp_use(struct vobj *o);

/* --- walk_verbs_make.c: work requests */

/** make_send() - a request that the QP's type has, mostly a good one. @build: by a builder. */
void make_send(struct vobj *o, struct vwr *w, bool build);
/** make_bind() - of a window of the type, by @o. Return: whether there is one. */
bool make_bind(struct vobj *o, struct vwr *w, enum ibv_mw_type type);
struct ibv_sge some_sge(const struct vobj *qp, unsigned int need, bool dst, uint32_t len);
void stretch_sge(int actor, struct ibv_sge *s);
uint32_t some_length(void);
bool is_atomic(enum ibv_wr_opcode op);
/** is_rd() - READ or atomic: a response fills its list. */
bool is_rd(enum ibv_wr_opcode op);
/** takes_rd() - it is one of the max_rd_atomic outstanding ones. */
bool takes_rd(enum ibv_wr_opcode op);
/** is_word() - at a multiple of 8, and of 8 bytes. */
bool is_word(enum ibv_wr_opcode op);
bool is_send(enum ibv_wr_opcode op);
/** remote_need() - the rights at the target that a request needs, all of them. */
unsigned int remote_need(const struct vwr *w);

/* --- walk_verbs_work.c, walk_verbs_wr.c: posting */

void vpost_send(struct vobj *o);
/** vpost_recv() - to a QP or an SRQ. */
void vpost_recv(struct vobj *o);
/** vaccept() - it was posted. */
void vaccept(struct vobj *o, struct vqueue *q, const struct vwr *w);
/**
 * vpost_built() - by the builders; @bad: which must be refused with @want. Return: it was posted.
 */
bool vpost_built(struct vobj *o, const struct vwr *w, uint32_t n, uint32_t bad, int want);

/* --- walk_verbs_model.c: queues and completions */

/** vmodel_run() - let all work be done that can be done now. */
void vmodel_run(void);
/** vmodel_error() - the QP goes to ERR; what is left on it is flushed. */
void vmodel_error(struct vobj *o);
/** vmodel_reset() - the QP is empty again. */
void vmodel_reset(struct vobj *o);
/** vmodel_drop() - what waits in a queue is forgotten. */
void vmodel_drop(struct vobj *o, struct vqueue *q);
/** vmodel_hold() - what a request names may not go, as long as it waits. @by: 1 or -1 */
void vmodel_hold(const struct vobj *o, const struct vwr *w, int by);
/** vmodel_sent() - the oldest request ends like that. */
void vmodel_sent(struct vobj *o, int status);
/** vmodel_send_failed() - and with an error that is the requester's own. */
void vmodel_send_failed(struct vobj *o, int status);

/** struct vrx - where a message finds its receive, and where that is told. */
struct vrx {
	struct vobj *qp, *owner, *cq;
	struct vqueue *q;
	struct vlist *list;
};

/** vmodel_rx() - @srq: that an XRC request names. */
struct vrx vmodel_rx(struct vobj *qp, struct vobj *srq);
/** vmodel_received() - the next receive ends like that. */
void vmodel_received(const struct vrx *rx, const struct vwc *wc, bool solicited);

/* --- walk_verbs_resp.c, walk_verbs_dgram.c: what a request does at its target */

/** vmodel_rc() - Return: false when the requester must wait for a receive. */
bool vmodel_rc(struct vobj *a, const struct vwr *w);
void vmodel_uc(struct vobj *a, const struct vwr *w);
void vmodel_ud(struct vobj *a, const struct vwr *w);
void vmodel_raw(struct vobj *a, const struct vwr *w);
/** vmodel_answers() - whether the other end is there and takes requests of @a. */
bool vmodel_answers(const struct vobj *a, const struct vobj *b);
/** vmodel_fits() - the next receive for @len bytes. Return: a completion status. */
int vmodel_fits(const struct vrx *rx, uint32_t len);
/** vmodel_moves() - the payload lies in the next receive, behind @at bytes. */
void vmodel_moves(struct vobj *a, const struct vwr *w, const struct vrx *rx, uint32_t at);

/* --- walk_verbs_region.c: keys and windows */

/** struct vregion - what a key lets through. */
struct vregion {
	uint64_t addr, iova, len;
	unsigned int access;
	const struct vobj *pd;
	uint32_t qpn; /* of a type 2 window; or 0 */
};

struct vobj *mr_by_key(int actor, uint32_t key);
/** vregion_of() - a region or bound window; false: there is no such key. */
bool vregion_of(int actor, uint32_t key, struct vregion *r);
bool vregion_has(const struct vregion *r, uint64_t addr, uint64_t len);
/** vmodel_local() - check a list as the HCA does. Return: a completion status. */
int vmodel_local(int actor, const struct vobj *pd, const struct vwr *w, unsigned int need,
		 uint64_t used);
/** vreal_list() - where a list lies in its owner's memory: regions may have their own addresses. */
int vreal_list(int actor, const struct ibv_sge *sge, int n, struct ibv_sge *out);
/** vmodel_window() - BIND_MW or LOCAL_INV. Return: a completion status. */
int vmodel_window(struct vobj *a, const struct vwr *w);
/**
 * vmodel_invalidate() - as SEND_WITH_INV at QP @b asks. Return: whether it may; it is done if @go.
 */
bool vmodel_invalidate(int actor, const struct vobj *pd, const struct vobj *b, uint32_t rkey,
		       bool go);
void vmodel_unbind(struct vobj *mw);
/** vmodel_drop_windows() - those that a QP has bound go with it. */
void vmodel_drop_windows(const struct vobj *qp);

#endif
