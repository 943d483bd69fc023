/* SPDX-License-Identifier: MIT */
/* The connection protocol over a perfect wire: handshakes, rejections, disconnects. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cm.h"

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

/* Both sides at once: each has its answer from the other's call that has been already. */
static void test_disconnect_both(void)
{
	static const struct emu_faults slow = { .delay = 1000000 };
	struct emu_cm *c = emu_cm_new(3, CM_PS_TCP, 0);
	struct emu_id a, b;
	struct cm_event ev;

	CU_ASSERT_FATAL(emu_cm_pair(c, &a, &b));
	emu_wire(c->m, &slow);
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &a), 0);
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &b), 0);
	CU_ASSERT(emu_cm_await(c, 0, CM_EV_DISCONNECTED, 0, &ev));
	CU_ASSERT(emu_cm_await(c, 1, CM_EV_DISCONNECTED, 0, &ev));
	/* As in the kernel: the answer comes with the next call, or with the identifier's end. */
	CU_ASSERT_EQUAL(emu_cmid(c->m, &a)->proto, CMP_DREQ_RCVD);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	CU_ASSERT(emu_cm_await(c, 1, CM_EV_TIMEWAIT_EXIT, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b), 0);
	CU_ASSERT(emu_run(c->m, ~0ULL));
	CU_ASSERT_EQUAL(c->m->hca->tab[TAB_CMID].n, 1);
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

static void test_reject(void)
{
	struct emu_cm *c = emu_cm_new(4, CM_PS_TCP, 0);
	struct cm_param why = emu_cm_param(7, CM_REJ_DATA);
	struct emu_id a = emu_cm_active(c), b;
	struct cm_event ev;

	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_reject(c->m, &b, &why), 0);
	CU_ASSERT_FATAL(emu_cm_want(c, 0, CM_EV_REJECTED, 28, &ev));
	CU_ASSERT_EQUAL(ev.param.data_len, CM_REJ_DATA);
	CU_ASSERT(emu_filled(ev.param.data, CM_REJ_DATA, 7));
	CU_ASSERT_EQUAL(emu_cm_reject(c->m, &b, NULL), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b), 0);
	/* The active side, of the reply. */
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	a = emu_cm_active(c);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_reject(c->m, &a, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_REJECTED, 28, &ev));
	CU_ASSERT_EQUAL(emu_cm_rtu(c->m, &a), -EINVAL);
	/* The passive side, of its own reply. */
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b), 0);
	a = emu_cm_active(c);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_reject(c->m, &b, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_REJECTED, 28, &ev));
	CU_ASSERT(emu_run(c->m, ~0ULL));
	CU_ASSERT(!emu_cm_next(c, 0, &ev));
	CU_ASSERT(!emu_cm_next(c, 1, &ev));
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

static void test_nobody(void)
{
	struct emu_cm *c = emu_cm_new(5, CM_PS_TCP, 0);
	struct emu_id a = emu_cm_active(c);
	struct cm_event ev;

	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &c->listener), 0);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_REJECTED, CM_REJ_INVALID_SERVICE_ID, &ev));
	CU_ASSERT_EQUAL(c->m->hca->error[0].kind, JRN_CM);
	CU_ASSERT_EQUAL(c->m->hca->error[0].info, 8);
	CU_ASSERT(emu_run(c->m, ~0ULL));
	emu_cm_free(c);
}

/* Private data that exceed a message, and calls in the wrong state. */
static void test_refused(void)
{
	struct emu_cm *c = emu_cm_new(6, CM_PS_TCP, 0);
	struct cm_param p = emu_cm_param(1, CM_REQ_DATA + 1);
	struct emu_id a = emu_cm_active(c), b;
	struct cm_event ev;
	struct cmd_cm arg = { .event = EV_COMM_EST };

	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, &p), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &a), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &a, NULL), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_reject(c->m, &a, NULL), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_cmd(c->m, &a, CMD_CM_NOTIFY, &arg), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_rtu(c->m, &a), -EINVAL);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_CONNECT_REQUEST, 0, &ev));
	b = (struct emu_id){ 1, c->ch[1], ev.id };
	p.data_len = CM_REP_DATA + 1;
	/* A refused accept refuses the connection. */
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, &p), -EINVAL);
	CU_ASSERT_EQUAL(emu_cmid(c->m, &a)->proto, CMP_IDLE);
	CU_ASSERT_EQUAL(emu_cmid(c->m, &b)->uid, 0);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b), 0);
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

