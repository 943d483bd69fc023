/* SPDX-License-Identifier: MIT */
/**
 * DOC: for programs that load a connection: how they meet over TCP, and datagrams.
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
