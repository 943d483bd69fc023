/* SPDX-License-Identifier: MIT */
/*
 * Death of a holder of the token, at every instruction.
 *
 * Theory of operation
 * -------------------
 * Client 0 enters the engine: it posts work of its own and serves the doorbells that others left.
 * It runs under the processor's trap flag, and every so many instructions a copy of the world goes
 * on without it, as if it had been killed there. In the copy the test does what the fabric process
 * does: takes the token back, clears the dead client away, runs timers. At whatever instruction it
 * died, the others' work must end as if nothing had happened: exactly once, with the right data;
 * and the dead client's peer sees RETRY_EXC_ERR or a complete message.
 */
#include "emulator/audit/audit.h"
#include "tests/lib/engine/deaths.h"

#include <stdlib.h>

#define SEC   1000000000ULL
#define LEN   1200 /* single steps count every word of a copy */
#define SMALL 40

static struct emu *m;
/* 0 dies; 1 is its peer; 2 and 3 have work pending that 0 serves. */
static struct emu_qp q0, q1, q2, q3, q4, q5;

enum kind { SENDS, WRITES, READS, ATOMICS, KINDS, WINDOWS = KINDS };

static const u32 opcodes[KINDS] = { WR_SEND, WR_RDMA_WRITE_WITH_IMM, WR_RDMA_READ,
				    WR_ATOMIC_FETCH_AND_ADD };

static u64 *counter(u32 client)
{
	return (u64 *)(void *)(m->c[client].mem + (1 << 20));
}

static void post(struct emu_qp *from, struct emu_qp *to, enum kind kind, u32 i, u32 len)
{
	u8 *src = m->c[from->client].mem + i * 8192, *dst = m->c[to->client].mem + i * 8192;
	struct sq_wqe *w;

	if (kind == ATOMICS)
		len = 8;
	w = emu_post(m, from, opcodes[kind], i, src, len);
	w->imm = i;
	w->compare_add = 1;
	if (kind != SENDS)
		emu_remote(m, w, to->client, kind == ATOMICS ? (u8 *)counter(to->client) : dst);
	emu_fill(kind == READS ? dst : src, len, i + 1);
	if (kind == SENDS || kind == WRITES)
		emu_recv(m, to, i, dst, len);
}

/* A region and a type 2 window of a client; the window is unbound at first. */
static struct {
	u32 lkey;
	u32 region;
	u32 index;
	u32 key;
} win[4];

static void make_window(u32 client)
{
	struct hca_cmd reg = { .op = CMD_REG_MR }, mw = { .op = CMD_ALLOC_MW };

	reg.mr = (struct cmd_reg_mr){ .addr = (uintptr_t)m->c[client].mem,
				      .iova = (uintptr_t)m->c[client].mem,
				      .len = 4096,
				      .pd = m->c[client].pd,
				      .access = ACC_LOCAL_WRITE | ACC_MW_BIND };
	mw.mr = (struct cmd_reg_mr){ .pd = m->c[client].pd, .kind = MW_2 };
	CU_ASSERT_FALSE_FATAL(emu_cmd(m, client, &reg) || emu_cmd(m, client, &mw));
	win[client].lkey = reg.mr.key;
	win[client].region = reg.handle;
	win[client].index = mw.handle;
	win[client].key = mw.mr.key;
}

static void post_bind(struct emu_qp *q, u32 wr_id, u32 key)
{
	struct sq_wqe *w = emu_post(m, q, WR_BIND_MW, wr_id, NULL, 0);

	w->ah = win[q->client].index;
	w->rkey = key;
	w->remote_qpn = win[q->client].lkey;
	w->remote_addr = (uintptr_t)m->c[q->client].mem;
	w->swap = 4096;
	w->remote_qkey = ACC_REMOTE_WRITE;
}

/* Bind, SEND_WITH_INV of the peer's window, LOCAL_INV, bind again. */
static void post_windows(struct emu_qp *from, struct emu_qp *to)
{
	u32 mine = win[from->client].key, theirs = win[to->client].key + 1;
	u8 *src = m->c[from->client].mem, *dst = m->c[to->client].mem;
	struct cqe c;

	post_bind(to, 0, theirs);
	emu_ring(m, to);
	CU_ASSERT_TRUE_FATAL(emu_poll(m, &to->scq, &c, NULL) && c.status == WCS_SUCCESS);
	post_bind(from, 0, mine + 1);
	emu_fill(src, SMALL, 1);
	emu_post(m, from, WR_SEND_WITH_INV, 1, src, SMALL)->rkey = theirs;
	emu_recv(m, to, 0, dst, SMALL);
	emu_post(m, from, WR_LOCAL_INV, 2, NULL, 0)->rkey = mine + 1;
	post_bind(from, 3, mine + 2);
}

