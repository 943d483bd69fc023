/* SPDX-License-Identifier: MIT */
/*
 * Datagrams: address handles, drops and errors.
 *	app_ud_datagram [local|remote]: where the other side lives
 */
#include "tests/lib/c/vb.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct vb_side *a, *b;
static struct vb_pair p;

static uint32_t mtu(void)
{
	return 128u << a->info.port.active_mtu;
}

/* The next datagram gets through: whatever came before left nothing behind. */
static bool next_arrives(uint64_t recv_id)
{
	struct vb_wr wr = vb_pair_send(&p, 900, 200);
	struct ibv_wc wc;

	return !vb_send(a, 0, false, &wr) && vb_done(a, 0, VB_SCQ, 900, IBV_WC_SEND, &wc) &&
	       vb_done(b, 1, VB_RCQ, recv_id, IBV_WC_RECV, &wc) && wc.byte_len == VB_GRH + 200;
}

/* --- Address handles */

static struct ibv_ah_attr ah_attr(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	attr.grh.dgid = a->info.gid;
	attr.grh.sgid_index = (uint8_t)a->gid_index;
	attr.grh.hop_limit = 64;
	return attr;
}

static bool no_ah(struct ibv_ah_attr attr, int want)
{
	errno = 0;
	if (!ibv_create_ah(a->pd, &attr) && errno == want)
		return true;
	note("errno %s", strerror(errno));
	return false;
}

static void test_ah_errors(void)
{
	static const union ibv_gid none;
	struct ibv_ah_attr attr = ah_attr();
	union ibv_gid gid;
	int other;

	attr.is_global = 0;
	ok(no_ah(attr, EINVAL), "ibv_create_ah without a GRH: EINVAL");
	attr = ah_attr();
	attr.port_num = 2;
	ok(no_ah(attr, EINVAL), "ibv_create_ah for port 2: EINVAL");
	attr.port_num = 0;
	ok(no_ah(attr, EINVAL), "ibv_create_ah for port 0: EINVAL");
	attr = ah_attr();
	for (int i = 0; i < a->info.port.gid_tbl_len && i < 256; i++) {
		if (ibv_query_gid(a->ctx, 1, i, &gid) || !memcmp(&gid, &none, sizeof(gid))) {
			attr.grh.sgid_index = (uint8_t)i;
			ok(no_ah(attr, ENODATA), "ibv_create_ah with an empty sgid_index: ENODATA");
			break;
		}
	}
	if (a->info.port.gid_tbl_len < 256) {
		attr.grh.sgid_index = (uint8_t)a->info.port.gid_tbl_len;
		ok(no_ah(attr, EINVAL), "ibv_create_ah beyond the GID table: EINVAL");
	}
	attr = ah_attr();
	other = rc_gid_other_family(a->ctx, &attr.grh.dgid);
	attr.grh.sgid_index = (uint8_t)other;
	if (other >= 0)
		ok(no_ah(attr, EINVAL), "ibv_create_ah with GIDs of different families: EINVAL");
}

static void test_ah_use(void)
{
	struct vb_wr wr = vb_pair_send(&p, 1, 8);
	struct ibv_ah_attr attr = ah_attr();
	struct ibv_pd *pd = ibv_alloc_pd(a->ctx);
	struct ibv_ah *ah[32];
	bool good = true;

	wr.ah = 0;
	ok(vb_send(a, 0, false, &wr) == EINVAL && vb_nothing(a, 0, VB_SCQ),
	   "a datagram without an address handle: EINVAL");
	for (int i = 0; i < 32; i++)
		good = (ah[i] = ibv_create_ah(pd, &attr)) && ah[i]->context == a->ctx &&
		       ah[i]->pd == pd && good;
	ok(good, "32 address handles");
	ok(ibv_dealloc_pd(pd) == EBUSY, "a PD with address handles: EBUSY");
	for (int i = 0; i < 32; i++)
		good = ah[i] && !ibv_destroy_ah(ah[i]) && good;
	ok(good && !ibv_dealloc_pd(pd), "a PD without address handles can be deallocated");
}

/* --- Addresses from completions. B answers what it got with a handle made from that alone. */

struct answer {
	struct ibv_wc wc;
	struct ibv_ah_attr attr;
	bool init; /* by way of ibv_init_ah_from_wc() */
};

