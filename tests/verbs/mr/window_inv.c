/* SPDX-License-Identifier: MIT */
/*
 * Memory windows: invalidation, the QP of a type 2 window, and their order with other requests.
 *	app_mr_window_inv [local|remote]: where the target, which owns the windows, lives
 */
#include "tests/lib/c/vb_mw.h"

#include <string.h>

static int local_inv(uint32_t key, int qp)
{
	struct vb_wr wr = vb_wr(IBV_WR_LOCAL_INV, 8, b, NULL, 0);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	wr.imm = key;
	if (vb_send(b, qp, false, &wr) || !vb_poll(b, qp, VB_SCQ, VB_WAIT, &wc))
		return -1;
	return !wc.status && (wc.opcode != IBV_WC_LOCAL_INV || wc.wr_id != 8) ? -1 : (int)wc.status;
}

static void test_local_inv(void)
{
	uint32_t key;

	ok(mw_window(0, IBV_MW_TYPE_2, 0, RW, &key) && mw_writes(key, 0) && !local_inv(key, 1) &&
		   mw_refused(key, IBV_WR_RDMA_WRITE, 0, 8),
	   "LOCAL_INV");
	ok(local_inv(key, 1) == IBV_WC_MW_BIND_ERR && vb_state(b, 1) == IBV_QPS_ERR,
	   "LOCAL_INV of an invalid key: MW_BIND_ERR");
	mw_fresh();
	vb_mw_dealloc(b, 0);
	ok(mw_window(0, IBV_MW_TYPE_1, 0, RW, &key) && local_inv(key, 1) == IBV_WC_MW_BIND_ERR,
	   "of a type 1 window: MW_BIND_ERR");
	mw_fresh();
	ok(mw_writes(key, 0), "the type 1 window stays bound");
	vb_mw_dealloc(b, 0);
	ok(local_inv(b->info.rkey, 1) == IBV_WC_MW_BIND_ERR, "of a region: MW_BIND_ERR");
	mw_fresh();
	ok(vb_pair_alive(&p), "the region stays registered");
}

/* SEND_WITH_INV of @key; the requester's status, and the receive's in *wc. */
static int send_inv(uint32_t key, struct ibv_wc *wc)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_SEND_WITH_INV, 11, 0, 100);
	struct ibv_wc swc;

	wr.imm = key;
	fill(a->buf, 100, key);
	wc->status = IBV_WC_GENERAL_ERR;
	if (vb_recv1(b, 1, 12, b->buf, 200) || vb_send(a, 0, false, &wr) ||
	    !vb_poll(a, 0, VB_SCQ, VB_WAIT, &swc) || !vb_poll(b, 1, VB_RCQ, VB_WAIT, wc))
		return -1;
	return (int)swc.status;
}

/* Nothing is answered (IBTA 9.9.6.3, class J). */
static bool inv_refused(uint32_t key)
{
	struct ibv_wc wc;
	bool good = send_inv(key, &wc) == IBV_WC_RETRY_EXC_ERR &&
		    wc.status == IBV_WC_REM_INV_REQ_ERR && vb_event(b, VB_SHORT) == -1;

	mw_fresh();
	return good;
}

static void test_send_inv(void)
{
	struct mw_bind v = { .qp = 1, .len = LEN, .access = RW };
	struct ibv_wc wc;
	uint32_t key;

	ok(mw_window(0, IBV_MW_TYPE_2, 0, RW, &key) && mw_writes(key, 0) && !send_inv(key, &wc) &&
		   wc.status == IBV_WC_SUCCESS && wc.wc_flags == IBV_WC_WITH_INV &&
		   wc.invalidated_rkey == key && wc.byte_len == 100 && filled(b->buf, 100, key),
	   "SEND_WITH_INV");
	v.key = ibv_inc_rkey(key);
	ok(!mw_bind(&v) && mw_writes(v.key, 0), "the window is free to be bound again");
	ok(mw_refused(key, IBV_WR_RDMA_WRITE, 0, 8), "the invalidated key is refused");
	ok(inv_refused(v.key), "SEND_WITH_INV of an invalid key: refused");
	vb_mw_dealloc(b, 0);
	ok(mw_window(0, IBV_MW_TYPE_1, 0, RW, &key) && inv_refused(key) && mw_writes(key, 0),
	   "of a type 1 window: refused, and it stays");
	vb_mw_dealloc(b, 0);
	ok(inv_refused(b->info.rkey) && vb_pair_alive(&p), "of a region: refused, and it stays");
}

