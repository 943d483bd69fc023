/* SPDX-License-Identifier: MIT */
/*
 * N processes with N QPs each, each connected with all (and with itself), all data verified:
 * app_qp_stress N ROUNDS [SEED]
 *
 * On each QP, one operation after the other: SENDs that the receiver checks, WRITEs that are read
 * back, atomic additions that must add up in the end.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_N  32
#define SLOT   (64u << 10)
#define N_RECV 4

/* Per QP: space that the peer writes, what is read back, what is sent, receives, the counter. */
#define OFF_TARGET 0u
#define OFF_BACK   SLOT
#define OFF_SRC	   (2 * SLOT)
#define OFF_RECV   (3 * SLOT)
#define OFF_COUNT  ((3 + N_RECV) * SLOT)
#define PER_QP	   (OFF_COUNT + 4096u)

struct shared {
	_Atomic(int) at[4]; /* processes that passed each barrier */
	_Atomic(int) failed;
	uint32_t rkey[MAX_N];
	uint64_t base[MAX_N];
	struct rc_addr addr[MAX_N][MAX_N];
	_Atomic(uint64_t) sent[MAX_N][MAX_N]; /* SENDs of i to j */
	_Atomic(uint64_t) added[MAX_N]; /* sum of what was added at i */
};

static struct shared *sh;
static int n, me;
static long rounds;
static uint64_t seed;

struct link {
	struct ibv_qp *qp;
	uint8_t *mem;
	uint64_t op; /* operations started */
	uint64_t sends, received;
	uint32_t len;
	bool reading;
};

static struct link links[MAX_N];
static struct ibv_cq *cq;
static struct ibv_mr *mr;

static void fail(const char *what, long x)
{
	note("process %d: %s (%ld)", me, what, x);
	sh->failed = 1;
	_exit(1);
}

static void barrier(int i)
{
	sh->at[i]++;
	while (sh->at[i] < n && !sh->failed)
		usleep(1000);
	if (sh->failed)
		_exit(1);
}

static uint64_t seed_of(int from, int to, uint64_t k)
{
	return ((uint64_t)from << 32 | (uint64_t)to << 40) + k * 7919;
}

static void post_recv(struct link *l, uint64_t k)
{
	struct ibv_sge sge = { (uintptr_t)l->mem + OFF_RECV + (k % N_RECV) * SLOT, SLOT, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)(l - links), .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (ibv_post_recv(l->qp, &wr, &bad))
		fail("ibv_post_recv", errno);
}