static int do_answer(struct vb_side *s, void *arg)
{
	struct answer *w = arg;
	struct ibv_grh *grh = (struct ibv_grh *)(void *)s->buf;
	struct ibv_sge sge = { (uintptr_t)s->buf + 4096, 77, s->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 5,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	errno = 0;
	if (ibv_init_ah_from_wc(s->ctx, 1, &w->wc, grh, &w->attr))
		return 1000 + errno;
	wr.wr.ud.ah = w->init ? ibv_create_ah(s->pd, &w->attr)
			      : ibv_create_ah_from_wc(s->pd, &w->wc, grh, 1);
	if (!wr.wr.ud.ah)
		return 2000 + errno;
	wr.wr.ud.remote_qpn = w->wc.src_qp;
	wr.wr.ud.remote_qkey = VB_QKEY;
	fill(s->buf + 4096, 77, 55);
	if (ibv_post_send(s->qp[1].qp, &wr, &bad) || !vb_done(s, 1, VB_SCQ, 5, IBV_WC_SEND, &wc))
		return 3000;
	return ibv_destroy_ah(wr.wr.ud.ah);
}

static int do_wrong_answers(struct vb_side *s, void *arg)
{
	struct answer *w = arg;
	struct ibv_grh *grh = (struct ibv_grh *)(void *)s->buf;
	struct ibv_wc wc = w->wc;

	if (ibv_create_ah_from_wc(s->pd, &wc, grh, 2) || ibv_create_ah_from_wc(s->pd, &wc, grh, 0))
		return 1;
	if (ibv_init_ah_from_wc(s->ctx, 2, &wc, grh, &w->attr) != -1)
		return 2;
	/* A GRH that is not addressed to this port. */
	memset(s->buf + 8, 0x77, 32);
	if (ibv_init_ah_from_wc(s->ctx, 1, &wc, grh, &w->attr) != -1)
		return 3;
	/* Without a GRH there is no address on a port that needs one. */
	wc.wc_flags = 0;
	if (ibv_create_ah_from_wc(s->pd, &wc, grh, 1) || errno != EINVAL)
		return 4;
	return 0;
}

/* Whether the port of @s answers a datagram to an address by IPv6, or IPv4 mapped into it. */
static bool is_answerable(struct vb_side *s, const char *dgid)
{
	struct ibv_grh grh = { .version_tclass_flow = htobe32(6u << 28), .sgid = s->info.gid };
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_ah_attr attr;

	inet_pton(AF_INET6, dgid, &grh.dgid);
	errno = EINVAL;
	return !ibv_init_ah_from_wc(s->ctx, 1, &wc, &grh, &attr) || errno != EINVAL;
}

static int do_groups(struct vb_side *s, void *arg)
{
	(void)arg;
	return is_answerable(s, "ff0e::1") | is_answerable(s, "::ffff:239.1.1.1") << 1 |
	       is_answerable(s, "::ffff:240.0.0.1") << 2 |
	       is_answerable(s, "2001:db8::ff00:e000:1") << 3;
}

static void test_ah_of_group(void)
{
	char none = 0;
	int ret = vb_call(b, do_groups, &none, 1);

	ok((ret & 3) == 3, "a datagram to a group of IPv6 or IPv4 has an answer (%d)", ret);
	ok(!(ret & 12), "one to a foreign address that looks like a group has none (%d)", ret);
}

static void test_ah_from_wc(void)
{
	struct vb_wr wr = vb_pair_send(&p, 2, 50);
	struct answer w = { .init = false };
	struct ibv_wc wc;
	bool good;
	int ret;

	good = !vb_recv1(b, 1, 3, b->buf, 2000) && !vb_send(a, 0, false, &wr) &&
	       vb_done(a, 0, VB_SCQ, 2, IBV_WC_SEND, &wc) &&
	       vb_done(b, 1, VB_RCQ, 3, IBV_WC_RECV, &w.wc);
	ok(good && w.wc.src_qp == a->addr[0].qpn && w.wc.qp_num == b->addr[1].qpn &&
		   w.wc.wc_flags == IBV_WC_GRH && w.wc.pkey_index == 0 && w.wc.slid == 0,
	   "a datagram's completion says where it came from");
	for (int i = 0; i < 2 && good; i++) {
		w.init = i;
		good = !vb_recv1(a, 0, 4, a->buf + 8192, 2000);
		ret = good ? vb_call(b, do_answer, &w, sizeof(w)) : -1;
		if (ret)
			note("answer: %d", ret);
		good = !ret && vb_done(a, 0, VB_RCQ, 4, IBV_WC_RECV, &wc) &&
		       wc.byte_len == VB_GRH + 77 && filled(a->buf + 8192 + VB_GRH, 77, 55) &&
		       wc.src_qp == b->addr[1].qpn;
		good = good && w.attr.is_global && w.attr.port_num == 1 &&
		       !memcmp(&w.attr.grh.dgid, &a->info.gid, 16) &&
		       w.attr.grh.sgid_index == a->gid_index;
		ok(good, "an answer by %s",
		   i ? "ibv_init_ah_from_wc and ibv_create_ah" : "ibv_create_ah_from_wc");
	}
	ret = vb_call(b, do_wrong_answers, &w, sizeof(w));
	ok(ret == 0, "wrong ports and foreign GRHs give no address (%d)", ret);
}

/* --- Datagrams that are dropped: no status, no event, no receive used */

static void dropped(const char *what, struct vb_wr wr, int recvs, uint32_t len)
{
	struct ibv_wc wc;
	bool good = true;

	if (recvs)
		good = !vb_recv1(b, 1, 20, b->buf, len);
	good = good && !vb_send(a, 0, false, &wr) &&
	       vb_done(a, 0, VB_SCQ, wr.wr_id, IBV_WC_SEND, &wc) && !vb_fence(a, b) &&
	       vb_nothing(b, 1, VB_RCQ) && vb_event(b, 0) == -1 && vb_state(a, 0) == IBV_QPS_RTS &&
	       vb_state(b, 1) == IBV_QPS_RTS;
	if (good && !recvs)
		good = !vb_recv1(b, 1, 20, b->buf, 1000);
	ok(good && next_arrives(20), "dropped: %s; the next one arrives", what);
}

static void test_drops(void)
{
	struct vb_wr wr = vb_pair_send(&p, 12, 100);
	struct ibv_wc wc;
	bool good;

	wr.rqkey = VB_QKEY + 1;
	dropped("a wrong Q_Key", wr, 1, 1000);
	wr = vb_pair_send(&p, 13, 100);
	wr.rqpn = 0xfffff0;
	dropped("a QP that does not exist", wr, 1, 1000);
	dropped("no receive posted", vb_pair_send(&p, 14, 100), 0, 0);

	/* The receive that is too small stays the next one: what fits uses it. */
	good = !vb_recv1(b, 1, 21, b->buf, VB_GRH + 99) && !vb_recv1(b, 1, 22, b->buf, 1000);
	wr = vb_pair_send(&p, 15, 100);
	good = good && !vb_send(a, 0, false, &wr) && vb_done(a, 0, VB_SCQ, 15, IBV_WC_SEND, &wc) &&
	       vb_nothing(b, 1, VB_RCQ) && vb_state(b, 1) == IBV_QPS_RTS;
	wr = vb_pair_send(&p, 16, 99);
	good = good && !vb_send(a, 0, false, &wr) && vb_done(a, 0, VB_SCQ, 16, IBV_WC_SEND, &wc) &&
	       vb_done(b, 1, VB_RCQ, 21, IBV_WC_RECV, &wc) && wc.byte_len == VB_GRH + 99;
	ok(good && next_arrives(22), "dropped: a receive that is too small; it is kept");
}

/* A remote Q_Key with the top bit set stands for the sender's own. */
static void test_controlled_qkey(void)
{
	struct ibv_qp_attr attr = { .qkey = 0x22222222 };
	struct vb_wr wr = vb_pair_send(&p, 30, 10);
	struct ibv_wc wc;
	bool good;

	wr.rqkey = 0x80000000u;
	good = !vb_recv1(b, 1, 31, b->buf, 1000) && !vb_send(a, 0, false, &wr) &&
	       vb_done(a, 0, VB_SCQ, 30, IBV_WC_SEND, &wc) &&
	       vb_done(b, 1, VB_RCQ, 31, IBV_WC_RECV, &wc);
	ok(good, "a controlled Q_Key: the QP's own is sent");
	ok(!vb_modify(a, 0, &attr, IBV_QP_QKEY), "another Q_Key in RTS");
	wr.rqkey = 0x80000000u | VB_QKEY;
	dropped("a controlled Q_Key, where the QP's own is another", wr, 1, 1000);
	attr.qkey = VB_QKEY;
	ok(!vb_modify(a, 0, &attr, IBV_QP_QKEY), "the Q_Key is set back");
}

/* --- Errors of the sender: SQE, and on from there */

static void sqe(const char *what, struct vb_wr bad, enum ibv_wc_status status)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };
	struct vb_wr wr[3] = { bad, vb_pair_send(&p, 41, 8), vb_pair_send(&p, 42, 8) };
	struct ibv_wc wc;
	bool good;

	/* An error completes also what asked for no completion. */
	wr[0].flags = wr[2].flags = 0;
	good = !vb_sends(a, 0, false, wr, 3, NULL) &&
	       vb_status(a, 0, VB_SCQ, wr[0].wr_id, status) &&
	       vb_status(a, 0, VB_SCQ, 41, IBV_WC_WR_FLUSH_ERR) &&
	       vb_status(a, 0, VB_SCQ, 42, IBV_WC_WR_FLUSH_ERR) && vb_state(a, 0) == IBV_QPS_SQE;
	ok(good, "%s: %s, the rest is flushed, SQE", what, ibv_wc_status_str(status));
	good = !vb_sends(a, 0, false, wr + 1, 1, NULL) &&
	       vb_status(a, 0, VB_SCQ, 41, IBV_WC_WR_FLUSH_ERR);
	ok(good, "%s: what is posted in SQE is flushed", what);
	/* The receive queue does not notice. */
	good = !vb_recv1(a, 0, 43, a->buf + 8192, 1000);
	wr[1] = vb_wr(IBV_WR_SEND, 44, b, b->buf, 33);
	wr[1].ah = 1;
	wr[1].rqpn = a->addr[0].qpn;
	wr[1].rqkey = VB_QKEY;
	good = good && !vb_ah(b, 0, &a->info.gid) && !vb_send(b, 1, false, &wr[1]) &&
	       vb_done(b, 1, VB_SCQ, 44, IBV_WC_SEND, &wc) &&
	       vb_done(a, 0, VB_RCQ, 43, IBV_WC_RECV, &wc) && wc.byte_len == VB_GRH + 33;
	ok(good && !vb_ah_destroy(b, 0), "%s: it still receives", what);
	good = !vb_modify(a, 0, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE) &&
	       vb_state(a, 0) == IBV_QPS_RTS && vb_pair_alive(&p);
	ok(good, "%s: SQE to RTS, and it sends again", what);
}

