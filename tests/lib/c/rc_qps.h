/* SPDX-License-Identifier: MIT */
/**
 * DOC: two connected queue pairs of one process, and messages with a header that describes their
 * payload. For tests with threads: no function exits, or uses global objects.
 */
#ifndef TESTS_LIB_C_RC_QPS_H
#define TESTS_LIB_C_RC_QPS_H

#include "tests/lib/c/rc.h"

struct rc_qps {
	struct ibv_qp *a, *b;
};

/** rc_qps_up() - create and connect them in either direction. Return: 0 or errno's value. */
int rc_qps_up(struct rc_qps *p, struct ibv_pd *pd, struct ibv_cq *scq, struct ibv_cq *rcq,
	      const struct rc_opts *o);
/** rc_qps_down() - destroy them. Return: 0 or errno's value. */
int rc_qps_down(struct rc_qps *p);

/** rc_qps_recv() - post a receive of one entry. Return: as ibv_post_recv(3). */
int rc_qps_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge sge);
/** rc_qps_send() - post a signaled request of one entry. Return: as ibv_post_send(3). */
int rc_qps_send(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t wr_id, struct ibv_sge sge,
		const void *remote, uint32_t rkey);

/* A message's header: tells the receiver what follows. */
struct rc_head {
	uint64_t seed;
};

/** rc_msg() - write a message of @len bytes, which is at least its head's size. */
void rc_msg(uint8_t *buf, uint32_t len, uint64_t seed);
/** rc_msg_ok() - whether it is as it was written. */
bool rc_msg_ok(const uint8_t *buf, uint32_t len);

#endif
