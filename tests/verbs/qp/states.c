/* SPDX-License-Identifier: MIT */
/*
 * The QP state machine of an RC QP as ibv_modify_qp(3) lets it be seen: every pair of states, every
 * required, optional and excess attribute, bad values, and that a refused move changes nothing.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define N_STATES 7

static struct end *e;
static struct rc_addr peer;
static int gid_index;

static const char *const names[N_STATES] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

/* allowed[from][to] */
static const bool allowed[N_STATES][N_STATES] = {
	[IBV_QPS_RESET] = { [IBV_QPS_RESET] = 1, [IBV_QPS_INIT] = 1 },
	[IBV_QPS_INIT] = { [IBV_QPS_RESET] = 1,
			   [IBV_QPS_INIT] = 1,
			   [IBV_QPS_RTR] = 1,
			   [IBV_QPS_ERR] = 1 },
	[IBV_QPS_RTR] = { [IBV_QPS_RESET] = 1, [IBV_QPS_RTS] = 1, [IBV_QPS_ERR] = 1 },
	[IBV_QPS_RTS] = { [IBV_QPS_RESET] = 1,
			  [IBV_QPS_RTS] = 1,
			  [IBV_QPS_SQD] = 1,
			  [IBV_QPS_ERR] = 1 },
	[IBV_QPS_SQD] = { [IBV_QPS_RESET] = 1,
			  [IBV_QPS_RTS] = 1,
			  [IBV_QPS_SQD] = 1,
			  [IBV_QPS_ERR] = 1 },
	[IBV_QPS_ERR] = { [IBV_QPS_RESET] = 1, [IBV_QPS_ERR] = 1 },
};

/* Attributes of the moves that have any; QP_STATE aside. */
struct move {
	enum ibv_qp_state from, to;
	int required, optional;
};

#define OPT_RTS                                                                                    \
	(IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE)

static const struct move moves[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPS_INIT, IBV_QPS_RTR,
	  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_RTR, IBV_QPS_RTS,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		  IBV_QP_MAX_QP_RD_ATOMIC,
	  OPT_RTS },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, OPT_RTS },
	{ IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ IBV_QPS_SQD, IBV_QPS_RTS, 0, OPT_RTS },
	{ IBV_QPS_SQD, IBV_QPS_SQD, 0,
	  IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS |
		  IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE },
};

static const struct {
	int bit;
	const char *name;
} attrs[] = {
	{ IBV_QP_CUR_STATE, "CUR_STATE" },
	{ IBV_QP_EN_SQD_ASYNC_NOTIFY, "EN_SQD_ASYNC_NOTIFY" },
	{ IBV_QP_ACCESS_FLAGS, "ACCESS_FLAGS" },
	{ IBV_QP_PKEY_INDEX, "PKEY_INDEX" },
	{ IBV_QP_PORT, "PORT" },
	{ IBV_QP_QKEY, "QKEY" },
	{ IBV_QP_AV, "AV" },
	{ IBV_QP_PATH_MTU, "PATH_MTU" },
	{ IBV_QP_TIMEOUT, "TIMEOUT" },
	{ IBV_QP_RETRY_CNT, "RETRY_CNT" },
	{ IBV_QP_RNR_RETRY, "RNR_RETRY" },
	{ IBV_QP_RQ_PSN, "RQ_PSN" },
	{ IBV_QP_MAX_QP_RD_ATOMIC, "MAX_QP_RD_ATOMIC" },
	{ IBV_QP_ALT_PATH, "ALT_PATH" },
	{ IBV_QP_MIN_RNR_TIMER, "MIN_RNR_TIMER" },
	{ IBV_QP_SQ_PSN, "SQ_PSN" },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, "MAX_DEST_RD_ATOMIC" },
	{ IBV_QP_PATH_MIG_STATE, "PATH_MIG_STATE" },
	{ IBV_QP_CAP, "CAP" },
	{ IBV_QP_DEST_QPN, "DEST_QPN" },
	{ IBV_QP_RATE_LIMIT, "RATE_LIMIT" },
};

/* Good values for all attributes at once. */
static struct ibv_qp_attr good_attr(enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr, rtr, init;

	rc_to(IBV_QPS_INIT, &rc_defaults, &peer, gid_index, 5, &init);
	rc_to(IBV_QPS_RTR, &rc_defaults, &peer, gid_index, 5, &rtr);
	rc_to(IBV_QPS_RTS, &rc_defaults, &peer, gid_index, 5, &attr);
	attr.port_num = init.port_num;
	attr.qp_access_flags = init.qp_access_flags;
	attr.path_mtu = rtr.path_mtu;
	attr.dest_qp_num = rtr.dest_qp_num;
	attr.rq_psn = rtr.rq_psn;
	attr.max_dest_rd_atomic = rtr.max_dest_rd_atomic;
	attr.min_rnr_timer = rtr.min_rnr_timer;
	attr.ah_attr = rtr.ah_attr;
	attr.alt_ah_attr = rtr.ah_attr;
	attr.alt_port_num = 1;
	attr.cap = (struct ibv_qp_cap){ 16, 16, 1, 1, 0 };
	attr.path_mig_state = IBV_MIG_MIGRATED;
	attr.cur_qp_state = from;
	attr.qp_state = to;
	return attr;
}

