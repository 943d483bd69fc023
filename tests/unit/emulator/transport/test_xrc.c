/* SPDX-License-Identifier: MIT */
/*
 * XRC among clients that do not trust each other: which receives a message takes, their fate when a
 * client leaves, and the owner of a target QP whose creator dies.
 */
#include "emulator/audit/audit.h"
#include "tests/lib/engine/deaths.h"

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

/** struct fatal - a command in which 0 dies, and what the others have of its target. */
struct fatal {
	struct hca_cmd cmd;
	struct hca_cmd h1, h2; /* openings of 1 and 2 */
};

static void command(struct emu *e, void *arg)
{
	struct fatal *f = arg;

	emu_cmd(e, 0, &f->cmd);
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

static bool audited(void)
{
	char why[200];

	if (!hca_audit(m->hca, why, sizeof(why)))
		return true;
	printf("# audit: %s\n", why);
	return false;
}

/* The target is the others' now. */
static int after_destroyer_death(struct emu *unused, void *arg, bool died)
{
	struct fatal *f = arg;
	struct hca_cmd mod = { .op = CMD_MODIFY_QP, .handle = f->h1.handle };
	const struct hca_qp *qp = &m->hca->qp[t.slot];

	(void)unused;
	(void)died;
	emu_reap(m);
	CU_ASSERT_TRUE(audited());
	CU_ASSERT_TRUE(qp->client == 2 || qp->client == 3);
	mod.mod.opened = 1;
	mod.mod.mask = QPA_STATE | QPA_PKEY_INDEX | QPA_PORT | QPA_ACCESS_FLAGS;
	mod.mod.attr.state = QPS_INIT;
	mod.mod.attr.port_num = 1;
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &mod), 0);
	CU_ASSERT_EQUAL(qp->state, QPS_INIT);
	f->h1.op = f->h2.op = CMD_DESTROY_QP;
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &f->h1), 0);
	CU_ASSERT_EQUAL(qp->client, 3);
	CU_ASSERT_EQUAL(emu_cmd(m, 2, &f->h2), 0);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_QP].n, 0);
	CU_ASSERT_TRUE(audited());
	return 0;
}

/* 0 makes a target that 1 and 2 open, and dies when it destroys it. */
static void test_destroyer_dies(void)
{
	struct emu_conn o = emu_conn_defaults, o1 = o, o2 = o;
	struct fatal f = { .cmd.op = CMD_DESTROY_QP };
	struct emu_deaths d = { .call = command,
				.after = after_destroyer_death,
				.arg = &f,
				.step = emu_death_step(1) };

	m = emu_new(1);
	open_domain(1, &o1);
	open_domain(2, &o2);
	open_domain(0, &o);
	o.type = QPT_XRC_RECV;
	t = emu_qp_new(m, 0, &o, 1);
	f.cmd.handle = t.slot;
	f.h1 = opened_by(1, o1.xrcd, t.qpn);
	f.h2 = opened_by(2, o2.xrcd, t.qpn);
	deaths_run(m, &d);
	printf("# %u deaths within %ld instructions\n", d.died, d.n);
	down();
}

static int after_resetter_death(struct emu *unused, void *arg, bool died)
{
	const struct hca_qp *qp = &m->hca->qp[t.slot];
	struct hca_cmd destroy = { .op = CMD_DESTROY_QP, .handle = t.slot };

	(void)unused;
	(void)arg;
	(void)died;
	emu_reap(m);
	CU_ASSERT_TRUE(audited());
	CU_ASSERT_TRUE(qp->state == QPS_RESET ? !qp->resp.epsn && !qp->attr.dest_qpn
					      : qp->state == QPS_RTS && qp->resp.epsn == 0x42 &&
							qp->attr.dest_qpn == a.qpn);
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &destroy), 0);
	destroy.handle = a.slot;
	CU_ASSERT_EQUAL(emu_cmd(m, 2, &destroy), 0);
	return 0;
}

/* 0 has opened the target of 1, which is connected, and dies when it resets it. */
static void test_resetter_dies(void)
{
	struct emu_conn o = emu_conn_defaults, o1 = o;
	struct fatal f = { .cmd.op = CMD_MODIFY_QP };
	struct emu_deaths d = {
		.call = command, .after = after_resetter_death, .arg = &f, .step = emu_death_step(7)
	};

	m = emu_new(1);
	open_domain(1, &o1);
	o1.type = QPT_XRC_RECV;
	t = emu_qp_new(m, 1, &o1, 1);
	o.type = QPT_XRC_SEND;
	o.psn_a = 0x42;
	a = emu_qp_new(m, 2, &o, 1);
	emu_pair(m, &a, &t, &o);
	open_domain(0, &o);
	f.cmd.handle = opened_by(0, o.xrcd, t.qpn).handle;
	f.cmd.mod.opened = 1;
	f.cmd.mod.mask = QPA_STATE;
	f.cmd.mod.attr.state = QPS_RESET;
	deaths_run(m, &d);
	printf("# %u deaths within %ld instructions\n", d.died, d.n);
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
