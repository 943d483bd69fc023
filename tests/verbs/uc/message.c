/* SPDX-License-Identifier: MIT */
/*
 * Unreliable connections: whole messages or none, and no answer.
 *	app_uc_message [local|remote]: where the other side lives
 */
#include "tests/lib/c/vb.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct vb_side *a, *b;
static struct vb_pair p;

static void fresh(const struct vb_spec *spec)
{
	int ret;

	if (p.a)
		vb_pair_down(&p);
	while (vb_event(b, 0) >= 0)
		;
	ret = vb_pair_up(&p, a, b, spec);
	if (ret) {
		ok(false, "UC queue pairs: %s", strerror(ret));
		exit(1);
	}
}

static void usual(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UC);

	spec.inl = 64;
	fresh(&spec);
}

static bool sent(const struct vb_wr *wr)
{
	enum ibv_wc_opcode op = wr->op == IBV_WR_SEND || wr->op == IBV_WR_SEND_WITH_IMM
					? IBV_WC_SEND
					: IBV_WC_RDMA_WRITE;
	struct ibv_wc wc;

	return !vb_send(a, 0, false, wr) && vb_done(a, 0, VB_SCQ, wr->wr_id, op, &wc);
}

static bool received(uint64_t wr_id, uint32_t len, const uint8_t *at, uint64_t seed)
{
	struct ibv_wc wc;

	return vb_done(b, 1, VB_RCQ, wr_id, IBV_WC_RECV, &wc) && wc.byte_len == len &&
	       wc.src_qp == a->addr[0].qpn && filled(at, len, seed);
}

static void test_sizes(enum ibv_mtu mtu, uint32_t psn)
{
	static const uint32_t sizes[] = { 0,   1,   64,	  72,	73,   128,   129,     255,
					  256, 257, 1024, 1025, 4097, 65536, 1u << 20 };
	struct vb_spec spec = vb_spec_of(IBV_QPT_UC);
	bool good = true;

	spec.mtu = mtu;
	spec.psn = psn;
	fresh(&spec);
	for (unsigned int i = 0; good && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct vb_wr wr = vb_pair_send(&p, i, sizes[i]);

		memset(b->buf, 0, sizes[i]);
		good = !vb_recv1(b, 1, i, b->buf, sizes[i]) && sent(&wr) &&
		       received(i, sizes[i], b->buf, i);
		if (!good)
			note("SEND of %u bytes", sizes[i]);
		memset(b->buf, 0, sizes[i]);
		wr.op = IBV_WR_RDMA_WRITE;
		good = good && sent(&wr) && arrives(b->buf, sizes[i], i);
	}
	ok(good, "messages of 0 to 1 MiB, MTU %u, PSNs from %#x", 128u << mtu, psn);
}

/* --- Dropped: the sender does not know, the receiver does not notice */

static bool dropped(const struct vb_wr *wr)
{
	return sent(wr) && !vb_fence(a, b) && vb_nothing(b, 1, VB_RCQ) && vb_event(b, 0) == -1 &&
	       vb_state(a, 0) == IBV_QPS_RTS && vb_state(b, 1) == IBV_QPS_RTS;
}

static void test_no_receive(void)
{
	static const uint32_t sizes[] = { 10, 1024, 3000, 1u << 20 };

	for (int i = 0; i < 4; i++) {
		struct vb_wr wr = vb_pair_send(&p, 1, sizes[i]);
		bool good = dropped(&wr);

		wr.op = IBV_WR_SEND_WITH_IMM;
		good = good && dropped(&wr);
		wr.op = IBV_WR_RDMA_WRITE_WITH_IMM;
		good = good && dropped(&wr);
		ok(good && vb_pair_alive(&p), "no receive posted for %u bytes; the next arrives",
		   sizes[i]);
	}
}

static void refused_write(const char *what, struct vb_wr wr)
{
	bool good;

	memset(b->buf, 0xee, 8192);
	good = !vb_recv1(b, 1, 7, b->buf + 65536, 1000) && dropped(&wr);
	wr.op = IBV_WR_RDMA_WRITE_WITH_IMM;
	good = good && dropped(&wr);
	for (int i = 0; i < 8192; i++)
		good = good && b->buf[i] == 0xee;
	/* The receive is still there for the next message. */
	wr = vb_pair_send(&p, 8, 900);
	good = good && sent(&wr) && received(7, 900, b->buf + 65536, 8);
	ok(good, "RDMA_WRITE is dropped: %s; the receive is kept", what);
}

static struct vb_wr some_write(void)
{
	struct vb_wr wr = vb_pair_send(&p, 2, 3000);

	wr.op = IBV_WR_RDMA_WRITE;
	return wr;
}

