/* SPDX-License-Identifier: MIT */
/* The calls of libibverbs, each failing once: tests/lib/c/calls.h. */
#include "tests/lib/c/calls.h"
#include "tests/lib/c/raw.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEN 8192

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_comp_channel *chan;
static union ibv_gid gid;
static char *buf;

static void nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void devices(void)
{
	struct ibv_device **list;
	struct ibv_async_event event;

	CALL(ibv_fork_init, ibv_fork_init());
	list = MAKE(ibv_get_device_list, ibv_get_device_list(NULL));
	ctx = MAKE(ibv_open_device, ibv_open_device(list[0]));
	ibv_free_device_list(list);
	nonblocking(ctx->async_fd);
	ok(TELL_ANY(ibv_get_async_event, ibv_get_async_event(ctx, &event)) == -1 && errno == EAGAIN,
	   "then there is no event");
}

static void queries(void)
{
	struct ibv_device_attr dev;
	struct ibv_device_attr_ex ex;
	struct ibv_port_attr port;
	struct ibv_gid_entry entry, table[16];
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	ssize_t n;
	__be16 pkey;

	CALL(ibv_query_device, ibv_query_device(ctx, &dev));
	CALL(ibv_query_device_ex, ibv_query_device_ex(ctx, NULL, &ex));
	CALL(ibv_query_port, ibv_query_port(ctx, 1, &port));
	TELL(ibv_query_gid, ibv_query_gid(ctx, 1, 0, &gid));
	CALL(ibv_query_gid_ex, ibv_query_gid_ex(ctx, 1, 0, &entry, 0));
	n = ibv_query_gid_table(ctx, table, 16, 0);
	calls_check("ibv_query_gid_table", n < 0, (int)-n, CALL_ibv_query_gid_table);
	ok(ibv_query_gid_table(ctx, table, 16, 0) > 0, "then it tells them");
	TELL(ibv_query_pkey, ibv_query_pkey(ctx, 1, 0, &pkey));
	TELL(ibv_get_pkey_index, ibv_get_pkey_index(ctx, 1, pkey));
	CALL(ibv_query_rt_values_ex, ibv_query_rt_values_ex(ctx, &values));
}

static void domains(void)
{
	struct ibv_td_init_attr ta = { 0 };
	struct ibv_td *td = MAKE(ibv_alloc_td, ibv_alloc_td(ctx, &ta));
	struct ibv_parent_domain_init_attr pa = { .td = td };
	struct ibv_pd *parent;

	pd = MAKE(ibv_alloc_pd, ibv_alloc_pd(ctx));
	pa.pd = pd;
	parent = MAKE(ibv_alloc_parent_domain, ibv_alloc_parent_domain(ctx, &pa));
	CALL(ibv_dealloc_pd, ibv_dealloc_pd(parent));
	CALL(ibv_dealloc_td, ibv_dealloc_td(td));
}

static void regions(void)
{
	struct ibv_alloc_dm_attr da = { .length = 4096 };
	struct ibv_sge sge;
	struct ibv_mr *mr, *other;
	struct ibv_mw *mw;
	struct ibv_dm *dm;
	int ret;

	mr = MAKE(ibv_reg_mr, ibv_reg_mr(pd, buf, LEN, IBV_ACCESS_LOCAL_WRITE));
	other = MAKE(ibv_reg_mr_iova,
		     ibv_reg_mr_iova(pd, buf, LEN, 0x10000 + ((uintptr_t)buf & 4095),
				     IBV_ACCESS_LOCAL_WRITE));
	CALL(ibv_dereg_mr, ibv_dereg_mr(other));
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0);
	calls_check("ibv_rereg_mr", ret == IBV_REREG_MR_ERR_CMD, errno, CALL_ibv_rereg_mr);
	ok(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), "then it is done");
	sge = (struct ibv_sge){ (uintptr_t)buf, 64, mr->lkey };
	CALL_ANY(ibv_advise_mr, ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
					      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	ibv_dereg_mr(mr);
	MAKE_ANY(ibv_reg_dmabuf_mr, ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE));
	ibv_dereg_mr(MAKE(ibv_alloc_null_mr, ibv_alloc_null_mr(pd)));
	mw = MAKE(ibv_alloc_mw, ibv_alloc_mw(pd, IBV_MW_TYPE_2));
	CALL(ibv_dealloc_mw, ibv_dealloc_mw(mw));
	dm = MAKE(ibv_alloc_dm, ibv_alloc_dm(ctx, &da));
	CALL(ibv_memcpy_to_dm, ibv_memcpy_to_dm(dm, 0, buf, 64));
	CALL(ibv_memcpy_from_dm, ibv_memcpy_from_dm(buf, dm, 0, 64));
	mr = MAKE(ibv_reg_dm_mr,
		  ibv_reg_dm_mr(pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE));
	ibv_dereg_mr(mr);
	CALL(ibv_free_dm, ibv_free_dm(dm));
}

