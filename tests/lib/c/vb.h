/* SPDX-License-Identifier: MIT */
/**
 * DOC: queue pairs of any type for tests, in one process or in two.
 *
 * Theory of operation
 * -------------------
 * A side is a device context with a PD, a shared buffer with an MR over it, and tables of QPs,
 * SRQs, address handles and windows that a test names by index. vb_call() runs a function on a
 * side: right here or, for a side in a process of its own, over there. That process is a fork, in
 * which the same function lies at the same address, so any function of a test can be run on either
 * side; its argument, plain data without pointers to private memory, goes there and comes back. The
 * functions below are wrappers around it. Between calls the other process does nothing at all.
 *
 * Buffers are shared memory mapped before the fork, at one address in both processes. A test that
 * only knows sides of its own process may use the objects in struct vb_side directly.
 */
#ifndef TESTS_LIB_C_VB_H
#define TESTS_LIB_C_VB_H

#include "tests/lib/c/rc.h"

#define VB_BUF	 (4u << 20)
#define VB_QPS	 16
#define VB_SRQS	 4
#define VB_AHS	 8
#define VB_MWS	 4
#define VB_MRS	 4
#define VB_SGE	 8
#define VB_CHAIN 16
#define VB_ARG	 8192
#define VB_WAIT	 60000 /* ms; for what must come: a machine may stand still for half a minute */
#define VB_SHORT 30 /* ms; for what must not */
#define VB_GRH	 40
#define VB_QKEY	 0x11111111

/** struct vb_spec - what a QP is made and connected with; vb_spec_of() has the usual values. */
struct vb_spec {
	enum ibv_qp_type type;
	uint32_t send_wr, recv_wr, send_sge, recv_sge, inl;
	uint32_t cqe;
	uint64_t ops; /* send_ops_flags; 0: made with ibv_create_qp() where that can */
	uint16_t max_tso;
	uint32_t qkey;
	uint32_t psn;
	int srq; /* index + 1 */
	int cqs_of; /* index + 1 of the QP whose CQs are used */
	int access;
	bool sig_all, chan;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr, rd_atomic;
	enum ibv_mtu mtu;
};

/* Of rdma-core 45 and later. */
#define VB_WR_FLUSH	     ((enum ibv_wr_opcode)14) /* IBV_WR_FLUSH */
#define VB_WC_FLUSH	     ((enum ibv_wc_opcode)8) /* IBV_WC_FLUSH */
#define VB_QP_EX_FLUSH	     (1u << 11) /* IBV_QP_EX_WITH_FLUSH */
#define VB_ACCESS_GLOBAL     (1u << 8) /* IBV_ACCESS_FLUSH_GLOBAL */
#define VB_ACCESS_PERSISTENT (1u << 9) /* IBV_ACCESS_FLUSH_PERSISTENT */
#define VB_DEVICE_FLUSH	     (3ull << 38) /* IB_UVERBS_DEVICE_FLUSH_GLOBAL, _PERSISTENT */

/** struct vb_wr - a send request that can be sent to the other process. */
struct vb_wr {
	uint64_t wr_id;
	enum ibv_wr_opcode op;
	unsigned int flags;
	uint32_t imm; /* network order, or the key to invalidate */
	uint32_t rkey;
	uint64_t raddr, compare, swap; /* FLUSH: its length; type, and level << 4 */
	int ah; /* index + 1; 0: NULL */
	uint32_t rqpn, rqkey, srqn;
	int mw; /* index + 1 */
	uint32_t bind_rkey;
	uint64_t bind_addr, bind_len;
	unsigned int bind_access;
	uint16_t hdr_sz, mss;
	uint8_t hdr[64];
	int num_sge;
	struct ibv_sge sge[VB_SGE];
};

struct vb_addr {
	uint32_t qpn, psn;
	union ibv_gid gid;
	uint16_t lid; /* of an InfiniBand port */
	struct ibv_qp_cap cap;
};

struct vb_info {
	uint32_t lkey, rkey;
	union ibv_gid gid;
	struct ibv_port_attr port;
	struct ibv_device_attr_ex dev;
};

struct vb_qp {
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex; /* when made with send_ops_flags */
	struct ibv_cq *scq, *rcq;
	struct ibv_flow *flow;
	bool cqs_lent;
};