static void test_writes(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UC);
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_LOCAL_WRITE };
	struct vb_wr wr = some_write();

	wr.rkey ^= 0x5a5a00;
	refused_write("a bad rkey", wr);
	wr = some_write();
	wr.raddr = (uintptr_t)b->buf + VB_BUF - 2999;
	refused_write("beyond the region", wr);
	wr = some_write();
	if (vb_modify(b, 1, &attr, IBV_QP_ACCESS_FLAGS))
		note("ibv_modify_qp failed");
	refused_write("not allowed by the QP", wr);
	attr.qp_access_flags = (unsigned int)spec.access;
	ok(!vb_modify(b, 1, &attr, IBV_QP_ACCESS_FLAGS), "access flags again");
	wr = some_write();
	wr.sge[0].length = 0;
	wr.rkey = 0;
	ok(sent(&wr) && vb_pair_alive(&p), "nothing may be written with any rkey");
}

/* --- Errors of the receiver are its own */

static void receiver_fails(const char *what, struct ibv_sge sge, uint32_t len,
			   enum ibv_wc_status status)
{
	struct vb_wr wr;
	bool good;

	usual();
	wr = vb_pair_send(&p, 3, len);
	good = !vb_recv(b, 1, 10, &sge, 1) && !vb_recv1(b, 1, 11, b->buf, 100000) && sent(&wr) &&
	       vb_status(b, 1, VB_RCQ, 10, status) &&
	       vb_status(b, 1, VB_RCQ, 11, IBV_WC_WR_FLUSH_ERR);
	good = good && vb_state(b, 1) == IBV_QPS_ERR && vb_state(a, 0) == IBV_QPS_RTS;
	/* The other end goes on, into nothing. */
	ok(good && sent(&wr), "%s: %s, the rest is flushed; the sender goes on", what,
	   ibv_wc_status_str(status));
}

static void test_receiver(void)
{
	struct ibv_sge sge = { (uintptr_t)b->buf, 64, b->info.lkey };

	receiver_fails("100 bytes for 64", sge, 100, IBV_WC_LOC_LEN_ERR);
	receiver_fails("5000 bytes for 64", sge, 5000, IBV_WC_LOC_LEN_ERR);
	sge.length = 3000;
	receiver_fails("5000 bytes for 3000", sge, 5000, IBV_WC_LOC_LEN_ERR);
	sge.lkey ^= 0x5a5a00;
	receiver_fails("a receive with a bad lkey", sge, 2000, IBV_WC_LOC_PROT_ERR);
	sge.lkey = b->info.lkey;
	sge.addr = (uintptr_t)b->buf + VB_BUF - 1500;
	receiver_fails("a receive beyond its region", sge, 2000, IBV_WC_LOC_PROT_ERR);
}

/* --- Errors of the sender lead to SQE, which can be left */

static void test_sender(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };
	struct vb_wr wr[3], back;
	struct ibv_wc wc;
	bool good;

	usual();
	for (uint64_t i = 0; i < 3; i++)
		wr[i] = vb_pair_send(&p, 20 + i, 3000);
	wr[0].sge[0].lkey ^= 0x5a5a00;
	wr[0].flags = wr[2].flags = 0;
	good = !vb_recv1(b, 1, 30, b->buf, 5000) && !vb_sends(a, 0, false, wr, 3, NULL) &&
	       vb_status(a, 0, VB_SCQ, 20, IBV_WC_LOC_PROT_ERR) &&
	       vb_status(a, 0, VB_SCQ, 21, IBV_WC_WR_FLUSH_ERR) &&
	       vb_status(a, 0, VB_SCQ, 22, IBV_WC_WR_FLUSH_ERR);
	ok(good && vb_state(a, 0) == IBV_QPS_SQE && vb_state(b, 1) == IBV_QPS_RTS &&
		   vb_nothing(b, 1, VB_RCQ),
	   "a bad lkey: LOC_PROT_ERR, the rest is flushed, SQE");
	good = !vb_send(a, 0, false, &wr[1]) && vb_status(a, 0, VB_SCQ, 21, IBV_WC_WR_FLUSH_ERR);
	ok(good, "requests that are posted in SQE are flushed");
	back = vb_wr(IBV_WR_SEND, 40, b, b->buf + 8192, 2500);
	fill(b->buf + 8192, 2500, 40);
	good = !vb_recv1(a, 0, 41, a->buf + 8192, 2500) && !vb_send(b, 1, false, &back) &&
	       vb_done(b, 1, VB_SCQ, 40, IBV_WC_SEND, &wc) &&
	       vb_done(a, 0, VB_RCQ, 41, IBV_WC_RECV, &wc) && filled(a->buf + 8192, 2500, 40);
	ok(good, "a QP in SQE still receives");
	good = !vb_modify(a, 0, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE);
	wr[1] = vb_pair_send(&p, 21, 3000);
	ok(good && vb_state(a, 0) == IBV_QPS_RTS && sent(&wr[1]) && received(30, 3000, b->buf, 21),
	   "SQE to RTS, and the next message arrives");
}

