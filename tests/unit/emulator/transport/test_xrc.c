/* SPDX-License-Identifier: MIT */
/*
 * XRC among clients that do not trust each other: which receives a message takes, their fate when a
 * client leaves, and the owner of a target QP whose creator dies.
 */
#include "emulator/audit/audit.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/c/emu.h"

#include <stdlib.h>

#define SEC 1000000000ULL
#define BIG (3u << 19) /* goes in two bursts */

static struct emu *m;
/* 0 sends; 1 has the target; SRQs x of client 2, y of client 3. */
static struct emu_qp a, t, x, y;

static void open_domain(u32 client, struct emu_conn *o)
{
	o->xrcd = emu_xrcd_open(m, client, 7) + 1;
}

static void up(void)
{
	struct emu_conn o = emu_conn_defaults;

	m = emu_new(1);
	o.type = QPT_XRC_SEND;
	a = emu_qp_new(m, 0, &o, 1);
	o.type = QPT_XRC_RECV;
	open_domain(1, &o);
	t = emu_qp_new(m, 1, &o, 1);
	emu_pair(m, &a, &t, &o);
	open_domain(2, &o);
	x = emu_xrc_srq(m, 2, &o);
	open_domain(3, &o);
	y = emu_xrc_srq(m, 3, &o);
	emu_recv(m, &x, 10, m->c[2].mem, BIG);
	emu_recv(m, &y, 20, m->c[3].mem, BIG);
}

static void down(void)
{
	char why[200] = "";

	CU_ASSERT_FALSE(hca_audit(m->hca, why, sizeof(why)));
	if (why[0])
		printf("# audit: %s\n", why);
	emu_free(m);
}

static struct cqe polled(struct emu_cq *cq)
{
	struct cqe c = { .status = 255 };

	emu_poll(m, cq, &c, NULL);
	return c;
}

/* A message to @x of which one burst has arrived; the next finds memory out of reach. */
static struct sq_wqe *begin(void)
{
	struct sq_wqe *w = emu_post(m, &a, WR_SEND, 1, m->c[0].mem, BIG);

	w->remote_qpn = x.srqn;
	m->copy_error = -EAGAIN;
	m->copy_skip = 1;
	emu_ring(m, &a);
	CU_ASSERT_NOT_EQUAL_FATAL(m->hca->qp[t.slot].resp.held, 0);
	return w;
}

static void to_err(void)
{
	struct hca_qp_attr attr = { .state = QPS_ERR };

	CU_ASSERT_EQUAL(emu_modify(m, &t, &attr, QPA_STATE), 0);
}

