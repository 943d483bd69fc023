/* SPDX-License-Identifier: MIT */
/* Device memory: allocation and its account, copies, regions, traffic, forked children. */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DM_LEN 65536u

static struct vb_side *a, *b;
static struct vb_pair p;
static uint64_t max;

static struct ibv_dm *alloc(size_t len, uint32_t log_align, uint32_t mask)
{
	struct ibv_alloc_dm_attr attr = {
		.length = len,
		.log_align_req = log_align,
		.comp_mask = mask,
	};

	errno = 0;
	return ibv_alloc_dm(a->ctx, &attr);
}

static void test_alloc(void)
{
	struct ibv_dm *dm, *rest;

	ok(max >= 262144 && max % 32 == 0, "max_dm_size: %llu", (unsigned long long)max);
	ok(!alloc(0, 0, 0) && errno == EINVAL, "nothing: EINVAL");
	ok(!alloc(max + 1, 0, 0) && errno == EINVAL, "more than max_dm_size: EINVAL");
	ok(!alloc(64, 0, 1) && errno == EINVAL, "an unknown comp_mask: EINVAL");
	ok(!alloc(64, 40, 0) && errno == EINVAL, "an alignment of 2^40: EINVAL");
	dm = alloc(max, 6, 0);
	ok(dm && dm->context == a->ctx && dm->comp_mask == IBV_DM_MASK_HANDLE,
	   "all device memory is allocated");
	ok(!alloc(4, 0, 0) && errno == ENOMEM, "a further allocation: ENOMEM");
	ok(dm && !ibv_free_dm(dm), "ibv_free_dm");
	dm = alloc(max - 100, 0, 0);
	rest = alloc(100, 0, 0);
	ok(dm && rest && !alloc(1, 0, 0), "device memory is counted in bytes");
	ok(!ibv_free_dm(dm) && !ibv_free_dm(rest), "freed device memory is available again");
}

static void test_copy(void)
{
	struct ibv_dm *dm = alloc(DM_LEN, 0, 0), *other = alloc(DM_LEN, 0, 0);
	uint8_t out[DM_LEN], in[DM_LEN];

	if (!ok(dm && other, "two pieces"))
		return;
	fill(out, DM_LEN, 1);
	ok(!ibv_memcpy_to_dm(dm, 0, out, DM_LEN) && !ibv_memcpy_from_dm(in, dm, 0, DM_LEN) &&
		   !memcmp(in, out, DM_LEN),
	   "in and out, all of it");
	ok(!ibv_memcpy_to_dm(dm, 1000, out, 2000) && !ibv_memcpy_from_dm(in, dm, 996, 2008) &&
		   filled(in, 4, 997) && filled(in + 4, 2000, 1) && filled(in + 2004, 4, 3001),
	   "a part of it");
	ok(!ibv_memcpy_from_dm(in, other, 0, DM_LEN) && in[0] == 0 && in[1000] == 0,
	   "the other one has its own bytes");
	ok(ibv_memcpy_to_dm(dm, 2, out, 4) == EINVAL && ibv_memcpy_to_dm(dm, 4, out, 3) == EINVAL &&
		   ibv_memcpy_from_dm(in, dm, 1, 4) == EINVAL &&
		   ibv_memcpy_from_dm(in, dm, 4, 2) == EINVAL,
	   "offset or length not a multiple of 4: EINVAL");
	ok(ibv_memcpy_to_dm(dm, DM_LEN - 4, out, 8) == EFAULT &&
		   ibv_memcpy_from_dm(in, dm, DM_LEN, 4) == EFAULT &&
		   ibv_memcpy_to_dm(dm, ~0ULL - 3, out, 8) == EFAULT,
	   "out of range: EFAULT");
	ok(!ibv_memcpy_to_dm(dm, DM_LEN, out, 0), "nothing, at its end");
	ok(!ibv_free_dm(dm) && !ibv_free_dm(other), "ibv_free_dm");
}

