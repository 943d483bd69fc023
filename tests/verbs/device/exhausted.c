/* SPDX-License-Identifier: MIT */
/*
 * Make an object of each kind, on a machine that may run out of descriptors or memory at any call.
 *
 * A call that fails must say why in errno, and what was made before it must work and be destroyed.
 * Exit status 0: all was made. 3: a call failed, which is named in one line. 1: an error without a
 * reason, or an object that cannot be destroyed.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXHAUSTED 3
#define BYTES	  (1u << 20)

static struct ibv_device **list;
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp;
static char *buf;
static bool wrong;

/* Return: whether there is an object; else its call has to have a reason. */
static bool made(const void *object, const char *call)
{
	int err = errno;

	if (object)
		return true;
	printf("%s: %s\n", call, err ? strerror(err) : "no reason");
	wrong |= !err;
	return false;
}

static bool qp_make(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_send_sge = 2, .max_inline_data = 64 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int ret;

	errno = 0;
	qp = ibv_create_qp(pd, &init);
	if (!made(qp, "ibv_create_qp"))
		return false;
	ret = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	errno = ret;
	return made(ret ? NULL : qp, "ibv_modify_qp");
}

static bool all_made(void)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 64, .max_sge = 1 } };

	errno = 0;
	list = ibv_get_device_list(NULL);
	if (!made(list, "ibv_get_device_list") || !list[0])
		return false;
	ctx = ibv_open_device(list[0]);
	if (!made(ctx, "ibv_open_device"))
		return false;
	pd = ibv_alloc_pd(ctx);
	if (!made(pd, "ibv_alloc_pd"))
		return false;
	mr = ibv_reg_mr(pd, buf, BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!made(mr, "ibv_reg_mr"))
		return false;
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	if (!made(mw, "ibv_alloc_mw"))
		return false;
	channel = ibv_create_comp_channel(ctx);
	if (!made(channel, "ibv_create_comp_channel"))
		return false;
	cq = ibv_create_cq(ctx, 256, NULL, channel, 0);
	if (!made(cq, "ibv_create_cq"))
		return false;
	srq = ibv_create_srq(pd, &srq_attr);
	return made(srq, "ibv_create_srq") && qp_make();
}

static void gone(int ret, const char *call)
{
	if (!ret)
		return;
	wrong = true;
	printf("%s: %s\n", call, strerror(ret));
}

static void all_destroy(void)
{
	if (qp)
		gone(ibv_destroy_qp(qp), "ibv_destroy_qp");
	if (srq)
		gone(ibv_destroy_srq(srq), "ibv_destroy_srq");
	if (cq)
		gone(ibv_destroy_cq(cq), "ibv_destroy_cq");
	if (channel)
		gone(ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
	if (mw)
		gone(ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	if (mr)
		gone(ibv_dereg_mr(mr), "ibv_dereg_mr");
	if (pd)
		gone(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	if (ctx)
		gone(ibv_close_device(ctx), "ibv_close_device");
	if (list)
		ibv_free_device_list(list);
}

int main(void)
{
	bool good;

	buf = malloc(BYTES);
	if (!buf)
		return EXHAUSTED;
	memset(buf, 1, BYTES);
	good = all_made();
	all_destroy();
	free(buf);
	return wrong ? 1 : good ? 0 : EXHAUSTED;
}