static void test_whole(void)
{
	up();
	begin();
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(polled(&a.scq).status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(polled(&x.rcq).wr_id, 10);
	down();
}

static void test_other_srq(void)
{
	struct cqe c;

	up();
	begin()->remote_qpn = y.srqn;
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(polled(&a.scq).status, WCS_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(emu_state(m, &t), QPS_ERR);
	c = polled(&x.rcq);
	CU_ASSERT_EQUAL(c.status, WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(c.wr_id, 10);
	CU_ASSERT_EQUAL(polled(&y.rcq).status, 255);
	CU_ASSERT_EQUAL(m->hca->srq[y.srq_index].cons, 0);
	down();
}

static void test_srq_gone(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp z;

	up();
	begin();
	emu_srq_free(m, &x);
	open_domain(4, &o);
	m->hca->tab[TAB_SRQ].cursor = x.srq_index;
	z = emu_xrc_srq(m, 4, &o);
	CU_ASSERT_EQUAL_FATAL(z.srq_index, x.srq_index);
	emu_recv(m, &z, 30, m->c[4].mem, 100);
	to_err();
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(polled(&z.rcq).status, 255);
	CU_ASSERT_EQUAL(polled(&x.rcq).status, 255);
	CU_ASSERT_EQUAL(m->hca->srq[z.srq_index].cons, 0);
	down();
}

/* And a sender that goes on with the number of the new one. */
static void test_srq_replaced(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct sq_wqe *w;
	struct emu_qp z;

	up();
	w = begin();
	emu_srq_free(m, &x);
	open_domain(4, &o);
	m->hca->tab[TAB_SRQ].cursor = x.srq_index;
	z = emu_xrc_srq(m, 4, &o);
	emu_recv(m, &z, 30, m->c[4].mem, BIG);
	w->remote_qpn = z.srqn;
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(polled(&a.scq).status, WCS_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(polled(&z.rcq).status, 255);
	down();
}

static void test_out_of_reach(void)
{
	struct cqe c;

	up();
	begin();
	m->hidden = 2 + 1;
	to_err();
	CU_ASSERT_NOT_EQUAL(m->hca->qp[t.slot].resp.held, 0);
	m->hidden = 0;
	emu_run(m, m->clock + SEC);
	c = polled(&x.rcq);
	CU_ASSERT_EQUAL(c.status, WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(c.wr_id, 10);
	down();
}

/* What tells the owner of @x that slot 0 is free again, and reports nothing. */
static void given_back(void)
{
	struct cqe c = polled(&x.rcq);

	CU_ASSERT_EQUAL(c.flags, CQE_SKIP | CQE_SRQ | CQE_RECV);
	CU_ASSERT_EQUAL(c.slot, 0);
	CU_ASSERT_EQUAL(polled(&x.rcq).status, 255);
	CU_ASSERT_EQUAL(m->hca->srq[x.srq_index].cons, 1);
}

static void test_given_back(void)
{
	struct hca_qp_attr attr = { .state = QPS_RESET };
	struct hca_cmd destroy = { .op = CMD_DESTROY_QP };

	up();
	begin();
	CU_ASSERT_EQUAL(emu_modify(m, &t, &attr, QPA_STATE), 0);
	given_back();
	down();
	up();
	begin();
	destroy.handle = t.slot;
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &destroy), 0);
	given_back();
	down();
	up();
	begin();
	engine_enter(&m->fabric);
	engine_reap(&m->fabric, 1);
	engine_leave(&m->fabric);
	given_back();
	down();
}

/* --- deaths */

static void command(struct emu *e, void *cmd)
{
	emu_cmd(e, 0, cmd);
}

static struct hca_cmd opened_by(u32 client, u32 xrcd, u32 qpn)
{
	struct hca_cmd cmd = { .op = CMD_OPEN_QP };

	cmd.qp.type = QPT_XRC_RECV;
	cmd.qp.xrcd = xrcd;
	cmd.qp.qpn = qpn;
	CU_ASSERT_EQUAL(emu_cmd(m, client, &cmd), 0);
	return cmd;
}

static bool audited(long n)
{
	char why[200];

	if (!hca_audit(m->hca, why, sizeof(why)))
		return true;
	printf("# death after %ld instructions: %s\n", n, why);
	return false;
}

/* 0 makes a target that 1 and 2 open, and dies when it destroys it: it is the others' now. */
static bool destroyer_dies(struct emu_conn *o1, struct emu_conn *o2, long n)
{
	struct hca_cmd destroy = { .op = CMD_DESTROY_QP }, h1, h2, mod = { .op = CMD_MODIFY_QP };
	struct emu_conn o = emu_conn_defaults;
	struct hca_qp *qp;
	bool died;

	/* The same slots each time, and so the same instructions. */
	m->hca->tab[TAB_REF].cursor = 1;
	open_domain(0, &o);
	o.type = QPT_XRC_RECV;
	t = emu_qp_new(m, 0, &o, 1);
	qp = &m->hca->qp[t.slot];
	h1 = opened_by(1, o1->xrcd, t.qpn);
	h2 = opened_by(2, o2->xrcd, t.qpn);
	destroy.handle = t.slot;
	died = emu_die_in(m, command, &destroy, n);
	emu_reap(m);
	CU_ASSERT_TRUE(audited(n));
	CU_ASSERT_TRUE(qp->client == 2 || qp->client == 3);
	mod.handle = h1.handle;
	mod.mod.opened = 1;
	mod.mod.mask = QPA_STATE | QPA_PKEY_INDEX | QPA_PORT | QPA_ACCESS_FLAGS;
	mod.mod.attr.state = QPS_INIT;
	mod.mod.attr.port_num = 1;
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &mod), 0);
	CU_ASSERT_EQUAL(qp->state, QPS_INIT);
	h1.op = h2.op = CMD_DESTROY_QP;
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &h1), 0);
	CU_ASSERT_EQUAL(qp->client, 3);
	CU_ASSERT_EQUAL(emu_cmd(m, 2, &h2), 0);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_QP].n, 0);
	CU_ASSERT_TRUE(audited(n));
	emu_client_new(m, 0);
	return died;
}