static void prepare_windows(void)
{
	for (u32 i = 0; i < 4; i++)
		make_window(i);
	post_windows(&q0, &q1);
	post_windows(&q2, &q3);
}

/* Whether the client's window is bound, and everybody knows it. */
static bool bound(const struct emu_qp *q, bool yes)
{
	const struct hca_mr *mw = &m->hca->mr[win[q->client].index];

	return !mw->key == !yes && m->hca->mr[win[q->client].region].windows == yes &&
	       m->hca->qp[q->slot].n_mw == yes;
}

static bool check_windows(void)
{
	struct cqe c;
	bool good = true;

	for (u32 i = 0; i < 4; i++)
		good = good && emu_poll(m, &q2.scq, &c, NULL) && c.status == WCS_SUCCESS &&
		       c.wr_id == i;
	good = good && emu_poll(m, &q3.rcq, &c, m->c[3].mem) && c.status == WCS_SUCCESS &&
	       c.wc_flags == WCF_WITH_INV && emu_filled(m->c[3].mem, SMALL, 1);
	return good && !emu_poll(m, &q2.scq, &c, NULL) && !emu_poll(m, &q3.rcq, &c, NULL) &&
	       bound(&q2, true) && bound(&q3, false);
}

static void prepare(enum kind kind, bool srq)
{
	struct emu_conn o = emu_conn_defaults;

	o.timeout = 10;
	o.depth = 8;
	o.srq = srq;
	/* Messages of several packets: an SRQ's receive is held in between. */
	o.mtu = srq ? 1 : 3;
	m = emu_new(7);
	emu_connect(m, 0, 1, &o, &q0, &q1);
	emu_connect(m, 2, 3, &o, &q2, &q3);
	emu_connect(m, 3, 4, &o, &q4, &q5);
	if (kind == WINDOWS)
		prepare_windows();
	for (u32 i = 0; kind != WINDOWS && i < 2; i++)
		post(&q0, &q1, kind, i, i ? LEN : SMALL);
	for (u32 i = 0; kind != WINDOWS && i < 3; i++)
		post(&q2, &q3, kind, i, i ? LEN : SMALL);
	emu_publish(m, &q2);
}

static bool check_bystanders(enum kind kind)
{
	struct cqe c;
	bool good = true;

	if (kind == WINDOWS)
		return check_windows();
	for (u32 i = 0; i < 3; i++) {
		u32 len = i ? LEN : SMALL;
		u8 *src = m->c[2].mem + i * 8192, *dst = m->c[3].mem + i * 8192;

		good = good && emu_poll(m, &q2.scq, &c, NULL) && c.status == WCS_SUCCESS &&
		       c.wr_id == i;
		if (kind == SENDS || kind == WRITES)
			good = good && emu_poll(m, &q3.rcq, &c, dst) && c.status == WCS_SUCCESS &&
			       c.wr_id == i;
		if (kind == ATOMICS)
			good = good && *(u64 *)(void *)src == i;
		else
			good = good && emu_filled(kind == READS ? src : dst, len, i + 1);
	}
	if (kind == ATOMICS)
		good = good && *counter(3) == 3;
	return good && !emu_poll(m, &q2.scq, &c, NULL) && !emu_poll(m, &q3.rcq, &c, NULL);
}

/* The dead client's peer has complete messages, in order. */
static bool check_peer(enum kind kind)
{
	struct cqe c;
	u32 n = 0;

	if (emu_state(m, &q1) != QPS_RTS)
		return false;
	while (emu_poll(m, &q1.rcq, &c, m->c[1].mem + n * 8192)) {
		if (c.status != WCS_SUCCESS || c.wr_id != n || n > 1 ||
		    !emu_filled(m->c[1].mem + n * 8192, n ? LEN : SMALL, n + 1))
			return false;
		n++;
	}
	return kind != ATOMICS || *counter(1) <= 2;
}

