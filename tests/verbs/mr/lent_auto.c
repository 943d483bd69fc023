/* SPDX-License-Identifier: MIT */
/*
 * Memory that a program lends where it costs little: no more than it would not notice.
 *	app_mr_lent_auto local|remote lent|kept
 * kept: threads cannot be stopped here, so that memory is lent while there is one.
 */
#include "tests/lib/c/vb_lent.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE   4096u
#define SIZE   (8 * PAGE)
#define STEP   (2u << 20)
#define LARGE  (8u << 20)
#define PIECE  (256u << 10)
#define BIG    (72u << 20)
#define MANY   (256u << 20)
#define PIECES 6
#define ENOUGH 100000
#define SIGNAL (SIGRTMAX - 2) /* by which threads are stopped */

static struct vb_side *a, *b;
static struct vb_pair p;
static bool stops; /* threads can be stopped */

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

/* Register memory until it is lent: the kernel still counts a thread that has just been joined. */
static struct ibv_mr *region_lent(uint8_t *at)
{
	uint64_t end = now_ns() + VB_WAIT * 1000000ull;
	struct ibv_mr *mr = region_new(at, SIZE);

	while (vb_lent_bytes(at, SIZE) != SIZE && now_ns() < end) {
		ibv_dereg_mr(mr);
		mr = region_new(at, SIZE);
	}
	return mr;
}

/* A thread that sleeps in epoll_wait(2), or runs, until it is told to end. */
struct other {
	pthread_t thread;
	pid_t tid;
	bool runs;
	bool blocks; /* SIGNAL, without libc */
	bool end;
	int epoll;
	int event[2];
	int err; /* of epoll_wait, where it should not have returned */
};

static void *other_run(void *arg)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct other *o = arg;
	uint64_t set = 1ull << (SIGNAL - 1);

	if (o->blocks)
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof(set));
	__atomic_store_n(&o->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (o->runs && !__atomic_load_n(&o->end, __ATOMIC_ACQUIRE))
		;
	if (!o->runs && epoll_wait(o->epoll, &event, 1, -1) != 1)
		o->err = errno;
	return NULL;
}

/* Whether a thread of this process sleeps in a system call. */
static bool thread_sleeps(pid_t tid)
{
	char path[64], text[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "r");
	if (!f || !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	return text[0] >= '0' && text[0] <= '9';
}

static void other_start(struct other *o)
{
	struct epoll_event event = { .events = EPOLLIN };

	o->epoll = epoll_create1(0);
	if (pipe(o->event) || epoll_ctl(o->epoll, EPOLL_CTL_ADD, o->event[0], &event) ||
	    pthread_create(&o->thread, NULL, other_run, o))
		die("a thread: %s", strerror(errno));
	while (!__atomic_load_n(&o->tid, __ATOMIC_ACQUIRE) || thread_sleeps(o->tid) == o->runs)
		usleep(100);
}

static void other_end(struct other *o)
{
	__atomic_store_n(&o->end, true, __ATOMIC_RELEASE);
	if (write(o->event[1], "", 1) != 1)
		die("write: %s", strerror(errno));
	pthread_join(o->thread, NULL);
	close(o->epoll);
	close(o->event[0]);
	close(o->event[1]);
}

/* Whether memory that is registered now is lent; in any case a peer reaches it. */
static bool is_lent_now(bool *reached)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = region_new(at, SIZE);
	bool lent = vb_lent_bytes(at, SIZE) == SIZE;

	*reached = vb_peer_reaches(b, mr->rkey, at);
	ibv_dereg_mr(mr);
	munmap(at, SIZE);
	return lent;
}

/* Without memory that was lent before, after attempts in vain of which the last was just now. */
static bool is_lent_soon(bool *reached)
{
	uint64_t end = now_ns() + VB_WAIT * 1000000ull;
	bool lent = is_lent_now(reached);

	while (stops && !lent && now_ns() < end)
		lent = is_lent_now(reached);
	return lent;
}

static void test_sleeper(void)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct other o = { 0 };
	struct ibv_mr *mr;
	bool reached, lent;

	fill(at, SIZE, 1);
	mr = region_new(at, SIZE);
	ok(vb_lent_bytes(at, SIZE) == SIZE && filled(at, SIZE, 1) &&
		   vb_peer_reaches(b, mr->rkey, at + PAGE),
	   "with one thread memory is lent");
	fill(at, SIZE, 2);
	other_start(&o);
	ok((vb_lent_bytes(at, SIZE) == SIZE) == stops && vb_is_private(at, SIZE) != stops &&
		   filled(at, SIZE, 2) && vb_peer_reaches(b, mr->rkey, at + PAGE),
	   "when a second thread starts, it %s", stops ? "stays" : "goes back");
	lent = is_lent_soon(&reached);
	ok(lent == stops && reached, "while another one sleeps, memory is %slent",
	   stops ? "" : "not ");
	other_end(&o);
	ok(!o.err, "which it does not notice: %s", strerror(o.err));
	ibv_dereg_mr(mr);
	mr = region_lent(at);
	ok(vb_lent_bytes(at, SIZE) == SIZE && vb_peer_reaches(b, mr->rkey, at),
	   "with one thread again, it is lent");
	ibv_dereg_mr(mr);
	munmap(at, SIZE);
}