/* --- Nobody there */

static void test_no_peer(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UC);
	struct vb_wr wr;
	bool good;

	usual();
	wr = vb_pair_send(&p, 50, 3000);
	good = !vb_recv1(b, 1, 51, b->buf, 5000) && !vb_to_state(b, 1, IBV_QPS_ERR) &&
	       vb_status(b, 1, VB_RCQ, 51, IBV_WC_WR_FLUSH_ERR) && sent(&wr);
	ok(good && vb_nothing(b, 1, VB_RCQ), "the peer is in ERR");
	good = !vb_to_state(b, 1, IBV_QPS_RESET) && sent(&wr);
	ok(good, "the peer is in RESET");
	/* Late packets reach no QP. */
	good = !vb_fence(a, b) && !vb_connect(b, 1, a, 0, &spec) && vb_pair_alive(&p);
	ok(good, "the peer is back, at the PSN of old");
	ok(!vb_destroy(b, 1) && sent(&wr) && vb_state(a, 0) == IBV_QPS_RTS, "the peer is gone");
}

/* A message that starts at another PSN than expected is a new one after a loss. */
static void test_psn(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UC);
	static const uint32_t psns[] = { 0, 0x800000, 0xffffff, 5, 4 };
	bool good = true;

	usual();
	for (int i = 0; good && i < 5; i++) {
		a->addr[0].psn = psns[i];
		good = !vb_to_state(a, 0, IBV_QPS_RESET) && !vb_connect(a, 0, b, 1, &spec) &&
		       vb_pair_alive(&p) && vb_pair_alive(&p);
	}
	ok(good, "messages from any PSN");
}

/* Too fast for the receiver: what arrives is whole and in order. */
static void test_overrun(void)
{
	struct ibv_wc wc;
	uint32_t last = 0, n = 0, recvs = 0;
	bool good = true;

	usual();
	for (uint32_t i = 1; good && i <= 500; i++) {
		struct vb_wr wr = vb_pair_send(&p, i, 2000 + i);

		wr.op = IBV_WR_SEND_WITH_IMM;
		wr.imm = htonl(i);
		/* A receive for two of three. */
		if (i % 3)
			good = !vb_recv1(b, 1, recvs, b->buf + (recvs % 32) * 4096, 4096);
		recvs += i % 3 ? 1 : 0;
		good = good && sent(&wr);
		/*
		 * From another node they arrive later, but none may take the buffer of one after
		 * it. Each receive was posted for one message: at least as many messages as
		 * receives are under way.
		 */
		while (good && vb_poll(b, 1, VB_RCQ,
				       !peer_late()	? 0
				       : recvs - n > 16 ? VB_WAIT
				       : i == 500	? VB_SHORT
							: 0,
				       &wc)) {
			uint32_t got = ntohl(wc.imm_data);

			good = !wc.status && wc.wr_id == n && got > last &&
			       wc.byte_len == 2000 + got &&
			       filled(b->buf + (n % 32) * 4096, wc.byte_len, got);
			last = got;
			n++;
		}
	}
	ok(good && recvs == 334 && (n == recvs || (peer_late() && n > 100 && n < recvs)),
	   "500 messages for %u receives, %u arrive", recvs, n);
}

static void test_rules(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UC);
	struct ibv_qp_attr attr = { .min_rnr_timer = 12, .timeout = 14 };
	int ret;

	usual();
	ok(vb_modify(a, 0, &attr, IBV_QP_MIN_RNR_TIMER) == EINVAL, "min_rnr_timer: EINVAL");
	attr.qp_state = IBV_QPS_SQD;
	ok(!vb_modify(a, 0, &attr, IBV_QP_STATE) && vb_state(a, 0) == IBV_QPS_SQD, "RTS to SQD");
	ok(vb_modify(a, 0, &attr, IBV_QP_TIMEOUT) == EINVAL, "a timeout: EINVAL");
	attr.qp_state = IBV_QPS_RTS;
	ok(!vb_modify(a, 0, &attr, IBV_QP_STATE) && vb_pair_alive(&p), "SQD to RTS");
	ret = vb_srq(a, 0, 16, 1, false);
	spec.srq = 1;
	ok(!ret && vb_create(a, 5, &spec) == EINVAL, "UC with an SRQ: EINVAL");
	vb_srq_destroy(a, 0);
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	test_sizes(IBV_MTU_1024, 0xabcdef);
	test_sizes(IBV_MTU_256, 0xfffffe);
	usual();
	test_no_receive();
	test_writes();
	test_receiver();
	test_sender();
	test_no_peer();
	test_psn();
	test_overrun();
	test_rules();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
