/* SPDX-License-Identifier: MIT */
/*
 * Memory windows: binding, and the accesses that they allow.
 *	app_mr_window [local|remote]: where the target, which owns the windows, lives
 */
#include "tests/lib/c/vb_mw.h"

#include <errno.h>

static void test_alloc(void)
{
	uint32_t key;

	ok(vb_mw(b, 0, 0, &key) == EINVAL && vb_mw(b, 0, 3, &key) == EINVAL,
	   "windows of no type: EINVAL");
	ok(!vb_mw(b, 0, IBV_MW_TYPE_1, &key) && mw_refused(key, IBV_WR_RDMA_WRITE, 0, 8),
	   "an unbound window's key is refused");
	ok(!vb_mw_dealloc(b, 0), "dealloc");
}

static void test_type1(void)
{
	struct mw_bind v = { .type1 = true, .qp = 1, .off = 1000, .len = 500, .access = RW | RR };
	uint32_t key, old;
	bool good;

	vb_mw(b, 0, IBV_MW_TYPE_1, &key);
	good = !mw_bind(&v);
	ok(good && v.key == ibv_inc_rkey(key), "ibv_bind_mw: the next key, on return");
	old = v.key;
	ok(mw_writes(old, 1000) && mw_writes(old, 1300), "WRITE to both ends of the window");
	ok(mw_request(IBV_WR_RDMA_READ, old, 1200, 100) == IBV_WC_SUCCESS, "READ");
	ok(mw_refused(old, IBV_WR_RDMA_WRITE, 999, 8), "WRITE that begins before it");
	ok(mw_refused(old, IBV_WR_RDMA_WRITE, 1493, 8), "WRITE that ends after it");
	ok(mw_refused(old, IBV_WR_ATOMIC_FETCH_AND_ADD, 1000, 8), "an atomic, which was not bound");
	v.off = 2000;
	ok(!mw_bind(&v) && mw_writes(v.key, 2000) && mw_refused(old, IBV_WR_RDMA_WRITE, 1000, 8),
	   "bound elsewhere: the new key does, the old is refused");
	old = v.key;
	v.len = 0;
	v.access = 0;
	ok(!mw_bind(&v) && mw_refused(old, IBV_WR_RDMA_WRITE, 2000, 8) &&
		   mw_refused(v.key, IBV_WR_RDMA_WRITE, 2000, 8),
	   "a length of 0 unbinds");
	v.len = 100;
	v.access = RW | ZB;
	good = !mw_bind(&v);
	fill(a->buf, 50, 5);
	good = good && !mw_request_at(IBV_WR_RDMA_WRITE, v.key, 50, 50) &&
	       filled(b->buf + AREA + 2050, 50, 5);
	ok(good, "zero-based: addresses are offsets");
	ok(mw_request_at(IBV_WR_RDMA_WRITE, v.key, 51, 50) == IBV_WC_REM_ACCESS_ERR,
	   "requests that end at the window's end");
	mw_fresh();
	v.type1 = false;
	v.key = ibv_inc_rkey(v.key);
	ok(mw_bind(&v) == POSTED && v.err == EINVAL, "a posted BIND_MW of a type 1 window: EINVAL");
	v.type1 = true;
	v.access = RW | MB;
	ok(mw_bind(&v) == POSTED && v.err == EINVAL, "access flags windows do not have: EINVAL");
	mw_reg(1, LW | MB, true);
	v.access = RW;
	v.region = 1;
	ok(mw_bind(&v) == POSTED && v.err == EPERM, "a region of another PD: EPERM");
	ok(!mw_dereg(1) && !vb_mw_dealloc(b, 0), "nothing is left bound");
}

/* Binds that are posted, and fail. */
static const struct {
	const char *name;
	unsigned int mr_access;
	bool other_pd;
	int64_t off;
	uint64_t len;
	unsigned int access;
} bad_binds[] = {
	{ "a region without MW_BIND", LW | RW, false, 0, LEN, RR },
	{ "REMOTE_WRITE, a region without LOCAL_WRITE", RR | MB, false, 0, LEN, RW },
	{ "REMOTE_ATOMIC, a region without LOCAL_WRITE", RR | MB, false, 0, LEN, RA },
	{ "past the region's end", LW | MB, false, 1, LEN, RW },
	{ "before its start", LW | MB, false, -1, LEN, RW },
	{ "a length that wraps", LW | MB, false, 8, ~0ULL, RW },
	{ "a region of another PD", LW | MB, true, 0, LEN, RW },
	{ "a length of 0", LW | MB, false, 0, 0, RW },
};