static bool reg_fails(struct ibv_dm *dm, uint64_t off, size_t len, unsigned int access)
{
	errno = 0;
	return !ibv_reg_dm_mr(a->pd, dm, off, len, access) && errno == EINVAL;
}

static void test_reg(void)
{
	struct ibv_dm *dm = alloc(256, 0, 0);
	struct ibv_mr *mr, *none;

	ok(reg_fails(dm, 0, 256, LW), "a region that is not zero-based: EINVAL");
	ok(reg_fails(dm, 0, 257, LW | ZB) && reg_fails(dm, 256, 1, LW | ZB) &&
		   reg_fails(dm, ~0ULL, 8, LW | ZB),
	   "a region beyond it: EINVAL");
	ok(reg_fails(dm, 0, 256, ZB | IBV_ACCESS_REMOTE_WRITE), "REMOTE_WRITE alone: EINVAL");
	ok(reg_fails(dm, 0, 256, LW | ZB | IBV_ACCESS_ON_DEMAND), "on demand: EINVAL");
	mr = ibv_reg_dm_mr(a->pd, dm, 16, 240, ALL | ZB);
	none = ibv_reg_dm_mr(a->pd, dm, 256, 0, ALL | ZB);
	ok(mr && !mr->addr && mr->length == 240 && none, "regions on it, an empty one, too");
	ok(ibv_free_dm(dm) == EBUSY, "ibv_free_dm under a region: EBUSY");
	ok(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LW | ZB) ==
		   IBV_REREG_MR_ERR_INPUT,
	   "ibv_rereg_mr of it: IBV_REREG_MR_ERR_INPUT");
	ok(!ibv_dereg_mr(mr) && ibv_free_dm(dm) == EBUSY && !ibv_dereg_mr(none) && !ibv_free_dm(dm),
	   "when both have gone, it can go");
}

static int run(struct vb_wr *wr, struct vb_side *s, int qp)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	if (vb_send(s, qp, false, wr) || !vb_poll(s, qp, VB_SCQ, VB_WAIT, &wc))
		return -1;
	return (int)wc.status;
}

/* Memory of the device at the requester: source and destination of all operations. */
static void test_local(struct ibv_dm *dm, struct ibv_mr *mr)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 10000);
	uint8_t bytes[10000];
	struct ibv_wc wc;
	bool good;

	fill(bytes, sizeof(bytes), 4);
	ibv_memcpy_to_dm(dm, 4096, bytes, sizeof(bytes));
	wr.sge[0].addr = 4096;
	wr.sge[0].lkey = mr->lkey;
	ok(!run(&wr, a, 0) && filled(b->buf, 10000, 4), "WRITE out of device memory");
	fill(b->buf, 10000, 5);
	wr.op = IBV_WR_RDMA_READ;
	ok(!run(&wr, a, 0) && !ibv_memcpy_from_dm(bytes, dm, 4096, 10000) &&
		   filled(bytes, 10000, 5),
	   "READ into it");
	for (uint32_t len = 24; len <= 10000; len += 9976) {
		wr = vb_pair_wr(&p, IBV_WR_SEND, 1, 0, len);
		wr.sge[0] = (struct ibv_sge){ 4096, len, mr->lkey };
		good = !vb_recv1(b, 1, 2, b->buf + 20000, len) && !run(&wr, a, 0) &&
		       vb_poll(b, 1, VB_RCQ, VB_WAIT, &wc) && filled(b->buf + 20000, len, 5);
		ok(good, "SEND of %u bytes out of it", len);
	}
	wr.sge[0].addr = DM_LEN - 4;
	ok(run(&wr, a, 0) == IBV_WC_LOC_PROT_ERR, "SEND past its end: LOC_PROT_ERR");
}

