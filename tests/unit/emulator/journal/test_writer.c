/* SPDX-License-Identifier: MIT */
/*
 * The journal: each entry has where, what and why at the time of the event; the two rings do not
 * displace each other.
 */
#include "emulator/journal/text.h"
#include "emulator/journal/writer.h"
#include "emulator/mad.h"
#include "emulator/verbs/port.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"
#include "tests/lib/engine/emu_cm.h"

#define MS 1000000ULL

static const struct emu_faults deaf = { .loss = 1000 };

static struct emu *m;
static struct emu_qp a, b;

static void name_clients(void)
{
	for (u32 i = 0; i < EMU_CLIENTS; i++) {
		struct hca_client *c = &m->hca->client[i];

		snprintf(c->name, sizeof(c->name), "prog%u", i);
		c->pid = (s32)(100 + i);
		c->run = 7 + i;
	}
}

static void up(const struct emu_conn *o)
{
	m = emu_new(1);
	name_clients();
	emu_connect(m, 0, 1, o ? o : &emu_conn_defaults, &a, &b);
}

static void settle(void)
{
	CU_ASSERT_TRUE(emu_run(m, m->clock + 100000 * MS));
}

/* The latest error or notice; it must be of this kind. */
static const struct journal_entry *last(bool notice, u32 kind)
{
	static const struct journal_entry none;
	struct hca *hca = m->hca;
	u64 n = notice ? hca->notice_seq : hca->error_seq;
	const struct journal_entry *j = notice ? &hca->notice[(n - 1) % JOURNAL_NOTICES]
					       : &hca->error[(n - 1) % JOURNAL_ERRORS];

	CU_ASSERT_TRUE(n && j->seq == n && j->kind == kind);
	return n ? j : &none;
}

static u32 count_notices(u32 kind, u32 cause)
{
	u32 n = 0;

	for (u64 i = 0; i < m->hca->notice_seq && i < JOURNAL_NOTICES; i++)
		n += m->hca->notice[i].kind == kind && m->hca->notice[i].cause == cause;
	return n;
}

static bool who_is(const struct journal_who *w, u32 client, u32 qpn)
{
	char name[JOURNAL_NAME];

	snprintf(name, sizeof(name), "prog%u", client);
	return !strcmp(w->name, name) && w->pid == (s32)(100 + client) && w->qpn == qpn &&
	       w->node == m->hca->dev[0].node && w->run == 7 + client;
}

static bool text_is(const struct journal_entry *j, const char *rule, const char *want)
{
	char text[768];

	journal_entry_text(m->hca, j, 0, rule, text, sizeof(text));
	if (!strcmp(text, want))
		return true;
	printf("# got:    %s\n# wanted: %s\n", text, want);
	return false;
}

static bool text_has(const struct journal_entry *j, const char *rule, const char *part)
{
	char text[768];

	journal_entry_text(m->hca, j, 0, rule, text, sizeof(text));
	if (strstr(text, part))
		return true;
	printf("# got:    %s\n# wanted: %s\n", text, part);
	return false;
}

static void send_one(u64 wr_id, u32 len)
{
	emu_post(m, &a, WR_SEND, wr_id, m->c[0].mem, len);
	emu_ring(m, &a);
}

/* A SEND that nobody answers; the entry of its end. */
static const struct journal_entry *unanswered(void)
{
	struct cqe c;

	send_one(42, 8);
	settle();
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_RETRY_EXC_ERR);
	return last(false, JRN_COMPLETION);
}

