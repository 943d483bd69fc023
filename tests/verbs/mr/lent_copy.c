/* SPDX-License-Identifier: MIT */
/*
 * Copies to and from lent memory of another process, of any kind, size and place, and atomics.
 *	app_mr_lent_copy remote [SEED]
 *
 * Only the peer posts, and only lent memory of this process is the other end: where it is mapped by
 * the peer, no process copies by system calls (tests/verbs/mr/lent.t forbids them).
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#define SIZE	    (1u << 20)
#define MAX	    (200u << 10)
#define STEPS	    600
#define ADDS	    3000
#define PAGE	    4096u
#define FAR_POSTS   30
#define FAR_MAX	    (1ul << 30)
#define TICK	    500 /* us */
#define ADDS_A_TICK 1000
#define OWN_ADDS    (20 * ADDS_A_TICK)
#define MOST_ADDS   (10000 * ADDS)

static struct vb_side *a, *b;
static struct vb_pair p;
static uint8_t *lent, *model;
static struct ibv_mr *mr;

static bool post_and_wait(struct vb_wr *wr, enum ibv_wc_opcode op)
{
	struct ibv_wc wc;

	wr->rkey = mr->rkey;
	return !vb_send(b, 1, false, wr) && vb_done(b, 1, VB_SCQ, wr->wr_id, op, &wc);
}

static bool step_write(uint64_t i, uint8_t *at, size_t off, uint32_t len)
{
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, i, b, at, len);

	fill(at, len, i);
	memcpy(model + off, at, len);
	wr.raddr = (uintptr_t)lent + off;
	return post_and_wait(&wr, IBV_WC_RDMA_WRITE);
}

static bool step_read(uint64_t i, uint8_t *at, size_t off, uint32_t len)
{
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_READ, i, b, at, len);

	fill(lent + off, len, i);
	memcpy(model + off, lent + off, len);
	wr.raddr = (uintptr_t)lent + off;
	return post_and_wait(&wr, IBV_WC_RDMA_READ) && !memcmp(at, model + off, len);
}

/* To two places, the second before the first. */
static bool step_send(uint64_t i, uint8_t *at, size_t off, uint32_t len)
{
	uint32_t first = len / 3, place = (uint32_t)(off + SIZE / 2) % (SIZE - MAX);
	struct vb_wr wr = vb_wr(IBV_WR_SEND, i, b, at, len);
	struct ibv_sge sge[2] = { { (uintptr_t)lent + place, first, mr->lkey },
				  { (uintptr_t)lent + off, len - first, mr->lkey } };
	struct ibv_wc wc;

	if (place < off + len && off < place + first)
		return true;
	fill(at, len, i);
	memcpy(model + place, at, first);
	memcpy(model + off, at + first, len - first);
	return !vb_recv(a, 0, i, sge, 2) && post_and_wait(&wr, IBV_WC_SEND) &&
	       vb_done(a, 0, VB_RCQ, i, IBV_WC_RECV, &wc);
}

static bool step_atomic(uint64_t i, uint8_t *at, size_t off, uint32_t len)
{
	bool add = len & 1;
	struct vb_wr wr =
		vb_wr(add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP, i, b, at, 8);
	uint64_t old, want = i * 0x123456789abcdefULL;

	off &= ~(size_t)7;
	memcpy(&old, lent + off, 8);
	wr.raddr = (uintptr_t)lent + off;
	wr.compare = add ? want : old + (len >> 1 & 1);
	wr.swap = want;
	if (add)
		want += old;
	else if (wr.compare != old)
		want = old;
	memcpy(model + off, &want, 8);
	return post_and_wait(&wr, add ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP) &&
	       !memcmp(at, &old, 8);
}

static void test_copies(uint64_t seed)
{
	static bool (*const step[])(uint64_t, uint8_t *, size_t,
				    uint32_t) = { step_write, step_read, step_send, step_atomic };
	bool good = true;
	uint64_t i;

	fill(lent, SIZE, 1);
	memcpy(model, lent, SIZE);
	for (i = 1; good && i <= STEPS; i++) {
		uint32_t len = 1 + (uint32_t)(rnd(&seed) % (i % 3 ? 300 : MAX));
		size_t off = rnd(&seed) % (SIZE - MAX);
		uint8_t *at = b->buf + rnd(&seed) % 4096;

		good = step[rnd(&seed) % 4](i, at, off, len) && !memcmp(lent, model, SIZE);
	}
	ok(good, "WRITEs, READs, SENDs, atomics of any size and place: step %llu",
	   (unsigned long long)i - 1);
}

static volatile uint64_t own_adds;