static void test_runner(void)
{
	struct other o = { .runs = true };
	bool reached, lent;

	other_start(&o);
	lent = is_lent_soon(&reached);
	ok(lent == stops && reached, "while it runs, memory is %slent", stops ? "" : "not ");
	other_end(&o);
}

static void test_blocked(void)
{
	struct other o = { .blocks = true };
	bool reached;

	other_start(&o);
	ok(!is_lent_now(&reached) && reached, "while one sleeps that blocks the signal, it is not");
	other_end(&o);
}

/* In a child: trace the parent's thread @tid until @end is closed. */
static void trace(pid_t tid, int ready, int end)
{
	char byte = ptrace(PTRACE_SEIZE, tid, NULL, NULL) ? 'n' : 'y';

	if (write(ready, &byte, 1) == 1 && read(end, &byte, 1) <= 0)
		_exit(0);
	_exit(1);
}

/* A debugger shows each signal to its user, so there is none. */
static void test_traced(void)
{
	struct other o = { 0 };
	int ready[2], end[2];
	bool reached, lent;
	char byte = 0;
	pid_t pid;

	other_start(&o);
	if (pipe(ready) || pipe(end))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		close(end[1]);
		trace(o.tid, ready[1], end[0]);
	}
	prctl(PR_SET_PTRACER, pid);
	if (read(ready[0], &byte, 1) != 1 || byte != 'y') {
		note("ptrace is not allowed here");
	} else {
		lent = is_lent_now(&reached);
		ok(!lent && reached, "nor while another process traces one");
	}
	close(end[1]);
	waitpid(pid, NULL, 0);
	close(end[0]);
	close(ready[0]);
	close(ready[1]);
	if (stops)
		ok(is_lent_soon(&reached) && reached, "then it is");
	other_end(&o);
}

static void own_handler(int sig)
{
	(void)sig;
}

/* A program that uses the signal keeps it. */
static void test_own_signal(void)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = region_lent(at);
	size_t before = vb_lent_bytes(at, SIZE);
	struct sigaction old, own = { .sa_handler = own_handler };
	struct other o = { 0 };
	bool reached;

	fill(at, SIZE, 3);
	sigaction(SIGNAL, &own, &old);
	other_start(&o);
	ok(before == SIZE && vb_is_private(at, SIZE) && filled(at, SIZE, 3) &&
		   vb_peer_reaches(b, mr->rkey, at),
	   "where the program handles the signal, memory goes back before a thread starts");
	ok(!is_lent_now(&reached) && reached, "and is not lent while there is one");
	other_end(&o);
	sigaction(SIGNAL, &old, NULL);
	ibv_dereg_mr(mr);
	munmap(at, SIZE);
}

/*
 * Operations of an AIO ring may write to memory at any time. The program has a handler for the
 * signal, so that memory would go back without the ring.
 */
static void test_kernel_writes(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = region_lent(at);
	size_t before = vb_lent_bytes(at, SIZE);
	struct sigaction old, own = { .sa_handler = own_handler };
	unsigned long ring = 0;
	pthread_t thread;

	sigaction(SIGNAL, &own, &old);
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
	sigaction(SIGNAL, &old, NULL);
	ibv_dereg_mr(mr);
	munmap(at, SIZE);
}

/* It has to reach all threads, so no mask blocks it. */
static void test_signal(void)
{
	sigset_t set, now;

	sigemptyset(&set);
	sigaddset(&set, SIGNAL);
	ok(!sigprocmask(SIG_BLOCK, &set, NULL) && !sigprocmask(SIG_BLOCK, NULL, &now) &&
		   sigismember(&now, SIGNAL) == !stops,
	   "the signal %s blocked", stops ? "is never" : "can be");
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

/* Untouched memory costs little time to lend, but a fork copies what is touched later. */
static void test_all(void)
{
	struct ibv_mr *mr[PIECES];
	uint8_t *at[PIECES];
	size_t lent = 0;

	for (int i = 0; i < PIECES; i++) {
		at[i] = vb_pages(MANY / 4, PROT_READ | PROT_WRITE);
		mr[i] = region_new(at[i], MANY / 4);
		lent += vb_lent_bytes(at[i], MANY / 4);
	}
	ok(lent && lent <= MANY, "of %u regions of %u bytes %zu bytes are lent", PIECES, MANY / 4,
	   lent);
	for (int i = 0; i < PIECES; i++) {
		munmap(at[i], MANY / 4); /* first: nothing has to go back */
		ibv_dereg_mr(mr[i]);
	}
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
	stops = argc > 2 && !strcmp(argv[2], "lent");
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	test_all();
	test_own_signal();
	test_sleeper();
	test_runner();
	test_blocked();
	test_traced();
	test_kernel_writes();
	test_signal();
	test_part(false);
	test_part(true);
	test_cost();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
