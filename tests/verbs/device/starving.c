/* SPDX-License-Identifier: MIT */
/*
 * Clients of an isolated fabric that take what they can get, until they are killed:
 * app_device_starving WAY...
 *
 * A process for each WAY, which speaks the protocol itself:
 * - commands: all command slots full at any time, after many objects were made
 * - searches: commands that search a table, which is full
 * - doorbells: 64 queue pairs with full send queues, and every doorbell rung
 * - requests: connections that send requests without end
 * - comers: processes that connect and end, as clients or without a word
 *
 * A line `ready WAY` is printed when it has begun.
 */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAP_LEN   (128u << 20) /* where the rings are */
#define OBJECTS	   100000u
#define REFERENCES 30000u /* a client may have half of the table */
#define QPS	   64u
#define SQ_DEPTH   256u
#define CQ_DEPTH   64u
#define SIGNALED   16u /* one work request of so many */
#define LEN	   (1u << 20)
#define SENDERS	   128u
#define DEALT_OUT  64 /* comers that live at once */

static struct protocol_client me;
static uint8_t *memory; /* LEN bytes that the queue pairs write */

static int command(struct hca_cmd c, struct hca_cmd *answer)
{
	int ret = protocol_command(&me, &c);

	if (answer)
		*answer = c;
	return ret;
}

static void ready(const char *way)
{
	printf("ready %s\n", way);
	fflush(stdout);
}

static void enter(void)
{
	int ret = protocol_hello(&me, "starving", SEG_HEAP_OFF + HEAP_LEN);
	struct proto_msg m = { .op = PROTO_SEG,
			       .peer = { .client = me.welcome.client,
					 .gen = me.welcome.gen,
					 .size = SEG_HEAP_OFF + HEAP_LEN } };
	int fd;

	if (ret)
		die("HELLO: %d", ret);
	if (!protocol_ask(me.sock, &m, &fd, 1) || m.ret)
		die("a longer segment: %d", m.ret);
	close(fd);
}

static uint32_t pd_make(void)
{
	struct hca_cmd pd = { .op = CMD_ALLOC_PD, .dev = me.welcome.first_dev };

	if (protocol_command(&me, &pd))
		die("a PD: %d", pd.ret);
	return pd.handle;
}

static struct hca_cmd region(uint32_t pd)
{
	return (struct hca_cmd){ .op = CMD_REG_MR,
				 .mr = { .addr = (uintptr_t)memory,
					 .iova = (uintptr_t)memory,
					 .len = LEN,
					 .pd = pd,
					 .access = 15 } };
}

static bool is_busy(void)
{
	uint32_t i;

	for (i = 0; i < SEG_CMD_SLOTS; i++)
		if (load_acquire(&me.seg->cmd[i].state) == CMD_POSTED)
			return true;
	return false;
}

/* Post in every slot that is free what @fill makes, at least @want commands, and wait for them. */
static void commands_many(void (*fill)(struct hca_cmd *c), uint64_t want)
{
	struct hca_cmd c;
	uint32_t i, n;

	for (; want; want -= want < n ? want : n) {
		for (i = n = 0; i < SEG_CMD_SLOTS; i++) {
			if (load_acquire(&me.seg->cmd[i].state) == CMD_POSTED)
				continue;
			memcpy(&c, me.seg->cmd[i].cmd, sizeof(c));
			fill(&c);
			memcpy(me.seg->cmd[i].cmd, &c, sizeof(c));
			store_release(&me.seg->cmd[i].state, CMD_POSTED);
			n++;
		}
		fetch_or(&me.seg->cmd_bits, BIT64(SEG_CMD_SLOTS) - 1);
		protocol_kick(&me);
		if (!n)
			sched_yield();
	}
	while (is_busy())
		sched_yield();
}

/* --- commands --------------------------------------------------------------------------------- */

static uint32_t the_pd;

static void region_fill(struct hca_cmd *c)
{
	if (c->op == CMD_REG_MR && !c->ret)
		c->op = CMD_DEREG_MR;
	else
		*c = region(the_pd);
}

static void object_fill(struct hca_cmd *c)
{
	if (c->op == CMD_REG_MR)
		*c = (struct hca_cmd){
			.op = CMD_CREATE_CQ,
			.cq = { .ring = SEG_HEAP_OFF, .depth = 1, .dev = me.welcome.first_dev }
		};
	else
		*c = region(the_pd);
}

static void commands(void)
{
	the_pd = pd_make();
	commands_many(object_fill, OBJECTS);
	ready("commands");
	commands_many(region_fill, ~0ULL);
}