static void on_tick(int sig)
{
	(void)sig;
	for (int i = 0; i < ADDS_A_TICK; i++)
		__atomic_fetch_add((uint64_t *)(void *)lent, 1, __ATOMIC_RELAXED);
	own_adds += ADDS_A_TICK;
}

/* On the peer's side: one request after the other, with this process's adds in between. */
static int add_many(struct vb_side *s, void *arg)
{
	struct vb_wr wr = *(struct vb_wr *)arg;
	struct ibv_wc wc;

	for (int i = 0; i < ADDS; i++)
		if (vb_send(s, 1, false, &wr) || !vb_poll(s, 1, VB_SCQ, VB_WAIT, &wc) || wc.status)
			return 1;
	return 0;
}

static void test_atomics(void)
{
	struct itimerval tick = { { 0, TICK }, { 0, TICK } }, none = { 0 };
	struct vb_wr wr = vb_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, b, b->buf, 8);
	struct sigaction act = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	uint64_t *word = (uint64_t *)(void *)lent;
	uint64_t adds = 0;
	bool good;

	*word = 0;
	wr.raddr = (uintptr_t)word;
	wr.rkey = mr->rkey;
	wr.compare = 1;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	/* A round may take less than a tick. */
	do {
		good = !vb_call(b, add_many, &wr, sizeof(wr));
		adds += ADDS;
	} while (good && own_adds < OWN_ADDS && adds < MOST_ADDS);
	setitimer(ITIMER_REAL, &none, NULL);
	ok(good && own_adds && *word == own_adds + adds,
	   "atomics and the target's CPU count together: %llu + %llu = %llu",
	   (unsigned long long)own_adds, (unsigned long long)adds, (unsigned long long)*word);
}

static uint8_t *pages_new(size_t len)
{
	uint8_t *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return at;
}

struct far_source {
	size_t size;
	struct vb_wr wr;
};

static uint8_t *far;
static size_t far_size;
static struct ibv_mr *far_mr;

/* On the peer's side: small WRITEs from a new region's end; the last ones wait for an engine. */
static int far_post(struct vb_side *s, void *arg)
{
	struct far_source *f = arg;
	int ret = 0;

	far_size = f->size;
	far = pages_new(far_size);
	fill(far + far_size - 8, 8, far_size);
	far_mr = ibv_reg_mr(s->pd, far, far_size, IBV_ACCESS_LOCAL_WRITE);
	if (!far_mr)
		return errno;
	f->wr.sge[0] = (struct ibv_sge){ (uintptr_t)far + far_size - 8, 8, far_mr->lkey };
	for (int i = 0; i < FAR_POSTS && !ret; i++, f->wr.raddr += 8)
		ret = vb_send(s, 1, false, &f->wr);
	return ret;
}

static int far_end(struct vb_side *s, void *arg)
{
	struct ibv_wc wc;

	(void)arg;
	for (int i = 0; i < FAR_POSTS; i++)
		if (!vb_poll(s, 1, VB_SCQ, VB_WAIT, &wc) || wc.status)
			return 1;
	return ibv_dereg_mr(far_mr) || munmap(far, far_size);
}

/*
 * A process that lends memory has the engine token in between, and carries out what others have
 * posted: it maps more and more of their memory then.
 */
static void test_engine_of_lender(void)
{
	struct far_source f = { .wr = vb_wr(IBV_WR_RDMA_WRITE, 1, b, b->buf, 8) };
	uint8_t *other = pages_new(PAGE);
	bool good = true;

	for (size_t size = 8u << 20; good && size <= FAR_MAX; size <<= 1) {
		struct ibv_mr *more;

		f.size = size;
		f.wr.rkey = mr->rkey;
		f.wr.raddr = (uintptr_t)lent;
		good = !vb_call(b, far_post, &f, sizeof(f));
		more = ibv_reg_mr(a->pd, other, PAGE, ALL);
		good = good && more && !ibv_dereg_mr(more) && !vb_call(b, far_end, &f, sizeof(f));
		for (int i = 0; good && i < FAR_POSTS; i++)
			good = filled(lent + 8 * i, 8, size);
	}
	ok(good, "a process that lends memory carries out others' WRITEs from lent memory");
	munmap(other, PAGE);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : now_ns();

	note("seed %llu", (unsigned long long)seed);
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	lent = pages_new(SIZE);
	model = pages_new(SIZE);
	mr = ibv_reg_mr(a->pd, lent, SIZE, ALL);
	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	test_copies(seed);
	test_atomics();
	test_engine_of_lender();
	ibv_dereg_mr(mr);
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
