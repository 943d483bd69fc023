/* SPDX-License-Identifier: MIT */
/*
 * Many threads of two processes that post at once, to each other, all data verified:
 *	app_qp_threads rc|uc MESSAGES
 *
 * PAIRS queue pairs connect the processes; two threads of each process post on each. A message has
 * its thread and its number in its head. From one thread messages come in order, each once; RC
 * brings all of them, UC may lose some. Most are one packet, so that threads meet where single
 * packets leave; there are more queue pairs than a program keeps sockets for.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS	 10
#define POSTERS	 (2 * PAIRS)
#define WINDOW	 8 /* messages under way of a thread */
#define SLOT	 5000u /* more than an MTU */
#define RECVS	 64 /* of a queue pair */
#define STALL_MS 60000
#define QUIET_NS 1000000000ULL /* UC: after that, what has not come is lost */

struct head {
	uint32_t poster, len;
	uint64_t k;
};

struct area {
	uint8_t out[POSTERS][WINDOW][SLOT];
	uint8_t in[PAIRS][RECVS][SLOT];
};

struct shared {
	_Atomic(int) at[3]; /* processes that passed each barrier */
	_Atomic(int) failed;
	struct rc_addr addr[2][PAIRS];
};

/* struct poster - a thread that posts. @done: messages of it that are complete */
struct poster {
	pthread_t thread;
	_Atomic(uint64_t) done;
};

static struct shared *sh;
static struct area *area;
static int me;
static uint64_t messages;
static enum ibv_qp_type type;
static struct ibv_qp *qps[PAIRS];
static struct ibv_cq *scq, *rcq;
static struct ibv_mr *mr;
static struct poster posters[POSTERS];

static void fail(const char *what, uint64_t x, uint64_t y)
{
	note("process %d: %s (%llu, %llu)", me, what, (unsigned long long)x, (unsigned long long)y);
	sh->failed = 1;
	_exit(1);
}

static void barrier(int i)
{
	sh->at[i]++;
	while (sh->at[i] < 2 && !sh->failed)
		usleep(1000);
	if (sh->failed)
		_exit(1);
}

static uint64_t seed_of(int process, uint32_t poster, uint64_t k)
{
	return ((uint64_t)process << 56) + ((uint64_t)poster << 40) + k * 7919;
}

static void post_recv(int pair, uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)area->in[pair][slot], SLOT, mr->lkey };
	struct ibv_recv_wr *bad,
		wr = { .wr_id = (uint64_t)pair * RECVS + slot, .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(qps[pair], &wr, &bad))
		fail("ibv_post_recv", (uint64_t)errno, 0);
}