static void test_destroyed(void)
{
	struct emu_conn o = emu_conn_defaults;
	const struct journal_entry *j;
	u64 start, timeout = ib_ack_timeout_ns(14);
	u32 qpn;

	o.retry_cnt = 3;
	up(&o);
	qpn = b.qpn;
	emu_destroy(m, &b);
	start = m->clock;
	j = unanswered();
	CU_ASSERT_EQUAL(j->status, WCS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(j->cause, CAUSE_RETRY);
	CU_ASSERT_EQUAL(j->why, WHY_PEER_GONE);
	CU_ASSERT_EQUAL(j->attempt, 3);
	CU_ASSERT_EQUAL(j->psn, o.psn_a);
	CU_ASSERT_TRUE(j->has_wr_id && j->wr_id == 42);
	CU_ASSERT_TRUE(j->optype == JOP_WR && j->opcode == WR_SEND);
	CU_ASSERT_EQUAL(j->since, start);
	CU_ASSERT_EQUAL(j->last, start + 3 * timeout);
	CU_ASSERT_EQUAL(j->ts, start + 4 * timeout);
	CU_ASSERT_TRUE(who_is(&j->who, 0, a.qpn));
	CU_ASSERT_TRUE(who_is(&j->peer, 1, qpn));
	CU_ASSERT_EQUAL(count_notices(JRN_RETRY, CAUSE_TIMEOUT), 3);
	CU_ASSERT_EQUAL(count_notices(JRN_DROP, CAUSE_NO_QP), 4);
	emu_free(m);
}

static void test_killed(void)
{
	const struct journal_entry *j;
	u32 qpn;

	/* emu_reap() is about client 0: it is the peer here. */
	m = emu_new(1);
	name_clients();
	emu_connect(m, 1, 0, &emu_conn_defaults, &a, &b);
	qpn = b.qpn;
	emu_reap(m);
	j = last(true, JRN_GONE);
	CU_ASSERT_EQUAL(j->n, 1);
	CU_ASSERT_TRUE(who_is(&j->who, 0, 0));
	CU_ASSERT_TRUE(who_is(&j->peer, 1, a.qpn));
	CU_ASSERT_TRUE(text_has(j, NULL, "client gone: ended with 1 QP connected"));
	emu_post(m, &a, WR_SEND, 42, m->c[1].mem, 8);
	emu_ring(m, &a);
	settle();
	j = last(false, JRN_COMPLETION);
	CU_ASSERT_EQUAL(j->why, WHY_PEER_ENDED);
	CU_ASSERT_TRUE(who_is(&j->peer, 0, qpn));
	CU_ASSERT_TRUE(text_has(j, NULL, "the peer's program has ended"));
	emu_free(m);
}

static void test_peer_state(void)
{
	struct hca_qp_attr attr = { .state = QPS_ERR };
	const struct journal_entry *j;

	up(NULL);
	emu_recv(m, &b, 7, m->c[1].mem, 64);
	CU_ASSERT_EQUAL(emu_modify(m, &b, &attr, QPA_STATE), 0);
	j = last(true, JRN_FLUSH);
	CU_ASSERT_EQUAL(j->n, 1);
	CU_ASSERT_TRUE(who_is(&j->who, 1, b.qpn));
	j = unanswered();
	CU_ASSERT_TRUE(j->why == WHY_PEER_STATE && j->why_info == QPS_ERR);
	CU_ASSERT_EQUAL(count_notices(JRN_DROP, CAUSE_QP_STATE), 8);
	emu_free(m);
}

static void test_dropped_by_rule(void)
{
	const struct journal_entry *j;

	up(NULL);
	emu_wire(m, &deaf);
	m->lose_rule = 5;
	j = unanswered();
	CU_ASSERT_EQUAL(j->why, WHY_DROPPED);
	CU_ASSERT_EQUAL(j->why_cause, CAUSE_FAULT);
	CU_ASSERT_EQUAL(j->n, 8);
	CU_ASSERT_EQUAL(j->rule, 5);
	CU_ASSERT_TRUE(
		text_has(j, "r1: drop (x:1)", ": dropped 8 times: by fault rule r1: drop (x:1)"));
	j = last(true, JRN_DROP);
	CU_ASSERT_TRUE(j->rule == 5 && j->cause == CAUSE_FAULT && j->n == 1);
	CU_ASSERT_TRUE(who_is(&j->who, 0, a.qpn) && who_is(&j->peer, 1, b.qpn));
	emu_free(m);
}

/* The answers get lost, not the requests: it is the requester that has to know. */
static void test_answers_dropped(void)
{
	const struct journal_entry *j;
	struct cqe c;

	up(NULL);
	emu_recv(m, &b, 7, m->c[1].mem, 64);
	emu_wire(m, &(struct emu_faults){ .delay = 10 });
	m->lose_rule = 9;
	send_one(42, 8);
	CU_ASSERT_FALSE(emu_run(m, m->clock + 5));
	m->faults.loss = 1000;
	CU_ASSERT_FALSE(emu_run(m, m->clock + 10));
	CU_ASSERT_TRUE(emu_poll(m, &b.rcq, &c, NULL) && c.status == WCS_SUCCESS);
	j = last(true, JRN_DROP);
	CU_ASSERT_TRUE(who_is(&j->who, 1, b.qpn) && (j->opcode & 0xff) == BOP_ACK);
	CU_ASSERT_EQUAL(m->hca->qp[a.slot].trouble.drops, 1);
	settle();
	j = last(false, JRN_COMPLETION);
	CU_ASSERT_TRUE(j->why == WHY_DROPPED && j->n == 8 && j->rule == 9);
	emu_free(m);
}

static void test_port_down(void)
{
	const struct journal_entry *j;

	up(NULL);
	engine_enter(&m->fabric);
	port_set_state(&m->fabric, 0, 1, PORT_DOWN);
	engine_leave(&m->fabric);
	j = last(false, JRN_EVENT);
	CU_ASSERT_TRUE(j->status == EV_PORT_ERR && j->port == 1 && j->cause == CAUSE_ADMIN);
	j = unanswered();
	CU_ASSERT_EQUAL(j->why, WHY_OWN_PORT);
	CU_ASSERT_EQUAL(count_notices(JRN_DROP, CAUSE_PORT_DOWN), 8);
	/* Done by a rule it is told as the rule's doing. */
	engine_enter(&m->fabric);
	m->fabric.rule = 3;
	port_set_state(&m->fabric, 0, 1, PORT_ACTIVE);
	m->fabric.rule = 0;
	engine_leave(&m->fabric);
	j = last(true, JRN_EVENT);
	CU_ASSERT_TRUE(j->status == EV_PORT_ACTIVE && j->cause == CAUSE_FAULT && j->rule == 3);
	emu_free(m);
}

static void test_rnr(void)
{
	struct emu_conn o = emu_conn_defaults;
	const struct journal_entry *j;
	char want[512];
	struct cqe c;
	u64 start;

	o.rnr_retry = 2;
	up(&o);
	start = m->clock;
	send_one(42, 8);
	settle();
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_RNR_RETRY_EXC_ERR);
	j = last(false, JRN_COMPLETION);
	CU_ASSERT_EQUAL(j->why, WHY_RECEIVES);
	CU_ASSERT_EQUAL(j->n, 3);
	CU_ASSERT_EQUAL(j->why_info, 0);
	CU_ASSERT_EQUAL(j->since, start);
	CU_ASSERT_EQUAL(count_notices(JRN_NAK, CAUSE_NO_RECEIVE), 3);
	CU_ASSERT_EQUAL(count_notices(JRN_RETRY, CAUSE_RNR), 2);
	snprintf(want, sizeof(want),
		 "prog0[100]@%s RC qp 0x%06x -> prog1[101]@%s qp 0x%06x: SEND wr_id 42 psn 0x%06x: "
		 "IBV_WC_RNR_RETRY_EXC_ERR: 3 RNR NAKs since %llu.%06llu s, 0 receives posted by "
		 "prog1[101]@%s qp 0x%06x",
		 m->hca->node[0].name, a.qpn, m->hca->node[0].name, b.qpn, o.psn_a,
		 (unsigned long long)(start / 1000000000),
		 (unsigned long long)(start / 1000 % 1000000), m->hca->node[0].name, b.qpn);
	CU_ASSERT_TRUE(text_is(j, NULL, want));
	emu_free(m);
}

