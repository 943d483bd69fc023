/* SPDX-License-Identifier: MIT */
/**
 * DOC: a random walk of several programs through the verbs API, with a model beside it.
 *
 * Theory of operation
 * -------------------
 * ACTORS processes create, use, misuse and destroy verbs objects at random. The model of all of them
 * lies in memory that they share, with the state of the random numbers: one process at a time has
 * the turn, predicts what the verb it calls will answer, calls it, and lets the model do what the
 * HCA does with the work that is then possible (vmodel_run()). So all is one sequence that follows
 * from the seed, though it is made of calls in four processes.
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
 * it at both ends as docs/errors.md has it, and writes down what each end must see.
 */
#ifndef TESTS_WALK_VERBS_H
#define TESTS_WALK_VERBS_H

#include "tests/rc.h"

#define ACTORS	  4
#define VMAX	  6 /* objects of a kind that an actor may have */
#define VUSES	  4 /* PD first; QP: PD, send CQ, receive CQ, SRQ */
#define VDEPTH	  16 /* deepest work queue */
#define VSGE	  2
#define VEXPECT	  64
#define CQ_ROOM	  512
#define AREA_SRC  (64u << 10) /* never written */
#define AREA_DST  (128u << 10)
#define AREA_WORD (AREA_SRC + AREA_DST) /* words for atomics */
#define N_WORDS	  64
#define AREA	  (AREA_WORD + 4096u)

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
	V_KINDS,
};

struct vwr {
	uint64_t id;
	enum ibv_wr_opcode op;
	unsigned int flags;
	uint32_t len, imm, rkey;
	uint64_t addr, compare_add, swap;
	int n;
	struct ibv_sge sge[VSGE];
};

/** struct vwc - a completion that must come. */
struct vwc {
	uint64_t id;
	int status;
	int opcode;
	uint32_t len, imm;
	unsigned int flags;
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

struct vqp {
	uint32_t qpn;
	enum ibv_qp_state state;
	struct vobj *peer; /* whom its attributes name; NULL: nobody */
	uint32_t peer_qpn;
	unsigned int access;
	uint32_t max_inline;
	uint8_t max_rd, max_dest_rd, rnr_retry;
	bool sig_all;
	struct vqueue sq, rq;
	struct vlist send, recv;
	int ev_req, ev_access, ev_last; /* events to come */
	bool last; /* on an SRQ: LAST_WQE_REACHED was raised */
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
			int cqe;
		} cq;
		struct vqueue srq;
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
	uint8_t *area[ACTORS];
	uint64_t words[ACTORS][N_WORDS];
	union ibv_gid gid;
	int gid_index;
	struct vobj obj[ACTORS][V_KINDS][VMAX];
	struct vcheck check[8];
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

/* --- walk_verbs.c */

void vfail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
uint32_t vpick(uint32_t n);
bool vchance(uint32_t n);
struct vobj *vany(int actor, enum vkind kind);
/** expect_ret() - a verb returned @ret; it must be @want. */
void expect_ret(const char *verb, int ret, int want);
/** expect_ptr() - a verb returned @p; it must be NULL with errno @want, or not NULL if that is 0. */
bool expect_ptr(const char *verb, const void *p, int want);
void vborn(struct vobj *o, void *ptr);
/** run_on() - @fn in the actor's process, which has the turn for as long. */
void run_on(int actor, void (*fn)(struct vobj *, struct vobj *), struct vobj *o,
	    struct vobj *other);

/* --- walk_verbs_settle.c */

/** settle() - everything that the model expects has come, and nothing else. */
void settle(void);

/* --- walk_verbs_qp.c */

void vqp_create(struct vobj *o);
int vqp_destroy(struct vobj *o);
void vqp_use(struct vobj *o);

/* --- walk_verbs_work.c */

void vpost_send(struct vobj *o);
/** vpost_recv() - to a QP or an SRQ. */
void vpost_recv(struct vobj *o);

/* --- walk_verbs_more.c */

void vsrq_create(struct vobj *o);
int vsrq_destroy(struct vobj *o);
void vsrq_use(struct vobj *o);
void vah_create(struct vobj *o);
int vah_destroy(struct vobj *o);
void vmw_create(struct vobj *o);
int vmw_destroy(struct vobj *o);
void vxrcd_create(struct vobj *o);
int vxrcd_destroy(struct vobj *o);
void vdm_create(struct vobj *o);
int vdm_destroy(struct vobj *o);
void vdm_use(struct vobj *o);

/* --- walk_verbs_model.c */

/** vmodel_run() - let all work be done that can be done now. */
void vmodel_run(void);
/** vmodel_error() - the QP goes to ERR; what is left on it is flushed. */
void vmodel_error(struct vobj *o);
/** vmodel_reset() - the QP is empty again. */
void vmodel_reset(struct vobj *o);
/** vmodel_drop() - what waits in a queue is forgotten. */
void vmodel_drop(struct vobj *o, struct vqueue *q);
/** vrq() - where the QP's messages find their receives. */
struct vqueue *vrq(struct vobj *qp);
struct vobj *mr_by_key(int actor, uint32_t key);
/** vmodel_local() - check a list as the HCA does. Return: a completion status. */
int vmodel_local(const struct vobj *qp, const struct ibv_sge *sge, int n, unsigned int need,
		 uint64_t used);

#endif
