/* SPDX-License-Identifier: MIT */
#include "loopback.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static struct ibv_context *open_first_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

	if (list)
		ibv_free_device_list(list);
	return context;
}

static int connect_to(struct loopback *l, struct ibv_qp *qp, struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				    .port_num = 1 };
	union ibv_gid gid;
	int ret;

	ret = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (ret || ibv_query_gid(l->context, 1, 0, &gid))
		return -1;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.ah_attr = { .is_global = 1, .grh = { .dgid = gid, .hop_limit = 1 }, .port_num = 1 }
	};
	ret = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER);
	if (ret)
		return -1;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 8, .retry_cnt = 3, .rnr_retry = 3
	};
	ret = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return ret ? -1 : 0;
}

int loopback_begin(struct loopback *l)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 1, .max_send_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	int i;

	memset(l, 0, sizeof(*l));
	l->context = open_first_device();
	if (!l->context)
		return -1;
	l->pd = ibv_alloc_pd(l->context);
	if (!l->pd)
		return -1;
	l->cq = ibv_create_cq(l->context, 2, NULL, NULL, 0);
	if (!l->cq)
		return -1;
	l->mr = ibv_reg_mr(l->pd, l->memory, sizeof(l->memory),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!l->mr)
		return -1;
	attr.send_cq = attr.recv_cq = l->cq;
	for (i = 0; i < 2; i++) {
		l->qp[i] = ibv_create_qp(l->pd, &attr);
		if (!l->qp[i])
			return -1;
	}
	return connect_to(l, l->qp[0], l->qp[1]) || connect_to(l, l->qp[1], l->qp[0]) ? -1 : 0;
}

enum ibv_wc_status loopback_write(struct loopback *l)
{
	struct ibv_sge sge = { (uintptr_t)l->memory[0], sizeof(l->memory[0]), l->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int n;

	wr.wr.rdma.remote_addr = (uintptr_t)l->memory[1];
	wr.wr.rdma.rkey = l->mr->rkey;
	if (ibv_post_send(l->qp[0], &wr, &bad))
		return IBV_WC_GENERAL_ERR;
	do
		n = ibv_poll_cq(l->cq, 1, &wc);
	while (!n);
	return n < 0 ? IBV_WC_GENERAL_ERR : wc.status;
}

void loopback_end(struct loopback *l)
{
	int i;

	for (i = 0; i < 2; i++)
		if (l->qp[i])
			ibv_destroy_qp(l->qp[i]);
	if (l->mr)
		ibv_dereg_mr(l->mr);
	if (l->cq)
		ibv_destroy_cq(l->cq);
	if (l->pd)
		ibv_dealloc_pd(l->pd);
	if (l->context)
		ibv_close_device(l->context);
}