static void imports(void)
{
	struct ibv_alloc_dm_attr da = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &da), *dm2;
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, LEN, IBV_ACCESS_LOCAL_WRITE), *mr2;
	struct ibv_context *ctx2;
	struct ibv_pd *pd2;

	ctx2 = MAKE(ibv_import_device, ibv_import_device(dup(ctx->cmd_fd)));
	pd2 = MAKE(ibv_import_pd, ibv_import_pd(ctx2, pd->handle));
	mr2 = MAKE(ibv_import_mr, ibv_import_mr(pd2, mr->handle));
	dm2 = MAKE(ibv_import_dm, ibv_import_dm(ctx2, dm->handle));
	ibv_unimport_dm(dm2);
	ibv_unimport_mr(mr2);
	ibv_unimport_pd(pd2);
	TELL(ibv_close_device, ibv_close_device(ctx2));
	ibv_dereg_mr(mr);
	ibv_free_dm(dm);
}

static void completion_queues(void)
{
	struct ibv_cq_init_attr_ex xa = { .cqe = 16 };
	struct ibv_modify_cq_attr mod = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					  .moderate = { .cq_count = 1, .cq_period = 1 } };
	struct ibv_poll_cq_attr pa = { 0 };
	struct ibv_cq_ex *ex;
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *arg;
	int ret;

	chan = MAKE(ibv_create_comp_channel, ibv_create_comp_channel(ctx));
	nonblocking(chan->fd);
	cq = MAKE(ibv_create_cq, ibv_create_cq(ctx, 64, NULL, chan, 0));
	ok(TELL_ANY(ibv_get_cq_event, ibv_get_cq_event(chan, &which, &arg)) == -1 &&
		   errno == EAGAIN,
	   "then there is none");
	CALL(ibv_resize_cq, ibv_resize_cq(cq, 128));
	CALL(ibv_modify_cq, ibv_modify_cq(cq, &mod));
	CALL(ibv_req_notify_cq, ibv_req_notify_cq(cq, 0));
	TELL(ibv_poll_cq, ibv_poll_cq(cq, 1, &wc));
	ex = MAKE(ibv_create_cq_ex, ibv_create_cq_ex(ctx, &xa));
	ret = CALL_ANY(ibv_start_poll, ibv_start_poll(ex, &pa));
	ok(ret == ENOENT, "then there is nothing to be polled");
	CALL(ibv_destroy_cq, ibv_destroy_cq(ibv_cq_ex_to_cq(ex)));
}