/* --- doorbells -------------------------------------------------------------------------------- */

/**
 * struct queue - a queue pair that is connected with itself, and its completion queue.
 * @done: work requests completed
 */
struct queue {
	uint32_t handle, qpn, cq;
	uint64_t sq, ring;
	uint32_t polled, done;
};

static struct queue queues[QPS];

static void *heap_at(uint64_t off)
{
	return (uint8_t *)me.seg + off;
}

static void queue_make(struct queue *q, uint32_t pd, uint64_t at)
{
	struct hca_cmd cq = { .op = CMD_CREATE_CQ }, qp = { .op = CMD_CREATE_QP };

	q->sq = at;
	q->ring = at + ALIGN_UP(sizeof(struct wq_ctl) + (u64)SQ_DEPTH * sq_stride(1, 0), 4096u);
	cq.cq = (struct cmd_cq){ .ring = q->ring, .depth = CQ_DEPTH, .dev = me.welcome.first_dev };
	if (protocol_command(&me, &cq))
		die("a CQ: %d", cq.ret);
	qp.qp = (struct cmd_qp){ .type = QPT_RC,
				 .dev = me.welcome.first_dev,
				 .pd = pd,
				 .scq = cq.handle,
				 .rcq = cq.handle,
				 .sq_ring = q->sq,
				 .sq_depth = SQ_DEPTH,
				 .cap_send_wr = SQ_DEPTH,
				 .max_sge = 1,
				 .max_rsge = 1 };
	if (protocol_command(&me, &qp))
		die("a QP: %d", qp.ret);
	q->handle = qp.handle;
	q->qpn = qp.qp.qpn;
}

static void queue_connect(const struct queue *q, const struct hca_dev *dev)
{
	static const uint32_t masks[] = { 0x39, 0x129181, 0x12e01 };
	static const uint32_t states[] = { QPS_INIT, QPS_RTR, QPS_RTS };
	struct hca_cmd c;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		c = (struct hca_cmd){ .op = CMD_MODIFY_QP, .handle = q->handle };
		c.mod.mask = masks[i];
		c.mod.attr = (struct hca_qp_attr){ .state = states[i],
						   .path_mtu = 5,
						   .dest_qpn = q->qpn,
						   .access = 15,
						   .port_num = 1,
						   .timeout = 14,
						   .retry_cnt = 7,
						   .rnr_retry = 7 };
		c.mod.attr.av.is_global = 1;
		c.mod.attr.av.port_num = 1;
		c.mod.attr.av.sgid_index = 1;
		memcpy(c.mod.attr.av.dgid, dev->port[1].gid[1].raw, 16);
		if (protocol_command(&me, &c))
			die("QP to state %u: %d", states[i], c.ret);
	}
}

static void queue_fill(const struct queue *q, uint32_t key)
{
	struct sq_wqe w = { .remote_addr = (uintptr_t)memory,
			    .rkey = key,
			    .total_len = LEN,
			    .opcode = 0, /* RDMA_WRITE */
			    .num_sge = 1 };
	struct wq_sge sge = { .addr = (uintptr_t)memory, .len = LEN, .lkey = key };
	uint8_t *slot = (uint8_t *)heap_at(q->sq) + sizeof(struct wq_ctl);
	uint32_t i;

	for (i = 0; i < SQ_DEPTH; i++, slot += sq_stride(1, 0)) {
		w.send_flags = i % SIGNALED ? 0 : 2;
		memcpy(slot, &w, sizeof(w));
		memcpy(slot + sizeof(w), &sge, sizeof(sge));
	}
}

/* Take what has completed, and post as much again. */
static void queue_go_on(struct queue *q)
{
	struct cq_ctl *ctl = heap_at(q->ring);
	struct cqe *entry = heap_at(q->ring + CQ_HDR);
	struct wq_ctl *sq = heap_at(q->sq);

	while (load_acquire(&entry[q->polled % CQ_DEPTH].seq) == q->polled + 1) {
		if (entry[q->polled % CQ_DEPTH].status)
			die("status %u", entry[q->polled % CQ_DEPTH].status);
		q->done = entry[q->polled++ % CQ_DEPTH].slot + 1;
	}
	store_release(&ctl->cons, q->polled);
	store_release(&sq->prod, q->done + SQ_DEPTH);
}

static void all_rung(void)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(me.seg->db_bits); i++)
		store_relaxed(&me.seg->db_bits[i], ~0ULL);
	for (i = 0; i < ARRAY_SIZE(me.seg->db_sum); i++)
		store_relaxed(&me.seg->db_sum[i], ~0ULL);
	store_release(&me.seg->db_any, ~0ULL);
}

