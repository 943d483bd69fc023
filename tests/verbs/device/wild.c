/* SPDX-License-Identifier: MIT */
/*
 * A client of an isolated fabric that goes wild: app_device_wild SECONDS [SEED]
 *
 * It speaks the protocol itself, without the library. It posts commands that are right in part, so
 * that objects come into being, and writes random words and work requests into all of its segment
 * that the fabric process reads. It ends with success if the fabric process still answers.
 */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HEAP_LEN (1u << 20) /* where the rings are */
#define RING_LEN 8192u
#define RINGS	 (HEAP_LEN / RING_LEN)
#define KEPT	 64u

static uint64_t rnd_state;
static struct protocol_client me;
static struct seg_hdr *seg;
static uint8_t *heap;
static unsigned long n_commands, n_done, n_good, n_words, n_requests;

/* What commands have returned, to name again. */
enum kind {
	KIND_PD,
	KIND_CQ,
	KIND_SRQ,
	KIND_QP,
	KIND_MR,
	KIND_AH,
	KIND_OTHER,
	KINDS,
};

static uint32_t handles[KINDS][KEPT], keys[KEPT], qpns[KEPT];
static struct hca_dev dev;
static unsigned long n_connected;

static uint64_t next_random(void)
{
	return rnd(&rnd_state);
}

/* Numbers that code compares with: small ones, powers of two and their neighbours, the largest. */
static uint64_t rnd_number(void)
{
	switch (next_random() % 8) {
	case 0:
		return next_random();
	case 1:
		return (1ULL << next_random() % 64) - 1 + next_random() % 3;
	case 2:
		return ~0ULL - next_random() % 4;
	case 3:
		return handles[next_random() % KINDS][next_random() % KEPT];
	default:
		return next_random() % 8;
	}
}

static uint64_t rnd_ring(void)
{
	return next_random() % 16 ? SEG_HEAP_OFF + next_random() % RINGS * RING_LEN : rnd_number();
}

static uint32_t rnd_handle(enum kind kind)
{
	return next_random() % 16 ? handles[kind][next_random() % KEPT] : (uint32_t)rnd_number();
}

static uint32_t rnd_dev(void)
{
	return next_random() % 16 ? me.welcome.first_dev : (uint32_t)rnd_number();
}

static uint32_t rnd_depth(void)
{
	return next_random() % 8 ? 1u << next_random() % 6 : (uint32_t)rnd_number();
}

static void enter(void)
{
	int ret = protocol_hello(&me, "wild", SEG_HEAP_OFF + HEAP_LEN);
	struct proto_msg m = { .op = PROTO_DEV };

	if (ret)
		die("HELLO: %d", ret);
	if (!protocol_ask(me.sock, &m, NULL, 0) || m.ret)
		die("the device: %d", m.ret);
	dev = m.dev;
	seg = me.seg;
	heap = (uint8_t *)seg + SEG_HEAP_OFF;
}

static void leave(void)
{
	protocol_leave(&me);
	memset(handles, 0, sizeof(handles));
}

/* --- commands --------------------------------------------------------------------------------- */

static void qp_fill(struct cmd_qp *q)
{
	static const uint8_t types[] = { QPT_RC,       QPT_RC,	     QPT_UC,	    QPT_UD,
					 QPT_XRC_SEND, QPT_XRC_RECV, QPT_RAW_PACKET };

	*q = (struct cmd_qp){ .type = types[next_random() % ARRAY_SIZE(types)],
			      .dev = rnd_dev(),
			      .pd = rnd_handle(KIND_PD),
			      .scq = rnd_handle(KIND_CQ),
			      .rcq = rnd_handle(KIND_CQ),
			      .sq_ring = rnd_ring(),
			      .rq_ring = rnd_ring(),
			      .sq_depth = rnd_depth(),
			      .rq_depth = rnd_depth(),
			      .max_sge = 1 + next_random() % 4,
			      .max_rsge = 1 + next_random() % 4 };
	q->cap_send_wr = q->sq_depth;
	q->cap_recv_wr = q->rq_depth;
}

static void modify_fill(struct cmd_modify_qp *m, uint32_t step)
{
	/* To INIT, RTR and RTS of a reliable connection; to ERR and RESET; of datagrams. */
	static const uint32_t masks[] = { 0x1, 0x39, 0x129181, 0x12e01, 0x1, 0x1, 0x1, 0x71 };
	uint32_t to = next_random() % 8 ? step : (uint32_t)(next_random() % ARRAY_SIZE(masks));

	m->attr = (struct hca_qp_attr){ .state = to % 7,
					.path_mtu = 5,
					.dest_qpn = qpns[next_random() % KEPT],
					.access = 15,
					.port_num = 1,
					.max_rd_atomic = next_random() % 4,
					.max_dest_rd_atomic = next_random() % 4,
					.timeout = next_random() % 32,
					.retry_cnt = 7,
					.rnr_retry = 7 };
	m->attr.av.is_global = 1;
	m->attr.av.port_num = 1;
	m->attr.av.sgid_index = 1;
	memcpy(m->attr.av.dgid, dev.port[1].gid[1].raw, 16);
	m->mask = next_random() % 16 ? masks[to] : (uint32_t)next_random();
}