static void shared_queues(void)
{
	struct ibv_xrcd_init_attr da = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_srq_init_attr sa = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex xa = {
		.attr = sa.attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.cq = cq,
	};
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct ibv_ops_wr op = { .wr_id = 1, .opcode = IBV_WR_TAG_SYNC }, *bad_op = NULL;
	struct ibv_qp_init_attr_ex qa = { .qp_type = IBV_QPT_XRC_RECV,
					  .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	struct ibv_qp_open_attr oa = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_srq *srq = MAKE(ibv_create_srq, ibv_create_srq(pd, &sa));
	struct ibv_xrcd *xrcd = MAKE(ibv_open_xrcd, ibv_open_xrcd(ctx, &da));
	struct ibv_qp *qp, *opened;
	uint32_t num;

	CALL(ibv_modify_srq, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	CALL(ibv_query_srq, ibv_query_srq(srq, &attr));
	CALL(ibv_post_srq_recv, ibv_post_srq_recv(srq, &wr, &bad));
	ok(bad == &wr, "with *bad_wr");
	CALL(ibv_destroy_srq, ibv_destroy_srq(srq));
	xa.xrcd = xrcd;
	srq = MAKE(ibv_create_srq_ex, ibv_create_srq_ex(ctx, &xa));
	CALL(ibv_get_srq_num, ibv_get_srq_num(srq, &num));
	ibv_destroy_srq(srq);
	xa.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TM |
		       IBV_SRQ_INIT_ATTR_CQ;
	xa.srq_type = IBV_SRQT_TM;
	xa.tm_cap.max_num_tags = xa.tm_cap.max_ops = 4;
	srq = ibv_create_srq_ex(ctx, &xa);
	CALL(ibv_post_srq_ops, ibv_post_srq_ops(srq, &op, &bad_op));
	ok(bad_op == &op, "with *bad_op");
	ibv_destroy_srq(srq);
	qa.xrcd = xrcd;
	qp = MAKE(ibv_create_qp_ex, ibv_create_qp_ex(ctx, &qa));
	oa.xrcd = xrcd;
	oa.qp_num = qp->qp_num;
	opened = MAKE(ibv_open_qp, ibv_open_qp(ctx, &oa));
	CALL(ibv_destroy_qp, ibv_destroy_qp(opened));
	ibv_destroy_qp(qp);
	CALL(ibv_close_xrcd, ibv_close_xrcd(xrcd));
}

/* Up to RTS, as a UD queue pair. */
static void ready(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };

	CALL(ibv_modify_qp,
	     ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	a.qp_state = IBV_QPS_RTR;
	ibv_modify_qp(qp, &a, IBV_QP_STATE);
	a.qp_state = IBV_QPS_RTS;
	ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static void addresses(struct ibv_qp *qp)
{
	struct ibv_ah_attr aa = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } };
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };
	struct ibv_wc wc = { 0 };
	struct ibv_grh grh = { 0 };
	struct ibv_ah_attr out;
	struct ibv_ah *ah;

	aa.grh.dgid = gid;
	ah = MAKE(ibv_create_ah, ibv_create_ah(pd, &aa));
	CALL(ibv_destroy_ah, ibv_destroy_ah(ah));
	TELL(ibv_init_ah_from_wc, ibv_init_ah_from_wc(ctx, 1, &wc, &grh, &out));
	ah = MAKE_ANY(ibv_create_ah_from_wc, ibv_create_ah_from_wc(pd, &wc, &grh, 1));
	if (ah)
		ibv_destroy_ah(ah);
	CALL(ibv_attach_mcast, ibv_attach_mcast(qp, &group, 0));
	CALL(ibv_detach_mcast, ibv_detach_mcast(qp, &group, 0));
}

static void queue_pairs(void)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .cap = { 8, 8, 1, 1, 0 }, .qp_type = IBV_QPT_UD
	};
	struct ibv_qp *qp = MAKE(ibv_create_qp, ibv_create_qp(pd, &ia));
	struct ibv_qp_rate_limit_attr rate = { 0 };
	struct ibv_send_wr wr = { .wr_id = 7, .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_recv_wr rwr = { .wr_id = 8 }, *rbad = NULL;
	struct ibv_qp_attr a;
	struct ibv_ece ece;
	int ret;

	CALL(ibv_query_ece, ibv_query_ece(qp, &ece));
	CALL(ibv_set_ece, ibv_set_ece(qp, &ece));
	ready(qp);
	CALL(ibv_query_qp, ibv_query_qp(qp, &a, IBV_QP_STATE, &ia));
	ok(a.qp_state == IBV_QPS_RTS, "it is in RTS");
	CALL_ANY(ibv_modify_qp_rate_limit, ibv_modify_qp_rate_limit(qp, &rate));
	addresses(qp);
	ret = ibv_post_send(qp, &wr, &bad);
	calls_check("ibv_post_send", ret && bad == &wr, ret, CALL_ibv_post_send);
	ret = ibv_post_recv(qp, &rwr, &rbad);
	calls_check("ibv_post_recv", ret && rbad == &rwr, ret, CALL_ibv_post_recv);
	ok(!ibv_post_recv(qp, &rwr, &rbad), "then it is posted");
	ibv_destroy_qp(qp);
}

/* Connected with each other, and ready. */
static int connect_to(struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int ret = ibv_modify_qp(
		qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = peer->qp_num;
	a.max_dest_rd_atomic = 1;
	a.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1 };
	a.ah_attr.grh.dgid = gid;
	if (!ret)
		ret = ibv_modify_qp(qp, &a,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					    IBV_QP_MIN_RNR_TIMER);
	a.qp_state = IBV_QPS_RTS;
	if (!ret)
		ret = ibv_modify_qp(qp, &a,
				    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC);
	return ret;
}

