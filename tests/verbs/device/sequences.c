/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of verbs calls, which print what each call returns: DEVICE GID_INDEX SEED COUNT
 * QUIET_MS, where the device ends its work within QUIET_MS unless that waits for something.
 *
 * It checks nothing itself. tests/lib/py/sequences.py compares its output with and without a layer
 * between it and the library. See tests/lib/c/sequence.h.
 */
#include "tests/lib/c/sequence.h"

#include <fcntl.h>
#include <stdlib.h>

#define STEPS 24

#define ACCESS_ALL                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

u32 seq_below(struct seq *s, u32 n)
{
	u64 z = s->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (u32)((z ^ (z >> 31)) >> 32) % n;
}

bool seq_one_in(struct seq *s, u32 n)
{
	return !seq_below(s, n);
}

void seq_print_result(long ret)
{
	if (ret)
		printf(" = %ld errno %d\n", ret, errno);
	else
		puts(" = 0");
}

void seq_print_made(const void *made)
{
	if (made)
		puts(" = made");
	else
		printf(" = NULL errno %d\n", errno);
}

/* --- protection domains, memory --------------------------------------------------------------- */

static void step_pd(struct seq *s)
{
	const u32 at = seq_below(s, SEQ_N);
	int ret;

	errno = 0;
	if (!s->pd[at]) {
		printf("alloc_pd pd%u", at);
		s->pd[at] = ibv_alloc_pd(s->ctx);
		seq_print_made(s->pd[at]);
	} else if (seq_one_in(s, 3)) {
		printf("dealloc_pd pd%u", at);
		ret = ibv_dealloc_pd(s->pd[at]);
		s->pd[at] = ret ? s->pd[at] : NULL;
		seq_print_result(ret);
	}
}

static void mr_reg(struct seq *s, u32 at, u32 pd, u32 offset, u32 length, int access)
{
	printf("reg_mr mr%u pd%u %u:%u access %x", at, pd, offset, length, access);
	errno = 0;
	s->mr[at] = ibv_reg_mr(s->pd[pd], s->mem + offset, length, access);
	seq_print_made(s->mr[at]);
}

static void step_mr(struct seq *s)
{
	const u32 at = seq_below(s, SEQ_N), pd = seq_below(s, SEQ_N);
	const u32 offset = 8 * seq_below(s, SEQ_MEM / 16);
	int ret;

	errno = 0;
	if (s->mr[at] && seq_one_in(s, 3)) {
		printf("dereg_mr mr%u", at);
		ret = ibv_dereg_mr(s->mr[at]);
		s->mr[at] = ret ? s->mr[at] : NULL;
		seq_print_result(ret);
	} else if (!s->mr[at] && s->pd[pd]) {
		mr_reg(s, at, pd, offset, seq_one_in(s, 20) ? 0 : SEQ_MEM - offset,
		       seq_one_in(s, 3) ? (int)seq_below(s, 16) : ACCESS_ALL);
	}
}

