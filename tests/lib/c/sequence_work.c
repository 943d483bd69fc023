/* SPDX-License-Identifier: MIT */
/** DOC: work requests, completions and events of random sequences. See tests/lib/c/sequence.h. */
#include "tests/lib/c/sequence.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SEQ_WCS 256

/* --- posting ---------------------------------------------------------------------------------- */

static u32 seq_length(struct seq *s)
{
	static const u32 lengths[] = { 0, 1, 8, 64, 65, 1000, 1024, 1025, 4096, 9000 };

	return lengths[seq_below(s, ARRAY_SIZE(lengths))];
}

/* A region's place, rarely of none. */
static u32 seq_pick_mr(struct seq *s)
{
	const u32 at = seq_below(s, SEQ_N);
	u32 i;

	for (i = 0; i < SEQ_N; i++)
		if (s->mr[(at + i) % SEQ_N] && !seq_one_in(s, 30))
			return (at + i) % SEQ_N;
	return at;
}

/* A part of a region, or of none; rarely one that reaches past its end. */
static struct ibv_sge seq_sge(struct seq *s, u32 length, const char *what)
{
	const u32 at = seq_pick_mr(s);
	struct ibv_mr *mr = s->mr[at];
	struct ibv_sge sge = { .addr = (uintptr_t)s->mem, .length = length, .lkey = 0xdead };

	if (mr && !seq_one_in(s, 30)) {
		sge.lkey = mr->lkey;
		sge.addr = (uintptr_t)mr->addr;
		if (mr->length > length && !seq_one_in(s, 30))
			sge.addr += seq_below(s, (u32)(mr->length - length));
	}
	printf(" %s=mr%u%s+%zd:%u", what, at, sge.lkey == 0xdead ? "?" : "",
	       (ssize_t)(sge.addr - (uintptr_t)s->mem), length);
	return sge;
}

/* The remote side: this process. */
static void seq_set_remote(struct seq *s, u64 *addr, u32 *rkey)
{
	const u32 at = seq_pick_mr(s);
	struct ibv_mr *mr = s->mr[at];

	*addr = (uintptr_t)s->mem + 8 * (u64)seq_below(s, 2000);
	*rkey = 0xdead00;
	if (mr && !seq_one_in(s, 20)) {
		*rkey = mr->rkey;
		*addr = (uintptr_t)mr->addr;
	}
	printf(" rkey=mr%u%s", at, *rkey == 0xdead00 ? "?" : "");
}

static enum ibv_wr_opcode seq_opcode(struct seq *s, enum ibv_qp_type type)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	u32 n = type == IBV_QPT_RC ? ARRAY_SIZE(opcodes) : type == IBV_QPT_UC ? 3 : 2;

	/* An operation that the type lacks, now and then. */
	if (seq_one_in(s, 40))
		n = ARRAY_SIZE(opcodes);
	return opcodes[seq_below(s, n)];
}

static bool seq_is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP;
}

/* @n: its place in the chain. Return: false: it cannot be made, as there is no address handle */
static bool seq_make_send(struct seq *s, struct seq_qp *q, struct ibv_send_wr *wr,
			  struct ibv_sge *sge, u32 n)
{
	const enum ibv_wr_opcode op = seq_opcode(s, q->type);
	const u32 ah = seq_below(s, SEQ_N), to = seq_below(s, SEQ_N);