static void test_destroyer_dies(void)
{
	struct emu_conn o1 = emu_conn_defaults, o2 = o1;
	long n = 1, step = emu_death_step(0);

	m = emu_new(1);
	open_domain(1, &o1);
	open_domain(2, &o2);
	while (destroyer_dies(&o1, &o2, n))
		n += step ? step : n < 200 ? 7 : 1;
	printf("# %ld instructions\n", n);
	down();
}

/* 0 has opened the target of 1, which is connected, and dies when it resets it. */
static bool resetter_dies(struct emu_conn *o1, long n)
{
	struct emu_conn o = emu_conn_defaults;
	struct hca_cmd reset = { .op = CMD_MODIFY_QP };
	struct hca_cmd destroy = { .op = CMD_DESTROY_QP };
	struct hca_qp *qp;
	bool died;

	o1->type = QPT_XRC_RECV;
	t = emu_qp_new(m, 1, o1, 1);
	o.type = QPT_XRC_SEND;
	o.psn_a = 0x42;
	a = emu_qp_new(m, 2, &o, 1);
	emu_pair(m, &a, &t, &o);
	qp = &m->hca->qp[t.slot];
	open_domain(0, &o);
	reset.handle = opened_by(0, o.xrcd, t.qpn).handle;
	reset.mod.opened = 1;
	reset.mod.mask = QPA_STATE;
	reset.mod.attr.state = QPS_RESET;
	died = emu_die_in(m, command, &reset, n);
	emu_reap(m);
	CU_ASSERT_TRUE(audited(n));
	CU_ASSERT_TRUE(qp->state == QPS_RESET ? !qp->resp.epsn && !qp->attr.dest_qpn
					      : qp->state == QPS_RTS && qp->resp.epsn == 0x42 &&
							qp->attr.dest_qpn == a.qpn);
	destroy.handle = t.slot;
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &destroy), 0);
	destroy.handle = a.slot;
	CU_ASSERT_EQUAL(emu_cmd(m, 2, &destroy), 0);
	emu_client_new(m, 0);
	return died;
}

static void test_resetter_dies(void)
{
	struct emu_conn o = emu_conn_defaults;
	long n = 1, step = emu_death_step(0);

	m = emu_new(1);
	open_domain(1, &o);
	while (resetter_dies(&o, n))
		n += step ? step : 7;
	printf("# %ld instructions\n", n);
	down();
}

static const struct cu_test tests[] = {
	{ "a message in two bursts", test_whole },
	{ "a message does not go over to another SRQ", test_other_srq },
	{ "a receive goes with its SRQ, not to that SRQ's successor", test_srq_gone },
	{ "a message does not go over to its SRQ's successor", test_srq_replaced },
	{ "a receive whose owner is out of reach is flushed later", test_out_of_reach },
	{ "a receive of an SRQ is given back by a target that goes", test_given_back },
	{ "a target outlives the client that destroys it, wherever that dies",
	  test_destroyer_dies },
	{ "a target whose reset was not finished is not half reset", test_resetter_dies },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("XRC", tests);
}