static void step_mw(struct seq *s)
{
	const u32 at = seq_below(s, SEQ_N), pd = seq_below(s, SEQ_N);
	int ret;

	errno = 0;
	if (s->mw[at]) {
		printf("dealloc_mw mw%u", at);
		ret = ibv_dealloc_mw(s->mw[at]);
		s->mw[at] = ret ? s->mw[at] : NULL;
		seq_print_result(ret);
	} else if (s->pd[pd]) {
		printf("alloc_mw mw%u pd%u", at, pd);
		s->mw[at] =
			ibv_alloc_mw(s->pd[pd], seq_one_in(s, 2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		seq_print_made(s->mw[at]);
	}
}

static void step_ah(struct seq *s)
{
	const u32 at = seq_below(s, SEQ_N), pd = seq_below(s, SEQ_N);
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = SEQ_PORT,
		.grh = { .dgid = s->gid, .sgid_index = (u8)s->gid_index, .hop_limit = 2 },
	};
	int ret;

	errno = 0;
	if (s->ah[at] && seq_one_in(s, 3)) {
		printf("destroy_ah ah%u", at);
		ret = ibv_destroy_ah(s->ah[at]);
		s->ah[at] = ret ? s->ah[at] : NULL;
		seq_print_result(ret);
	} else if (!s->ah[at] && s->pd[pd]) {
		attr.port_num = seq_one_in(s, 10) ? 2 : SEQ_PORT;
		printf("create_ah ah%u pd%u port %u", at, pd, attr.port_num);
		s->ah[at] = ibv_create_ah(s->pd[pd], &attr);
		seq_print_made(s->ah[at]);
	}
}

/* --- completion queues, SRQs ------------------------------------------------------------------ */

static void cq_make(struct seq *s, u32 at, int cqe)
{
	printf("create_cq cq%u %d", at, cqe);
	errno = 0;
	s->cq[at] = ibv_create_cq(s->ctx, cqe, &s->cq[at], s->channel, 0);
	if (s->cq[at])
		printf(" cqe %d", s->cq[at]->cqe);
	seq_print_made(s->cq[at]);
}

static void step_cq(struct seq *s)
{
	static const int sizes[] = { 64, 100, 256, 1000, 0, -1, 1 << 30 };
	const u32 at = seq_below(s, SEQ_N);
	int ret;

	errno = 0;
	if (!s->cq[at]) {
		cq_make(s, at, sizes[seq_below(s, ARRAY_SIZE(sizes))]);
	} else if (seq_one_in(s, 3)) {
		printf("destroy_cq cq%u", at);
		ret = ibv_destroy_cq(s->cq[at]);
		s->cq[at] = ret ? s->cq[at] : NULL;
		seq_print_result(ret);
	} else if (seq_one_in(s, 3)) {
		printf("resize_cq cq%u", at);
		ret = ibv_resize_cq(s->cq[at], 64 + (int)seq_below(s, 500));
		printf(" cqe %d", s->cq[at]->cqe);
		seq_print_result(ret);
	} else {
		printf("req_notify_cq cq%u", at);
		seq_print_result(ibv_req_notify_cq(s->cq[at], (int)seq_below(s, 2)));
	}
}

static void srq_change(struct seq *s, u32 at)
{
	struct ibv_srq_attr attr = { .srq_limit = seq_below(s, 8) };
	int ret;

	if (seq_one_in(s, 3)) {
		printf("destroy_srq srq%u", at);
		ret = ibv_destroy_srq(s->srq[at]);
		s->srq[at] = ret ? s->srq[at] : NULL;
	} else if (seq_one_in(s, 2)) {
		printf("modify_srq srq%u limit %u", at, attr.srq_limit);
		ret = ibv_modify_srq(s->srq[at], &attr, IBV_SRQ_LIMIT);
	} else {
		printf("query_srq srq%u", at);
		ret = ibv_query_srq(s->srq[at], &attr);
		printf(" %u %u %u", attr.max_wr, attr.max_sge, attr.srq_limit);
	}
	seq_print_result(ret);
}

static void step_srq(struct seq *s)
{
	const u32 at = seq_below(s, SEQ_N), pd = seq_below(s, SEQ_N);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1 + seq_below(s, 64),
						    .max_sge = 2 } };

	errno = 0;
	if (s->srq[at]) {
		srq_change(s, at);
	} else if (s->pd[pd]) {
		printf("create_srq srq%u pd%u %u", at, pd, init.attr.max_wr);
		s->srq[at] = ibv_create_srq(s->pd[pd], &init);
		printf(" %u %u", init.attr.max_wr, init.attr.max_sge);
		seq_print_made(s->srq[at]);
	}
}

/* --- queue pairs ------------------------------------------------------------------------------ */

static struct ibv_qp *qp_make_ex(struct seq *s, struct seq_qp *q, struct ibv_qp_init_attr *init,
				 u32 pd)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd[pd],
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_qp *qp;

	if (q->type != IBV_QPT_UD)
		ex.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE;
	if (q->type == IBV_QPT_RC)
		ex.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ;
	qp = ibv_create_qp_ex(s->ctx, &ex);
	q->ex = qp ? ibv_qp_to_qp_ex(qp) : NULL;
	init->cap = ex.cap;
	return qp;
}

static void qp_make(struct seq *s, u32 at, enum ibv_qp_type type, u32 pd, u32 cq, bool ex)
{
	const u32 srq = seq_below(s, SEQ_N);
	struct seq_qp *q = &s->qp[at];
	struct ibv_qp_init_attr init = {
		.send_cq = s->cq[cq],
		.recv_cq = s->cq[cq],
		.srq = seq_one_in(s, 5) ? s->srq[srq] : NULL,
		.cap = { 1 + seq_below(s, 32), 1 + seq_below(s, 32), 1 + seq_below(s, 3),
			 1 + seq_below(s, 3), seq_one_in(s, 2) ? 64 : 0 },
		.qp_type = type,
	};

	*q = (struct seq_qp){ .type = type, .cq = cq, .srq = init.srq != NULL };
	printf("create_qp%s qp%u type %d pd%u cq%u srq%d caps %u %u", ex ? "_ex" : "", at, type, pd,
	       cq, init.srq ? (int)srq : -1, init.cap.max_send_wr, init.cap.max_recv_wr);
	errno = 0;
	q->qp = ex ? qp_make_ex(s, q, &init, pd) : ibv_create_qp(s->pd[pd], &init);
	if (q->qp)
		printf(" got %u %u %u %u %u", init.cap.max_send_wr, init.cap.max_recv_wr,
		       init.cap.max_send_sge, init.cap.max_recv_sge, init.cap.max_inline_data);
	seq_print_made(q->qp);
}

