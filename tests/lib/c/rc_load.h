/* SPDX-License-Identifier: MIT */
/**
 * DOC: for programs that load a connection: how they meet over TCP, what they send, how it ends,
 * and datagrams.
 */
#ifndef TESTS_LIB_C_RC_LOAD_H
#define TESTS_LIB_C_RC_LOAD_H

#include "tests/lib/c/rc.h"

#define DGRAM  1000
#define DGRAMS 16
#define GRH    40

/**
 * rc_meet() - a TCP connection with the other program, who listens at @port of the loopback address
 * if
 * @serve. Return: its descriptor, or -1: there is nobody before @stop, or in time.
 */
int rc_meet(bool serve, uint16_t port, const volatile int *stop);
/** rc_swap() - send @size bytes, and get as many. Return: whether there were. */
bool rc_swap(int fd, const void *mine, void *theirs, size_t size);

/** rc_qp_new_ops() - an RC QP with all requests there are. Return: NULL with errno. */
struct ibv_qp *rc_qp_new_ops(struct ibv_pd *pd, const struct ibv_qp_init_attr *init);
/** rc_flush() - post a FLUSH of the peer's memory. Return: as ibv_wr_complete(3). */
int rc_flush(struct ibv_qp *qp, uint64_t wr_id, uint32_t rkey, uint64_t addr, uint64_t len);
/** rc_random_len() - mostly a few bytes, at times a few packets, seldom up to @max. */
uint64_t rc_random_len(uint64_t *rng, uint64_t max);
/** rc_constant_fill() - fill memory, whose size is a multiple of 8, as follows from a seed. */
void rc_constant_fill(void *to, size_t size, uint64_t seed);
/** rc_is_constant() - whether these are @size bytes from offset @off on of memory so filled. */
bool rc_is_constant(const void *from, size_t size, uint64_t seed, uint64_t off);
/**
 * rc_flushed() - wait for @left completions, which all must be flushes. Return: NULL, or what is
 * wrong, and *@x
 */
const char *rc_flushed(struct ibv_cq *cq, int64_t left, uint64_t *x);
/** rc_is_fatal() - whether the device has failed: its event is there, or comes in time. */
bool rc_is_fatal(struct ibv_context *ctx);

/**
 * struct dgrams - a UD QP that sends numbered datagrams, and looks at those that come: they may be
 * lost, but neither come twice, nor out of order, nor broken.
 * @seed, @peer_seed: what the contents follow from, and the Q_Key
 * @in: how many have come; @last: the number of the last one
 */
struct dgrams {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint32_t peer_qpn, qkey;
	uint64_t seed, peer_seed;
	uint64_t sent, back, in, last;
	uint8_t out[DGRAMS][DGRAM], room[DGRAMS][GRH + DGRAM];
};

/** dgrams_make() - create what it takes. Return: whether it could be. */
bool dgrams_make(struct dgrams *d, struct ibv_pd *pd);
/** dgrams_up() - ready to send to @gid, @qpn. Return: whether it is. */
bool dgrams_up(struct dgrams *d, struct ibv_pd *pd, int gid_index, const union ibv_gid *gid,
	       uint32_t qpn);
/** dgrams_post() - send one, if there is room. Return: as ibv_post_send(3). */
int dgrams_post(struct dgrams *d);
/** dgrams_poll() - look at what has come. Return: NULL, or what is wrong. */
const char *dgrams_poll(struct dgrams *d);

#endif