/* Counted anew for each packet. */
static void test_rnr_again(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct cqe c;

	o.rnr_retry = 1;
	up(&o);
	send_one(1, 8);
	emu_recv(m, &b, 7, m->c[1].mem, 64);
	settle();
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_SUCCESS);
	send_one(2, 8);
	settle();
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_RNR_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(last(false, JRN_COMPLETION)->n, 2);
	emu_free(m);
}

static void test_nak(void)
{
	const struct journal_entry *j;
	struct sq_wqe *w;
	struct cqe c;

	up(NULL);
	w = emu_post(m, &a, WR_RDMA_WRITE, 42, m->c[0].mem, 8);
	emu_remote(m, w, 1, m->c[1].mem);
	w->rkey = 0xbad;
	emu_ring(m, &a);
	settle();
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_REM_ACCESS_ERR);
	j = last(false, JRN_COMPLETION);
	CU_ASSERT_TRUE(j->cause == CAUSE_NAK && j->info == AETH_NAK_REM_ACCESS);
	CU_ASSERT_TRUE(j->why == WHY_NAK && j->why_cause == CAUSE_RKEY && j->why_info == 0xbad);
	CU_ASSERT_TRUE(text_has(j, NULL, "the peer has refused it: rkey 0xbad, 8 bytes at 0x"));
	CU_ASSERT_TRUE(text_has(j, NULL, "no region has this key; the nearest region of the PD"));
	j = &m->hca->error[0];
	CU_ASSERT_TRUE(j->kind == JRN_EVENT && j->status == EV_QP_ACCESS_ERR);
	CU_ASSERT_TRUE(who_is(&j->who, 1, b.qpn));
	j = last(true, JRN_NAK);
	CU_ASSERT_TRUE(j->status == AETH_NAK_REM_ACCESS && who_is(&j->who, 1, b.qpn));
	emu_free(m);
}

