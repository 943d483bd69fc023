/* SPDX-License-Identifier: MIT */
/*
 * Memory regions of zero bytes, and PDs that only a null MR refers to.
 *	app_mr_empty [local|remote] [refused]: refused: the device has no page to pin
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <string.h>

#define LW     IBV_ACCESS_LOCAL_WRITE
#define RIGHTS (LW | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static struct vb_side *a, *b;
static struct vb_pair p;

static bool is_refused(void *addr, int access)
{
	errno = 0;
	return !ibv_reg_mr(a->pd, addr, 0, access) && errno == EINVAL;
}

static void test_refused(void)
{
	ok(is_refused(a->buf, LW), "zero bytes at a page's start: EINVAL");
	ok(is_refused(NULL, LW), "zero bytes at NULL: EINVAL");
}

static bool can_register(void *addr, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(a->pd, addr, 0, access);

	return mr && !mr->length && mr->addr == addr && mr->lkey && !ibv_dereg_mr(mr);
}

static void test_accepted(void)
{
	ok(can_register(a->buf, LW), "zero bytes at a page's start");
	ok(can_register(NULL, LW), "zero bytes at NULL");
	ok(can_register(a->buf, LW | IBV_ACCESS_ON_DEMAND), "zero bytes on demand");
}

static uint32_t local_status(struct ibv_mr *mr, uint32_t len)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, len);
	uint32_t status;

	wr.sge[0] = (struct ibv_sge){ (uintptr_t)mr->addr, len, mr->lkey };
	status = (uint32_t)vb_pair_run(&p, &wr);
	vb_pair_fresh(&p, a, b);
	return status;
}

static struct ibv_mr *target_mr;

static int target_reg(struct vb_side *s, void *arg)
{
	target_mr = ibv_reg_mr(s->pd, s->buf + 100, 0, RIGHTS);
	if (target_mr)
		*(uint32_t *)arg = target_mr->rkey;
	return target_mr ? 0 : errno;
}

static int target_dereg(struct vb_side *s, void *arg)
{
	(void)s;
	(void)arg;
	return ibv_dereg_mr(target_mr);
}

static uint32_t remote_status(enum ibv_wr_opcode op, uint32_t rkey, uint32_t len)
{
	struct vb_wr wr = vb_pair_wr(&p, op, 1, 0, len);
	uint32_t status;

	wr.raddr = (uintptr_t)b->buf + 100;
	wr.rkey = rkey;
	status = (uint32_t)vb_pair_run(&p, &wr);
	vb_pair_fresh(&p, a, b);
	return status;
}

static void test_use(void)
{
	struct ibv_mr *mr = ibv_reg_mr(a->pd, a->buf + 100, 0, RIGHTS);
	uint32_t rkey = 0;

	if (!ok(mr && !mr->length, "zero bytes within a page"))
		return;
	ok(local_status(mr, 0) == IBV_WC_SUCCESS, "a WRITE of zero bytes from it");
	ok(local_status(mr, 1) == IBV_WC_LOC_PROT_ERR, "a WRITE of one byte: LOC_PROT_ERR");
	ok(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	ok(!vb_call(b, target_reg, &rkey, sizeof(rkey)), "zero bytes at the target");
	ok(remote_status(IBV_WR_RDMA_WRITE, rkey, 0) == IBV_WC_SUCCESS, "a WRITE of zero to it");
	ok(remote_status(IBV_WR_RDMA_WRITE, rkey, 1) == IBV_WC_REM_ACCESS_ERR,
	   "a WRITE of one byte: REM_ACCESS_ERR");
	ok(remote_status(IBV_WR_RDMA_READ, rkey, 1) == IBV_WC_REM_ACCESS_ERR,
	   "a READ of one byte: REM_ACCESS_ERR");
	ok(!vb_call(b, target_dereg, &rkey, sizeof(rkey)), "ibv_dereg_mr at the target");
	errno = 0;
	ok(!ibv_reg_mr(a->pd, (void *)1, 0, LW) && errno == EFAULT,
	   "zero bytes within a page that is not mapped: EFAULT");
}

/* mlx5 makes null MRs without the kernel, which thus lets their PD go. */
static void test_null_pd(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(a->ctx), *next;
	struct ibv_mr *null = pd ? ibv_alloc_null_mr(pd) : NULL;
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, a->buf, 64, LW) : NULL;

	if (!ok(null && mr, "a null MR and a region in a PD"))
		return;
	errno = 0;
	ok(ibv_dealloc_pd(pd) == EBUSY && errno == EBUSY, "ibv_dealloc_pd with a region: EBUSY");
	ok(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd), "ibv_dealloc_pd with a null MR left");
	next = ibv_alloc_pd(a->ctx);
	ok(next && !ibv_dereg_mr(null), "ibv_dereg_mr of the null MR afterwards");
	mr = next ? ibv_reg_mr(next, a->buf, 64, LW) : NULL;
	ok(mr && ibv_dealloc_pd(next) == EBUSY, "the next PD counts its own region");
	ok(mr && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(next), "and goes after it");
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	if (argc > 2 && !strcmp(argv[2], "refused"))
		test_refused();
	else
		test_accepted();
	test_use();
	test_null_pd();
	vb_close_two(a, b);
	return tap_failed != 0;
}