static int required(enum ibv_qp_state from, enum ibv_qp_state to)
{
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (moves[i].from == from && moves[i].to == to)
			return moves[i].required;
	return 0;
}

static void move_to(enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = good_attr(from, to);
	int ret = end_modify(e, &attr, IBV_QP_STATE | required(from, to));

	if (ret)
		die("%s to %s: %s", names[from], names[to], strerror(ret));
}

/* A fresh QP in @state. */
static void fresh(enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						 IBV_QPS_RTS };
	enum ibv_qp_state last = state == IBV_QPS_SQD || state == IBV_QPS_ERR ? IBV_QPS_RTS : state;

	if (end_create(e, &rc_defaults))
		die("cannot create a QP");
	peer = e->addr;
	for (unsigned int i = 1; i < 4 && way[i] <= last; i++)
		move_to(way[i - 1], way[i]);
	if (state != last)
		move_to(last, state);
}

static void test_pairs(void)
{
	for (int from = 0; from < N_STATES; from++) {
		if (from == IBV_QPS_SQE) /* an RC QP never gets there */
			continue;
		for (int to = 0; to < N_STATES; to++) {
			struct ibv_qp_attr attr = good_attr(from, to);
			int ret, wanted = allowed[from][to] ? 0 : EINVAL;
			int mask = IBV_QP_STATE | required(from, to);
			int after;

			if (!allowed[from][to] && to == IBV_QPS_INIT)
				mask |= required(IBV_QPS_RESET, to);
			if (!allowed[from][to] && to == IBV_QPS_RTR)
				mask |= required(IBV_QPS_INIT, to);
			if (!allowed[from][to] && to == IBV_QPS_RTS)
				mask |= required(IBV_QPS_RTR, to);
			fresh(from);
			ret = end_modify(e, &attr, mask);
			after = end_state(e);
			if (ret != wanted || after != (wanted ? from : to))
				note("returned %d, state is %d", ret, after);
			ok(ret == wanted && after == (wanted ? from : to), "%s to %s: %s",
			   names[from], names[to], wanted ? "EINVAL" : "allowed");
		}
	}
}

static void test_attrs(const struct move *m)
{
	const char *from = names[m->from], *to = names[m->to];
	struct ibv_qp_attr attr = good_attr(m->from, m->to);
	int bad = 0, n = 0;

	for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
		int bit = attrs[i].bit, mask = IBV_QP_STATE | m->required, ret;
		bool fine = !!(m->optional & bit);
		int refused = bit == IBV_QP_RATE_LIMIT ? EOPNOTSUPP : EINVAL;

		fresh(m->from);
		ret = end_modify(e, &attr, mask ^ bit);
		n++;
		if (ret != (fine ? 0 : refused) || end_state(e) != (int)(fine ? m->to : m->from)) {
			note("%s %s: returned %d, state %d", m->required & bit ? "without" : "with",
			     attrs[i].name, ret, end_state(e));
			bad++;
		}
	}
	fresh(m->from);
	if (end_modify(e, &attr, IBV_QP_STATE | m->required | m->optional)) {
		note("with all that is allowed: refused");
		bad++;
	}
	ok(!bad, "%s to %s: required, optional and excess attributes (%d)", from, to, n);
}

struct bad {
	const char *name;
	enum ibv_qp_state from, to;
	int mask;
	struct ibv_qp_attr attr; /* set where mask says */
};