static void test_receive(void)
{
	const struct journal_entry *j;

	up(NULL);
	emu_recv(m, &b, 77, m->c[1].mem, 4);
	send_one(42, 8);
	settle();
	j = &m->hca->error[0];
	CU_ASSERT_TRUE(j->kind == JRN_COMPLETION && j->status == WCS_LOC_LEN_ERR);
	CU_ASSERT_TRUE(j->optype == JOP_RECV && j->has_wr_id && j->wr_id == 77);
	CU_ASSERT_TRUE(j->cause == CAUSE_REQUEST_LEN && j->info == 4);
	j = &m->hca->error[1];
	CU_ASSERT_TRUE(j->status == WCS_REM_INV_REQ_ERR && j->wr_id == 42);
	CU_ASSERT_TRUE(j->why == WHY_NAK && j->why_cause == CAUSE_REQUEST_LEN);
	emu_free(m);
}

/* Three SENDs, of which the first is lost, so that the second has a sequence NAK. */
static void send_three_lose_first(void)
{
	emu_wire(m, &(struct emu_faults){ .delay = 10 });
	for (u64 i = 0; i < 3; i++)
		emu_recv(m, &b, i, m->c[1].mem, 64);
	m->lose = 1;
	for (u64 i = 0; i < 3; i++)
		emu_post(m, &a, WR_SEND, i, m->c[0].mem, 8);
	emu_ring(m, &a);
	settle();
}

static void test_sequence(void)
{
	const struct journal_entry *j = NULL;
	struct cqe c;

	up(NULL);
	send_three_lose_first();
	for (u64 i = 0; i < 3; i++)
		CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_SUCCESS);
	CU_ASSERT_EQUAL(count_notices(JRN_NAK, CAUSE_PSN), 1);
	CU_ASSERT_EQUAL(count_notices(JRN_RETRY, CAUSE_SEQ_NAK), 1);
	for (u64 i = 0; i < m->hca->notice_seq; i++)
		if (m->hca->notice[i].kind == JRN_NAK)
			j = &m->hca->notice[i];
	CU_ASSERT_TRUE(j && j->psn == emu_conn_defaults.psn_a && j->info == j->psn + 1);
	CU_ASSERT_EQUAL(m->hca->error_seq, 0);
	emu_free(m);
}

/* retry_cnt 0: the sequence NAK itself ends it, not a missing ACK. */
static void test_sequence_no_retry(void)
{
	struct emu_conn o = emu_conn_defaults;
	const struct journal_entry *j;
	struct cqe c;

	o.retry_cnt = 0;
	up(&o);
	send_three_lose_first();
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_RETRY_EXC_ERR);
	j = last(false, JRN_COMPLETION);
	CU_ASSERT_TRUE(j->cause == CAUSE_RETRY_NAK && j->info == 0 && j->why != WHY_SILENT);
	CU_ASSERT_TRUE(text_has(j, NULL,
				"IBV_WC_RETRY_EXC_ERR: PSN sequence NAK, the peer lacks it, and "
				"retry_cnt 0 allows no further retransmission: sent 1 time"));
	emu_free(m);
}