	memset(wr, 0, sizeof(*wr));
	wr->wr_id = seq_below(s, 1000) * 10 + n;
	wr->opcode = op;
	wr->send_flags = IBV_SEND_SIGNALED;
	wr->send_flags |= seq_one_in(s, 4) ? IBV_SEND_SOLICITED : 0;
	wr->send_flags |= seq_one_in(s, 8) ? IBV_SEND_FENCE : 0;
	printf(" [wr %u op %d flags %x", (u32)wr->wr_id, op, wr->send_flags);
	*sge = seq_sge(s, seq_is_atomic(op) ? 8 : seq_length(s), "local");
	wr->sg_list = sge;
	wr->num_sge = seq_one_in(s, 20) ? 0 : 1;
	if (sge->length <= 64 && (op == IBV_WR_SEND || op == IBV_WR_RDMA_WRITE) && seq_one_in(s, 3))
		wr->send_flags |= IBV_SEND_INLINE;
	wr->imm_data = htobe32(seq_below(s, 100000));
	if (seq_is_atomic(op)) {
		seq_set_remote(s, &wr->wr.atomic.remote_addr, &wr->wr.atomic.rkey);
		wr->wr.atomic.remote_addr &= ~7ull;
		wr->wr.atomic.compare_add = seq_below(s, 3);
		wr->wr.atomic.swap = seq_below(s, 1000);
	} else if (op != IBV_WR_SEND && op != IBV_WR_SEND_WITH_IMM) {
		seq_set_remote(s, &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey);
	} else if (q->type == IBV_QPT_UD) {
		wr->wr.ud.ah = s->ah[ah];
		wr->wr.ud.remote_qpn = s->qp[to].qp ? s->qp[to].qp->qp_num : 0xabcde;
		wr->wr.ud.remote_qkey = seq_one_in(s, 10) ? 0x2222 : SEQ_QKEY;
		printf(" ah%u qp%u", ah, to);
	}
	printf(" inline %d sges %d]", !!(wr->send_flags & IBV_SEND_INLINE), wr->num_sge);
	/* A provider need not survive a datagram without an address, or an operation it lacks. */
	return q->type != IBV_QPT_UD ||
	       (wr->wr.ud.ah && (op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM));
}

