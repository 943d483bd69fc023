/* SPDX-License-Identifier: MIT */
/**
 * DOC: two ends of an RC connection for tests, in one process or in two.
 *
 * Theory of operation
 * -------------------
 * An end is a device context, a PD, a buffer with an MR over it, two CQs and at most one QP. All
 * that a test asks of an end is a struct rc_req; end_call() executes it with rc_serve() right here
 * or, for an end in a process of its own, sends it over a socket to a loop around the same
 * rc_serve(). So each test runs unchanged in both arrangements, and while the other process waits
 * for its next request it does nothing at all: what reaches its memory then is one-sided.
 *
 * Buffers are shared memory that is mapped before the fork, at the same address in both processes:
 * the test looks into either directly.
 */
#ifndef TESTS_LIB_C_RC_H
#define TESTS_LIB_C_RC_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RC_BUF	 (8u << 20)
#define RC_SGE	 8
#define RC_MRS	 16
#define RC_CHAIN 8

/* Access flags, for those who write many. */
#define LW  IBV_ACCESS_LOCAL_WRITE
#define RW  IBV_ACCESS_REMOTE_WRITE
#define RR  IBV_ACCESS_REMOTE_READ
#define RA  IBV_ACCESS_REMOTE_ATOMIC
#define MB  IBV_ACCESS_MW_BIND
#define ZB  IBV_ACCESS_ZERO_BASED
#define OD  IBV_ACCESS_ON_DEMAND
#define ALL (LW | RW | RR | RA)

/** struct rc_opts - what a QP is made and connected with; rc_defaults has the usual values. */
struct rc_opts {
	uint32_t send_wr, recv_wr, send_sge, recv_sge, inl;
	uint32_t scqe, rcqe;
	uint32_t psn;
	int access;
	bool sig_all;
	bool chan; /* CQs report to the end's completion channel */
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr;
	uint8_t rd_atomic, dest_rd_atomic;
	enum ibv_mtu mtu;
	enum ibv_qp_state until; /* rc_connect() goes no further than this */
};

extern const struct rc_opts rc_defaults;

/** struct rc_wr - a send or receive request that can be sent to the other process. */
struct rc_wr {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	unsigned int flags;
	uint32_t imm; /* network order, or the key to invalidate */
	uint32_t rkey;
	uint64_t remote_addr;
	uint64_t compare_add;
	uint64_t swap;
	int num_sge;
	struct ibv_sge sge[RC_SGE];
};

/** struct rc_addr - what ends tell each other. */
struct rc_addr {
	uint32_t qpn;
	uint32_t psn;
	union ibv_gid gid;
};

enum rc_op {
	RC_OPEN,
	RC_CREATE,
	RC_CONNECT,
	RC_MODIFY,
	RC_QUERY,
	RC_DESTROY,
	RC_REG,
	RC_DEREG,
	RC_SEND,
	RC_RECV,
	RC_POLL,
	RC_EVENT,
	RC_ARM,
	RC_COMP,
	RC_RESIZE,
	RC_PROTECT,
	RC_UNMAP,
	RC_MAP,
	RC_EXIT,
};

struct rc_req {
	enum rc_op op;
	int which; /* 0: send CQ, 1: receive CQ; index of an MR */
	int n; /* milliseconds, entries, requests */
	int access;
	uint64_t addr;
	uint64_t len;
	int mask;
	bool new_pd; /* RC_REG: under a PD of its own */
	struct ibv_qp_attr attr;
	struct rc_opts opts;
	struct rc_addr peer;
	struct rc_wr wr[RC_CHAIN];
};

struct rc_rep {
	int ret; /* as the verb returned it; poll and events: 1 when there was one */
	int bad; /* index of bad_wr, or -1 */
	uint32_t lkey, rkey;
	struct rc_addr addr;
	struct ibv_wc wc;
	enum ibv_event_type event;
	bool event_own; /* the event names this end's QP, or its CQ */
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_device_attr dev;
};

/** struct rc_side - the verbs objects of an end, in the process that it lives in. */
struct rc_side {
	struct ibv_context *ctx;
	struct ibv_device_attr dev;
	struct ibv_pd *pd, *pd2;
	struct ibv_comp_channel *chan;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr[RC_MRS]; /* 0: the whole buffer */
	union ibv_gid gid;
	int gid_index;
	uint32_t psn;
	uint8_t *buf;
};

struct end {
	int fd; /* -1: in this process */
	pid_t pid;
	uint8_t *buf;
	uint32_t lkey, rkey; /* of the whole buffer */
	struct rc_addr addr;
	struct ibv_device_attr dev;
	struct rc_side *side; /* when in this process */
};

/* --- rc_side.c */

