/* SPDX-License-Identifier: MIT */
/*
 * ibv_wr_flush(3): what a FLUSH is refused for, on the target's side and on the requester's.
 *
 *	app_qp_flush persistent|global|none: placement types that regions of the device can have
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <string.h>

#define LW   IBV_ACCESS_LOCAL_WRITE
#define BOTH (VB_ACCESS_GLOBAL | VB_ACCESS_PERSISTENT)
#define LEN  4096u

enum { GLOBAL = 1, PERSISTENT = 2, WHOLE = 1 << 4 };

static struct vb_side *s;
static struct vb_pair p;
static uint32_t rkey;

static int fresh(int access)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);

	spec.ops = VB_QP_EX_FLUSH | IBV_QP_EX_WITH_RDMA_WRITE;
	spec.access |= access;
	if (p.a)
		vb_pair_down(&p);
	return vb_pair_up(&p, s, s, &spec);
}

static int region(unsigned int access)
{
	uint32_t lkey;

	vb_dereg(s, 0);
	return vb_reg(s, 0, s->buf, LEN, LW | access, &lkey, &rkey);
}

/* Post a FLUSH and wait for it. Return: its status, or -1. */
static int run(const struct vb_wr *wr)
{
	struct ibv_wc wc;

	if (vb_send(s, 0, true, wr) || !vb_poll(s, 0, VB_SCQ, VB_WAIT, &wc))
		return -1;
	return (int)wc.status;
}

/* The status of a FLUSH by QPs and of a region with these rights, or -1. */
static int flush(int qp_access, unsigned int mr_access, uint64_t what, uint64_t off, uint64_t len)
{
	struct vb_wr wr;

	if (fresh(qp_access) || region(mr_access))
		return -1;
	wr = vb_pair_wr(&p, VB_WR_FLUSH, 5, 0, 0);
	wr.rkey = rkey;
	wr.raddr += off;
	wr.compare = len;
	wr.swap = what;
	return run(&wr);
}

static void is(int got, enum ibv_wc_status want, const char *name)
{
	ok(got == (int)want, "%s: %s", name, ibv_wc_status_str(want));
	if (got != (int)want)
		note("got %d", got);
}

static void test_target(void)
{
	const enum ibv_wc_status good = IBV_WC_SUCCESS, access = IBV_WC_REM_ACCESS_ERR;
	const enum ibv_wc_status invalid = IBV_WC_REM_INV_REQ_ERR;

	is(flush(VB_ACCESS_GLOBAL, VB_ACCESS_GLOBAL, GLOBAL, 8, LEN - 8), good, "a range");
	is(flush(VB_ACCESS_GLOBAL, VB_ACCESS_GLOBAL, GLOBAL, 0, 0), good, "a range of 0 bytes");
	is(flush(VB_ACCESS_GLOBAL, VB_ACCESS_GLOBAL, GLOBAL | WHOLE, LEN * 2, 1ull << 40), good,
	   "the region, whatever the range");
	is(flush(0, 0, 0, 0, LEN), good, "no placement type");
	is(flush(VB_ACCESS_GLOBAL, VB_ACCESS_GLOBAL, GLOBAL, 8, LEN - 7), access,
	   "a range beyond the region");
	is(flush(VB_ACCESS_GLOBAL, VB_ACCESS_GLOBAL, GLOBAL, LEN + 1, 0), access,
	   "0 bytes outside of the region");
	is(flush(VB_ACCESS_GLOBAL, 0, GLOBAL, 0, LEN), access, "a region without the right");
	is(flush(VB_ACCESS_GLOBAL, 0, GLOBAL | WHOLE, 0, LEN), access, "all of such a region");
	is(flush(0, VB_ACCESS_GLOBAL, GLOBAL, 0, LEN), invalid, "a QP without the right");
	is(flush(BOTH, VB_ACCESS_GLOBAL, PERSISTENT, 0, LEN), access,
	   "persistence of a region without it");
	is(flush(VB_ACCESS_GLOBAL, VB_ACCESS_GLOBAL, PERSISTENT, 0, LEN), invalid,
	   "persistence by a QP without it");
}