static void test_notify(void)
{
	struct emu_cm *c = emu_cm_new(7, CM_PS_TCP, 0);
	struct cmd_cm arg = { .event = EV_COMM_EST };
	struct emu_id a = emu_cm_active(c), b;
	struct cm_event ev;

	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_cmd(c->m, &b, CMD_CM_NOTIFY, &arg), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), 0);
	CU_ASSERT_EQUAL(emu_cm_cmd(c->m, &b, CMD_CM_NOTIFY, &arg), 0);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_ESTABLISHED, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_cmd(c->m, &b, CMD_CM_NOTIFY, &arg), -EISCONN);
	/* The RTU that comes later tells nothing new. */
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_rtu(c->m, &a), 0);
	CU_ASSERT(!emu_cm_next(c, 1, &ev));
	arg.event = EV_PATH_MIG;
	CU_ASSERT_EQUAL(emu_cm_cmd(c->m, &b, CMD_CM_NOTIFY, &arg), 0);
	arg.event = EV_QP_FATAL;
	CU_ASSERT_EQUAL(emu_cm_cmd(c->m, &b, CMD_CM_NOTIFY, &arg), -EINVAL);
	emu_cm_free(c);
}

static int attr(struct emu_cm *c, const struct emu_id *id, u32 state, struct cmd_cm *arg)
{
	*arg = (struct cmd_cm){ .qp_state = state };
	return emu_cm_cmd(c->m, id, CMD_CM_INIT_QP_ATTR, arg);
}

static void check_attrs(struct emu_cm *c, const struct emu_id *id, const struct emu_id *peer,
			u32 responder_resources, u32 initiator_depth)
{
	struct hca_cmid *me = emu_cmid(c->m, id), *it = emu_cmid(c->m, peer);
	struct cmd_cm arg;

	CU_ASSERT_EQUAL(attr(c, id, QPS_INIT, &arg), 0);
	CU_ASSERT_EQUAL(arg.attr_mask, QPA_STATE | QPA_ACCESS_FLAGS | QPA_PKEY_INDEX | QPA_PORT);
	CU_ASSERT_EQUAL(arg.attr.access, ACC_REMOTE_WRITE | ACC_REMOTE_READ | ACC_REMOTE_ATOMIC);
	CU_ASSERT_EQUAL(arg.attr.port_num, 1);
	CU_ASSERT_EQUAL(attr(c, id, QPS_RTR, &arg), 0);
	CU_ASSERT_EQUAL(arg.attr_mask, QPA_STATE | QPA_AV | QPA_PATH_MTU | QPA_DEST_QPN |
					       QPA_RQ_PSN | QPA_MAX_DEST_RD_ATOMIC |
					       QPA_MIN_RNR_TIMER);
	CU_ASSERT_EQUAL(arg.attr.dest_qpn, it->qpn);
	CU_ASSERT_EQUAL(arg.attr.rq_psn, me->psn);
	CU_ASSERT_EQUAL(arg.attr.path_mtu, 5);
	CU_ASSERT_EQUAL(arg.attr.max_dest_rd_atomic, responder_resources);
	CU_ASSERT_EQUAL(arg.attr.min_rnr_timer, 0);
	CU_ASSERT(!memcmp(arg.attr.av.dgid, c->m->hca->dev[0].port[1].gid[0].raw, 16));
	CU_ASSERT_EQUAL(arg.attr.av.is_global, 1);
	CU_ASSERT_EQUAL(attr(c, id, QPS_RTS, &arg), 0);
	CU_ASSERT_EQUAL(arg.attr_mask, QPA_STATE | QPA_SQ_PSN | QPA_RETRY_CNT | QPA_RNR_RETRY |
					       QPA_MAX_QP_RD_ATOMIC | QPA_TIMEOUT);
	CU_ASSERT_EQUAL(arg.attr.sq_psn, it->psn);
	CU_ASSERT_EQUAL(arg.attr.max_rd_atomic, initiator_depth);
	CU_ASSERT_EQUAL(arg.attr.retry_cnt, 6);
	CU_ASSERT_EQUAL(arg.attr.rnr_retry, 7);
	/* 4.096 us * 2^17: the path's 16 there and back; the peer's delay of 15 adds nothing. */
	CU_ASSERT_EQUAL(arg.attr.timeout, 17);
	CU_ASSERT_EQUAL(attr(c, id, QPS_SQD, &arg), -EINVAL);
	CU_ASSERT_EQUAL(attr(c, id, 77, &arg), -EINVAL);
}

