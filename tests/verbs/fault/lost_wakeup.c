/* SPDX-License-Identifier: MIT */
/*
 * Messages to and fro, of which one end sleeps until an event announces the next one:
 *	app_fault_lost_wakeup bug|correct [extended]
 * bug: it polls, arms the CQ, and sleeps. correct: it polls once more before it sleeps. extended:
 * it polls by ibv_start_poll().
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS	 6
#define LEN	 8
#define SOON	 300 /* ms; how often to look whether an event is missing */
#define LATE	 3000 /* ms; an event that is later than its message will not come */
#define PATIENCE 60000

/** struct side - an end of the connection. */
struct side {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rc_addr addr;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_comp_channel *chan;
static int gid_index;
static uint8_t buf[LEN];
static bool extended;

static void side_make(struct side *s, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 2 * ROUNDS, 2 * ROUNDS, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	s->cq = cq;
	s->qp = cq ? ibv_create_qp(pd, &init) : NULL;
	if (!s->qp || ibv_query_gid(ctx, 1, gid_index, &s->addr.gid))
		die("verbs objects: %s", strerror(errno));
	s->addr.qpn = s->qp->qp_num;
	s->addr.psn = 7;
}

static void side_post_recvs(const struct side *s)
{
	struct ibv_sge sge = { (uintptr_t)buf, LEN, mr->lkey };
	struct ibv_recv_wr wr = { 0, NULL, &sge, 1 }, *bad;
	int i;

	for (i = 0; i < ROUNDS; i++)
		if (ibv_post_recv(s->qp, &wr, &bad))
			die("ibv_post_recv");
}

/* The message's own completion is not asked for. */
static void side_send(const struct side *s)
{
	struct ibv_sge sge = { (uintptr_t)buf, LEN, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	if (ibv_post_send(s->qp, &wr, &bad))
		die("ibv_post_send");
}

static void *side_echo(void *arg)
{
	const struct side *s = arg;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (poll_cq(s->cq, PATIENCE, &wc) != 1 || wc.status)
			die("no message has come");
		side_send(s);
	}
	return NULL;
}

/* Return: whether a message has come. */
static bool side_poll(const struct side *s)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)s->cq;
	struct ibv_wc wc = { 0 };
	int n;

	if (!extended) {
		n = ibv_poll_cq(s->cq, 1, &wc);
	} else {
		n = !ibv_start_poll(ex, &attr);
		if (n) {
			wc.status = ex->status;
			ibv_end_poll(ex);
		}
	}
	if (n < 0 || wc.status)
		die("a poll has returned %d, status %d", n, (int)wc.status);
	return n;
}

static bool event_comes(int ms)
{
	struct pollfd p = { .fd = chan->fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/*
 * Sleep until an event comes. A message without one is the end of a program that waits for it.
 * Return: whether an event has come; *got: and the message was polled.
 */
static bool side_sleep(const struct side *s, bool *got)
{
	struct ibv_cq *cq;
	void *context;

	for (*got = false; !*got && !event_comes(SOON);)
		*got = side_poll(s);
	if (*got && !event_comes(LATE))
		return false;
	if (ibv_get_cq_event(chan, &cq, &context) || cq != s->cq)
		die("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* Wait for a message. Return: false: it would sleep indefinitely. */
static bool side_next(const struct side *s, bool correct)
{
	bool got = false;

	while (!got && !side_poll(s)) {
		if (ibv_req_notify_cq(s->cq, 0))
			die("ibv_req_notify_cq");
		if (correct && side_poll(s))
			break;
		if (!side_sleep(s, &got))
			return false;
	}
	return true;
}

static struct ibv_cq *cq_make(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 * ROUNDS, .channel = chan };

	return extended ? ibv_cq_ex_to_cq(ibv_create_cq_ex(ctx, &attr))
			: ibv_create_cq(ctx, 4 * ROUNDS, NULL, chan, 0);
}

static void open_all(struct side *a, struct side *b)
{
	struct rc_opts o = rc_defaults;

	ctx = rc_open_first();
	pd = ibv_alloc_pd(ctx);
	gid_index = rc_gid(ctx, &(union ibv_gid){ 0 });
	mr = pd ? ibv_reg_mr(pd, buf, LEN, IBV_ACCESS_LOCAL_WRITE) : NULL;
	chan = ibv_create_comp_channel(ctx);
	if (!mr || !chan || gid_index < 0)
		die("verbs objects: %s", strerror(errno));
	side_make(a, cq_make());
	side_make(b, ibv_create_cq(ctx, 4 * ROUNDS, NULL, NULL, 0));
	if (rc_up(a->qp, &o, &b->addr, gid_index, 7) || rc_up(b->qp, &o, &a->addr, gid_index, 7))
		die("QPs do not connect");
	side_post_recvs(a);
	side_post_recvs(b);
}

int main(int argc, char **argv)
{
	const bool correct = argc > 1 && !strcmp(argv[1], "correct");
	struct side a, b;
	pthread_t echo;
	int i;

	extended = argc > 2;
	open_all(&a, &b);
	pthread_create(&echo, NULL, side_echo, &b);
	for (i = 0; i < ROUNDS; i++) {
		side_send(&a);
		if (!side_next(&a, correct)) {
			puts("sleeps, and a message is there");
			return 0;
		}
	}
	pthread_join(echo, NULL);
	puts("all messages have come");
	return 0;
}
