/* SPDX-License-Identifier: MIT */
/* See vb_srd.h. */
#include "tests/lib/c/vb_srd.h"

#include <dlfcn.h>

void *vb_srd_function(const char *name)
{
	void *lib = dlopen("libefa.so.1", RTLD_NOW | RTLD_LOCAL);

	return lib ? dlsym(lib, name) : NULL;
}

bool vb_srd_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = VB_SRD_QKEY };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	attr.rnr_retry = 3;
	return !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY);
}

struct ibv_ah *vb_srd_ah(struct ibv_pd *pd, const union ibv_gid *to)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.dgid = *to };

	return ibv_create_ah(pd, &attr);
}