/* Thousands of notices leave the one error where it is; errors push out errors. */
static void test_rings(void)
{
	struct burst burst = { .op = BOP_SEND, .npkts = 1, .dst_type = QPT_RC, .dst_qpn = 0x123 };
	struct hca *hca;

	up(NULL);
	hca = m->hca;
	emu_destroy(m, &b);
	unanswered();
	CU_ASSERT_EQUAL(hca->error_seq, 1);
	for (u32 i = 0; i < 3 * JOURNAL_NOTICES; i++) {
		burst.dst_qpn = 0x1000 + i; /* alike ones would be counted, not written */
		journal_drop(&m->fabric, &burst, CAUSE_NO_PORT, 0);
	}
	CU_ASSERT_TRUE(hca->error[0].seq == 1 && hca->error[0].wr_id == 42);
	CU_ASSERT_EQUAL(hca->notice[0].seq % JOURNAL_NOTICES, 1);
	for (u32 i = 0; i < JOURNAL_ERRORS; i++)
		port_event(&m->fabric, 0, 1, EV_PORT_ERR);
	CU_ASSERT_EQUAL(hca->error[0].kind, JRN_EVENT);
	CU_ASSERT_EQUAL(hca->error_seq, JOURNAL_ERRORS + 1);
	CU_ASSERT_EQUAL(hca->journal_nth, hca->error_seq + hca->notice_seq);
	emu_free(m);
}

/* A REQ that a rule drops each time; the MAD's sender is known. */
static void test_cm(void)
{
	struct emu_cm *c = emu_cm_new(5, CM_PS_TCP, 0);
	struct emu_id id = emu_cm_active(c);
	const struct journal_entry *j;

	m = c->m;
	name_clients();
	emu_wire(m, &deaf);
	m->lose_rule = 4;
	CU_ASSERT_EQUAL(emu_cm_connect(m, &id, NULL), 0);
	CU_ASSERT(emu_run(m, ~0ULL));
	j = last(true, JRN_DROP);
	CU_ASSERT_TRUE(j->optype == JOP_MAD && j->opcode == MAD_REQ && j->rule == 4);
	CU_ASSERT_TRUE(!strcmp(j->who.name, "prog0"));
	j = last(false, JRN_CM);
	CU_ASSERT_TRUE(j->status == CM_EV_UNREACHABLE && j->cause == CAUSE_CM_TIMEOUT);
	CU_ASSERT_TRUE(j->why == WHY_DROPPED && j->n == 16 && j->rule == 4);
	CU_ASSERT_TRUE(text_has(j, "r4",
				"CM REQ: RDMA_CM_EVENT_UNREACHABLE: no answer to 16 of "
				"them: dropped 16 times: by fault rule r4"));
	emu_cm_free(c);
}

static const struct cu_test tests[] = {
	{ "RETRY_EXC_ERR: the peer's QP was destroyed", test_destroyed },
	{ "RETRY_EXC_ERR: the peer was killed, and is named all the same", test_killed },
	{ "RETRY_EXC_ERR: the peer is in ERR", test_peer_state },
	{ "RETRY_EXC_ERR: a rule drops the packets", test_dropped_by_rule },
	{ "RETRY_EXC_ERR: a rule drops the answers", test_answers_dropped },
	{ "RETRY_EXC_ERR: a port is down; what a rule does is told so", test_port_down },
	{ "RNR_RETRY_EXC_ERR: how many NAKs, since when, and the receives", test_rnr },
	{ "RNR NAKs are counted for each packet", test_rnr_again },
	{ "REM_ACCESS_ERR: what the peer has found", test_nak },
	{ "a receive's error has its wr_id", test_receive },
	{ "a sequence NAK and what follows from it", test_sequence },
	{ "RETRY_EXC_ERR: a sequence NAK, and retry_cnt is 0", test_sequence_no_retry },
	{ "two rings, each bounded", test_rings },
	{ "a REQ that is dropped by a rule", test_cm },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("journal", tests);
}