/* clang-format off: a table */
static const struct bad bads[] = {
	{ "port 0", IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PORT, { .port_num = 0 } },
	{ "port 2", IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PORT, { .port_num = 2 } },
	{ "pkey_index 5", IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX, { .pkey_index = 5 } },
	{ "unknown access flags",
	  IBV_QPS_RESET,
	  IBV_QPS_INIT,
	  IBV_QP_ACCESS_FLAGS,
	  { .qp_access_flags = 0xffffff } },
	{ "path_mtu 0", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU, { .path_mtu = 0 } },
	{ "path_mtu 6", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU, { .path_mtu = 6 } },
	{ "min_rnr_timer 32",
	  IBV_QPS_INIT,
	  IBV_QPS_RTR,
	  IBV_QP_MIN_RNR_TIMER,
	  { .min_rnr_timer = 32 } },
	{ "max_dest_rd_atomic 255",
	  IBV_QPS_INIT,
	  IBV_QPS_RTR,
	  IBV_QP_MAX_DEST_RD_ATOMIC,
	  { .max_dest_rd_atomic = 255 } },
	{ "timeout 32", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_TIMEOUT, { .timeout = 32 } },
	{ "retry_cnt 8", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_RETRY_CNT, { .retry_cnt = 8 } },
	{ "rnr_retry 8", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_RNR_RETRY, { .rnr_retry = 8 } },
	{ "max_rd_atomic 255",
	  IBV_QPS_RTR,
	  IBV_QPS_RTS,
	  IBV_QP_MAX_QP_RD_ATOMIC,
	  { .max_rd_atomic = 255 } },
	{ "wrong cur_state",
	  IBV_QPS_RTS,
	  IBV_QPS_RTS,
	  IBV_QP_CUR_STATE,
	  { .cur_qp_state = IBV_QPS_INIT } },
};
/* clang-format on */

/* The one attribute that is @b's. */
static void set_bad(struct ibv_qp_attr *attr, const struct bad *b)
{
	switch (b->mask) {
	case IBV_QP_PORT:
		attr->port_num = b->attr.port_num;
		break;
	case IBV_QP_PKEY_INDEX:
		attr->pkey_index = b->attr.pkey_index;
		break;
	case IBV_QP_ACCESS_FLAGS:
		attr->qp_access_flags = b->attr.qp_access_flags;
		break;
	case IBV_QP_PATH_MTU:
		attr->path_mtu = b->attr.path_mtu;
		break;
	case IBV_QP_MIN_RNR_TIMER:
		attr->min_rnr_timer = b->attr.min_rnr_timer;
		break;
	case IBV_QP_MAX_DEST_RD_ATOMIC:
		attr->max_dest_rd_atomic = b->attr.max_dest_rd_atomic;
		break;
	case IBV_QP_TIMEOUT:
		attr->timeout = b->attr.timeout;
		break;
	case IBV_QP_RETRY_CNT:
		attr->retry_cnt = b->attr.retry_cnt;
		break;
	case IBV_QP_RNR_RETRY:
		attr->rnr_retry = b->attr.rnr_retry;
		break;
	case IBV_QP_MAX_QP_RD_ATOMIC:
		attr->max_rd_atomic = b->attr.max_rd_atomic;
		break;
	case IBV_QP_CUR_STATE:
		attr->cur_qp_state = b->attr.cur_qp_state;
		break;
	}
}

/* A source and a destination GID of different families: no route leads from one to the other. */
static void test_families(void)
{
	struct ibv_qp_attr attr = good_attr(IBV_QPS_INIT, IBV_QPS_RTR);
	int mask = IBV_QP_STATE | required(IBV_QPS_INIT, IBV_QPS_RTR);
	int other = rc_gid_other_family(e->side->ctx, &attr.ah_attr.grh.dgid);

	if (other < 0)
		return; /* an InfiniBand port */
	attr.ah_attr.grh.sgid_index = (uint8_t)other;
	fresh(IBV_QPS_INIT);
	ok(end_modify(e, &attr, mask) == EINVAL && end_state(e) == IBV_QPS_INIT,
	   "to RTR with GIDs of different families: EINVAL");
	fresh(IBV_QPS_SQD);
	ok(end_modify(e, &attr, IBV_QP_AV) == EINVAL, "AV of different families in SQD: EINVAL");
}

static void test_values(void)
{
	struct ibv_qp_attr attr;

	for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		const struct bad *b = &bads[i];
		int ret;

		attr = good_attr(b->from, b->to);
		set_bad(&attr, b);
		fresh(b->from);
		ret = end_modify(e, &attr, IBV_QP_STATE | required(b->from, b->to) | b->mask);
		ok(ret == EINVAL && end_state(e) == (int)b->from, "%s: EINVAL", b->name);
	}
	attr = good_attr(IBV_QPS_INIT, IBV_QPS_RTR);
	memset(&attr.ah_attr.grh.dgid, 0, sizeof(attr.ah_attr.grh.dgid));
	fresh(IBV_QPS_INIT);
	ok(end_modify(e, &attr, IBV_QP_STATE | required(IBV_QPS_INIT, IBV_QPS_RTR)) == EINVAL,
	   "a GID of zero: EINVAL");
	attr = good_attr(IBV_QPS_INIT, IBV_QPS_RTR);
	attr.ah_attr.grh.sgid_index = 200;
	ok(end_modify(e, &attr, IBV_QP_STATE | required(IBV_QPS_INIT, IBV_QPS_RTR)) != 0 &&
		   end_state(e) == IBV_QPS_INIT,
	   "no such sgid_index is refused");
	test_families();
	attr = good_attr(IBV_QPS_RESET, IBV_QPS_INIT);
	attr.qp_state = 77;
	fresh(IBV_QPS_RESET);
	ok(end_modify(e, &attr, IBV_QP_STATE) == EINVAL, "state 77: EINVAL");
	fresh(IBV_QPS_RTS);
	attr = good_attr(IBV_QPS_RTS, IBV_QPS_RTS);
	attr.min_rnr_timer = 9;
	ok(!end_modify(e, &attr, IBV_QP_MIN_RNR_TIMER) && !end_modify(e, &attr, 0),
	   "RTS without STATE");
	ok(end_modify(e, &attr, IBV_QP_TIMEOUT) == EINVAL, "TIMEOUT in RTS: EINVAL");
}