static void test_bad_binds(void)
{
	for (size_t i = 0; i < sizeof(bad_binds) / sizeof(bad_binds[0]); i++) {
		struct mw_bind v = { .region = 1,
				     .qp = 1,
				     .off = bad_binds[i].off,
				     .len = bad_binds[i].len,
				     .access = bad_binds[i].access };
		uint32_t key;

		mw_reg(1, bad_binds[i].mr_access, bad_binds[i].other_pd);
		vb_mw(b, 0, IBV_MW_TYPE_2, &key);
		v.key = ibv_inc_rkey(key);
		ok(mw_bind(&v) == IBV_WC_MW_BIND_ERR && vb_state(b, 1) == IBV_QPS_ERR,
		   "type 2: %s: MW_BIND_ERR", bad_binds[i].name);
		mw_fresh();
		ok(!vb_mw_dealloc(b, 0) && !mw_dereg(1), "a failed bind leaves nothing bound");
	}
}

static void test_type2(void)
{
	struct mw_bind v = { .qp = 1, .len = LEN, .access = RW };
	uint32_t key, other;

	vb_mw(b, 0, IBV_MW_TYPE_2, &key);
	v.type1 = true;
	ok(mw_bind(&v) == POSTED && v.err == EINVAL, "ibv_bind_mw of a type 2 window: EINVAL");
	v.type1 = false;
	v.key = ((key + 256) & ~0xffu) | 0xee;
	ok(!mw_bind(&v) && mw_writes((key & ~0xffu) | 0xee, 8),
	   "type 2: the window's index and the request's low byte make the key");
	ok(mw_refused(key, IBV_WR_RDMA_WRITE, 0, 8), "the key from before is refused");
	vb_mw_dealloc(b, 0);

	/* The window's own rights count, not the region's. */
	mw_reg(1, LW | MB, false);
	ok(mw_window(0, IBV_MW_TYPE_2, 1, LW | RW, &key) && mw_writes(key, 0) &&
		   mw_refused(key, IBV_WR_RDMA_READ, 0, 8),
	   "a window to write, over a region without remote rights");
	vb_mw_dealloc(b, 0);
	ok(mw_window(0, IBV_MW_TYPE_2, 1, RR, &key) && !mw_request(IBV_WR_RDMA_READ, key, 0, 100) &&
		   mw_refused(key, IBV_WR_RDMA_WRITE, 0, 8),
	   "a window to read");
	vb_mw_dealloc(b, 0);
	ok(mw_window(0, IBV_MW_TYPE_2, 1, RA, &key) &&
		   !mw_request(IBV_WR_ATOMIC_FETCH_AND_ADD, key, 8, 8) &&
		   mw_refused(key, IBV_WR_RDMA_READ, 0, 8),
	   "a window for atomics");
	vb_mw_dealloc(b, 0);

	ok(mw_window(0, IBV_MW_TYPE_2, 0, RW | ZB, &key) &&
		   !mw_request_at(IBV_WR_RDMA_WRITE, key, LEN - 8, 8) &&
		   mw_request_at(IBV_WR_RDMA_WRITE, key, LEN - 7, 8) == IBV_WC_REM_ACCESS_ERR,
	   "a zero-based one");
	mw_fresh();
	vb_mw_dealloc(b, 0);

	ok(mw_window(0, IBV_MW_TYPE_2, 0, RW, &key), "a window");
	v.key = ibv_inc_rkey(key);
	ok(mw_bind(&v) == IBV_WC_MW_BIND_ERR, "bound again without an invalidation: MW_BIND_ERR");
	mw_fresh();
	ok(mw_refused(key, IBV_WR_RDMA_WRITE, 0, 8), "a window goes with the QP that bound it");
	ok(!mw_bind(&v) && mw_writes(v.key, 0), "the next bind succeeds");
	ok(!vb_mw_dealloc(b, 0) && mw_refused(v.key, IBV_WR_RDMA_WRITE, 0, 8), "dealloc unbinds");
	ok(mw_window(0, IBV_MW_TYPE_2, 0, RW, &key) && mw_window(1, IBV_MW_TYPE_2, 0, RW, &other) &&
		   mw_writes(key, 0) && mw_writes(other, 300) && key >> 8 != other >> 8,
	   "two windows over the same memory");
	ok(!vb_mw_dealloc(b, 0) && !vb_mw_dealloc(b, 1) && !mw_dereg(1), "dealloc");
}

static void test_region(void)
{
	uint32_t key;
	int flags;
	bool good = true;

	mw_reg(1, LW | MB, false);
	ok(mw_window(0, IBV_MW_TYPE_1, 1, RW, &key) && mw_dereg(1) == EBUSY,
	   "dereg_mr under a window: EBUSY");
	for (flags = 1; flags < 8; flags++)
		good = good && mw_rereg(1, flags) == EBUSY;
	ok(good, "rereg_mr under a window, each kind: EBUSY");
	ok(mw_writes(key, 0), "the window keeps its binding");
	ok(!vb_mw_dealloc(b, 0) && !mw_rereg(1, IBV_REREG_MR_CHANGE_ACCESS) && !mw_dereg(1),
	   "region and PD can go after the window");
}

int main(int argc, char **argv)
{
	mw_open(argc, argv);
	test_alloc();
	test_type1();
	test_bad_binds();
	test_type2();
	test_region();
	mw_close();
	return tap_failed != 0;
}