static void test_attrs(void)
{
	struct emu_cm *c = emu_cm_new(8, CM_PS_TCP, 0);
	struct emu_id a = emu_cm_active(c), b;
	struct cm_event ev;
	struct cmd_cm arg;

	CU_ASSERT_EQUAL(attr(c, &a, QPS_INIT, &arg), 0);
	CU_ASSERT_EQUAL(arg.attr_mask, QPA_STATE | QPA_ACCESS_FLAGS | QPA_PKEY_INDEX | QPA_PORT);
	CU_ASSERT_EQUAL(arg.attr.access, 0);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	CU_ASSERT_EQUAL(attr(c, &a, QPS_INIT, &arg), 0);
	CU_ASSERT_EQUAL(attr(c, &a, QPS_RTR, &arg), -EINVAL);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(attr(c, &b, QPS_RTS, &arg), 0);
	CU_ASSERT_EQUAL(arg.attr.max_rd_atomic, 4);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	check_attrs(c, &a, &b, 5, 4);
	check_attrs(c, &b, &a, 4, 5);
	emu_cm_free(c);
}

/* The QP's number at the peer is one that is connected already: that was another life of it. */
static void test_stale(void)
{
	struct emu_cm *c = emu_cm_new(9, CM_PS_TCP, 0);
	struct cm_param p = emu_cm_param(0x10000, 0);
	struct emu_id a, b, a2;
	struct cm_event ev;

	CU_ASSERT_FATAL(emu_cm_pair(c, &a, &b));
	p.qpn = emu_cmid(c->m, &a)->qpn;
	a2 = emu_cm_active(c);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a2, &p), 0);
	/* The stale one's DREQ finds the first identifier, which is as it was. */
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_REJECTED, CM_REJ_STALE_CONN, &ev));
	CU_ASSERT_EQUAL(ev.id, a2.h);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_DISCONNECTED, 0, &ev));
	CU_ASSERT_EQUAL(ev.id, a.h);
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &a), 0);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_DISCONNECTED, 0, &ev));
	CU_ASSERT_EQUAL(ev.id, b.h);
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

static void test_backlog(void)
{
	struct emu_cm *c = emu_cm_new(10, CM_PS_TCP, 2);
	struct emu_id a[3], b;
	struct cm_event ev;
	u32 i;

	for (i = 0; i < 3; i++) {
		a[i] = emu_cm_active(c);
		CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a[i], NULL), 0);
	}
	b = emu_cm_request(c);
	b = emu_cm_request(c);
	/* The third was not refused: it comes again. */
	CU_ASSERT(!emu_cm_next(c, 1, &ev));
	CU_ASSERT(!emu_cm_next(c, 0, &ev));
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	CU_ASSERT_EQUAL(ev.id, a[2].h);
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "handshake", test_handshake },
		{ "disconnect", test_disconnect },
		{ "both disconnect at once", test_disconnect_both },
		{ "reject in each phase", test_reject },
		{ "nobody listens", test_nobody },
		{ "refused calls", test_refused },
		{ "notify", test_notify },
		{ "attributes of QPs", test_attrs },
		{ "stale connection", test_stale },
		{ "full backlog", test_backlog },
		{ NULL, NULL },
	};

	return cu_run("cm", tests);
}