/* Without what UC has not. */
#define UC_LACKS                                                                                   \
	(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |    \
	 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static int qp_up(struct ibv_qp *qp, const struct rc_addr *peer, int gid_index, uint32_t psn)
{
	static const enum ibv_qp_state way[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct rc_opts o = rc_defaults;
	int ret = 0;

	o.access = LW;
	o.timeout = 20; /* with chaos, or on a busy machine, an ACK may take seconds */
	for (int i = 0; i < 3 && !ret; i++) {
		struct ibv_qp_attr attr;
		int mask = rc_to(way[i], &o, peer, gid_index, psn, &attr);

		ret = ibv_modify_qp(qp, &attr, type == IBV_QPT_UC ? mask & ~UC_LACKS : mask);
	}
	return ret;
}

static void connect_all(int gid_index)
{
	for (int i = 0; i < PAIRS; i++) {
		int ret = qp_up(qps[i], &sh->addr[!me][i], gid_index, sh->addr[me][i].psn);

		if (ret)
			fail("ibv_modify_qp", (uint64_t)ret, 0);
		for (uint64_t k = 0; k < RECVS; k++)
			post_recv(i, k);
	}
}

static void setup(void)
{
	struct ibv_context *ctx = rc_open_first();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_qp_init_attr init = { .cap = { 2 * WINDOW, RECVS, 1, 1, 0 }, .qp_type = type };
	union ibv_gid gid;
	int gid_index = rc_gid(ctx, &gid);

	area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	scq = ibv_create_cq(ctx, PAIRS * 2 * WINDOW, NULL, NULL, 0);
	rcq = ibv_create_cq(ctx, PAIRS * RECVS, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, area, sizeof(*area), rc_defaults.access) : NULL;
	if (!scq || !rcq || !mr)
		fail("set-up", (uint64_t)errno, 0);
	init.send_cq = scq;
	init.recv_cq = rcq;
	for (int i = 0; i < PAIRS; i++) {
		qps[i] = ibv_create_qp(pd, &init);
		if (!qps[i])
			fail("ibv_create_qp", (uint64_t)errno, 0);
		sh->addr[me][i] = (struct rc_addr){ qps[i]->qp_num, (uint32_t)(me * 100 + i), gid };
	}
	barrier(0);
	connect_all(gid_index);
	barrier(1);
}

/* Completions of all posters: whichever of them waits. */
static void poll_sent(void)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(scq, 16, wc);

	if (n < 0)
		fail("ibv_poll_cq", 0, 0);
	for (int i = 0; i < n; i++) {
		if (wc[i].status)
			fail(ibv_wc_status_str(wc[i].status), wc[i].wr_id, wc[i].vendor_err);
		posters[wc[i].wr_id].done++;
	}
}

static void wait_done(struct poster *p, uint64_t done)
{
	uint64_t began = now_ns();

	while (p->done < done) {
		poll_sent();
		if (sh->failed)
			_exit(1);
		if (!poll_pause(began, STALL_MS))
			fail("a completion does not come", (uint64_t)(p - posters), p->done);
	}
}

static void *poster_main(void *arg)
{
	struct poster *p = arg;
	uint32_t me_too = (uint32_t)(p - posters);
	uint64_t rng = seed_of(me, me_too, 0) * 2 + 1;

	for (uint64_t k = 0; k < messages; k++) {
		uint8_t *out = area->out[me_too][k % WINDOW];
		struct head h = { .poster = me_too, .k = k };
		struct ibv_sge sge = { (uintptr_t)out, 0, mr->lkey };
		struct ibv_send_wr *bad, wr = { .wr_id = me_too,
						.sg_list = &sge,
						.num_sge = 1,
						.opcode = IBV_WR_SEND,
						.send_flags = IBV_SEND_SIGNALED };

		if (k >= WINDOW)
			wait_done(p, k - WINDOW + 1);
		h.len = sizeof(h) +
			(uint32_t)(rnd(&rng) % (rnd(&rng) % 8 ? 200 : SLOT - sizeof(h)));
		memcpy(out, &h, sizeof(h));
		fill(out + sizeof(h), h.len - sizeof(h), seed_of(me, me_too, k));
		sge.length = h.len;
		if (ibv_post_send(qps[me_too / 2], &wr, &bad))
			fail("ibv_post_send", (uint64_t)errno, k);
	}
	wait_done(p, messages);
	return NULL;
}

/* Check a message that has come, and post its receive again. @next: the next of each thread */
static void check_message(const struct ibv_wc *wc, uint64_t *next)
{
	int pair = (int)(wc->wr_id / RECVS);
	uint64_t slot = wc->wr_id % RECVS;
	const uint8_t *in = area->in[pair][slot];
	struct head h;

	if (wc->status)
		fail(ibv_wc_status_str(wc->status), wc->wr_id, wc->vendor_err);
	memcpy(&h, in, sizeof(h));
	if (h.poster >= POSTERS || (int)h.poster / 2 != pair || h.len < sizeof(h) ||
	    h.len != wc->byte_len)
		fail("a message has a wrong head", h.poster, h.len);
	if (type == IBV_QPT_RC ? h.k != next[h.poster] : h.k < next[h.poster])
		fail("a message comes twice, too early or too late", h.k, next[h.poster]);
	if (!filled(in + sizeof(h), h.len - sizeof(h), seed_of(!me, h.poster, h.k)))
		fail("a message brought wrong data", h.poster, h.k);
	next[h.poster] = h.k + 1;
	post_recv(pair, slot);
}

/* Receive what the other process sends. Return: messages. */
static uint64_t receive_all(void)
{
	uint64_t next[POSTERS] = { 0 }, n = 0, last = now_ns();

	while (n < POSTERS * messages) {
		struct ibv_wc wc;
		int ret = ibv_poll_cq(rcq, 1, &wc);

		if (ret < 0)
			fail("ibv_poll_cq", 0, 0);
		if (ret) {
			check_message(&wc, next);
			n++;
			last = now_ns();
			continue;
		}
		if (sh->failed)
			_exit(1);
		/* Only when the other one has sent everything. */
		if (type == IBV_QPT_UC && sh->at[2] == 2 && now_ns() - last > QUIET_NS)
			break;
		if (!poll_pause(last, STALL_MS))
			fail("messages do not come", n, POSTERS * messages);
	}
	return n;
}

static void *receiver_main(void *arg)
{
	*(uint64_t *)arg = receive_all();
	return NULL;
}

static int child(void)
{
	uint64_t received = 0;
	pthread_t receiver;

	setup();
	pthread_create(&receiver, NULL, receiver_main, &received);
	for (int i = 0; i < POSTERS; i++)
		pthread_create(&posters[i].thread, NULL, poster_main, &posters[i]);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(posters[i].thread, NULL);
	barrier(2);
	pthread_join(receiver, NULL);
	if (received < POSTERS)
		fail("nearly all messages were lost", received, POSTERS * messages);
	for (int i = 0; i < PAIRS; i++)
		if (ibv_destroy_qp(qps[i]))
			fail("ibv_destroy_qp", (uint64_t)i, 0);
	return 0;
}

int main(int argc, char **argv)
{
	int status, bad = 0;

	if (argc != 3 || (strcmp(argv[1], "rc") != 0 && strcmp(argv[1], "uc") != 0))
		die("usage: app_qp_threads rc|uc MESSAGES");
	type = argv[1][0] == 'r' ? IBV_QPT_RC : IBV_QPT_UC;
	messages = strtoull(argv[2], NULL, 0);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (me = 0; me < 2; me++)
		if (!fork()) {
			if (me)
				peer_enter();
			_exit(child());
		}
	for (int i = 0; i < 2; i++)
		if (wait(&status) > 0 && status)
			bad++;
	ok(!bad, "%d threads of each process post on %d queue pairs", POSTERS, PAIRS);
	return bad != 0;
}
