/* SPDX-License-Identifier: MIT */
/* Extended completion queues: attributes, batches, every field, time, overruns. */
#include "tests/lib/c/vb.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CQS  15 /* index of the entry that lends its CQs */
#define SEND 0
#define RECV 1

static struct vb_side *s;
static struct ibv_cq_ex *scq, *rcq;

static struct ibv_cq_init_attr_ex cq_attr(uint64_t wc_flags)
{
	return (struct ibv_cq_init_attr_ex){ .cqe = 64, .cq_context = s, .wc_flags = wc_flags };
}

static struct ibv_cq_ex *make(struct ibv_cq_init_attr_ex attr)
{
	errno = 0;
	return ibv_create_cq_ex(s->ctx, &attr);
}

static void refused(const char *what, struct ibv_cq_init_attr_ex attr, int err)
{
	struct ibv_cq_ex *cq = make(attr);

	ok(!cq && errno == err, "%s: %s", what, strerror(err));
	if (cq)
		ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

static void test_refused(void)
{
	struct ibv_cq_init_attr_ex attr = cq_attr(0);

	attr.cqe = 0;
	refused("no entries", attr, EINVAL);
	attr.cqe = (uint32_t)s->info.dev.orig_attr.max_cqe + 1;
	refused("more than max_cqe", attr, EINVAL);
	attr = cq_attr(0);
	attr.comp_vector = (uint32_t)s->ctx->num_comp_vectors;
	refused("no such vector", attr, EINVAL);
	attr = cq_attr(0);
	attr.comp_mask = 1 << 5;
	refused("unknown comp_mask", attr, EINVAL);
	attr = cq_attr(0);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = 1 << 7;
	refused("unknown flags", attr, EINVAL);
	refused("unknown wc_flags", cq_attr(1ULL << 40), EOPNOTSUPP);
	attr = cq_attr(0);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	refused("a parent domain that is NULL", attr, EINVAL);
	attr.parent_domain = s->pd;
	refused("a plain PD as parent domain", attr, EINVAL);
}

/* A field's function is set if the CQ was created with the field's flag, and only then. */
static bool functions_match(const struct ibv_cq_ex *cq, uint64_t wc)
{
	const struct {
		uint64_t flag;
		bool there;
	} f[] = {
		{ IBV_WC_EX_WITH_BYTE_LEN, cq->read_byte_len },
		{ IBV_WC_EX_WITH_IMM, cq->read_imm_data },
		{ IBV_WC_EX_WITH_QP_NUM, cq->read_qp_num },
		{ IBV_WC_EX_WITH_SRC_QP, cq->read_src_qp },
		{ IBV_WC_EX_WITH_SLID, cq->read_slid },
		{ IBV_WC_EX_WITH_SL, cq->read_sl },
		{ IBV_WC_EX_WITH_DLID_PATH_BITS, cq->read_dlid_path_bits },
		{ IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, cq->read_completion_ts },
		{ IBV_WC_EX_WITH_CVLAN, cq->read_cvlan },
		{ IBV_WC_EX_WITH_FLOW_TAG, cq->read_flow_tag },
		{ IBV_WC_EX_WITH_TM_INFO, cq->read_tm_info },
		{ IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, cq->read_completion_wallclock_ns },
	};

	for (size_t i = 0; i < sizeof(f) / sizeof(f[0]); i++)
		if (f[i].there != !!(wc & f[i].flag))
			return false;
	return cq->start_poll && cq->next_poll && cq->end_poll && cq->read_opcode &&
	       cq->read_vendor_err && cq->read_wc_flags;
}

static void test_functions(void)
{
	bool good = true;

	for (int bit = -1; bit <= 12 && good; bit++) {
		uint64_t wc = bit < 0	 ? 0
			      : bit < 12 ? 1ULL << bit
					 : (uint64_t)IBV_CREATE_CQ_SUP_WC_FLAGS;
		struct ibv_cq_ex *cq = make(cq_attr(wc));

		good = cq && functions_match(cq, wc) && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
		if (!good)
			note("wc_flags 0x%llx", (unsigned long long)wc);
	}
	ok(good, "functions are set for the requested fields, and no others");
}

/* A QP of the type that sends to itself or, if connected, to its neighbour, by two extended CQs. */
static void set_up(enum ibv_qp_type type, struct ibv_cq_init_attr_ex attr, struct vb_spec *spec)
{
	scq = make(attr);
	rcq = make(attr);
	if (!scq || !rcq)
		die("extended CQs: %s", strerror(errno));
	s->qp[CQS].scq = ibv_cq_ex_to_cq(scq);
	s->qp[CQS].rcq = ibv_cq_ex_to_cq(rcq);
	*spec = vb_spec_of(type);
	spec->cqs_of = CQS + 1;
	if (vb_link(s, SEND, spec, s, RECV, spec))
		die("queue pairs: %s", strerror(errno));
}

static void tear_down(void)
{
	bool good = !vb_destroy(s, SEND) && !vb_destroy(s, RECV) &&
		    !ibv_destroy_cq(ibv_cq_ex_to_cq(scq)) && !ibv_destroy_cq(ibv_cq_ex_to_cq(rcq));

	if (!good)
		die("cannot destroy");
}

/* ibv_start_poll() within the usual time. On success the batch is open. */
static bool start(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t began = now_ns();
	int ret;

	do {
		ret = ibv_start_poll(cq, &attr);
	} while (ret == ENOENT && poll_pause(began, VB_WAIT));
	return !ret;
}

/* The same for the next entry of an open batch: elsewhere than here, it may be on its way. */
static bool go_on(struct ibv_cq_ex *cq)
{
	uint64_t began = now_ns();
	int ret;

	do {
		ret = ibv_next_poll(cq);
	} while (ret == ENOENT && poll_pause(began, VB_WAIT));
	return !ret;
}

static bool poll_plain(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
	return poll_cq(ibv_cq_ex_to_cq(cq), VB_WAIT, wc) == 1;
}

static bool message(uint64_t id, enum ibv_wr_opcode op, uint32_t len)
{
	struct vb_wr wr = vb_wr(op, id, s, s->buf, len);

	wr.imm = htonl(0x1234);
	wr.ah = s->ah[0] ? 1 : 0;
	wr.rqpn = s->addr[RECV].qpn;
	wr.rqkey = VB_QKEY;
	return !vb_recv1(s, RECV, id, s->buf + 65536, 4096) && !vb_send(s, SEND, false, &wr);
}

static void test_batches(void)
{
	struct ibv_poll_cq_attr bad = { .comp_mask = 1 }, none = { 0 };
	struct vb_spec spec;
	struct ibv_wc wc;
	uint64_t i = 0;
	bool good = true;

	set_up(IBV_QPT_RC, cq_attr(IBV_WC_STANDARD_FLAGS), &spec);
	ok(ibv_start_poll(rcq, &none) == ENOENT, "an empty CQ: ENOENT");
	ok(ibv_start_poll(rcq, &bad) == EINVAL, "comp_mask: EINVAL");
	while (i < 20)
		good = good && message(i++, IBV_WR_SEND, 8);
	ok(good && start(rcq), "a batch");
	for (i = 0; good && i < 20; i++) {
		good = rcq->wr_id == i && rcq->status == IBV_WC_SUCCESS &&
		       ibv_wc_read_opcode(rcq) == IBV_WC_RECV;
		if (i < 19)
			good = good && go_on(rcq);
	}
	ok(good && ibv_next_poll(rcq) == ENOENT, "of 20, in order, then ENOENT");
	ibv_end_poll(rcq);
	ok(ibv_start_poll(rcq, &none) == ENOENT, "and the CQ is empty");
	for (i = 0; i < 3; i++)
		message(i, IBV_WR_SEND, 8);
	good = start(rcq) && rcq->wr_id == 0;
	ibv_end_poll(rcq);
	ok(good && poll_plain(rcq, &wc) && wc.wr_id == 1 && start(rcq) && rcq->wr_id == 2,
	   "a batch that ends early leaves the rest; ibv_poll_cq() takes from it, too");
	ibv_end_poll(rcq);
	tear_down();
}

static void test_rc(void)
{
	struct vb_spec spec;
	struct vb_wr wr;
	struct ibv_wc_tm_info tm = { 1, 1 };

	set_up(IBV_QPT_RC, cq_attr(IBV_CREATE_CQ_SUP_WC_FLAGS), &spec);
	if (!ok(message(7, IBV_WR_SEND_WITH_IMM, 100) && start(rcq), "RC: SEND_WITH_IMM"))
		return;
	ok(rcq->wr_id == 7 && !rcq->status && ibv_wc_read_byte_len(rcq) == 100 &&
		   ibv_wc_read_imm_data(rcq) == htonl(0x1234) &&
		   ibv_wc_read_qp_num(rcq) == s->addr[RECV].qpn &&
		   ibv_wc_read_src_qp(rcq) == s->addr[SEND].qpn &&
		   ibv_wc_read_wc_flags(rcq) == IBV_WC_WITH_IMM && !ibv_wc_read_vendor_err(rcq),
	   "its length, immediate, numbers and flags");
	ibv_wc_read_tm_info(rcq, &tm);
	ok(!ibv_wc_read_slid(rcq) && !ibv_wc_read_sl(rcq) && !ibv_wc_read_dlid_path_bits(rcq) &&
		   !ibv_wc_read_cvlan(rcq) && !ibv_wc_read_flow_tag(rcq) && !tm.tag && !tm.priv,
	   "what it does not have is 0");
	ibv_end_poll(rcq);
	ok(start(scq) && scq->wr_id == 7 && ibv_wc_read_opcode(scq) == IBV_WC_SEND &&
		   ibv_wc_read_qp_num(scq) == s->addr[SEND].qpn,
	   "the sender's side");
	ibv_end_poll(scq);
	wr = vb_wr(IBV_WR_RDMA_READ, 8, s, s->buf, 300);
	wr.raddr = (uintptr_t)s->buf + 65536;
	wr.rkey = s->info.rkey ^ 0x5500;
	ok(!vb_send(s, SEND, false, &wr) && start(scq) && scq->wr_id == 8 &&
		   scq->status == IBV_WC_REM_ACCESS_ERR &&
		   ibv_wc_read_qp_num(scq) == s->addr[SEND].qpn,
	   "an error completion: wr_id, status, QP number");
	ibv_end_poll(scq);
	tear_down();
}

static void test_invalidate(void)
{
	struct ibv_cq_init_attr_ex attr = cq_attr(IBV_WC_STANDARD_FLAGS);
	struct vb_spec spec;
	struct vb_wr wr;
	uint32_t rkey;

	if (!ok(!vb_mw(s, 0, IBV_MW_TYPE_2, &rkey), "a memory window"))
		return;
	set_up(IBV_QPT_RC, attr, &spec);
	wr = vb_wr(IBV_WR_BIND_MW, 1, s, NULL, 0);
	wr.mw = 1;
	wr.bind_rkey = ibv_inc_rkey(rkey);
	wr.bind_addr = (uintptr_t)s->buf;
	wr.bind_len = 4096;
	wr.bind_access = IBV_ACCESS_REMOTE_WRITE;
	ok(!vb_send(s, RECV, false, &wr) && start(scq) && scq->status == IBV_WC_SUCCESS &&
		   ibv_wc_read_opcode(scq) == IBV_WC_BIND_MW,
	   "BIND_MW");
	ibv_end_poll(scq);
	wr = vb_wr(IBV_WR_SEND_WITH_INV, 2, s, s->buf, 8);
	wr.imm = ibv_inc_rkey(rkey);
	ok(!vb_recv1(s, RECV, 2, s->buf + 65536, 64) && !vb_send(s, SEND, false, &wr) &&
		   start(rcq) && rcq->status == IBV_WC_SUCCESS &&
		   ibv_wc_read_wc_flags(rcq) == IBV_WC_WITH_INV &&
		   ibv_wc_read_invalidated_rkey(rcq) == ibv_inc_rkey(rkey),
	   "SEND_WITH_INV: the key that it took");
	ibv_end_poll(rcq);
	tear_down();
	vb_mw_dealloc(s, 0);
}

static void test_ud(void)
{
	struct ibv_wc wc, plain;
	struct vb_spec spec;

	set_up(IBV_QPT_UD, cq_attr(IBV_CREATE_CQ_SUP_WC_FLAGS), &spec);
	if (!ok(!vb_ah(s, 0, &s->info.gid) && message(9, IBV_WR_SEND, 64) &&
			message(10, IBV_WR_SEND, 64) && start(rcq),
		"UD: SEND"))
		return;
	ok(ibv_wc_read_byte_len(rcq) == 64 + VB_GRH &&
		   ibv_wc_read_src_qp(rcq) == s->addr[SEND].qpn &&
		   ibv_wc_read_wc_flags(rcq) == IBV_WC_GRH && !ibv_wc_read_cvlan(rcq) &&
		   !ibv_wc_read_flow_tag(rcq),
	   "its length, source and GRH flag");
	wc.slid = (uint16_t)ibv_wc_read_slid(rcq);
	wc.sl = ibv_wc_read_sl(rcq);
	wc.dlid_path_bits = ibv_wc_read_dlid_path_bits(rcq);
	ibv_end_poll(rcq);
	ok(wc.sl && wc.slid == s->info.port.lid, "it tells the kind of packet, and the port's LID");
	ok(poll_plain(rcq, &plain) && plain.wr_id == 10 && plain.slid == wc.slid &&
		   plain.sl == wc.sl && plain.dlid_path_bits == wc.dlid_path_bits,
	   "as ibv_poll_cq() has them");
	vb_ah_destroy(s, 0);
	tear_down();
}

static uint64_t raw_clock(void)
{
	struct ibv_values_ex v = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	if (ibv_query_rt_values_ex(s->ctx, &v))
		die("ibv_query_rt_values_ex");
	return (uint64_t)v.raw_clock.tv_nsec;
}

static uint64_t wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void test_time(void)
{
	uint64_t before, after, ts[2], wall[2], wall_before, wall_after;
	const uint64_t slack = 1000000000; /* the two clocks are read one after the other */
	struct vb_spec spec;
	bool good;

	set_up(IBV_QPT_RC,
	       cq_attr(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK),
	       &spec);
	before = raw_clock();
	wall_before = wall_clock();
	good = message(1, IBV_WR_SEND, 8) && message(2, IBV_WR_SEND, 8) && start(rcq);
	if (!good)
		die("no message");
	ts[0] = ibv_wc_read_completion_ts(rcq);
	wall[0] = ibv_wc_read_completion_wallclock_ns(rcq);
	good = good && go_on(rcq);
	if (!good)
		die("two messages are not both there");
	ts[1] = ibv_wc_read_completion_ts(rcq);
	wall[1] = ibv_wc_read_completion_wallclock_ns(rcq);
	ibv_end_poll(rcq);
	after = raw_clock();
	wall_after = wall_clock();
	ok(good && before <= ts[0] && ts[0] <= ts[1] && ts[1] <= after,
	   "timestamps are of the device's clock");
	ok(wall[0] + slack >= wall_before && wall[1] <= wall_after + slack,
	   "wall clock times are of the wall clock");
	ok(wall[1] - wall[0] == ts[1] - ts[0], "and as far from each other");
	tear_down();
}

static void test_flags(void)
{
	struct ibv_cq_init_attr_ex attr = cq_attr(IBV_WC_STANDARD_FLAGS);
	struct vb_spec spec;
	uint64_t i, n, last = 0, end = now_ns() + VB_WAIT * 1000000ULL;
	volatile uint8_t *at = s->buf + 65536;
	bool good = true;

	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	set_up(IBV_QPT_RC, attr, &spec);
	ok(message(3, IBV_WR_SEND, 8) && start(rcq) && rcq->wr_id == 3, "a single-threaded CQ");
	ibv_end_poll(rcq);
	tear_down();

	attr.cqe = 8;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	set_up(IBV_QPT_RC, attr, &spec);
	n = (uint64_t)ibv_cq_ex_to_cq(rcq)->cqe + 5;
	for (i = 0; i < n; i++) {
		memset(s->buf, (int)i + 1, 8);
		good = good && message(i, IBV_WR_SEND, 8);
	}
	/* Data that fits no entry is written at once: wait for the last one. */
	while (good && *at != (uint8_t)n && now_ns() < end)
		;
	ok(good && *at == (uint8_t)n && vb_event(s, VB_SHORT) == -1 &&
		   vb_state(s, SEND) == IBV_QPS_RTS && vb_state(s, RECV) == IBV_QPS_RTS,
	   "more than fits with IGNORE_OVERRUN: neither event nor error");
	for (good = start(rcq), i = 0; good; i++) {
		last = rcq->wr_id;
		if (ibv_next_poll(rcq))
			break;
	}
	ibv_end_poll(rcq);
	ok(good && i + 1 == n - 5 && last == i, "what fitted is there, the rest is lost");
	ok(message(100, IBV_WR_SEND, 8) && start(rcq) && rcq->wr_id == 100, "and it goes on");
	ibv_end_poll(rcq);
	tear_down();
}

int main(void)
{
	s = vb_local();
	vb_open(s);
	test_refused();
	test_functions();
	test_batches();
	test_rc();
	test_invalidate();
	test_ud();
	test_time();
	test_flags();
	return tap_failed != 0;
}
