/* SPDX-License-Identifier: MIT */
/*
 * A QP drops packets of another transport, even if the two QPs name each other as peers: the opcode
 * in the BTH says which transport a packet is of (IBTA 9.6.1.1). The sender gets no answer.
 */
#include "emulator/transport/wire.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp a, b;

/* QPs of these types that name each other; @b has a receive where it can. */
static void up(u32 type_a, u32 type_b)
{
	struct emu_conn o = emu_conn_defaults;

	m = emu_new(1);
	o.timeout = 8;
	o.retry_cnt = 3;
	o.type = type_a;
	a = emu_qp_new(m, 0, &o, 1);
	o.type = type_b;
	if (type_b == QPT_XRC_RECV)
		o.xrcd = emu_xrcd_open(m, 1, 7) + 1;
	b = emu_qp_new(m, 1, &o, 1);
	emu_pair(m, &a, &b, &o);
	if (type_b == QPT_RC || type_b == QPT_UC)
		emu_recv(m, &b, 1, m->c[1].mem, 100);
}

static void send_over(u32 opcode)
{
	struct sq_wqe *w = emu_post(m, &a, opcode, 1, m->c[0].mem, 8);

	m->c[0].mem[0] = 0x5a;
	emu_remote(m, w, 1, m->c[1].mem + 4096);
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
}

static void unheard(u32 opcode, u32 status)
{
	struct cqe c;

	send_over(opcode);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, status);
	CU_ASSERT_FALSE(emu_poll(m, &b.rcq, &c, NULL));
	CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
	CU_ASSERT_EQUAL(m->c[1].mem[0], 0);
	CU_ASSERT_EQUAL(m->c[1].mem[4096], 0);
	CU_ASSERT_EQUAL(m->hca->qp[b.slot].resp.epsn, emu_conn_defaults.psn_a);
	emu_free(m);
}

static void test_rc_uc(void)
{
	up(QPT_RC, QPT_UC);
	unheard(WR_SEND, WCS_RETRY_EXC_ERR);
	up(QPT_RC, QPT_UC);
	unheard(WR_RDMA_WRITE, WCS_RETRY_EXC_ERR);
}

static void test_uc_rc(void)
{
	up(QPT_UC, QPT_RC);
	unheard(WR_SEND, WCS_SUCCESS);
	up(QPT_UC, QPT_RC);
	unheard(WR_RDMA_WRITE, WCS_SUCCESS);
}

static void test_rc_xrc_recv(void)
{
	up(QPT_RC, QPT_XRC_RECV);
	unheard(WR_SEND, WCS_RETRY_EXC_ERR);
}

static void test_rc_xrc_send(void)
{
	static const u32 opcodes[] = { WR_SEND, WR_RDMA_WRITE, WR_RDMA_READ };

	for (u32 i = 0; i < ARRAY_SIZE(opcodes); i++) {
		up(QPT_RC, QPT_XRC_SEND);
		unheard(opcodes[i], WCS_RETRY_EXC_ERR);
	}
}

static void test_xrc_send_xrc_send(void)
{
	up(QPT_XRC_SEND, QPT_XRC_SEND);
	unheard(WR_SEND, WCS_RETRY_EXC_ERR);
}

/* Many small WRITEs, which would go together. */
static void test_train(void)
{
	struct cqe c;

	up(QPT_RC, QPT_UC);
	for (u32 i = 0; i < 8; i++)
		emu_remote(m, emu_post(m, &a, WR_RDMA_WRITE, i, m->c[0].mem, 8), 1,
			   m->c[1].mem + 4096 + 64 * i);
	m->c[0].mem[0] = 0x5a;
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, WCS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(m->c[1].mem[4096], 0);
	emu_free(m);
}

/* An answer to a UC QP, which expects none, does not end the message that it is sending. */
static void test_ack_uc(void)
{
	struct emu_qp other;
	struct emu_conn o = emu_conn_defaults;
	struct burst ack = { .op = BOP_ACK, .flags = BF_FIRST | BF_LAST, .npkts = 1 };
	const struct hca_qp *qp;
	struct cqe c;

	o.type = QPT_UC;
	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &other);
	b = other;
	qp = &m->hca->qp[b.slot];
	emu_recv(m, &b, 1, m->c[1].mem, 2 << 20);
	/* The second burst of two finds no memory now. */
	emu_post(m, &a, WR_SEND, 1, m->c[0].mem, 3 << 19);
	m->copy_error = -EAGAIN;
	m->copy_skip = 1;
	emu_ring(m, &a);
	CU_ASSERT_TRUE(qp->resp.flags & RESP_IN_MSG);
	ack.src_qpn = a.qpn;
	ack.dst_qpn = b.qpn;
	ack.src_port = ack.dst_port = 1;
	ack.pkey = IB_DEFAULT_PKEY;
	ack.mtu = qp->mtu;
	ack.dst_type = QPT_RC;
	engine_enter(&m->fabric);
	CU_ASSERT_EQUAL(hca_input(&m->fabric, &ack), 0);
	engine_leave(&m->fabric);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_TRUE(emu_poll(m, &b.rcq, &c, NULL));
	CU_ASSERT_EQUAL(c.byte_len, 3 << 19);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "RC is nothing to a UC QP", test_rc_uc },
	{ "UC is nothing to an RC QP", test_uc_rc },
	{ "RC is nothing to an XRC target", test_rc_xrc_recv },
	{ "RC is nothing to an XRC initiator", test_rc_xrc_send },
	{ "XRC initiators have nothing to say to each other", test_xrc_send_xrc_send },
	{ "small RC WRITEs are nothing to a UC QP", test_train },
	{ "an RC acknowledge does not end a UC message", test_ack_uc },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("transports", tests);
}