static void setup(void)
{
	struct ibv_context *ctx = rc_open_first();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	size_t size = (size_t)n * PER_QP;
	uint8_t *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_qp_init_attr init = { .cap = { 4, N_RECV, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct rc_opts o = rc_defaults;
	union ibv_gid gid;
	int gid_index = rc_gid(ctx, &gid);

	cq = ibv_create_cq(ctx, n * (4 + N_RECV), NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, mem, size, o.access) : NULL;
	if (!cq || !mr)
		fail("set-up", errno);
	init.send_cq = init.recv_cq = cq;
	o.timeout = 18;
	sh->rkey[me] = mr->rkey;
	sh->base[me] = (uintptr_t)mem;
	for (int i = 0; i < n; i++) {
		links[i].mem = mem + (size_t)i * PER_QP;
		links[i].qp = ibv_create_qp(pd, &init);
		if (!links[i].qp)
			fail("ibv_create_qp", errno);
		sh->addr[me][i] =
			(struct rc_addr){ links[i].qp->qp_num, (uint32_t)(me * 100 + i), gid };
	}
	barrier(0);
	for (int i = 0; i < n; i++) {
		int ret = rc_up(links[i].qp, &o, &sh->addr[i][me], gid_index, sh->addr[me][i].psn);

		if (ret)
			fail("ibv_modify_qp", ret);
		for (uint64_t k = 0; k < N_RECV; k++)
			post_recv(&links[i], k);
	}
	barrier(1);
}

static void post(struct link *l, enum ibv_wr_opcode op, uint32_t off, uint32_t len, uint32_t roff)
{
	int peer = (int)(l - links);
	uint64_t remote = sh->base[peer] + (uint64_t)me * PER_QP + roff;
	struct ibv_sge sge = { (uintptr_t)l->mem + off, len, mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = (uint64_t)peer,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = op,
					.send_flags = IBV_SEND_SIGNALED };

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = sh->rkey[peer];
		wr.wr.atomic.compare_add = 3;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = sh->rkey[peer];
	}
	if (ibv_post_send(l->qp, &wr, &bad))
		fail("ibv_post_send", errno);
}

/* The next operation on a link that has none under way. */
static void start(struct link *l)
{
	int peer = (int)(l - links);
	uint64_t k = l->op++;

	l->len = 1 + (uint32_t)(rnd(&seed) % (rnd(&seed) % 4 ? 2000 : SLOT));
	switch (rnd(&seed) % 3) {
	case 0:
		fill(l->mem + OFF_SRC, l->len, seed_of(me, peer, l->sends++));
		post(l, IBV_WR_SEND, OFF_SRC, l->len, 0);
		break;
	case 1:
		fill(l->mem + OFF_SRC, l->len, seed_of(me, peer, k) + 1);
		post(l, IBV_WR_RDMA_WRITE, OFF_SRC, l->len, OFF_TARGET);
		break;
	default:
		post(l, IBV_WR_ATOMIC_FETCH_AND_ADD, OFF_BACK, 8, OFF_COUNT);
		sh->added[peer] += 3;
	}
}

static void complete(const struct ibv_wc *wc)
{
	struct link *l = &links[wc->wr_id];
	int peer = (int)wc->wr_id;

	if (wc->status)
		fail(ibv_wc_status_str(wc->status), (long)wc->opcode);
	switch (wc->opcode) {
	case IBV_WC_RECV:
		if (!filled(l->mem + OFF_RECV + (l->received % N_RECV) * SLOT, wc->byte_len,
			    seed_of(peer, me, l->received)))
			fail("a SEND brought wrong data", (long)l->received);
		post_recv(l, l->received++);
		return;
	case IBV_WC_RDMA_WRITE:
		l->reading = true;
		post(l, IBV_WR_RDMA_READ, OFF_BACK, l->len, OFF_TARGET);
		return;
	case IBV_WC_RDMA_READ:
		if (memcmp(l->mem + OFF_BACK, l->mem + OFF_SRC, l->len) != 0)
			fail("a READ brought wrong data", l->len);
		l->reading = false;
		break;
	default:
		break;
	}
	if (l->op < (uint64_t)rounds)
		start(l);
	else
		l->op++;
}

static bool all_done(void)
{
	for (int i = 0; i < n; i++)
		if (links[i].op <= (uint64_t)rounds)
			return false;
	return true;
}

static void traffic(void)
{
	uint64_t last = now_ns();
	struct ibv_wc wc[16];
	bool counted = false;

	for (int i = 0; i < n; i++)
		start(&links[i]);
	for (;;) {
		bool finished;
		int k = ibv_poll_cq(cq, 16, wc);

		for (int i = 0; i < k; i++)
			complete(&wc[i]);
		if (k) {
			last = now_ns();
			continue;
		}
		if (!counted && all_done()) {
			for (int i = 0; i < n; i++)
				sh->sent[me][i] = links[i].sends;
			counted = true;
			sh->at[2]++;
		}
		finished = counted && sh->at[2] >= n;
		for (int i = 0; i < n && finished; i++)
			finished = links[i].received == sh->sent[i][me];
		if (finished)
			break;
		if (sh->failed)
			_exit(1);
		if (now_ns() - last > 60000000000ULL)
			fail("nothing happens any more", (long)links[0].op);
		sched_yield();
	}
}

static int child(void)
{
	uint64_t sum = 0;

	setup();
	traffic();
	for (int i = 0; i < n; i++)
		sum += *(uint64_t *)(void *)(links[i].mem + OFF_COUNT);
	if (sum != sh->added[me])
		fail("atomic additions were lost", (long)(sh->added[me] - sum));
	barrier(3);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t first, start_ns = now_ns();
	int status, bad = 0;

	n = argc > 1 ? atoi(argv[1]) : 4;
	rounds = argc > 2 ? atol(argv[2]) : 100;
	first = argc > 3 ? strtoull(argv[3], NULL, 0) : now_ns() | 1;
	if (n < 1 || n > MAX_N)
		die("1 to %d processes", MAX_N);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (me = 0; me < n; me++) {
		seed = first + (uint64_t)me * 977;
		if (!fork()) {
			if (me & 1)
				peer_enter();
			_exit(child());
		}
	}
	for (int i = 0; i < n; i++)
		if (wait(&status) > 0 && status)
			bad++;
	ok(!bad, "%d processes, %d QPs each, %ld operations on each, seed %#lx (%.1f s)", n, n,
	   rounds, (unsigned long)first, (double)(now_ns() - start_ns) / 1e9);
	return bad != 0;
}