/* The same by ibv_wr_*(). Return: as ibv_wr_complete() */
static int seq_post_by_wr(struct ibv_qp_ex *ex, const struct ibv_send_wr *wr)
{
	ibv_wr_start(ex);
	for (; wr; wr = wr->next) {
		ex->wr_id = wr->wr_id;
		ex->wr_flags = wr->send_flags & ~(unsigned)IBV_SEND_INLINE;
		if (wr->opcode == IBV_WR_SEND)
			ibv_wr_send(ex);
		else if (wr->opcode == IBV_WR_SEND_WITH_IMM)
			ibv_wr_send_imm(ex, wr->imm_data);
		else if (wr->opcode == IBV_WR_RDMA_WRITE)
			ibv_wr_rdma_write(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		else
			ibv_wr_rdma_read(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		if (ex->qp_base.qp_type == IBV_QPT_UD)
			ibv_wr_set_ud_addr(ex, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
					   wr->wr.ud.remote_qkey);
		if (wr->send_flags & IBV_SEND_INLINE)
			ibv_wr_set_inline_data(ex, (void *)(uintptr_t)wr->sg_list->addr,
					       wr->sg_list->length);
		else
			ibv_wr_set_sge_list(ex, (size_t)wr->num_sge, wr->sg_list);
	}
	return ibv_wr_complete(ex);
}

/* Whether ibv_wr_*() of the queue pair have all these operations: it was made with four. */
static bool seq_can_post_by_wr(const struct seq_qp *q, const struct ibv_send_wr *wr)
{
	for (; q->ex && wr; wr = wr->next)
		if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM &&
		    (q->type == IBV_QPT_UD || wr->opcode != IBV_WR_RDMA_WRITE) &&
		    (q->type != IBV_QPT_RC || wr->opcode != IBV_WR_RDMA_READ))
			return false;
	return q->ex != NULL;
}

void seq_post_send(struct seq *s)
{
	const u32 at = seq_below(s, SEQ_N), n = 1 + seq_below(s, 3);
	struct seq_qp *q = &s->qp[at];
	struct ibv_send_wr wr[3] = { 0 }, *bad = NULL;
	struct ibv_sge sge[3];
	bool by_wr, can = true;
	int ret;
	u32 i;

	if (!q->qp)
		return;
	printf("post_send qp%u", at);
	for (i = 0; i < n; i++) {
		can = seq_make_send(s, q, &wr[i], &sge[i], i) && can;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	by_wr = seq_can_post_by_wr(q, wr) && seq_one_in(s, 2);
	if (!can) {
		puts(" not posted");
		return;
	}
	errno = 0;
	ret = by_wr ? seq_post_by_wr(q->ex, wr) : ibv_post_send(q->qp, wr, &bad);
	printf(" by_wr %d bad %td", by_wr, ret && bad ? bad - wr : -1);
	seq_print_result(ret);
	q->pending += ret && bad ? (u32)(bad - wr) : ret ? 0 : n;
	seq_settle(s);
}

void seq_post_recv(struct seq *s)
{
	const u32 at = seq_below(s, SEQ_N), n = 1 + seq_below(s, 2);
	const bool to_srq = seq_one_in(s, 4);
	struct ibv_recv_wr wr[2], *bad = NULL;
	struct ibv_sge sge[2];
	int ret;
	u32 i;

	if (to_srq ? !s->srq[at] : !s->qp[at].qp || s->qp[at].srq)
		return;
	printf("post_recv %s%u", to_srq ? "srq" : "qp", at);
	memset(wr, 0, sizeof(wr));
	for (i = 0; i < n; i++) {
		wr[i].wr_id = SEQ_RECV + seq_below(s, ARRAY_SIZE(s->received));
		printf(" [wr %u", (u32)wr[i].wr_id);
		sge[i] = seq_sge(s, 1 + seq_length(s), "local");
		s->received[wr[i].wr_id - SEQ_RECV] = (void *)(uintptr_t)sge[i].addr;
		putchar(']');
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	errno = 0;
	ret = to_srq ? ibv_post_srq_recv(s->srq[at], wr, &bad)
		     : ibv_post_recv(s->qp[at].qp, wr, &bad);
	printf(" bad %td", ret && bad ? bad - wr : -1);
	seq_print_result(ret);
	seq_settle(s);
}

/* --- completions ------------------------------------------------------------------------------ */

static u32 seq_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u32)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

static int seq_qp_place(const struct seq *s, u32 qpn)
{
	int i;

	for (i = 0; i < SEQ_N; i++)
		if (s->qp[i].qp && s->qp[i].qp->qp_num == qpn)
			return i;
	return -1;
}

static bool seq_is_receive(const struct ibv_wc *wc)
{
	return wc->wr_id >= SEQ_RECV;
}

/* By queue pair; those of one queue pair's send or receive queue stay in their order. */
static int seq_compare_wcs(const struct seq *s, const struct ibv_wc *a, const struct ibv_wc *b)
{
	const int x = seq_qp_place(s, a->qp_num), y = seq_qp_place(s, b->qp_num);

	return x != y ? x - y : seq_is_receive(a) - seq_is_receive(b);
}

static void seq_print_wc(const struct seq *s, u32 cq, const struct ibv_wc *wc)
{
	printf("  cq%u qp%d wr %u status %d vendor %u", cq, seq_qp_place(s, wc->qp_num),
	       (u32)wc->wr_id, wc->status, wc->vendor_err);
	if (!wc->status)
		printf(" opcode %d flags %x", wc->opcode, wc->wc_flags);
	if (!wc->status && seq_is_receive(wc))
		printf(" len %u imm %u", wc->byte_len,
		       wc->wc_flags & IBV_WC_WITH_IMM ? be32toh(wc->imm_data) : 0);
	putchar('\n');
}

/* Print in an order that does not depend on which queue pair was faster. */
static void seq_print_wcs(const struct seq *s, u32 cq, struct ibv_wc *wc, u32 n)
{
	struct ibv_wc t;
	u32 i, k;

	for (i = 1; i < n; i++)
		for (k = i; k && seq_compare_wcs(s, &wc[k - 1], &wc[k]) > 0; k--) {
			t = wc[k];
			wc[k] = wc[k - 1];
			wc[k - 1] = t;
		}
	for (i = 0; i < n; i++)
		seq_print_wc(s, cq, &wc[i]);
}

/*
 * The IPv4 header in a GRH has a number that differs each time. rdma_rxe writes it before it finds
 * that the buffer is too short for the message.
 */
static void seq_wipe_grh(struct seq *s, const struct ibv_wc *wc)
{
	u8 *at = s->received[wc->wr_id - SEQ_RECV];

	memset(at, 0, min_u64(sizeof(struct ibv_grh), (u64)(s->mem + SEQ_MEM - at)));
}

static void seq_count_done(struct seq *s, const struct ibv_wc *wc, int n)
{
	int i, at;

	for (i = 0; i < n; i++) {
		at = seq_qp_place(s, wc[i].qp_num);
		if (at >= 0 && !seq_is_receive(&wc[i]) && s->qp[at].pending)
			s->qp[at].pending--;
		if (at >= 0 && seq_is_receive(&wc[i]) && s->qp[at].type == IBV_QPT_UD)
			seq_wipe_grh(s, &wc[i]);
	}
}

static bool seq_is_pending(const struct seq *s)
{
	int i;

	for (i = 0; i < SEQ_N; i++)
		if (s->qp[i].qp && s->qp[i].pending)
			return true;
	return false;
}

/* Poll each CQ once. Return: how many completions there were. */
static u32 seq_poll(struct seq *s, struct ibv_wc wc[SEQ_N][SEQ_WCS], u32 n[SEQ_N])
{
	u32 i, all = 0;
	int got;

	for (i = 0; i < SEQ_N; i++) {
		if (!s->cq[i] || n[i] == SEQ_WCS)
			continue;
		got = ibv_poll_cq(s->cq[i], (int)(SEQ_WCS - n[i]), wc[i] + n[i]);
		if (got < 0)
			printf("  poll cq%u %d errno %d\n", i, got, errno);
		if (got <= 0)
			continue;
		seq_count_done(s, wc[i] + n[i], got);
		n[i] += (u32)got;
		all += (u32)got;
	}
	return all;
}

static void seq_print_events(struct seq *s)
{
	struct pollfd p[2] = { { .fd = s->ctx->async_fd, .events = POLLIN },
			       { .fd = s->channel->fd, .events = POLLIN } };
	u32 seen[64] = { 0 }, i;
	struct ibv_async_event e;
	struct ibv_cq *cq;
	void *ctx;

	while (poll(p, 2, 0) > 0) {
		if ((p[0].revents & POLLIN) && !ibv_get_async_event(s->ctx, &e)) {
			seen[e.event_type < 64 ? e.event_type : 63] = 1;
			ibv_ack_async_event(&e);
		}
		if ((p[1].revents & POLLIN) && !ibv_get_cq_event(s->channel, &cq, &ctx)) {
			printf("  event of cq%td\n", (struct ibv_cq **)ctx - s->cq);
			ibv_ack_cq_events(cq, 1);
		}
	}
	/* rxe may raise an event once or more for one cause. */
	for (i = 0; i < ARRAY_SIZE(seen); i++)
		if (seen[i])
			printf("  async event %u\n", i);
}

static u32 seq_mem_sum(const struct seq *s)
{
	u32 sum = 2166136261u, i;

	for (i = 0; i < SEQ_MEM; i++)
		sum = (sum ^ s->mem[i]) * 16777619u;
	return sum;
}

void seq_settle(struct seq *s)
{
	static struct ibv_wc wc[SEQ_N][SEQ_WCS];
	const u32 begun = seq_now_ms();
	u32 n[SEQ_N] = { 0 }, last = begun, i;

	for (;;) {
		if (seq_poll(s, wc, n))
			last = seq_now_ms();
		else if (seq_now_ms() - last >= (seq_is_pending(s) ? SEQ_WAIT : s->quiet_ms))
			break;
		usleep(200);
	}
	for (i = 0; i < SEQ_N; i++) {
		seq_print_wcs(s, i, wc[i], n[i]);
		/* Others do not come any more, or with a later step. */
		s->qp[i].pending = 0;
	}
	seq_print_events(s);
	printf("  memory %08x\n", seq_mem_sum(s));
}