/* The same as a target. */
static void test_remote(struct ibv_dm *dm, struct ibv_mr *mr)
{
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, 1, b, b->buf, 20000);
	uint64_t word = 40, got = 0;
	uint8_t bytes[20000];
	struct ibv_wc wc;
	bool good;

	wr.rkey = mr->rkey;
	wr.raddr = 0;
	fill(b->buf, 20000, 6);
	ok(!run(&wr, b, 1) && !ibv_memcpy_from_dm(bytes, dm, 0, 20000) && filled(bytes, 20000, 6),
	   "WRITE to device memory");
	memset(b->buf, 0, 20000);
	wr.op = IBV_WR_RDMA_READ;
	ok(!run(&wr, b, 1) && filled(b->buf, 20000, 6), "READ of it");
	ibv_memcpy_to_dm(dm, 64, &word, 8);
	wr = vb_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, b, b->buf, 8);
	wr.rkey = mr->rkey;
	wr.raddr = 64;
	wr.compare = 2;
	ok(!run(&wr, b, 1) && !ibv_memcpy_from_dm(&got, dm, 64, 8) && got == 42 &&
		   !memcmp(b->buf, &word, 8),
	   "an atomic on it");
	for (uint32_t len = 24; len <= 10024; len += 10000) {
		struct ibv_sge sge = { 128, len, mr->lkey };

		wr = vb_wr(IBV_WR_SEND, 1, b, b->buf, len);
		fill(b->buf, len, len);
		good = !vb_recv(a, 0, 2, &sge, 1) && !run(&wr, b, 1) &&
		       vb_poll(a, 0, VB_RCQ, VB_WAIT, &wc) && !wc.status &&
		       !ibv_memcpy_from_dm(bytes, dm, 128, len) && filled(bytes, len, len);
		ok(good, "a receive of %u bytes in it", len);
	}
	wr = vb_wr(IBV_WR_RDMA_WRITE, 1, b, b->buf, 8);
	wr.rkey = mr->rkey;
	wr.raddr = DM_LEN - 7;
	ok(run(&wr, b, 1) == IBV_WC_REM_ACCESS_ERR, "WRITE past its end: REM_ACCESS_ERR");
}

static void test_traffic(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct ibv_dm *dm = alloc(DM_LEN, 3, 0);
	struct ibv_mr *mr = ibv_reg_dm_mr(a->pd, dm, 0, DM_LEN, ALL | ZB);
	void (*const tests[])(struct ibv_dm *, struct ibv_mr *) = { test_remote, test_local };

	if (!mr)
		die("ibv_reg_dm_mr: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		if (vb_pair_up(&p, a, b, &spec))
			die("cannot connect");
		tests[i](dm, mr);
		vb_pair_down(&p);
		while (vb_event(b, 0) >= 0 || vb_event(a, 0) >= 0)
			;
	}
	ok(!ibv_dereg_mr(mr) && !ibv_free_dm(dm), "given back");
}

/* A child allocates on its parent's context; what it does not give back goes with it. */
static void test_fork(void)
{
	pid_t pid[4];
	int status, n_good = 0;
	struct ibv_dm *dm = alloc(64, 0, 0), *all = NULL;

	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			struct ibv_dm *mine = alloc(max / 5, 0, 0);
			uint32_t word = 77, got = 0;

			alarm(60);
			_exit(!(mine && !ibv_memcpy_to_dm(mine, 8, &word, 4) &&
				!ibv_memcpy_from_dm(&got, mine, 8, 4) && got == 77 &&
				(i & 1 || !ibv_free_dm(mine)) && !ibv_free_dm(dm)));
		}
	}
	for (int i = 0; i < 4; i++)
		n_good += waitpid(pid[i], &status, 0) == pid[i] && !status;
	ok(n_good == 4, "forked children allocate on the parent's context");
	ok(!ibv_free_dm(dm), "the parent's stays the parent's");
	for (int i = 0; i < 1000 && !all; i++) {
		all = alloc(max, 0, 0);
		if (!all)
			usleep(10000);
	}
	ok(all && !ibv_free_dm(all), "device memory of exited children is free again");
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	max = a->info.dev.max_dm_size;
	test_alloc();
	test_copy();
	test_reg();
	test_traffic();
	test_fork();
	vb_close_two(a, b);
	return tap_failed != 0;
}