/* The handle that a command is about. */
static uint32_t rnd_subject(uint32_t op)
{
	switch (op) {
	case CMD_DEALLOC_PD:
		return rnd_handle(KIND_PD);
	case CMD_RESIZE_CQ:
	case CMD_MODIFY_CQ:
	case CMD_NOTIFY_CQ:
	case CMD_DESTROY_CQ:
		return rnd_handle(KIND_CQ);
	case CMD_MODIFY_SRQ:
	case CMD_QUERY_SRQ:
	case CMD_DESTROY_SRQ:
	case CMD_SRQ_OPS:
		return rnd_handle(KIND_SRQ);
	case CMD_MODIFY_QP:
	case CMD_QUERY_QP:
	case CMD_DESTROY_QP:
	case CMD_ATTACH_MCAST:
	case CMD_DETACH_MCAST:
		return rnd_handle(KIND_QP);
	case CMD_REREG_MR:
	case CMD_DEREG_MR:
		return rnd_handle(KIND_MR);
	case CMD_DESTROY_AH:
		return rnd_handle(KIND_AH);
	default:
		return rnd_handle(KIND_OTHER);
	}
}

/* Objects live for a while: few of the commands destroy one. */
static uint32_t rnd_op(void)
{
	static const uint32_t often[] = { CMD_ALLOC_PD,	  CMD_CREATE_CQ, CMD_CREATE_CQ,
					  CMD_CREATE_SRQ, CMD_CREATE_QP, CMD_CREATE_QP,
					  CMD_REG_MR,	  CMD_MODIFY_QP };

	if (next_random() % 64 == 0)
		return (uint32_t)rnd_number();
	return next_random() % 2 ? often[next_random() % ARRAY_SIZE(often)]
				 : (uint32_t)(next_random() % CMD_COUNT);
}

static void cmd_fill(struct hca_cmd *c)
{
	uint32_t *word = (uint32_t *)(void *)c;
	uint32_t i;

	for (i = 0; i < sizeof(*c) / 4; i++)
		word[i] = (uint32_t)(next_random() % 4 ? 0 : rnd_number());
	c->op = rnd_op();
	c->handle = rnd_subject(c->op);
	if (c->op == CMD_ALLOC_PD)
		c->dev = rnd_dev();
	else if (c->op == CMD_CREATE_QP)
		qp_fill(&c->qp);
	else if (c->op == CMD_MODIFY_QP)
		modify_fill(&c->mod, (uint32_t)(next_random() % 4));
	else if (c->op == CMD_CREATE_CQ)
		c->cq = (struct cmd_cq){ .ring = rnd_ring(),
					 .depth = rnd_depth(),
					 .dev = rnd_dev() };
	else if (c->op == CMD_CREATE_SRQ)
		c->srq = (struct cmd_srq){ .ring = rnd_ring(),
					   .dev = rnd_dev(),
					   .pd = rnd_handle(KIND_PD),
					   .depth = rnd_depth(),
					   .max_sge = 1,
					   .max_wr = 4 };
	else if (c->op == CMD_REG_MR)
		c->mr = (struct cmd_reg_mr){ .addr = (uintptr_t)heap,
					     .iova = next_random() % 4 ? (uintptr_t)heap
								       : rnd_number(),
					     .len = next_random() % (2 * HEAP_LEN),
					     .pd = rnd_handle(KIND_PD),
					     .access = 15 };
	/* A field that is not what its template says. */
	while (!(next_random() % 8))
		word[next_random() % (sizeof(*c) / 4)] = (uint32_t)rnd_number();
}

static enum kind cmd_kind(uint32_t op)
{
	switch (op) {
	case CMD_ALLOC_PD:
		return KIND_PD;
	case CMD_CREATE_CQ:
		return KIND_CQ;
	case CMD_CREATE_SRQ:
		return KIND_SRQ;
	case CMD_CREATE_QP:
	case CMD_MODIFY_QP:
		return KIND_QP;
	case CMD_REG_MR:
		return KIND_MR;
	case CMD_CREATE_AH:
		return KIND_AH;
	default:
		return KIND_OTHER;
	}
}

static void cmd_keep(const struct hca_cmd *c)
{
	n_done++;
	if (c->ret)
		return;
	n_good++;
	handles[cmd_kind(c->op)][next_random() % KEPT] = c->handle;
	n_connected += c->op == CMD_MODIFY_QP && c->mod.attr.state == QPS_RTS;
	if (c->op == CMD_REG_MR)
		keys[next_random() % KEPT] = c->mr.key;
	else if (c->op == CMD_CREATE_QP)
		qpns[next_random() % KEPT] = c->qp.qpn;
}

