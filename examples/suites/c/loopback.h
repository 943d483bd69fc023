/* SPDX-License-Identifier: MIT */
/* The code under test: a process that writes into its own memory by RDMA. */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct loopback {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[2]; /* connected to each other */
	char memory[2][64]; /* a WRITE goes from the first to the second */
};

/* loopback_begin() - Return: 0, or -1 with errno; loopback_end() cleans up in both cases. */
int loopback_begin(struct loopback *l);
/* loopback_write() - copy the first memory to the second. Return: the completion's status. */
enum ibv_wc_status loopback_write(struct loopback *l);
/* loopback_end() - destroy everything. */
void loopback_end(struct loopback *l);

#ifdef __cplusplus
}
#endif

#endif