/* The next move towards RTS, to the peer @to. */
static int qp_move_attrs(struct seq *s, struct seq_qp *q, struct ibv_qp_attr *a,
			 const struct ibv_qp *to)
{
	const bool rc = q->type == IBV_QPT_RC, ud = q->type == IBV_QPT_UD;

	a->qp_state = q->qp->state == IBV_QPS_RESET  ? IBV_QPS_INIT
		      : q->qp->state == IBV_QPS_INIT ? IBV_QPS_RTR
						     : IBV_QPS_RTS;
	a->port_num = SEQ_PORT;
	a->qp_access_flags = seq_one_in(s, 8) ? 0 : ACCESS_ALL;
	a->qkey = SEQ_QKEY;
	a->path_mtu = IBV_MTU_1024;
	a->dest_qp_num = to->qp_num;
	a->rq_psn = a->sq_psn = SEQ_PSN;
	a->max_dest_rd_atomic = a->max_rd_atomic = 1;
	a->min_rnr_timer = 1;
	a->timeout = 14;
	a->retry_cnt = 1;
	a->rnr_retry = (u8)seq_below(s, 3);
	a->ah_attr.is_global = 1;
	a->ah_attr.port_num = SEQ_PORT;
	a->ah_attr.grh.dgid = s->gid;
	a->ah_attr.grh.sgid_index = (u8)s->gid_index;
	a->ah_attr.grh.hop_limit = 2;
	if (a->qp_state == IBV_QPS_INIT)
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (a->qp_state == IBV_QPS_RTR)
		return IBV_QP_STATE |
		       (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
		       (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	return IBV_QP_STATE | IBV_QP_SQ_PSN |
	       (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
		   : 0);
}

/* @exactly: as the state needs it */
static void qp_move(struct seq *s, u32 at, u32 to, bool exactly)
{
	struct seq_qp *q = &s->qp[at];
	struct ibv_qp_attr a = { 0 };
	int mask;

	if (!q->qp || !s->qp[to].qp)
		return;
	mask = qp_move_attrs(s, q, &a, s->qp[to].qp);
	if (!exactly && seq_one_in(s, 12))
		a.qp_state = (enum ibv_qp_state)seq_below(s, 7);
	if (!exactly && seq_one_in(s, 12))
		mask ^= 1 << (1 + seq_below(s, 20));
	/* Each step would wait for work that never ends. */
	if (a.qp_state == IBV_QPS_SQD || a.qp_state == IBV_QPS_SQE)
		a.qp_state = IBV_QPS_ERR;
	printf("modify_qp qp%u to qp%u state %d mask %x", at, to, a.qp_state, mask);
	errno = 0;
	seq_print_result(ibv_modify_qp(q->qp, &a, mask));
	printf("  state %d\n", q->qp->state);
}

static void qp_move_simple(struct seq *s, u32 at, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state };

	printf("modify_qp qp%u state %d", at, state);
	errno = 0;
	seq_print_result(ibv_modify_qp(s->qp[at].qp, &a, IBV_QP_STATE));
	s->qp[at].pending = 0;
	seq_settle(s);
}

static void qp_query(struct seq *s, u32 at)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	int ret;

	memset(&a, 0, sizeof(a));
	errno = 0;
	ret = ibv_query_qp(s->qp[at].qp, &a, IBV_QP_STATE | IBV_QP_CAP | IBV_QP_TIMEOUT, &init);
	printf("query_qp qp%u", at);
	if (!ret)
		printf(" state %d mtu %d access %x timeout %u caps %u %u %u", a.qp_state,
		       a.path_mtu, a.qp_access_flags, a.timeout, a.cap.max_send_wr,
		       a.cap.max_recv_wr, init.cap.max_inline_data);
	seq_print_result(ret);
}

static void step_qp(struct seq *s)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	const u32 at = seq_below(s, SEQ_N), pd = seq_below(s, SEQ_N), cq = seq_below(s, SEQ_N);
	struct seq_qp *q = &s->qp[at];
	int ret;

	if (!q->qp) {
		if (s->pd[pd] && s->cq[cq])
			qp_make(s, at, types[seq_below(s, ARRAY_SIZE(types))], pd, cq,
				seq_one_in(s, 2));
	} else if (seq_one_in(s, 8)) {
		printf("destroy_qp qp%u", at);
		errno = 0;
		ret = ibv_destroy_qp(q->qp);
		q->qp = ret ? q->qp : NULL;
		seq_print_result(ret);
	} else if (seq_one_in(s, 6)) {
		qp_move_simple(s, at, seq_one_in(s, 2) ? IBV_QPS_ERR : IBV_QPS_RESET);
	} else if (seq_one_in(s, 6)) {
		qp_query(s, at);
	} else {
		qp_move(s, at, seq_one_in(s, 4) ? seq_below(s, SEQ_N) : at ^ 1, false);
	}
}