static void commands_post(void)
{
	uint32_t i, qp = 0;
	struct hca_cmd c;

	for (i = 0; i < SEG_CMD_SLOTS; i++) {
		if (load_acquire(&seg->cmd[i].state) == CMD_DONE) {
			memcpy(&c, seg->cmd[i].cmd, sizeof(c));
			cmd_keep(&c);
		}
		cmd_fill(&c);
		/* A queue pair comes to RTS by three commands in a row. */
		if (i % 4 && next_random() % 2) {
			c = (struct hca_cmd){ .op = CMD_MODIFY_QP, .handle = qp };
			modify_fill(&c.mod, i % 4);
		} else if (!(i % 4)) {
			qp = rnd_handle(KIND_QP);
		}
		memcpy(seg->cmd[i].cmd, &c, sizeof(c));
		store_release(&seg->cmd[i].state, CMD_POSTED);
		n_commands++;
	}
	fetch_or(&seg->cmd_bits, next_random() % 8 ? BIT64(SEG_CMD_SLOTS) - 1 : next_random());
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A work request somewhere in the rings, with keys of its own and lists that are nearly right. */
static void wqe_write(void)
{
	struct sq_wqe w = { .wr_id = next_random(),
			    .remote_addr = next_random() % 2 ? (uintptr_t)heap : rnd_number(),
			    .rkey = keys[next_random() % KEPT],
			    .total_len = (uint32_t)(next_random() % 2 ? 64 : rnd_number()),
			    .remote_qpn = qpns[next_random() % KEPT],
			    .ah = rnd_handle(KIND_AH),
			    .opcode = (uint8_t)(next_random() % 16),
			    .send_flags = (uint8_t)next_random(),
			    .num_sge = (uint16_t)(next_random() % 8 ? next_random() % 3
								    : rnd_number()),
			    .hw = (uint16_t)(next_random() % 3) };
	uint64_t list[4] = { next_random() % 2 ? (uintptr_t)heap : rnd_number(), rnd_number(),
			     rnd_number(), rnd_number() };
	uint8_t *at = heap + (next_random() % (HEAP_LEN / 64 - 4)) * 64;

	memcpy(at, &w, sizeof(w));
	memcpy(at + sizeof(w), list, sizeof(list));
	n_requests++;
}

static void words_write(void *at, size_t len, unsigned int n)
{
	for (; n; n--) {
		((uint32_t *)at)[next_random() % (len / 4)] = (uint32_t)rnd_number();
		n_words++;
	}
}

static void memory_spoil(void)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		wqe_write();
	words_write(heap, HEAP_LEN, 256);
	/* The heads of rings: producer and consumer. */
	for (i = 0; i < RINGS; i += 1 + next_random() % 4)
		words_write(heap + i * RING_LEN, 128, 1);
	words_write(seg->chan, 64 * sizeof(seg->chan[0]), 16);
	words_write(&seg->job, sizeof(seg->job), 4);
	words_write(seg->bounce, SEG_BOUNCE_SIZE, 16);
	words_write(seg->cmd, sizeof(seg->cmd), 32);
	words_write(&seg->brought, 8, 1);
	words_write(seg, offsetof(struct seg_hdr, db_any), next_random() % 2);
	/* Doorbells of all QPs that there may be. */
	for (i = 0; i < 16; i++)
		fetch_or(&seg->db_bits[next_random() % 4], next_random());
	fetch_or(&seg->db_sum[0], next_random());
	fetch_or(&seg->db_any, next_random());
}

/* --- requests --------------------------------------------------------------------------------- */

static void request_send(void)
{
	static const uint32_t ops[] = { PROTO_CHAN_ADD, PROTO_CHAN_DEL,	 PROTO_CHAN,   PROTO_SEG,
					PROTO_HELPER,	PROTO_HELPER_FD, PROTO_DEV,    PROTO_NODE,
					PROTO_CALL,	PROTO_HELLO,	 PROTO_STATUS, PROTO_STOP };
	struct proto_msg m = { .op = ops[next_random() % ARRAY_SIZE(ops)] };

	words_write(&m.hello, sizeof(m) - offsetof(struct proto_msg, hello), 64);
	if (!protocol_ask(me.sock, &m, NULL, 0))
		die("request %u: %m", m.op);
	if ((m.op == PROTO_STATUS || m.op == PROTO_STOP) && m.ret != -EACCES)
		die("request %u: %d", m.op, m.ret);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	struct proto_msg m = { .op = PROTO_DEV };
	unsigned long rounds = 0;

	rnd_state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	rnd_state = rnd_state * 0x9e3779b97f4a7c15ull | 1;
	alarm((unsigned int)(end - time(NULL)) + 2 * PROTOCOL_PATIENCE);
	enter();
	for (; time(NULL) < end; rounds++) {
		commands_post();
		memory_spoil();
		protocol_kick(&me);
		if (!(rounds % 16))
			request_send();
		/* A new segment now and then: the old one's objects are reaped. */
		if (!(rounds % 20000) && rounds) {
			leave();
			enter();
		}
	}
	m.ask.number = 0;
	ok(protocol_ask(me.sock, &m, NULL, 0) && !m.ret, "the fabric process answers");
	ok(n_good > 100, "some of the commands are carried out");
	ok(n_connected > 0, "some queue pairs come to RTS");
	printf("# %lu commands, %lu answered, %lu good; %lu times to RTS; %lu words, %lu work "
	       "requests\n",
	       n_commands, n_done, n_good, n_connected, n_words, n_requests);
	return tap_failed != 0;
}