static void doorbells(void)
{
	struct proto_msg m = { .op = PROTO_DEV };
	struct hca_cmd mr;
	uint32_t pd = pd_make(), i;

	mr = region(pd);
	if (protocol_command(&me, &mr))
		die("an MR: %d", mr.ret);
	if (!protocol_ask(me.sock, &m, NULL, 0) || m.ret)
		die("the device: %d", m.ret);
	for (i = 0; i < QPS; i++) {
		queue_make(&queues[i], pd, SEG_HEAP_OFF + (u64)i * (HEAP_LEN / QPS));
		queue_connect(&queues[i], &m.dev);
		queue_fill(&queues[i], mr.mr.key);
	}
	ready("doorbells");
	for (;;) {
		for (i = 0; i < QPS; i++)
			queue_go_on(&queues[i]);
		all_rung();
		protocol_kick(&me);
	}
}

/* --- searches --------------------------------------------------------------------------------- */

static struct hca_cmd domain(void)
{
	return (struct hca_cmd){ .op = CMD_OPEN_XRCD,
				 .xrcd = { .st_dev = 1,
					   .st_ino = (u64)getpid(),
					   .dev = me.welcome.first_dev,
					   .oflags = XRCD_CREAT } };
}

static void context_fill(struct hca_cmd *c)
{
	*c = (struct hca_cmd){ .op = CMD_OPEN_DEV, .open = { .dev = me.welcome.first_dev } };
}

/* When one of two references to a domain goes, the engine looks for the other one. */
static void domain_fill(struct hca_cmd *c)
{
	if (c->op == CMD_OPEN_XRCD && !c->ret)
		*c = (struct hca_cmd){ .op = CMD_CLOSE_XRCD, .handle = c->handle };
	else
		*c = domain();
}

static void searches(void)
{
	struct hca_cmd first = domain(), last = domain();

	if (protocol_command(&me, &first))
		die("an XRC domain: %d", first.ret);
	commands_many(context_fill, REFERENCES);
	if (protocol_command(&me, &last))
		die("the same XRC domain: %d", last.ret);
	first.op = CMD_CLOSE_XRCD;
	if (protocol_command(&me, &first))
		die("closing an XRC domain: %d", first.ret);
	memset(me.seg->cmd, 0, sizeof(me.seg->cmd));
	ready("searches");
	commands_many(domain_fill, ~0ULL);
}

/* --- requests --------------------------------------------------------------------------------- */

static void requests(void)
{
	static int sock[SENDERS];
	struct proto_msg m, answer;
	uint32_t i;

	for (i = 0; i < SENDERS; i++)
		sock[i] = protocol_connect();
	ready("requests");
	for (;;) {
		for (i = 0; i < SENDERS; i++) {
			m = (struct proto_msg){ .magic = PROTO_MAGIC, .op = PROTO_NODE };
			memset(m.ask.ip, 0x20, sizeof(m.ask.ip));
			send(sock[i], &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
			while (recv(sock[i], &answer, sizeof(answer), MSG_DONTWAIT) > 0)
				;
		}
	}
}

/* --- comers ----------------------------------------------------------------------------------- */

static void come(bool as_client)
{
	uint32_t i, pd;

	if (!as_client) {
		for (i = 0; i < 16; i++)
			protocol_connect();
		_exit(0);
	}
	/* The limits may be reached: that is no error. */
	if (protocol_hello(&me, "comer", SEG_FIRST))
		_exit(0);
	pd = pd_make();
	for (i = 0; i < 16; i++)
		command(region(pd), NULL);
	_exit(0);
}

static void comers(void)
{
	unsigned int n;

	ready("comers");
	for (n = 0;; n++) {
		if (!fork())
			come(n % 2);
		if (n >= DEALT_OUT)
			wait(NULL);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
	bool client;
} ways[] = {
	{ "commands", commands, true },	  { "searches", searches, true },
	{ "doorbells", doorbells, true }, { "requests", requests, false },
	{ "comers", comers, false },
};

static void way_begin(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (strcmp(ways[i].name, name) != 0)
			continue;
		if (fork())
			return;
		if (ways[i].client)
			enter();
		ways[i].run();
	}
	die("no way '%s'", name);
}

int main(int argc, char **argv)
{
	int i, status;

	memory = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap: %m");
	for (i = 1; i < argc; i++)
		way_begin(argv[i]);
	/* They do not end by themselves. */
	wait(&status);
	die("one has ended: %x", (unsigned int)status);
}
