/* SPDX-License-Identifier: MIT */
/*
 * Re-registration: every combination of flags, its errors, and the use of regions afterwards.
 *	app_mr_rereg [local|remote]: where the peer lives
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

static struct vb_side *a, *b;
static struct vb_pair p;

static void fresh(void)
{
	vb_pair_fresh(&p, a, b);
}

static bool reaches(struct vb_side *from, int qp, uint32_t rkey, uint8_t *at)
{
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, 5, from, from->buf, 100);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	wr.rkey = rkey;
	wr.raddr = (uintptr_t)at;
	fill(from->buf, 100, (uintptr_t)at);
	memset(at, 0, 100);
	return !vb_send(from, qp, false, &wr) && vb_poll(from, qp, VB_SCQ, VB_WAIT, &wc) &&
	       !wc.status && filled(at, 100, (uintptr_t)at);
}

/* Each combination of flags, from a region that the peer reaches to one as the flags say. */
static void test_rereg(void)
{
	uint8_t *old = a->buf + 65536, *new = a->buf + 131072;
	struct ibv_pd *pd2 = ibv_alloc_pd(a->ctx);
	int flags;

	for (flags = 1; flags < 8; flags++) {
		bool move = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
		bool away = flags & IBV_REREG_MR_CHANGE_PD;
		bool less = flags & IBV_REREG_MR_CHANGE_ACCESS;
		struct ibv_mr *mr = ibv_reg_mr(a->pd, old, 2 * PAGE, ALL);
		uint32_t lkey = mr->lkey, rkey = mr->rkey;
		int ret;
		bool good = reaches(b, 1, rkey, old);

		ret = ibv_rereg_mr(mr, flags, away ? pd2 : NULL, move ? new : NULL, move ? PAGE : 0,
				   less ? LW | RR : 0);
		good = good && !ret && mr->lkey == lkey && mr->rkey == rkey &&
		       mr->addr == (move ? new : old) && mr->length == (move ? PAGE : 2 * PAGE) &&
		       mr->pd == (away ? pd2 : a->pd);
		good = good && reaches(b, 1, rkey, move ? new : old) == (!away && !less);
		fresh();
		/* And back again. */
		ret = ibv_rereg_mr(mr, flags, a->pd, move ? old : NULL, move ? 2 * PAGE : 0,
				   less ? ALL : 0);
		good = good && !ret && mr->pd == a->pd && reaches(b, 1, rkey, old);
		ok(good && !ibv_dereg_mr(mr), "rereg, flags %d: same keys, and as asked for",
		   flags);
	}
	ok(!ibv_dealloc_pd(pd2), "no region is left in the other PD");
}

/*
 * A small SEND is gathered, and a small receive laid out, by the program: it must follow as well.
 */
static void test_rereg_small(void)
{
	uint8_t *old = a->buf + 65536, *new = a->buf + 131072;
	struct ibv_mr *mr = ibv_reg_mr(a->pd, old, PAGE, ALL);
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_SEND, 1, 0, 16);
	struct ibv_wc wc;
	bool good;

	wr.sge[0] = (struct ibv_sge){ (uintptr_t) new, 16, mr->lkey };
	good = !ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, new, PAGE, 0);
	fill(new, 16, 3);
	good = good && !vb_recv1(b, 1, 2, b->buf, 16) && !vb_pair_run(&p, &wr) &&
	       vb_poll(b, 1, VB_RCQ, VB_WAIT, &wc) && filled(b->buf, 16, 3);
	ok(good, "a small SEND from where the region is now");
	wr.sge[0].addr = (uintptr_t)old;
	ok(vb_pair_run(&p, &wr) == IBV_WC_LOC_PROT_ERR,
	   "a request at the old address: LOC_PROT_ERR");
	fresh();
	ibv_dereg_mr(mr);
}

static void test_rereg_errors(void)
{
	struct ibv_mr *mr = ibv_reg_mr(a->pd, a->buf, PAGE, ALL);
	const int tr = IBV_REREG_MR_CHANGE_TRANSLATION, ac = IBV_REREG_MR_CHANGE_ACCESS;
	const int input = IBV_REREG_MR_ERR_INPUT, cmd = IBV_REREG_MR_ERR_CMD;
	void *none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ok(ibv_rereg_mr(mr, 8, NULL, NULL, 0, 0) == input && errno == EINVAL,
	   "rereg with unknown flags: ERR_INPUT");
	ok(ibv_rereg_mr(mr, tr, NULL, NULL, PAGE, 0) == input &&
		   ibv_rereg_mr(mr, tr, NULL, a->buf, 0, 0) == input,
	   "translation without address or length: ERR_INPUT");
	ok(ibv_rereg_mr(mr, tr, NULL, a->buf, PAGE, LW) == input,
	   "access without its flag: ERR_INPUT");
	ok(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0) == cmd && errno == EINVAL,
	   "no flags: ERR_CMD, EINVAL");
	ok(ibv_rereg_mr(mr, ac, NULL, NULL, 0, RW) == cmd && errno == EINVAL,
	   "REMOTE_WRITE without LOCAL_WRITE: ERR_CMD, EINVAL");
	ok(ibv_rereg_mr(mr, tr, NULL, none, PAGE, 0) == cmd && errno == EFAULT,
	   "memory out of reach: ERR_CMD, EFAULT");
	ok(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0) == cmd && errno == EINVAL,
	   "no PD: ERR_CMD, EINVAL");
	ok(reaches(b, 1, mr->rkey, a->buf) && !ibv_dereg_mr(mr), "the region is as it was");
	munmap(none, PAGE);
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	fresh();
	test_rereg();
	test_rereg_small();
	test_rereg_errors();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