static void test_persistent(void)
{
	is(flush(BOTH, BOTH, PERSISTENT, 0, LEN), IBV_WC_SUCCESS, "persistence");
	is(flush(BOTH, BOTH, PERSISTENT | GLOBAL | WHOLE, 0, 0), IBV_WC_SUCCESS, "both types");
	is(flush(BOTH, VB_ACCESS_PERSISTENT, PERSISTENT | GLOBAL, 0, LEN), IBV_WC_REM_ACCESS_ERR,
	   "both types, the region has one");
}

/* Work requests before it are complete at the target, and complete at the requester first. */
static void test_order(void)
{
	struct vb_wr wr;
	struct ibv_wc wc;

	ok(!fresh(VB_ACCESS_GLOBAL) && !region(VB_ACCESS_GLOBAL | IBV_ACCESS_REMOTE_WRITE),
	   "set up");
	fill(s->buf + LEN, LEN, 7);
	wr = vb_wr(IBV_WR_RDMA_WRITE, 1, s, s->buf + LEN, LEN);
	wr.raddr = (uintptr_t)s->buf;
	wr.rkey = rkey;
	ok(!vb_send(s, 0, true, &wr), "a WRITE");
	wr.op = VB_WR_FLUSH;
	wr.wr_id = 2;
	wr.compare = LEN;
	wr.swap = GLOBAL;
	ok(!vb_send(s, 0, true, &wr), "and a FLUSH");
	ok(vb_done(s, 0, VB_SCQ, 1, IBV_WC_RDMA_WRITE, &wc) &&
		   vb_done(s, 0, VB_SCQ, 2, VB_WC_FLUSH, &wc) && filled(s->buf, LEN, 7),
	   "complete in order, as IBV_WC_FLUSH");
}

static void test_requester(void)
{
	static const uint64_t wrong[] = { 4, 8, 2 << 4 | 1, 15 << 4 };
	struct vb_wr wr;
	unsigned int i;

	ok(!fresh(VB_ACCESS_GLOBAL) && !region(VB_ACCESS_GLOBAL), "set up");
	wr = vb_pair_wr(&p, VB_WR_FLUSH, 5, 0, 0);
	wr.rkey = rkey;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		wr.swap = wrong[i];
		ok(vb_send(s, 0, true, &wr) == EINVAL, "type and level 0x%x: EINVAL",
		   (unsigned int)wrong[i]);
	}
	wr.swap = GLOBAL;
	ok(vb_send(s, 0, false, &wr) == EINVAL, "ibv_post_send: EINVAL");
	wr.compare = (1u << 30) + 1;
	is(run(&wr), IBV_WC_LOC_LEN_ERR, "a range longer than max_msg_sz");
}

static void test_none(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);

	ok(!(s->info.dev.device_cap_flags_ex & VB_DEVICE_FLUSH), "the device states no FLUSH");
	ok(region(VB_ACCESS_GLOBAL) == EOPNOTSUPP, "IBV_ACCESS_FLUSH_GLOBAL: EOPNOTSUPP");
	ok(region(VB_ACCESS_PERSISTENT) == EOPNOTSUPP, "IBV_ACCESS_FLUSH_PERSISTENT: EOPNOTSUPP");
	spec.ops = VB_QP_EX_FLUSH;
	ok(vb_create(s, 0, &spec) == EOPNOTSUPP, "IBV_QP_EX_WITH_FLUSH: EOPNOTSUPP");
	vb_destroy(s, 0);
	spec = vb_spec_of(IBV_QPT_RC);
	spec.access |= (int)BOTH;
	ok(!vb_pair_up(&p, s, s, &spec) && vb_pair_alive(&p), "the rights of a QP mean nothing");
	vb_pair_down(&p);
}

int main(int argc, char **argv)
{
	const char *types = argc > 1 ? argv[1] : "persistent";

	s = vb_local();
	vb_open(s);
	if (!strcmp(types, "none")) {
		test_none();
		vb_close(s);
		return tap_failed != 0;
	}
	ok((s->info.dev.device_cap_flags_ex & VB_DEVICE_FLUSH) == VB_DEVICE_FLUSH,
	   "the device states both placement types");
	test_target();
	if (!strcmp(types, "persistent"))
		test_persistent();
	else
		ok(region(VB_ACCESS_PERSISTENT) == EINVAL,
		   "IBV_ACCESS_FLUSH_PERSISTENT of ordinary memory: EINVAL");
	test_order();
	test_requester();
	vb_dereg(s, 0);
	vb_pair_down(&p);
	vb_close(s);
	return tap_failed != 0;
}
