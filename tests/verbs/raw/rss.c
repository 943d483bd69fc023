/* SPDX-License-Identifier: MIT */
/*
 * Receive work queues, indirection tables, and queue pairs that spread frames over them by a hash.
 * The test computes the hash itself, bit by bit, by its definition.
 */
#include "tests/lib/c/raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define QUEUES 4u

static const uint8_t mac[6] = { 2, 0, 0, 0, 3, 1 };
static uint8_t key[40];
static struct ibv_context *ctx;
static struct raw_end a, m; /* a sender; memory and CQs for the WQs */

static struct ibv_wq *wq_new(uint32_t max_wr, uint32_t flags)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = max_wr,
		.max_sge = 2,
		.pd = m.pd,
		.cq = m.rcq,
		.comp_mask = flags ? IBV_WQ_INIT_ATTR_FLAGS : 0,
		.create_flags = flags,
	};

	return ibv_create_wq(ctx, &attr);
}

static int wq_to(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

static int wq_post(struct ibv_wq *wq, uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)raw_slot(&m, slot), RAW_SLOT, m.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_wq_recv(wq, &wr, &bad);
}

static struct ibv_rwq_ind_table *table_new(struct ibv_wq **wqs, uint32_t log_size)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = log_size, .ind_tbl = wqs };

	return ibv_create_rwq_ind_table(ctx, &attr);
}

static struct ibv_qp *rss_new(struct ibv_rwq_ind_table *t, uint8_t function, uint8_t key_len,
			      uint64_t fields)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.pd = m.pd,
		.rwq_ind_tbl = t,
		.rx_hash_conf = { function, key_len, key, fields },
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
	};

	return ibv_create_qp_ex(ctx, &attr);
}

/* The hash as its definition says: bit by bit, with the key shifted along. */
static uint32_t hash_of(const uint8_t *data, uint32_t len)
{
	uint32_t hash = 0, bit, i;

	for (bit = 0; bit < len * 8; bit++) {
		uint32_t window = 0;

		if (!(data[bit / 8] >> (7 - bit % 8) & 1))
			continue;
		for (i = bit; i < bit + 32; i++)
			window = window << 1 | (key[i / 8] >> (7 - i % 8) & 1);
		hash ^= window;
	}
	return hash;
}

static void test_wq(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE };
	struct ibv_wq *wq = wq_new(3, 0);
	struct ibv_wc wc;
	int i;

	ok(wq && wq->state == IBV_WQS_RESET && wq->wq_num && wq->cq == m.rcq, "a WQ is made");
	if (!wq)
		die("WQ: %s", strerror(errno));
	ok(!wq_new(0, 0) && errno == EINVAL, "one of no size: EINVAL");
	ok(!wq_new(1u << 30, 0) && errno == EINVAL, "one beyond the limit: EINVAL");
	ok(!wq_new(4, IBV_WQ_FLAGS_DELAY_DROP) && errno == EOPNOTSUPP, "DELAY_DROP: EOPNOTSUPP");
	ok(wq_post(wq, 0) == EINVAL, "posting in RESET: EINVAL");
	ok(wq_to(wq, IBV_WQS_ERR) == EINVAL, "RESET to ERR: EINVAL");
	attr.wq_state = IBV_WQS_RDY;
	attr.curr_wq_state = IBV_WQS_ERR;
	ok(ibv_modify_wq(wq, &attr) == EINVAL && wq->state == IBV_WQS_RESET,
	   "a wrong current state: EINVAL");
	attr.curr_wq_state = IBV_WQS_RESET;
	ok(!ibv_modify_wq(wq, &attr) && wq->state == IBV_WQS_RDY, "RESET to RDY");
	for (i = 0; !wq_post(wq, (uint64_t)i); i++)
		;
	ok(i == 4 && wq_post(wq, 0) == ENOMEM, "as many receives as were granted, then ENOMEM");
	ok(ibv_destroy_cq(m.rcq) == EBUSY, "the CQ of a WQ cannot be destroyed");
	ok(!wq_to(wq, IBV_WQS_ERR), "RDY to ERR");
	for (i = 0; raw_poll(m.rcq, &wc, false); i++)
		if (wc.wr_id != (uint64_t)i || wc.status != IBV_WC_WR_FLUSH_ERR ||
		    wc.qp_num != wq->wq_num)
			break;
	ok(i == 4, "all receives are flushed, in order");
	ok(!wq_post(wq, 7) && raw_poll(m.rcq, &wc, true) && wc.wr_id == 7 &&
		   wc.status == IBV_WC_WR_FLUSH_ERR,
	   "so is what is posted in ERR");
	ok(wq_to(wq, IBV_WQS_RDY) == EINVAL, "ERR to RDY: EINVAL");
	wq_post(wq, 8);
	ok(!wq_to(wq, IBV_WQS_RESET) && !raw_poll(m.rcq, &wc, false),
	   "RESET: what was not polled is gone");
	ok(!wq_to(wq, IBV_WQS_RDY) && !wq_post(wq, 9), "the WQ is ready again");
	ok(!ibv_destroy_wq(wq), "destroyed");
}