struct vb_side {
	int fd; /* -1: in this process */
	pid_t pid;
	uint8_t *buf;
	struct vb_info info;
	struct vb_addr addr[VB_QPS];
	uint32_t srqn[VB_SRQS];

	/* Where the side lives. */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *chan;
	struct ibv_xrcd *xrcd;
	int gid_index;
	struct vb_qp qp[VB_QPS];
	struct ibv_srq *srq[VB_SRQS];
	struct ibv_cq *srq_cq[VB_SRQS];
	struct ibv_ah *ah[VB_AHS];
	struct ibv_mw *mw[VB_MWS];
	struct ibv_mr *mrs[VB_MRS]; /* in addition to the one over the buffer */
};

typedef int (*vb_fn)(struct vb_side *s, void *arg);

/* --- vb_call.c: a side, here or there */

/** vb_fork() - a side in a process of its own; before anything used verbs. */
struct vb_side *vb_fork(void);
struct vb_side *vb_local(void);
/** vb_open() - open the device; once for each side, after the last vb_fork(). */
void vb_open(struct vb_side *s);
void vb_close(struct vb_side *s);
/**
 * vb_open_two() - open two sides; *b lives in a process of its own if @argv's first says "remote".
 */
void vb_open_two(int argc, char **argv, struct vb_side **a, struct vb_side **b);
void vb_close_two(struct vb_side *a, struct vb_side *b);
/**
 * vb_addr() - an IPv4 or IPv6 address of where the side is; a loopback one if sides are on one
 * node.
 */
const char *vb_addr(const struct vb_side *s, bool v6);
/** vb_call() - run @fn on @s with a copy of @arg, which is brought back. */
int vb_call(struct vb_side *s, vb_fn fn, void *arg, size_t len);
/**
 * vb_call_last() - the same for @fn that ends its process, which a side of its own has. The side is
 * closed then. Return: the exit status, or -1.
 */
int vb_call_last(struct vb_side *s, vb_fn fn, void *arg, size_t len);

/* --- vb_side.c: objects. Return 0 or the errno value of the verb that failed. */

struct vb_spec vb_spec_of(enum ibv_qp_type type);
int vb_create(struct vb_side *s, int i, const struct vb_spec *spec);
int vb_destroy(struct vb_side *s, int i);
/** vb_srq() - make SRQ @i; an XRC one of the side's XRCD if @xrc. */
int vb_srq(struct vb_side *s, int i, uint32_t max_wr, uint32_t max_sge, bool xrc);
int vb_srq_destroy(struct vb_side *s, int i);
int vb_ah(struct vb_side *s, int i, const union ibv_gid *dgid);
int vb_ah_destroy(struct vb_side *s, int i);
/** vb_connect() - INIT, RTR and RTS towards QP @to of @peer (NULL for types without peers). */
int vb_connect(struct vb_side *s, int i, const struct vb_side *peer, int to,
	       const struct vb_spec *spec);
int vb_modify(struct vb_side *s, int i, const struct ibv_qp_attr *attr, int mask);
int vb_to_state(struct vb_side *s, int i, enum ibv_qp_state state);
int vb_state(struct vb_side *s, int i);

/* --- vb_mem.c: the same for memory */

int vb_reg(struct vb_side *s, int i, void *addr, size_t len, unsigned int access, uint32_t *lkey,
	   uint32_t *rkey);
int vb_dereg(struct vb_side *s, int i);
int vb_mw(struct vb_side *s, int i, enum ibv_mw_type type, uint32_t *rkey);
int vb_mw_dealloc(struct vb_side *s, int i);

/* --- vb_post.c: work and completions */

struct vb_wr vb_wr(enum ibv_wr_opcode op, uint64_t wr_id, const struct vb_side *s, const void *addr,
		   uint32_t len);
/** vb_sends() - post @n requests by ibv_post_send() or, if @ex, by the ibv_wr_* builders. */
int vb_sends(struct vb_side *s, int i, bool ex, const struct vb_wr *wr, int n, int *bad);
int vb_send(struct vb_side *s, int i, bool ex, const struct vb_wr *wr);
/**
 * vb_wr_flush() - ibv_wr_flush(3), which older headers lack: its function is the member after
 * wr_atomic_write. @what: type, and level << 4
 */