/* One that is posted to by the functions of its own: a batch that fails is none. */
static void batches(void)
{
	struct ibv_qp_init_attr_ex xa = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 8, 8, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_LOCAL_INV,
		.pd = pd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &xa), *peer = ibv_create_qp_ex(ctx, &xa);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw_bind bind = { .wr_id = 3, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct ibv_wc wc[4];
	int ret, n;

	if (!qp || !peer || !mw || !mr || connect_to(qp, peer) || connect_to(peer, qp))
		die("a pair: %s", strerror(errno));
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 0);
	ret = ibv_wr_complete(ex);
	calls_check("ibv_wr_complete", ret, ret, CALL_ibv_wr_complete);
	bind.bind_info =
		(struct ibv_mw_bind_info){ mr, (uintptr_t)buf, 64, IBV_ACCESS_REMOTE_READ };
	CALL(ibv_bind_mw, ibv_bind_mw(qp, mw, &bind));
	for (n = 0; !n;)
		n = ibv_poll_cq(cq, 4, wc);
	ok(n == 1 && wc[0].wr_id == 3 && !wc[0].status, "it is all that was done");
	ibv_dealloc_mw(mw);
	ibv_destroy_qp(qp);
	ibv_destroy_qp(peer);
	ibv_dereg_mr(mr);
}

static void next_poll(void)
{
	struct ibv_cq_init_attr_ex xa = { .cqe = 16 };
	struct ibv_cq_ex *ex = ibv_create_cq_ex(ctx, &xa);
	struct ibv_cq *plain = ibv_cq_ex_to_cq(ex);
	struct ibv_qp_init_attr ia = {
		.send_cq = plain, .recv_cq = plain, .cap = { 8, 8, 1, 1, 0 }, .qp_type = IBV_QPT_RC
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &ia);
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_poll_cq_attr pa = { 0 };
	int ret;

	/* Two receives that are flushed. */
	ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	ibv_post_recv(qp, &wr, &bad);
	ibv_post_recv(qp, &wr, &bad);
	a.qp_state = IBV_QPS_ERR;
	ibv_modify_qp(qp, &a, IBV_QP_STATE);
	while ((ret = ibv_start_poll(ex, &pa)) == ENOENT)
		;
	ok(!ret, "ibv_start_poll");
	CALL(ibv_next_poll, ibv_next_poll(ex));
	ibv_end_poll(ex);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(plain);
}

static void work_queues(void)
{
	struct ibv_wq_init_attr wa = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd, .cq = cq
	};
	struct ibv_wq *wq = MAKE(ibv_create_wq, ibv_create_wq(ctx, &wa));
	struct ibv_wq_attr mod = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_rwq_ind_table_init_attr ta = { .log_ind_tbl_size = 0, .ind_tbl = &wq };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct ibv_rwq_ind_table *table;

	CALL(ibv_modify_wq, ibv_modify_wq(wq, &mod));
	CALL(ibv_post_wq_recv, ibv_post_wq_recv(wq, &wr, &bad));
	ok(bad == &wr, "with *bad_wr");
	table = MAKE(ibv_create_rwq_ind_table, ibv_create_rwq_ind_table(ctx, &ta));
	CALL(ibv_destroy_rwq_ind_table, ibv_destroy_rwq_ind_table(table));
	CALL(ibv_destroy_wq, ibv_destroy_wq(wq));
}

static void flows(void)
{
	struct ibv_qp_init_attr ia = { .send_cq = cq,
				       .recv_cq = cq,
				       .cap = { 8, 8, 1, 1, 0 },
				       .qp_type = IBV_QPT_RAW_PACKET };
	static const uint8_t mac[6] = { 2 };
	struct raw_rule rule;
	struct ibv_counters_init_attr ca = { 0 };
	struct ibv_counter_attach_attr at = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counters *k = MAKE(ibv_create_counters, ibv_create_counters(ctx, &ca));
	struct ibv_qp *qp = ibv_create_qp(pd, &ia);
	struct ibv_flow *flow;
	uint64_t v[4];

	if (!qp)
		die("a raw QP: %s", strerror(errno));
	raw_rule(&rule, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec_dmac(&rule, mac);
	flow = MAKE(ibv_create_flow, ibv_create_flow(qp, &rule.attr));
	CALL(ibv_attach_counters_point_flow, ibv_attach_counters_point_flow(k, &at, NULL));
	CALL_ANY(ibv_read_counters, ibv_read_counters(k, v, 4, 0));
	CALL(ibv_destroy_counters, ibv_destroy_counters(k));
	CALL(ibv_destroy_flow, ibv_destroy_flow(flow));
	ibv_destroy_qp(qp);
}

void calls_verbs(void)
{
	buf = aligned_alloc(4096, LEN);
	if (!buf)
		die("%s", strerror(errno));
	memset(buf, 0, LEN);
	devices();
	queries();
	domains();
	regions();
	imports();
	completion_queues();
	shared_queues();
	queue_pairs();
	batches();
	next_poll();
	work_queues();
	flows();
	ibv_destroy_cq(cq);
	CALL(ibv_destroy_comp_channel, ibv_destroy_comp_channel(chan));
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
}
