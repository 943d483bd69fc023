/* SPDX-License-Identifier: MIT */
/*
 * A device whose limits are lowered: prints the limits that queries report, the number of objects
 * of each kind that can be created, and how sizes beyond the limits fail.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MANY 8

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static uint8_t buf[8192];

static struct ibv_qp_init_attr qp_attr(uint32_t wr, uint32_t sge)
{
	return (struct ibv_qp_init_attr){
		.send_cq = cq, .recv_cq = cq, .cap = { wr, wr, sge, sge, 0 }, .qp_type = IBV_QPT_RC
	};
}

static void *pd_new(void)
{
	return ibv_alloc_pd(ctx);
}

static void *mr_new(void)
{
	return ibv_reg_mr(pd, buf, 64, LW);
}

static void *cq_new(void)
{
	return ibv_create_cq(ctx, 1, NULL, NULL, 0);
}

static void *qp_new(void)
{
	struct ibv_qp_init_attr attr = qp_attr(1, 1);

	return ibv_create_qp(pd, &attr);
}

static void *srq_new(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

static int pd_end(void *obj)
{
	return ibv_dealloc_pd(obj);
}

static int mr_end(void *obj)
{
	return ibv_dereg_mr(obj);
}

static int cq_end(void *obj)
{
	return ibv_destroy_cq(obj);
}

static int qp_end(void *obj)
{
	return ibv_destroy_qp(obj);
}

static int srq_end(void *obj)
{
	return ibv_destroy_srq(obj);
}

/* Create as many as possible, then one more after another is gone. */
static void numbers(const char *kind, void *(*make)(void), int (*end)(void *))
{
	void *obj[MANY];
	int n, err;

	for (n = 0; n < MANY && (obj[n] = make()); n++)
		;
	err = n < MANY ? errno : 0;
	if (n && end(obj[0]))
		die("%s cannot be destroyed", kind);
	if (n)
		obj[0] = make();
	printf("%s: %d, then %s, and %s\n", kind, n, err ? strerrorname_np(err) : "enough",
	       n && obj[0] ? "again one for one" : "none");
	while (n--)
		if (obj[n] && end(obj[n]))
			die("%s cannot be destroyed", kind);
}

static void said(const char *what, void *obj, int (*end)(void *))
{
	printf("%s: %s\n", what, obj ? "created" : strerrorname_np(errno));
	if (obj && end(obj))
		die("%s cannot be destroyed", what);
}

static void sizes(void)
{
	struct ibv_qp_init_attr wr = qp_attr(11, 1), sge = qp_attr(10, 3), fits = qp_attr(10, 2);
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 9, .max_sge = 1 } };
	struct ibv_cq_init_attr_ex ex = { .cqe = 101 };

	said("CQ of 100", ibv_create_cq(ctx, 100, NULL, NULL, 0), cq_end);
	said("CQ of 101", ibv_create_cq(ctx, 101, NULL, NULL, 0), cq_end);
	said("extended CQ of 101", ibv_create_cq_ex(ctx, &ex), cq_end);
	printf("resized to 101: %s\n", strerrorname_np(ibv_resize_cq(cq, 101)));
	said("QP with 11 requests", ibv_create_qp(pd, &wr), qp_end);
	said("QP with 3 entries", ibv_create_qp(pd, &sge), qp_end);
	said("QP with 10 and 2", ibv_create_qp(pd, &fits), qp_end);
	said("SRQ of 9", ibv_create_srq(pd, &srq), srq_end);
	said("MR of 4096", ibv_reg_mr(pd, buf, 4096, LW), mr_end);
	said("MR of 4097", ibv_reg_mr(pd, buf, 4097, LW), mr_end);
}

int main(void)
{
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;

	ctx = rc_open_first();
	if (ibv_query_device(ctx, &attr) || ibv_query_device_ex(ctx, NULL, &ex))
		die("ibv_query_device: %s", strerror(errno));
	printf("max_qp %d %d, max_cq %d, max_mr %d, max_pd %d, max_srq %d, max_qp_wr %d, max_sge "
	       "%d, "
	       "max_cqe %d, max_srq_wr %d, max_mr_size %llu, max_wq_type_rq %u\n",
	       attr.max_qp, ex.orig_attr.max_qp, attr.max_cq, attr.max_mr, attr.max_pd,
	       attr.max_srq, attr.max_qp_wr, attr.max_sge, attr.max_cqe, attr.max_srq_wr,
	       (unsigned long long)attr.max_mr_size, ex.max_wq_type_rq);
	numbers("PDs", pd_new, pd_end);
	pd = pd_new();
	numbers("CQs", cq_new, cq_end);
	cq = cq_new();
	if (!pd || !cq)
		die("no PD or CQ");
	numbers("MRs", mr_new, mr_end);
	numbers("QPs", qp_new, qp_end);
	numbers("SRQs", srq_new, srq_end);
	sizes();
	return 0;
}