void rc_serve(struct rc_side *s, const struct rc_req *req, struct rc_rep *rep);
/** rc_by_wire() - whether wires of --roce carry the packets: FABRICS_BY, tests/lib/setting.sh. */
bool rc_by_wire(void);
/** rc_gid() - the first RoCE v2 GID of port 1 (of a wire: not link-local); its index, or -1. */
int rc_gid(struct ibv_context *ctx, union ibv_gid *gid);
/** rc_open_first() - open the first device or exit with a message. */
struct ibv_context *rc_open_first(void);
/** rc_gid_other_family() - the index of a GID of port 1 that is not of @gid's family, or -1. */
int rc_gid_other_family(struct ibv_context *ctx, const union ibv_gid *gid);
/** rc_to() - fill attributes for a move to @state; returns the mask. */
int rc_to(enum ibv_qp_state state, const struct rc_opts *o, const struct rc_addr *peer,
	  int gid_index, uint32_t psn, struct ibv_qp_attr *attr);
/** rc_up() - move a QP from RESET to @o->until. Return: 0 or errno's value. */
int rc_up(struct ibv_qp *qp, const struct rc_opts *o, const struct rc_addr *peer, int gid_index,
	  uint32_t psn);

/* --- rc_end.c */

/** end_fork() - an end in a process of its own; before anything used verbs. */
struct end *end_fork(bool new_pidns);
struct end *end_local(void);
/** end_open() - open the device; to be called once for each end, after the last end_fork(). */
void end_open(struct end *e);
void end_close(struct end *e);
void end_call(struct end *e, struct rc_req *req, struct rc_rep *rep);

int end_create(struct end *e, const struct rc_opts *o);
int end_connect(struct end *e, const struct end *peer, const struct rc_opts *o);
/** pair_up() - fresh, connected QPs on both; exits when that fails. */
void pair_up(struct end *a, struct end *b, const struct rc_opts *oa, const struct rc_opts *ob);
int end_destroy(struct end *e);
int end_modify(struct end *e, const struct ibv_qp_attr *attr, int mask);
int end_state(struct end *e); /* enum ibv_qp_state as ibv_query_qp answers */
int end_to_state(struct end *e, enum ibv_qp_state state);
int end_reg(struct end *e, int index, void *addr, size_t len, int access, bool new_pd,
	    uint32_t *lkey, uint32_t *rkey);
int end_dereg(struct end *e, int index);
/** end_protect() - mprotect(2) in the end's process. */
int end_protect(struct end *e, void *addr, size_t len, int prot);
/** end_unmap() - munmap(2) in the end's process; end_map(): zeros at that address again. */
int end_unmap(struct end *e, void *addr, size_t len);
int end_map(struct end *e, void *addr, size_t len);
int end_send(struct end *e, const struct rc_wr *wr);
int end_sends(struct end *e, const struct rc_wr *wr, int n, int *bad);
int end_recv(struct end *e, const struct rc_wr *wr);
int end_recvs(struct end *e, const struct rc_wr *wr, int n, int *bad);
/** end_poll() - one completion of the send (0) or receive (1) CQ within @ms; true if there was. */
bool end_poll(struct end *e, int which, int ms, struct ibv_wc *wc);
/** end_event() - the next async event within @ms, or -1. */
int end_event(struct end *e, int ms, bool *own);
int end_arm(struct end *e, int which, bool solicited);
/** end_comp() - the next completion event within @ms: 0 or 1 for the CQ, -1 for none. */
int end_comp(struct end *e, int ms);
int end_resize(struct end *e, int which, int cqe);

/** wr_make() - a request with one entry (none if @len is 0 and @addr NULL). */
struct rc_wr wr_make(enum ibv_wr_opcode op, uint64_t wr_id, const struct end *local, void *addr,
		     uint32_t len, const struct end *remote, void *raddr);

/** fill() - a pattern that depends on seed and position; filled() says whether it is there. */
void fill(void *buf, size_t len, uint64_t seed);
bool filled(const void *buf, size_t len, uint64_t seed);

/* --- peer.c: the place of a second process, which may be another node or fabric */

/** peer_enter() - go there: in a process that was forked and has not used verbs yet. */
void peer_enter(void);
/** peer_elsewhere() - whether that is another node. */
bool peer_elsewhere(void);
/** peer_far() - whether it is on another fabric, so that what was sent takes time to arrive. */
bool peer_far(void);
/** peer_late() - whether what was sent takes time to arrive, for that reason or by chaos. */
bool peer_late(void);
/** arrives() - filled(), as soon as it is. */
bool arrives(const void *buf, size_t len, uint64_t seed);
/** peer_addr() - its IPv4 or IPv6 address, a loopback one where it is here. */
const char *peer_addr(bool v6);
/** here_addr() - that of a first process, for a second one. */
const char *here_addr(bool v6);

/* --- TAP */

extern int tap_failed;
bool ok(bool cond, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t now_ns(void);
/**
 * poll_pause() - the pause of a poller that found nothing: it yields its CPU, and sleeps once its
 * wait is a long one, so that other tests have the CPU.
 *
 * @began: now_ns() of the first look
 * Return: whether less than @ms have passed since then.
 */
bool poll_pause(uint64_t began, int ms);
/** poll_cq() - the next completion within @ms. Return: what ibv_poll_cq() returned last. */
int poll_cq(struct ibv_cq *cq, int ms, struct ibv_wc *wc);
/** rnd() - xorshift64*; never give it a state of 0. */
uint64_t rnd(uint64_t *state);

#endif