/* Frames of many flows go where the hash says. */
static void test_spread(uint64_t fields, bool ports, bool v6)
{
	struct raw_pkt k = { .ip = v6 ? 6 : 4, .proto = IPPROTO_UDP, .payload = 40, .dport = 99 };
	uint32_t i, j, got[QUEUES] = { 0 }, wrong = 0, len, al = v6 ? 16 : 4;
	struct ibv_wq *wqs[QUEUES];
	struct ibv_rwq_ind_table *t;
	struct ibv_flow *f;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	memcpy(k.dmac, mac, 6);
	for (i = 0; i < QUEUES; i++) {
		wqs[i] = wq_new(64, 0);
		if (!wqs[i] || wq_to(wqs[i], IBV_WQS_RDY))
			die("WQ");
		for (j = 0; j < 64; j++)
			wq_post(wqs[i], j);
	}
	t = table_new(wqs, 2);
	qp = t ? rss_new(t, IBV_RX_HASH_FUNC_TOEPLITZ, 40, fields) : NULL;
	if (!qp)
		die("RSS QP: %s", strerror(errno));
	f = raw_flow_dmac(qp, mac);
	for (i = 0; i < 64; i++) {
		char src[64], dst[64];
		uint8_t in[40];

		snprintf(src, sizeof(src), v6 ? "2001:db8::%x" : "10.1.%u.3", i * 7 % 256);
		snprintf(dst, sizeof(dst), v6 ? "2001:db8:1::%x" : "10.2.3.%u", i);
		k.src = src;
		k.dst = dst;
		k.sport = (uint16_t)(1000 + i);
		len = raw_build(a.out, &k, i);
		memcpy(in, a.out + (v6 ? 22 : 26), 2 * al);
		memcpy(in + 2 * al, a.out + raw_headers(&k) - 8, 4);
		raw_send(&a, len, 0);
		if (!raw_poll(m.rcq, &wc, true))
			die("frame %u has not come", i);
		j = hash_of(in, 2 * al + (ports ? 4 : 0)) % QUEUES;
		got[j]++;
		if (wc.status || wc.byte_len != len || wc.qp_num != wqs[j]->wq_num ||
		    memcmp(raw_slot(&m, wc.wr_id), a.out, len) != 0)
			wrong++;
	}
	ok(!wrong && got[0] && got[1] && got[2] && got[3], "%s%s: %u %u %u %u, %u wrong",
	   v6 ? "IPv6" : "IPv4", ports ? " and ports" : "", got[0], got[1], got[2], got[3], wrong);
	ok(ibv_destroy_wq(wqs[0]) == EBUSY && ibv_destroy_rwq_ind_table(t) == EBUSY &&
		   ibv_destroy_qp(qp) == EBUSY,
	   "objects that are in use cannot be destroyed");
	ok(!ibv_destroy_flow(f) && !ibv_destroy_qp(qp) && !ibv_destroy_rwq_ind_table(t),
	   "they can be destroyed in order");
	for (i = 0; i < QUEUES; i++)
		ibv_destroy_wq(wqs[i]);
}