/* Peers of the dead client get no answer; other pairs continue. */
static bool check_after(void)
{
	struct cqe c;
	bool good;

	post(&q1, &q0, SENDS, 0, LEN);
	emu_ring(m, &q1);
	emu_run(m, m->clock + 100 * SEC);
	good = emu_poll(m, &q1.scq, &c, NULL) && c.status == WCS_RETRY_EXC_ERR;
	post(&q4, &q5, SENDS, 0, LEN);
	emu_ring(m, &q4);
	emu_run(m, m->clock + SEC);
	return good && emu_poll(m, &q4.scq, &c, NULL) && !c.status &&
	       emu_poll(m, &q5.rcq, &c, NULL) && !c.status;
}

static bool check_leaks(enum kind kind)
{
	const struct hca *h = m->hca;
	u32 n = EMU_CLIENTS - 1, mws = kind == WINDOWS ? 3 : 0;
	char why[200];

	if (hca_audit(h, why, sizeof(why))) {
		printf("# audit: %s\n", why);
		return false;
	}
	return h->tab[TAB_QP].n == 5 && h->tab[TAB_SRQ].n % 5 == 0 &&
	       h->tab[TAB_MR].n == n + 2 * mws && h->dev[0].n_mw == mws && h->tab[TAB_PD].n == n &&
	       h->n_clients == n && h->client[0].state == CLIENT_FREE && h->token == TOKEN_FREE;
}

static enum kind killed_in;

static int after_death(struct emu *unused, void *arg, bool died)
{
	(void)unused;
	(void)arg;
	(void)died;
	emu_reap(m);
	emu_run(m, m->clock + 10 * SEC);
	CU_ASSERT_TRUE(check_bystanders(killed_in));
	CU_ASSERT_TRUE(check_peer(killed_in));
	CU_ASSERT_TRUE(check_after());
	CU_ASSERT_TRUE(check_leaks(killed_in));
	return 0;
}

static void deaths(enum kind kind, bool srq)
{
	struct emu_deaths d;

	prepare(kind, srq);
	killed_in = kind;
	d = deaths_ring(m, &q0, 211, after_death);
	printf("# %u deaths within %ld instructions\n", d.died, d.n);
	emu_free(m);
}

static void test_sends(void)
{
	deaths(SENDS, false);
}

static void test_srq(void)
{
	deaths(SENDS, true);
}

static void test_writes(void)
{
	deaths(WRITES, false);
}

static void test_srq_writes(void)
{
	deaths(WRITES, true);
}

static void test_reads(void)
{
	deaths(READS, false);
}

static void test_atomics(void)
{
	deaths(ATOMICS, false);
}

static void test_windows(void)
{
	deaths(WINDOWS, false);
}

/* A whole client, with QPs on both sides of connections, goes; nothing of it stays. */
static void test_reap(void)
{
	struct cqe c;

	prepare(SENDS, false);
	engine_enter(&m->fabric);
	for (u32 i = 0; i < EMU_CLIENTS; i++)
		if (i != 3)
			engine_reap(&m->fabric, i);
	engine_leave(&m->fabric);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_QP].n, 2);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_MR].n, 1);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_PD].n, 1);
	CU_ASSERT_EQUAL(m->hca->n_clients, 1);
	CU_ASSERT_FALSE(emu_poll(m, &q3.rcq, &c, NULL));
	emu_free(m);
}

static void test_fatal(void)
{
	struct cqe c;
	u32 n = 0;

	prepare(SENDS, false);
	engine_enter(&m->fabric);
	engine_flush_client(&m->fabric, 2);
	engine_flush_client(&m->fabric, 3);
	engine_leave(&m->fabric);
	CU_ASSERT_EQUAL(emu_state(m, &q2), QPS_ERR);
	for (; emu_poll(m, &q2.scq, &c, NULL); n++) {
		CU_ASSERT_EQUAL(c.status, WCS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(c.wr_id, n);
	}
	CU_ASSERT_EQUAL(n, 3);
	for (n = 0; emu_poll(m, &q3.rcq, &c, NULL); n++)
		CU_ASSERT_EQUAL(c.status, WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(n, 3);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "death while SENDs are carried", test_sends },
	{ "death while WRITEs with immediate are carried", test_writes },
	{ "death while SENDs into an SRQ are carried", test_srq },
	{ "death while WRITEs with immediate into an SRQ are carried", test_srq_writes },
	{ "death while READs are carried", test_reads },
	{ "death while atomics are carried", test_atomics },
	{ "death while windows are bound and invalidated", test_windows },
	{ "a dead client is cleared away", test_reap },
	{ "device fatal flushes in order", test_fatal },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("recovery", tests);
}
