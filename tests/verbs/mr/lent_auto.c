/* SPDX-License-Identifier: MIT */
/*
 * Memory that a program lends where it costs little: while it has one thread, without a signal, and
 * no more than it would not notice.
 *	app_mr_lent_auto local|remote
 */
#include "tests/lib/c/vb_lent.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE   4096u
#define SIZE   (8 * PAGE)
#define STEP   (2u << 20)
#define LARGE  (8u << 20)
#define PIECE  (256u << 10)
#define BIG    (40u << 20)
#define ENOUGH 100000
#define SIGNAL (SIGRTMAX - 2) /* by which threads are stopped if the program asks for that */

static struct vb_side *a, *b;
static struct vb_pair p;

static struct ibv_mr *region_new(void *at, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(a->pd, at, len, ALL);

	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	return mr;
}

static void *thread_wait(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

/* Whether memory is lent once the kernel no longer counts a thread that was joined. */
static bool is_lent_again(uint8_t *at)
{
	uint64_t end = now_ns() + VB_WAIT * 1000000ull;
	bool lent = false;

	while (!lent && now_ns() < end) {
		struct ibv_mr *mr = region_new(at, SIZE);

		lent = vb_lent_bytes(at, SIZE) == SIZE && vb_peer_reaches(b, mr->rkey, at);
		ibv_dereg_mr(mr);
	}
	return lent;
}

static void test_threads(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE), *other;
	struct ibv_mr *mr, *mr2;
	pthread_t thread;

	fill(at, SIZE, 1);
	mr = region_new(at, SIZE);
	ok(vb_lent_bytes(at, SIZE) == SIZE && filled(at, SIZE, 1) &&
		   vb_peer_reaches(b, mr->rkey, at + PAGE),
	   "with one thread memory is lent");
	fill(at, SIZE, 2);
	pthread_mutex_lock(&lock);
	if (pthread_create(&thread, NULL, thread_wait, &lock))
		die("pthread_create");
	ok(vb_is_private(at, SIZE) && filled(at, SIZE, 2) &&
		   vb_peer_reaches(b, mr->rkey, at + PAGE),
	   "before a second thread starts, it goes back");
	other = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	mr2 = region_new(other, SIZE);
	ok(vb_is_private(other, SIZE) && vb_peer_reaches(b, mr2->rkey, other),
	   "with two threads nothing is lent");
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	ibv_dereg_mr(mr2);
	ibv_dereg_mr(mr);
	ok(is_lent_again(at), "with one thread again, it is");
	munmap(other, SIZE);
	munmap(at, SIZE);
}

/* Operations of an AIO ring may write to memory at any time. */
static void test_kernel_writes(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = region_new(at, SIZE);
	size_t before = vb_lent_bytes(at, SIZE);
	unsigned long ring = 0;
	pthread_t thread;

	if (syscall(SYS_io_setup, 8, &ring)) {
		note("io_setup: %s", strerror(errno));
	} else {
		if (pthread_create(&thread, NULL, thread_wait, &lock))
			die("pthread_create");
		ok(before == SIZE && vb_lent_bytes(at, SIZE) == SIZE &&
			   vb_peer_reaches(b, mr->rkey, at),
		   "with an AIO ring nothing moves when a thread starts");
		pthread_join(thread, NULL);
		syscall(SYS_io_destroy, ring);
	}
	ibv_dereg_mr(mr);
	munmap(at, SIZE);
}

static void test_signal(void)
{
	struct sigaction act;
	sigset_t set, now;

	sigemptyset(&set);
	sigaddset(&set, SIGNAL);
	ok(!sigaction(SIGNAL, NULL, &act) && act.sa_handler == SIG_DFL &&
		   !sigprocmask(SIG_BLOCK, &set, NULL) && !sigprocmask(SIG_BLOCK, NULL, &now) &&
		   sigismember(&now, SIGNAL) == 1,
	   "all signals are the program's");
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Register other memory each time. Return: whether, from some time on, it was not lent. */
static bool is_too_often(void)
{
	bool lent = true;

	for (int i = 0; i < ENOUGH && lent; i++) {
		uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
		struct ibv_mr *mr = region_new(at, SIZE);

		lent = vb_lent_bytes(at, SIZE) == SIZE;
		ibv_dereg_mr(mr);
		munmap(at, SIZE);
	}
	return !lent;
}

/* @pieces: of many mappings, which the kernel keeps apart: every other one has no reserve. */
static uint8_t *large_new(bool pieces)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	uint8_t *at = vb_pages(LARGE, PROT_READ | PROT_WRITE);

	for (size_t i = 0; pieces && i < LARGE; i += 2 * PIECE)
		if (mmap(at + i, PIECE, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
			die("mmap: %s", strerror(errno));
	return at;
}

/*
 * Register a region that takes several steps. Return: how much of it is lent. *well: unchanged
 * where it is not, as a peer reaches all of it.
 */
static size_t large_is_lent(bool pieces, bool *well)
{
	uint8_t *at = large_new(pieces);
	struct ibv_mr *mr;
	size_t lent;

	fill(at, LARGE, 7);
	mr = region_new(at, LARGE);
	lent = vb_lent_bytes(at, LARGE);
	if (!filled(at, LARGE, 7) || !vb_peer_reaches(b, mr->rkey, at) ||
	    !vb_peer_reaches(b, mr->rkey, at + lent - (lent ? PAGE : 0)) ||
	    !vb_peer_reaches(b, mr->rkey, at + LARGE - PAGE))
		*well = false;
	ibv_dereg_mr(mr);
	munmap(at, LARGE);
	return lent;
}

/* When the time is used up, the rest of a region stays where it is. */
static void test_part(bool pieces)
{
	uint64_t end = now_ns() + VB_WAIT * 1000000ull;
	size_t lent = LARGE, most = 0;
	bool well = true;

	while ((!lent || lent == LARGE) && now_ns() < end) {
		lent = large_is_lent(pieces, &well);
		most = lent > most ? lent : most;
	}
	ok(most && lent < LARGE && lent % (pieces ? PIECE : STEP) == 0,
	   "a region of %u bytes in %s is lent as far as there is time: %zu, before that %zu",
	   LARGE, pieces ? "many mappings" : "one mapping", lent, most);
	ok(well, "and is unchanged, and within the reach of others");
}

static void test_cost(void)
{
	uint8_t *at = vb_pages(BIG, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = region_new(at, BIG);

	ok(vb_is_private(at, BIG) && vb_peer_reaches(b, mr->rkey, at),
	   "a region of %u bytes stays where it is", BIG);
	ibv_dereg_mr(mr);
	munmap(at, BIG);
	ok(is_too_often(), "a program that registers other memory all the time lends no more");
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	test_threads();
	test_kernel_writes();
	test_signal();
	test_part(false);
	test_part(true);
	test_cost();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
