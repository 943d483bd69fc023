/* SPDX-License-Identifier: MIT */
/*
 * ibv_wc.vendor_err: mlx5's on devices with Mellanox' vendor ID, 0 on all others.
 *
 * A SEND with wr_id 77 is to fail by a rule with REM_OP_ERR.
 */
#include "tests/lib/c/vb.h"

#include <stdlib.h>
#include <string.h>

#define INJECTED 77

static struct vb_side *s;
static struct vb_pair p;
static bool is_mlx5;

/* Wait for a completion of a CQ. Return: whether it has that status and vendor error. */
static bool fails(int i, enum vb_cq which, enum ibv_wc_status status, unsigned int vendor)
{
	struct ibv_wc wc = { 0 };
	bool came = vb_poll(s, i, which, VB_WAIT, &wc);
	unsigned int want = is_mlx5 ? vendor : 0;

	return ok(came && wc.status == status && wc.vendor_err == want, "%s: 0x%x, 0x%x wanted, %s",
		  ibv_wc_status_str(wc.status), wc.vendor_err, want, ibv_wc_status_str(status));
}

/*
 * A fresh pair that gives up at the first RNR NAK. @timeout: as ibv_modify_qp(3) has it, of the
 * first and last try
 */
static void fresh_timed(uint8_t timeout)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);

	spec.timeout = timeout;
	spec.retry_cnt = 0;
	spec.rnr_retry = 0;
	if (p.a)
		vb_pair_down(&p);
	ok(!vb_pair_up(&p, s, s, &spec), "a pair");
}

/* The peer answers it, however busy the machine is. */
static void fresh(void)
{
	fresh_timed(22);
}

static void send_fails(struct vb_wr *wr, enum ibv_wc_status status, unsigned int vendor)
{
	ok(!vb_send(s, 0, false, wr), "posted");
	fails(0, VB_SCQ, status, vendor);
}

/* A SEND that finds no receive, and one whose receive has a wrong key. */
static void receives_fail(void)
{
	struct vb_wr wr;
	struct ibv_sge sge;

	fresh();
	wr = vb_pair_wr(&p, IBV_WR_SEND, 1, 0, 64);
	send_fails(&wr, IBV_WC_RNR_RETRY_EXC_ERR, 0x87);
	fresh();
	wr = vb_pair_wr(&p, IBV_WR_SEND, 1, 0, 64);
	sge = wr.sge[0];
	sge.lkey ^= 0x123400;
	ok(!vb_recv(s, p.recv, 2, &sge, 1), "a receive with a wrong key");
	ok(!vb_send(s, 0, false, &wr), "posted");
	fails(p.recv, VB_RCQ, IBV_WC_LOC_PROT_ERR, 0x32);
	fails(0, VB_SCQ, IBV_WC_REM_OP_ERR, 0x89);
}

int main(void)
{
	struct vb_wr wr;

	s = vb_local();
	vb_open(s);
	is_mlx5 = s->info.dev.orig_attr.vendor_id == 0x02c9;
	fresh();
	wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 64);
	wr.rkey ^= 0x123400;
	send_fails(&wr, IBV_WC_REM_ACCESS_ERR, 0x88);
	vb_recv1(s, 0, 9, s->buf, 64);
	fails(0, VB_RCQ, IBV_WC_WR_FLUSH_ERR, 0xf9);
	send_fails(&wr, IBV_WC_WR_FLUSH_ERR, 0xf9);
	fresh();
	wr = vb_pair_wr(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8);
	wr.raddr++;
	send_fails(&wr, IBV_WC_REM_INV_REQ_ERR, 0x8a);
	fresh();
	wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 64);
	wr.sge[0].lkey ^= 0x123400;
	send_fails(&wr, IBV_WC_LOC_PROT_ERR, 0x52);
	fresh_timed(8);
	vb_to_state(s, 1, IBV_QPS_RESET);
	wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 64);
	send_fails(&wr, IBV_WC_RETRY_EXC_ERR, 0x81);
	fresh();
	wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, INJECTED, 0, 64);
	send_fails(&wr, IBV_WC_REM_OP_ERR, 0x89);
	receives_fail();
	return tap_failed != 0;
}