static void test_errors(void)
{
	uint64_t v4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_qp_init_attr init;
	struct ibv_wq *wqs[256];
	struct ibv_device_attr_ex dev;
	struct ibv_rwq_ind_table *t;
	struct ibv_qp *qp;
	int i;

	ok(!ibv_query_device_ex(ctx, NULL, &dev) &&
		   dev.rss_caps.rx_hash_function == IBV_RX_HASH_FUNC_TOEPLITZ &&
		   (dev.rss_caps.rx_hash_fields_mask & v4) == v4 && dev.max_wq_type_rq,
	   "RSS is offered");
	wqs[0] = wq_new(4, 0);
	for (i = 1; i < 256; i++)
		wqs[i] = wqs[0];
	ok(!table_new(wqs, 8) && errno == EINVAL, "a table beyond the limit: EINVAL");
	t = table_new(wqs, 1);
	ok(t, "one queue may be in it more than once");
	if (!t)
		die("table");
	ok(!rss_new(t, 2, 40, v4) && errno == EOPNOTSUPP, "another hash: EOPNOTSUPP");
	ok(!rss_new(t, 1, 16, v4) && errno == EINVAL, "a key of another length: EINVAL");
	ok(!rss_new(t, 1, 40, v4 | IBV_RX_HASH_SRC_IPV6) && errno == EINVAL,
	   "both IP versions: EINVAL");
	ok(!rss_new(t, 1, 40, IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP) &&
		   errno == EINVAL,
	   "both protocols: EINVAL");
	ok(!rss_new(t, 1, 40, 0) && errno == EINVAL, "nothing to spread by: EINVAL");
	ok(!rss_new(NULL, 1, 40, v4) && errno == EINVAL, "no table: EINVAL");
	qp = rss_new(t, 1, 40, v4);
	ok(qp && ibv_modify_qp(qp, &attr, IBV_QP_STATE) == EOPNOTSUPP &&
		   ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == EOPNOTSUPP,
	   "a good one has no states: EOPNOTSUPP");
	ok(!ibv_destroy_qp(qp) && !ibv_destroy_rwq_ind_table(t) && !ibv_destroy_wq(wqs[0]), "goes");
}

/* A queue that fails, flags that change, and small frames whose bytes ride in completions. */
static void test_queue(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_FLAGS,
				    .flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING,
				    .flags = IBV_WQ_FLAGS_CVLAN_STRIPPING };
	struct raw_pkt k = { .vlan = 3, .payload = 20 };
	struct ibv_wq *wq = wq_new(8, IBV_WQ_FLAGS_SCATTER_FCS);
	struct ibv_rwq_ind_table *t = table_new(&wq, 0);
	struct ibv_qp *qp = t ? rss_new(t, 1, 40, 0) : NULL;
	struct ibv_sge sge = { (uintptr_t)m.in, 100, m.mr->lkey ^ 0x100 };
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_flow *f;
	struct ibv_wc wc;
	uint32_t len;

	if (!qp)
		die("a table of one: %s", strerror(errno));
	memcpy(k.dmac, mac, 6);
	f = raw_flow_dmac(qp, mac);
	len = raw_build(a.out, &k, 5);
	raw_send(&a, len, 0);
	wq_to(wq, IBV_WQS_RDY);
	wq_post(wq, 1);
	ok(!raw_poll(m.rcq, &wc, false), "frames that arrive before the WQ is ready are lost");
	raw_send(&a, len, 0);
	ok(raw_poll(m.rcq, &wc, true) && wc.byte_len == len + 4 &&
		   filled(m.in + RAW_SLOT + 18, 20, 5),
	   "a small frame and its check sequence");
	ok(!ibv_modify_wq(wq, &attr), "VLAN stripping is turned on");
	wq_post(wq, 1);
	raw_send(&a, len, 0);
	ok(raw_poll(m.rcq, &wc, true) && wc.byte_len == len && filled(m.in + RAW_SLOT + 14, 20, 5),
	   "the WQ strips VLAN tags");
	attr.flags_mask = IBV_WQ_FLAGS_SCATTER_FCS;
	ok(ibv_modify_wq(wq, &attr) == EOPNOTSUPP,
	   "IBV_WQ_FLAGS_SCATTER_FCS cannot be changed later: EOPNOTSUPP");
	ibv_post_wq_recv(wq, &wr, &bad);
	wq_post(wq, 3);
	raw_send(&a, len, 0);
	ok(raw_poll(m.rcq, &wc, true) && wc.wr_id == 2 && wc.status == IBV_WC_LOC_PROT_ERR &&
		   raw_poll(m.rcq, &wc, true) && wc.wr_id == 3 && wc.status == IBV_WC_WR_FLUSH_ERR,
	   "a bad key fails the queue");
	ok(!wq_post(wq, 4) && raw_poll(m.rcq, &wc, true) && wc.status == IBV_WC_WR_FLUSH_ERR,
	   "the WQ in ERR flushes new receives");
	wq_to(wq, IBV_WQS_RESET);
	wq_to(wq, IBV_WQS_RDY);
	wq_post(wq, 5);
	raw_send(&a, len, 0);
	ibv_destroy_flow(f);
	ibv_destroy_qp(qp);
	ibv_destroy_rwq_ind_table(t);
	ok(!ibv_destroy_wq(wq) && !raw_poll(m.rcq, &wc, false) &&
		   filled(m.in + 5 * RAW_SLOT + 14, 20, 5),
	   "a destroyed queue's completions are gone, what they brought is there");
}