/* --- sequences -------------------------------------------------------------------------------- */

/* Most sequences begin with a pair that works. */
static void seq_begin(struct seq *s)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	const enum ibv_qp_type type = types[seq_below(s, 3)];
	const bool ex = seq_one_in(s, 2);
	u32 i;

	if (seq_one_in(s, 6))
		return;
	errno = 0;
	printf("alloc_pd pd0");
	s->pd[0] = ibv_alloc_pd(s->ctx);
	seq_print_made(s->pd[0]);
	if (!s->pd[0])
		return;
	mr_reg(s, 0, 0, 0, SEQ_MEM, ACCESS_ALL);
	mr_reg(s, 1, 0, 4096, 32768, ACCESS_ALL);
	for (i = 0; i < 2; i++)
		cq_make(s, i, 256);
	for (i = 0; i < 2; i++)
		if (s->cq[i])
			qp_make(s, i, type, 0, i, ex);
	for (i = 0; i < 6; i++)
		qp_move(s, i & 1, ~i & 1, !seq_one_in(s, 20));
	for (i = 0; i < 4; i++)
		seq_post_recv(s);
}

static void seq_step(struct seq *s)
{
	static void (*const steps[])(struct seq *) = {
		step_pd,       step_mr,	      step_mw,	     step_ah,	    step_cq,
		step_srq,      step_qp,	      step_qp,	     step_qp,	    seq_post_recv,
		seq_post_recv, seq_post_recv, seq_post_send, seq_post_send, seq_post_send,
	};

	steps[seq_below(s, ARRAY_SIZE(steps))](s);
}

/* Destroy what is left, in an order that works. */
static void seq_end(struct seq *s)
{
	u32 i;

	for (i = 0; i < SEQ_N; i++)
		if (s->qp[i].qp)
			printf("end qp%u %d\n", i, ibv_destroy_qp(s->qp[i].qp));
	for (i = 0; i < SEQ_N; i++) {
		if (s->ah[i])
			printf("end ah%u %d\n", i, ibv_destroy_ah(s->ah[i]));
		if (s->mw[i])
			printf("end mw%u %d\n", i, ibv_dealloc_mw(s->mw[i]));
		if (s->mr[i])
			printf("end mr%u %d\n", i, ibv_dereg_mr(s->mr[i]));
		if (s->srq[i])
			printf("end srq%u %d\n", i, ibv_destroy_srq(s->srq[i]));
		if (s->cq[i])
			printf("end cq%u %d\n", i, ibv_destroy_cq(s->cq[i]));
	}
	for (i = 0; i < SEQ_N; i++)
		if (s->pd[i])
			printf("end pd%u %d\n", i, ibv_dealloc_pd(s->pd[i]));
	printf("end channel %d\n", ibv_destroy_comp_channel(s->channel));
	printf("end context %d\n", ibv_close_device(s->ctx));
}

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static int seq_run(const char *device, int gid_index, u64 seed, u32 quiet_ms)
{
	static u8 mem[SEQ_MEM] __attribute__((aligned(4096)));
	struct seq s = { .random = seed, .gid_index = gid_index, .mem = mem, .quiet_ms = quiet_ms };
	int i;

	printf("sequence %llu\n", (unsigned long long)seed);
	memset(mem, (int)seed, sizeof(mem));
	s.ctx = device_open(device);
	s.channel = s.ctx ? ibv_create_comp_channel(s.ctx) : NULL;
	if (!s.channel || ibv_query_gid(s.ctx, SEQ_PORT, gid_index, &s.gid)) {
		fprintf(stderr, "%s: expected a device with this GID: %s\n", device,
			strerror(errno));
		return 1;
	}
	fcntl(s.ctx->async_fd, F_SETFL, O_NONBLOCK);
	fcntl(s.channel->fd, F_SETFL, O_NONBLOCK);
	seq_begin(&s);
	for (i = 0; i < STEPS; i++)
		seq_step(&s);
	seq_end(&s);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	u64 seed, end;

	if (argc != 6) {
		fprintf(stderr, "usage: %s DEVICE GID_INDEX SEED COUNT QUIET_MS\n", argv[0]);
		return 2;
	}
	seed = strtoull(argv[3], NULL, 0);
	for (end = seed + strtoull(argv[4], NULL, 0); seed < end; seed++)
		if (seq_run(argv[1], atoi(argv[2]), seed, (u32)atoi(argv[5])))
			return 1;
	return 0;
}
