/* SPDX-License-Identifier: MIT */
/* Datagram identifiers: service id resolution, its answers and its keys. */
#include "emulator/mad.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cm.h"

static void test_resolved(void)
{
	struct emu_cm *c = emu_cm_new(1, CM_PS_UDP, 0);
	struct cm_param req = emu_cm_param(0x11, CM_SIDR_REQ_DATA);
	struct cm_param rep = emu_cm_param(0x22, CM_SIDR_REP_DATA);
	struct emu_id a = emu_cm_active(c), b;
	struct cm_event ev;

	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, &req), 0);
	CU_ASSERT_FATAL(emu_cm_want(c, 1, CM_EV_CONNECT_REQUEST, 0, &ev));
	CU_ASSERT(ev.ud);
	CU_ASSERT_EQUAL(ev.param.data_len, CM_SIDR_REQ_DATA);
	CU_ASSERT(emu_filled(ev.param.data, CM_SIDR_REQ_DATA, 0x11));
	b = (struct emu_id){ 1, c->ch[1], ev.id };
	CU_ASSERT_EQUAL(emu_cmid(c->m, &b)->dst.port, emu_cmid(c->m, &a)->src.port);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, &rep), 0);
	CU_ASSERT_FATAL(emu_cm_want(c, 0, CM_EV_ESTABLISHED, 0, &ev));
	CU_ASSERT(ev.ud);
	CU_ASSERT_EQUAL(ev.param.qpn, 0x22);
	CU_ASSERT_EQUAL(ev.param.qkey, CM_UDP_QKEY);
	CU_ASSERT_EQUAL(ev.param.data_len, CM_SIDR_REP_DATA);
	CU_ASSERT(emu_filled(ev.param.data, CM_SIDR_REP_DATA, 0x22));
	CU_ASSERT_EQUAL(ev.av.is_global, 1);
	CU_ASSERT(!memcmp(ev.av.dgid, c->m->hca->dev[0].port[1].gid[0].raw, 16));
	/* There is no connection: nothing more comes, and disconnecting does nothing. */
	CU_ASSERT(!emu_cm_next(c, 1, &ev));
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &a), 0);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, &rep), -EINVAL);
	CU_ASSERT(emu_run(c->m, ~0ULL));
	CU_ASSERT(!emu_cm_next(c, 1, &ev));
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

static void test_refused(void)
{
	struct emu_cm *c = emu_cm_new(2, CM_PS_UDP, 1);
	struct cm_param why = emu_cm_param(7, CM_SIDR_REP_DATA);
	struct cm_param long_req = emu_cm_param(7, CM_SIDR_REQ_DATA + 1);
	struct emu_id a = emu_cm_active(c), a2 = emu_cm_active(c), b;
	struct cm_event ev;

	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, &long_req), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	/* A full backlog refuses datagrams' requests. */
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a2, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_UNREACHABLE, SIDR_REJECT, &ev));
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_reject(c->m, &b, &why), 0);
	CU_ASSERT_FATAL(emu_cm_want(c, 0, CM_EV_UNREACHABLE, SIDR_REJECT, &ev));
	CU_ASSERT(emu_filled(ev.param.data, CM_SIDR_REP_DATA, 7));
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b), 0);
	/* Destroyed without an answer. */
	a = emu_cm_active(c);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_UNREACHABLE, SIDR_REJECT, &ev));
	/* Nobody there. */
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	a = emu_cm_active(c);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &c->listener), 0);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_UNREACHABLE, SIDR_UNSUPPORTED, &ev));
	CU_ASSERT_EQUAL(c->m->hca->error[0].cause, CAUSE_CM_SIDR);
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

/* A key of the answer's own; one that is not the QP's already. */
static void test_keys(void)
{
	struct emu_cm *c = emu_cm_new(3, CM_PS_UDP, 0);
	struct cmd_cm arg = { .qp_state = QPS_INIT };
	struct cm_param p = emu_cm_param(1, 0);
	struct emu_id a = emu_cm_active(c), b;
	struct cm_event ev;

	p.qkey = 0x4711;
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, &p), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_ESTABLISHED, 0, &ev));
	CU_ASSERT_EQUAL(ev.param.qkey, 0x4711);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	a = emu_cm_active(c);
	CU_ASSERT_EQUAL(emu_cm_cmd(c->m, &a, CMD_CM_INIT_QP_ATTR, &arg), 0);
	CU_ASSERT_EQUAL(arg.attr_mask, QPA_STATE | QPA_PKEY_INDEX | QPA_PORT | QPA_QKEY);
	CU_ASSERT_EQUAL(arg.attr.qkey, CM_UDP_QKEY);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, &p), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_ADDR_ERROR, -EINVAL, &ev));
	/* And the one who answers: refused, and so is the request. */
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	a = emu_cm_active(c);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	arg = (struct cmd_cm){ .qp_state = QPS_INIT };
	CU_ASSERT_EQUAL(emu_cm_cmd(c->m, &b, CMD_CM_INIT_QP_ATTR, &arg), 0);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, &p), -EINVAL);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_UNREACHABLE, SIDR_REJECT, &ev));
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

static void test_wire(void)
{
	static const struct emu_faults slow = { .delay = 1000000 };
	static const struct emu_faults dead = { .loss = 1000 };
	struct emu_cm *c = emu_cm_new(4, CM_PS_UDP, 0);
	struct emu_id a, b;
	struct cm_event ev;
	u32 n;

	for (n = 0; n < 4; n++) {
		emu_wire(c->m, NULL);
		a = emu_cm_active(c);
		emu_wire(c->m, &slow);
		c->m->carried = 0;
		c->m->lose = n == 1;
		c->m->twice = n == 2;
		CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
		b = emu_cm_request(c);
		if (n == 3)
			c->m->lose = 2;
		CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), 0);
		/* A retransmitted request, whose answer was lost, counts as a new one. */
		if (n == 3) {
			b = emu_cm_request(c);
			CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), 0);
		}
		CU_ASSERT(emu_cm_await(c, 0, CM_EV_ESTABLISHED, 0, &ev));
		c->m->lose = c->m->twice = 0;
		CU_ASSERT(emu_run(c->m, ~0ULL));
		CU_ASSERT(!emu_cm_next(c, 1, &ev));
		CU_ASSERT(!emu_cm_next(c, 0, &ev));
	}
	a = emu_cm_active(c);
	emu_wire(c->m, &dead);
	c->m->carried = 0;
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	CU_ASSERT(emu_cm_await(c, 0, CM_EV_UNREACHABLE, -ETIMEDOUT, &ev));
	CU_ASSERT_EQUAL(c->m->carried, 16);
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "resolved", test_resolved },
		{ "refused", test_refused },
		{ "keys", test_keys },
		{ "lost, repeated", test_wire },
		{ NULL, NULL },
	};

	return cu_run("cmsidr", tests);
}