void vb_wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t len, uint64_t what);
/** vb_recv() - post one receive to QP @i, or to SRQ -@i - 1. */
int vb_recv(struct vb_side *s, int i, uint64_t wr_id, const struct ibv_sge *sge, int n);
int vb_recv1(struct vb_side *s, int i, uint64_t wr_id, const void *addr, uint32_t len);
enum vb_cq { VB_SCQ, VB_RCQ, VB_SRQ_CQ };
/** vb_poll() - one completion of the CQ of a QP or XRC SRQ within @ms. */
bool vb_poll(struct vb_side *s, int i, enum vb_cq which, int ms, struct ibv_wc *wc);
/** vb_done() - wait for a good completion with this wr_id and opcode; says what came instead. */
bool vb_done(struct vb_side *s, int i, enum vb_cq which, uint64_t wr_id, enum ibv_wc_opcode op,
	     struct ibv_wc *wc);
/** vb_status() - wait for a completion with this wr_id and status. */
bool vb_status(struct vb_side *s, int i, enum vb_cq which, uint64_t wr_id,
	       enum ibv_wc_status status);
bool vb_nothing(struct vb_side *s, int i, enum vb_cq which);
/** vb_event() - the next async event within @ms, or -1. */
int vb_event(struct vb_side *s, int ms);

/* --- vb_pair.c: what is posted to where, for each type */

/**
 * struct vb_pair - QP 0 of @a that sends to QP 1 of @b. The sides may be the same.
 *
 * UD: address handle 0 of @a leads there. XRC: QP 1 of @b is the target QP, SRQ 0 its XRC SRQ.
 * RAW_PACKET: a flow rule of @b takes what goes to vb_mac.
 */
struct vb_pair {
	struct vb_side *a, *b;
	enum ibv_qp_type type;
	int recv; /* for vb_recv() */
	uint32_t off; /* of the payload in a receive */
	int rq; /* QP or SRQ of the receive completions */
	enum vb_cq rcq;
};

extern const uint8_t vb_mac[6];
/** vb_types - those that send. */
#define VB_TYPES 5
extern const enum ibv_qp_type vb_types[VB_TYPES];
/** vb_crosses() - whether QPs of the type reach the other side: raw frames stay within a fabric. */
static inline bool vb_crosses(enum ibv_qp_type type)
{
	return type != IBV_QPT_RAW_PACKET || !peer_far();
}

/**
 * vb_link() - create QP @i of @a and QP @j of @b, and connect them with each other. Return: 0 or
 * errno's value of the first failure.
 */
int vb_link(struct vb_side *a, int i, const struct vb_spec *spec_a, struct vb_side *b, int j,
	    const struct vb_spec *spec_b);
/**
 * vb_fence() - wait until what @a has sent to @b has got there or has been dropped: of what no
 * answer says so, as long as its completions are there. Takes the last QP of either side. Return:
 * as vb_link(); EIO.
 */
int vb_fence(struct vb_side *a, struct vb_side *b);
/** vb_pair_up() - fresh connected QPs; returns 0 or the errno value of the first failure. */
int vb_pair_up(struct vb_pair *p, struct vb_side *a, struct vb_side *b, const struct vb_spec *spec);
void vb_pair_down(struct vb_pair *p);
/**
 * vb_pair_fresh() - an RC pair, in place of @p's if it has one. @b's events are forgotten. Or exit.
 */
void vb_pair_fresh(struct vb_pair *p, struct vb_side *a, struct vb_side *b);
/** vb_pair_run() - post to the requester and wait. Return: the completion's status, -1: none. */
int vb_pair_run(const struct vb_pair *p, const struct vb_wr *wr);
/** vb_pair_wr() - a request of @len bytes at @off of a's buffer to the same place in b's. */
struct vb_wr vb_pair_wr(const struct vb_pair *p, enum ibv_wr_opcode op, uint64_t wr_id,
			uint32_t off, uint32_t len);
/** vb_pair_send() - a SEND from the start of a's buffer, which is filled with seed @wr_id. */
struct vb_wr vb_pair_send(const struct vb_pair *p, uint64_t wr_id, uint32_t len);
/** vb_pair_alive() - whether a plain SEND still comes through. */
bool vb_pair_alive(struct vb_pair *p);
const char *vb_type_str(enum ibv_qp_type type);

#endif