static void test_query(void)
{
	struct rc_req req = { .op = RC_QUERY, .mask = ~0 };
	struct rc_opts o = rc_defaults;
	struct rc_rep rep;
	struct ibv_qp_attr *q = &rep.attr;

	fresh(IBV_QPS_RESET);
	end_call(e, &req, &rep);
	ok(!rep.ret && q->qp_state == IBV_QPS_RESET, "query in RESET");
	ok(q->cap.max_send_wr >= o.send_wr && q->cap.max_recv_wr >= o.recv_wr &&
		   q->cap.max_send_sge >= o.send_sge && q->cap.max_recv_sge >= o.recv_sge &&
		   q->cap.max_inline_data >= o.inl &&
		   !memcmp(&q->cap, &rep.init.cap, sizeof(q->cap)) &&
		   rep.init.qp_type == IBV_QPT_RC && rep.init.qp_context == NULL,
	   "query: capabilities, type and context");

	o = (struct rc_opts){ .access = IBV_ACCESS_REMOTE_READ,
			      .timeout = 17,
			      .retry_cnt = 5,
			      .rnr_retry = 3,
			      .min_rnr = 21,
			      .rd_atomic = 3,
			      .dest_rd_atomic = 7,
			      .mtu = IBV_MTU_512,
			      .psn = 0xff123456,
			      .until = IBV_QPS_RTS };
	o.send_wr = o.recv_wr = o.send_sge = o.recv_sge = 1;
	o.scqe = o.rcqe = 4;
	if (end_create(e, &o) || end_connect(e, e, &o))
		die("cannot connect a QP to itself");
	end_call(e, &req, &rep);
	ok(!rep.ret && q->qp_state == IBV_QPS_RTS && q->cur_qp_state == IBV_QPS_RTS &&
		   q->qp_access_flags == IBV_ACCESS_REMOTE_READ && q->timeout == 17 &&
		   q->retry_cnt == 5 && q->rnr_retry == 3 && q->min_rnr_timer == 21 &&
		   q->max_rd_atomic == 3 && q->max_dest_rd_atomic == 7 &&
		   q->path_mtu == IBV_MTU_512 && q->port_num == 1 && q->pkey_index == 0,
	   "query returns what was set");
	ok(q->rq_psn == 0x123456 && q->sq_psn == 0x123456 && q->dest_qp_num == e->addr.qpn,
	   "query: PSNs, masked to 24 bits, and the peer's number");
	ok(q->ah_attr.is_global && q->ah_attr.port_num == 1 && q->ah_attr.grh.hop_limit == 64 &&
		   !memcmp(&q->ah_attr.grh.dgid, &e->addr.gid, 16),
	   "query: the address");
}

static void test_posts(void)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR };
	struct rc_wr send = wr_make(IBV_WR_SEND, 1, e, e->buf, 8, NULL, NULL);
	struct rc_wr recv = wr_make(IBV_WR_SEND, 2, e, e->buf, 8, NULL, NULL);
	struct ibv_wc wc;
	int bad;

	for (int i = 0; i < 3; i++) {
		fresh(states[i]);
		ok(end_sends(e, &send, 1, &bad) == EINVAL && bad == 0, "post_send in %s: EINVAL",
		   names[states[i]]);
		ok(end_recvs(e, &recv, 1, &bad) == (i ? 0 : EINVAL), "post_recv in %s: %s",
		   names[states[i]], i ? "allowed" : "EINVAL");
	}
	move_to(IBV_QPS_RTR, IBV_QPS_RTS);
	ok(!end_poll(e, 0, 50, &wc), "what was refused does not run later");
}

int main(void)
{
	union ibv_gid gid;

	e = end_local();
	end_open(e);
	gid_index = rc_gid(e->side->ctx, &gid);
	fresh(IBV_QPS_RESET);
	test_pairs();
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		test_attrs(&moves[i]);
	test_values();
	test_query();
	test_posts();
	return tap_failed != 0;
}