static void test_errors(void)
{
	struct vb_wr wr = vb_pair_send(&p, 40, mtu() + 1);

	sqe("more than the port's MTU", wr, IBV_WC_LOC_LEN_ERR);
	wr = vb_pair_send(&p, 45, 500);
	wr.sge[0].lkey ^= 0x5a5a00;
	sqe("a bad lkey", wr, IBV_WC_LOC_PROT_ERR);
	wr = vb_pair_send(&p, 46, 500);
	wr.sge[0].addr = (uintptr_t)a->buf + VB_BUF - 499;
	sqe("more than the MR has", wr, IBV_WC_LOC_PROT_ERR);
}

/* A receive that cannot be written is the receiver's error. */
static void test_bad_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)b->buf, 1000, b->info.lkey ^ 0x5a5a00 };
	struct vb_wr wr = vb_pair_send(&p, 50, 100);
	struct ibv_wc wc;
	bool good;

	good = !vb_recv(b, 1, 51, &sge, 1) && !vb_recv1(b, 1, 52, b->buf, 1000) &&
	       !vb_send(a, 0, false, &wr) && vb_done(a, 0, VB_SCQ, 50, IBV_WC_SEND, &wc) &&
	       vb_status(b, 1, VB_RCQ, 51, IBV_WC_LOC_PROT_ERR) &&
	       vb_status(b, 1, VB_RCQ, 52, IBV_WC_WR_FLUSH_ERR);
	ok(good && vb_state(b, 1) == IBV_QPS_ERR && vb_state(a, 0) == IBV_QPS_RTS,
	   "a receive with a bad lkey: LOC_PROT_ERR, the rest is flushed, ERR");
}

static void fresh(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	int ret;

	spec.inl = 64;
	if (p.a)
		vb_pair_down(&p);
	ret = vb_pair_up(&p, a, b, &spec);
	if (ret) {
		ok(false, "UD queue pairs: %s", strerror(ret));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	fresh();
	test_ah_errors();
	test_ah_use();
	test_ah_from_wc();
	test_ah_of_group();
	test_drops();
	test_controlled_qkey();
	test_errors();
	fresh();
	test_bad_receive();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