/* A queue that can no longer report what it receives. */
static void test_overrun(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 3, NULL, NULL, 0), *was = m.rcq;
	struct raw_pkt k = { .payload = 20 };
	struct ibv_rwq_ind_table *t;
	struct ibv_async_event ev;
	struct ibv_flow *f;
	struct ibv_qp *qp;
	struct ibv_wq *wq;
	int i, n = cq ? cq->cqe : 0;
	uint32_t len;

	m.rcq = cq;
	wq = wq_new(16, 0);
	m.rcq = was;
	t = wq ? table_new(&wq, 0) : NULL;
	qp = t ? rss_new(t, 1, 40, 0) : NULL;
	if (!qp)
		die("a queue with a small CQ: %s", strerror(errno));
	memcpy(k.dmac, mac, 6);
	f = raw_flow_dmac(qp, mac);
	len = raw_build(a.out, &k, 5);
	wq_to(wq, IBV_WQS_RDY);
	for (i = 0; i < n + 2; i++)
		wq_post(wq, (uint64_t)i);
	for (i = 0; i < n + 1; i++)
		raw_send(&a, len, 0);
	ok(!ibv_get_async_event(ctx, &ev) && ev.event_type == IBV_EVENT_CQ_ERR &&
		   ev.element.cq == cq,
	   "the CQ of the WQ overruns: CQ_ERR");
	ibv_ack_async_event(&ev);
	ok(!ibv_get_async_event(ctx, &ev) && ev.event_type == IBV_EVENT_WQ_FATAL &&
		   ev.element.wq == wq,
	   "WQ_FATAL names the queue");
	ibv_ack_async_event(&ev);
	ibv_destroy_flow(f);
	ibv_destroy_qp(qp);
	ibv_destroy_rwq_ind_table(t);
	ok(!ibv_destroy_wq(wq) && !ibv_destroy_cq(cq), "WQ and CQ can be destroyed");
}

int main(void)
{
	uint64_t v4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
	uint64_t v6 = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
	uint64_t udp = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

	fill(key, sizeof(key), 11);
	ctx = rc_open_first();
	raw_open(&a, ctx, 0, 0);
	raw_memory(&m, ctx);
	test_wq();
	test_spread(v4, false, false);
	test_spread(v4 | udp, true, false);
	test_spread(v6, false, true);
	test_spread(v6 | udp, true, true);
	test_errors();
	test_queue();
	test_overrun();
	raw_close(&a);
	raw_close(&m);
	ibv_close_device(ctx);
	return tap_failed != 0;
}