/* Type 2 windows are 2B: another QP of the same PD may neither use nor invalidate them. */
static void test_2b(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct mw_bind v = { .qp = 2, .len = LEN, .access = RW };
	struct ibv_wc wc;
	uint32_t key;
	int ret;

	ret = vb_link(a, 3, &spec, b, 2, &spec);
	if (ret)
		die("a second pair: %s", strerror(ret));
	vb_mw(b, 0, IBV_MW_TYPE_2, &key);
	v.key = key = ibv_inc_rkey(key);
	ok(!mw_bind(&v) && mw_refused(key, IBV_WR_RDMA_WRITE, 0, 8),
	   "a window of another QP: refused");
	ok(inv_refused(key), "SEND_WITH_INV of it: refused");
	ok(local_inv(key, 1) == IBV_WC_MW_BIND_ERR, "LOCAL_INV of it: MW_BIND_ERR");
	mw_fresh();
	ok(!local_inv(key, 2), "the QP that bound the window invalidates it");
	v.qp = 1;
	v.key = ibv_inc_rkey(key);
	ok(!mw_bind(&v) && mw_writes(v.key, 0), "then another QP can bind the window");
	ok(!send_inv(v.key, &wc), "and invalidate it with a SEND");
	vb_mw_dealloc(b, 0);
	vb_destroy(a, 3);
	vb_destroy(b, 2);
}

/*
 * After a reset the QP counts its requests anew: one with the number and the key of an earlier one
 * is another request.
 */
static void test_reset(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct mw_bind v = { .qp = 1, .len = LEN, .access = RW };
	uint32_t key;

	mw_fresh();
	vb_mw(b, 0, IBV_MW_TYPE_2, &key);
	v.key = key = ibv_inc_rkey(key);
	ok(!mw_bind(&v) && !vb_to_state(b, 1, IBV_QPS_RESET) && !vb_connect(b, 1, a, 0, &spec) &&
		   mw_bind(&v) == IBV_WC_MW_BIND_ERR,
	   "a bound window is bound again after a reset of its QP: MW_BIND_ERR");
	vb_to_state(b, 1, IBV_QPS_RESET);
	ok(!vb_connect(b, 1, a, 0, &spec) && !local_inv(key, 1) &&
		   !vb_to_state(b, 1, IBV_QPS_RESET) && !vb_connect(b, 1, a, 0, &spec) &&
		   local_inv(key, 1) == IBV_WC_MW_BIND_ERR,
	   "an invalid key is invalidated again after a reset: MW_BIND_ERR");
	vb_mw_dealloc(b, 0);
	mw_fresh();
}

/* A window posted, used and invalidated in one go, behind other work. */
static void test_order(void)
{
	struct vb_wr wr[4];
	struct ibv_wc wc;
	uint32_t key;
	bool good;

	vb_mw(a, 0, IBV_MW_TYPE_2, &key);
	key = ibv_inc_rkey(key);
	wr[0] = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 100000);
	wr[1] = vb_wr(IBV_WR_BIND_MW, 2, a, NULL, 0);
	wr[1].mw = 1;
	wr[1].bind_rkey = key;
	wr[1].bind_addr = (uintptr_t)a->buf;
	wr[1].bind_len = LEN;
	wr[1].bind_access = RR;
	wr[2] = vb_pair_wr(&p, IBV_WR_RDMA_READ, 3, 0, 100000);
	wr[3] = vb_wr(IBV_WR_LOCAL_INV, 4, a, NULL, 0);
	wr[3].imm = key;
	good = !vb_sends(a, 0, false, wr, 4, NULL);
	for (uint64_t i = 1; good && i <= 4; i++)
		good = vb_poll(a, 0, VB_SCQ, VB_WAIT, &wc) && wc.wr_id == i && !wc.status;
	ok(good, "WRITE, BIND_MW, READ and LOCAL_INV complete in order");
	vb_mw_dealloc(a, 0);
}

int main(int argc, char **argv)
{
	mw_open(argc, argv);
	test_local_inv();
	test_send_inv();
	test_2b();
	test_reset();
	test_order();
	mw_close();
	return tap_failed != 0;
}
