/* SPDX-License-Identifier: MIT */
/* The connection protocol over a wire that does what it should: handshakes, refusals, ends. */
#include "tests/cu.h"
#include "tests/emu_cm.h"

static void test_handshake(void)
{
	struct emu_cm *c = emu_cm_new(1, CM_PS_TCP, 0);
	struct cm_param req = emu_cm_param(0x111111, CM_REQ_DATA);
	struct cm_param rep = emu_cm_param(0x222222, CM_REP_DATA);
	struct emu_id a = emu_cm_active(c), b;
	struct cm_event ev;

	req.ece_vendor = 0x15b3;
	req.ece_options = 0x12345678;
	rep.ece_vendor = 0xabcdef;
	rep.ece_options = 0x87654321;
	rep.responder_resources = 2;
	rep.initiator_depth = 3;
	rep.rnr_retry_count = 200;
	rep.srq = 1;
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, &req), 0);
	CU_ASSERT_FATAL(emu_cm_want(c, 1, CM_EV_CONNECT_REQUEST, 0, &ev));
	CU_ASSERT_EQUAL(ev.param.qpn, 0x111111);
	CU_ASSERT_EQUAL(ev.param.responder_resources, req.initiator_depth);
	CU_ASSERT_EQUAL(ev.param.initiator_depth, req.responder_resources);
	CU_ASSERT_EQUAL(ev.param.flow_control, 1);
	CU_ASSERT_EQUAL(ev.param.retry_count, 6);
	CU_ASSERT_EQUAL(ev.param.rnr_retry_count, 7);
	CU_ASSERT_EQUAL(ev.param.srq, 0);
	CU_ASSERT_EQUAL(ev.param.ece_vendor, 0x15b3);
	CU_ASSERT_EQUAL(ev.param.ece_options, 0x12345678);
	CU_ASSERT_EQUAL(ev.param.data_len, CM_REQ_DATA);
	CU_ASSERT(emu_filled(ev.param.data, CM_REQ_DATA, 0x111111));
	b = (struct emu_id){ 1, c->ch[1], ev.id };
	CU_ASSERT_EQUAL(ev.listen_id, c->listener.h);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, &rep), 0);
	CU_ASSERT_FATAL(emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	CU_ASSERT_EQUAL(ev.param.qpn, 0x222222);
	CU_ASSERT_EQUAL(ev.param.responder_resources, 3);
	CU_ASSERT_EQUAL(ev.param.initiator_depth, 2);
	CU_ASSERT_EQUAL(ev.param.rnr_retry_count, 7);
	CU_ASSERT_EQUAL(ev.param.srq, 1);
	CU_ASSERT_EQUAL(ev.param.ece_vendor, 0xabcdef);
	CU_ASSERT_EQUAL(ev.param.ece_options, 0x87654321);
	CU_ASSERT_EQUAL(ev.param.data_len, CM_REP_DATA);
	CU_ASSERT(emu_filled(ev.param.data, CM_REP_DATA, 0x222222));
	CU_ASSERT_EQUAL(emu_cm_rtu(c->m, &a), 0);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_ESTABLISHED, 0, &ev));
	CU_ASSERT_EQUAL(ev.param.data_len, 0);
	CU_ASSERT_EQUAL(ev.uid, b.h + 1);
	CU_ASSERT(!emu_cm_next(c, 0, &ev));
	CU_ASSERT(!emu_cm_next(c, 1, &ev));
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

static void test_disconnect(void)
{
	struct emu_cm *c = emu_cm_new(2, CM_PS_TCP, 0);
	struct emu_id a, b;
	struct cm_event ev;

	CU_ASSERT_FATAL(emu_cm_pair(c, &a, &b));
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &a), 0);
	CU_ASSERT(!emu_cm_next(c, 0, &ev));
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_DISCONNECTED, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &b), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_DISCONNECTED, 0, &ev));
	CU_ASSERT(emu_run(c->m, ~0ULL));
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_TIMEWAIT_EXIT, 0, &ev));
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_TIMEWAIT_EXIT, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &a), 0);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b), 0);
	CU_ASSERT_EQUAL(c->m->hca->tab[TAB_CMID].n, 1);
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "handshake", test_handshake },
		{ "disconnect", test_disconnect },
		{ NULL, NULL },
	};

	return cu_run("cm", tests);
}
