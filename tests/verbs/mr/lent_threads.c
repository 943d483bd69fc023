/* SPDX-License-Identifier: MIT */
/*
 * Lent memory of a program with several threads: while pages change places, none of their writes is
 * lost, none of the kernel's either, and no thread notices that it was stopped.
 *	app_mr_lent_threads local|remote lent|auto|kept
 * auto: beside threads that run, memory is lent if they stop in a short time.
 */
#include "tests/lib/c/vb_lent.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	4096u
#define SIZE	(16u * PAGE)
#define WRITERS 4
#define WORDS	(SIZE / 8 / WRITERS)
#define ROUNDS	150
#define BLOCK	(3 * PAGE + 100)
#define LIMIT_S 60

static struct vb_side *a, *b;
static struct vb_pair p;
static bool lends_always, lends_never;
static uint8_t *mem;
static bool stop;
static volatile uint32_t n_lent; /* registrations that lent something */

static bool should_stop(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static void set_stop(bool on)
{
	__atomic_store_n(&stop, on, __ATOMIC_RELEASE);
}

/* The peer reaches the memory's last page, which no thread uses. */
static bool peer_reaches(const struct ibv_mr *mr)
{
	return vb_peer_reaches(b, mr->rkey, mem + SIZE + 64);
}

/* Register, deregister, and give advice: the pages go, and come back. */
static bool rounds_run(int n)
{
	bool good = true;

	n_lent = 0;
	for (int i = 1; i <= n && good; i++) {
		struct ibv_mr *mr = ibv_reg_mr(a->pd, mem, SIZE + PAGE, ALL);

		if (!mr)
			return false;
		n_lent += vb_lent_bytes(mem, PAGE) != 0;
		good = peer_reaches(mr) && !ibv_dereg_mr(mr);
		/* A thread may keep it from being stopped. */
		(void)vb_give_back(mem, SIZE + PAGE);
	}
	return good;
}

/* More rounds if none lent anything: some call of a thread kept it from being stopped. */
static bool rounds_run_until_lent(bool expected)
{
	uint64_t end = now_ns() + LIMIT_S * 1000000000ull;
	bool good = rounds_run(ROUNDS);

	while (good && expected && !n_lent && now_ns() < end)
		good = rounds_run(10);
	return good;
}

struct worker {
	pthread_t thread;
	int index;
	bool waits; /* it has begun to */
	int fd[2];
	uint64_t count;
	int err; /* the first one that the program should not see */
	bool block_signals;
};

static void workers_start(struct worker *w, int n, void *(*fn)(void *))
{
	set_stop(false);
	for (int i = 0; i < n; i++) {
		w[i].index += i;
		if (pthread_create(&w[i].thread, NULL, fn, &w[i]))
			die("pthread_create");
	}
}

static void workers_join(struct worker *w, int n)
{
	set_stop(true);
	for (int i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
}

static void *write_words(void *arg)
{
	struct worker *w = arg;
	volatile uint64_t *word = (uint64_t *)(void *)mem + w->index;
	sigset_t all;

	sigfillset(&all);
	if (w->block_signals)
		pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (!should_stop()) {
		for (uint32_t i = 0; i < WORDS; i++)
			word[(size_t)i * WRITERS]++;
		w->count++;
	}
	return NULL;
}

static void test_writers(bool block_signals)
{
	struct worker w[WRITERS] = { 0 };
	const uint64_t *word = (const uint64_t *)(const void *)mem;
	uint32_t lost = 0;
	bool good;

	memset(mem, 0, SIZE);
	for (int i = 0; i < WRITERS; i++)
		w[i].block_signals = block_signals;
	workers_start(w, WRITERS, write_words);
	good = rounds_run_until_lent(lends_always);
	workers_join(w, WRITERS);
	for (uint32_t i = 0; i < WORDS * WRITERS; i++)
		lost += word[i] != w[i % WRITERS].count;
	ok(good && !lost, "%d threads that write all the time%s: %u of their words are wrong",
	   WRITERS, block_signals ? " and block all signals" : "", lost);
	ok(n_lent ? !lends_never : !lends_always, "memory was lent in %u rounds", n_lent);
}

/* The kernel writes: read(2) from a pipe that the thread fills itself, in several pieces. */
static void *read_blocks(void *arg)
{
	struct worker *w = arg;
	uint8_t *at = mem + (size_t)w->index * (SIZE / WRITERS) + 50, bytes[BLOCK];

	for (; !should_stop() && !w->err; w->count++) {
		fill(bytes, BLOCK, w->count);
		if (write(w->fd[1], bytes, BLOCK) != BLOCK)
			w->err = errno ? errno : EIO;
		for (size_t n = 0, got; n < BLOCK && !w->err; n += got) {
			got = (size_t)read(w->fd[0], at + n, BLOCK - n);
			if (got + 1 <= 1)
				w->err = errno ? errno : EIO;
		}
		if (!filled(at, BLOCK, w->count))
			w->err = w->err ? w->err : EBADMSG;
	}
	return NULL;
}

static int workers_error(const struct worker *w, int n)
{
	for (int i = 0; i < n; i++)
		if (w[i].err)
			return w[i].err;
	return 0;
}

static void test_readers(void)
{
	struct worker w[WRITERS] = { 0 };
	bool good;

	for (int i = 0; i < WRITERS; i++)
		if (pipe(w[i].fd))
			die("pipe: %s", strerror(errno));
	workers_start(w, WRITERS, read_blocks);
	good = rounds_run_until_lent(lends_always);
	workers_join(w, WRITERS);
	ok(good && !workers_error(w, WRITERS),
	   "%d threads that read(2) into the memory all the time: %s", WRITERS,
	   strerror(workers_error(w, WRITERS)));
	ok(n_lent ? !lends_never : !lends_always, "memory was lent in %u rounds", n_lent);
	for (int i = 0; i < WRITERS; i++) {
		close(w[i].fd[0]);
		close(w[i].fd[1]);
	}
}

/* Calls that wait until the test is over, or for some time; each returns whether as it should. */

static bool wait_poll(const struct worker *w)
{
	struct pollfd fd = { .fd = w->fd[0], .events = POLLIN };

	return poll(&fd, 1, -1) == 1;
}

static bool wait_poll_timed(const struct worker *w)
{
	struct pollfd fd = { .fd = -1 };

	(void)w;
	return poll(&fd, 1, 20) == 0;
}

static bool wait_epoll(const struct worker *w)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);
	bool good;

	epoll_ctl(fd, EPOLL_CTL_ADD, w->fd[0], &event);
	good = epoll_wait(fd, &event, 1, -1) == 1;
	close(fd);
	return good;
}

static bool wait_select(const struct worker *w)
{
	struct timeval limit = { LIMIT_S, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(w->fd[0], &set);
	return select(w->fd[0] + 1, &set, NULL, NULL, &limit) == 1;
}

static bool wait_read(const struct worker *w)
{
	char byte;

	return read(w->fd[0], &byte, 1) == 1 && write(w->fd[1], &byte, 1) == 1;
}

static bool wait_sleep(const struct worker *w)
{
	struct timespec limit = { 0, 20000000 };

	(void)w;
	return !nanosleep(&limit, &limit);
}

static bool wait_usleep(const struct worker *w)
{
	(void)w;
	return !usleep(20000);
}

static bool wait_semaphore(const struct worker *w)
{
	struct timespec limit;
	sem_t sem;

	(void)w;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_nsec += 20000000;
	limit.tv_sec += limit.tv_nsec / 1000000000;
	limit.tv_nsec %= 1000000000;
	sem_init(&sem, 0, 0);
	errno = 0;
	return sem_timedwait(&sem, &limit) == -1 && errno == ETIMEDOUT;
}

static bool wait_signal(const struct worker *w)
{
	sigset_t set;

	(void)w;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigwaitinfo(&set, NULL) == SIGUSR1;
}

static const struct {
	const char *name;
	bool (*fn)(const struct worker *w);
} waits[] = {
	{ "poll", wait_poll },		{ "poll with a limit", wait_poll_timed },
	{ "epoll_wait", wait_epoll },	{ "select", wait_select },
	{ "read", wait_read },		{ "nanosleep", wait_sleep },
	{ "usleep", wait_usleep },	{ "sem_timedwait", wait_semaphore },
	{ "sigwaitinfo", wait_signal },
};
#define WAITS ((int)(sizeof(waits) / sizeof(*waits)))

static void *wait_often(void *arg)
{
	struct worker *w = arg;

	__atomic_store_n(&w->waits, true, __ATOMIC_RELEASE);
	do {
		errno = 0;
		if (!waits[w->index].fn(w))
			w->err = errno ? errno : EBADMSG;
		w->count++;
	} while (!should_stop() && !w->err);
	return NULL;
}

static void test_waits(void)
{
	struct worker w[WAITS] = { 0 };
	bool good;

	for (int i = 0; i < WAITS; i++)
		if (pipe(w[i].fd))
			die("pipe: %s", strerror(errno));
	workers_start(w, WAITS, wait_often);
	/* On a busy machine the rounds could else be over before some threads have begun. */
	for (int i = 0; i < WAITS; i++)
		while (!__atomic_load_n(&w[i].waits, __ATOMIC_ACQUIRE))
			usleep(100);
	good = rounds_run_until_lent(!lends_never);
	set_stop(true);
	for (int i = 0; i < WAITS; i++) {
		if (write(w[i].fd[1], "", 1) != 1)
			die("write: %s", strerror(errno));
		if (waits[i].fn == wait_signal)
			pthread_kill(w[i].thread, SIGUSR1);
	}
	workers_join(w, WAITS);
	ok(good, "peers reach the memory of a program whose threads wait");
	for (int i = 0; i < WAITS; i++) {
		ok(!w[i].err && w[i].count, "%s: %s", waits[i].name, strerror(w[i].err));
		close(w[i].fd[0]);
		close(w[i].fd[1]);
	}
	ok((n_lent != 0) == !lends_never, "memory was lent in %u rounds", n_lent);
}

/* A wait with a limit ends, although its thread is stopped more often than that. */
static void test_limit(void)
{
	struct worker w = { .index = 1 };
	uint64_t start = now_ns(), n;
	int rounds = 0;

	workers_start(&w, 1, wait_often);
	do {
		rounds += rounds_run(1);
		n = __atomic_load_n(&w.count, __ATOMIC_RELAXED);
	} while (n < 5 && now_ns() - start < LIMIT_S * 1000000000ull);
	workers_join(&w, 1);
	ok(n >= 5 && !w.err, "poll(20 ms) ends: %llu times in %d rounds", (unsigned long long)n,
	   rounds);
}

#define SENT (4u << 20)

static void *send_all(void *arg)
{
	struct worker *w = arg;
	uint8_t *bytes = calloc(1, SENT);

	w->count = (uint64_t)send(w->fd[1], bytes, SENT, 0);
	w->err = w->count == SENT ? 0 : errno;
	free(bytes);
	return NULL;
}

/* A signal would make it transfer less: the thread is not stopped, and the memory is not lent. */
static void test_send(void)
{
	struct worker w = { 0 };
	uint8_t bytes[PAGE];
	uint64_t n = 0;
	ssize_t got;
	bool good;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, w.fd))
		die("socketpair: %s", strerror(errno));
	rounds_run(1); /* alone: what could not be given back before is */
	workers_start(&w, 1, send_all);
	usleep(100000); /* until it sleeps */
	good = rounds_run(10);
	ok(good && !n_lent, "a thread sleeps in send(2): nothing is lent");
	while (n < SENT && (got = read(w.fd[0], bytes, sizeof(bytes))) > 0)
		n += (uint64_t)got;
	workers_join(&w, 1);
	ok(n == SENT && w.count == SENT, "it sends all its bytes");
	close(w.fd[0]);
	close(w.fd[1]);
}

/* Two words on two pages: the second is never ahead of the first, nor more than one less. */
static void *write_pairs(void *arg)
{
	volatile uint64_t *word = (uint64_t *)(void *)mem;
	struct worker *w = arg;

	while (!should_stop()) {
		word[0] = ++w->count;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		word[SIZE / 2 / 8] = w->count;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void test_fork(void)
{
	const volatile uint64_t *word = (uint64_t *)(void *)mem;
	struct worker w = { 0 };
	int status = 0, bad = 0;

	memset(mem, 0, SIZE);
	workers_start(&w, 1, write_pairs);
	for (int i = 0; i < 30; i++) {
		struct ibv_mr *mr = ibv_reg_mr(a->pd, mem, SIZE + PAGE, ALL);
		uint64_t first;
		pid_t pid = fork();

		if (!pid) {
			first = word[0];
			usleep(2000);
			_exit(word[0] != first || first - word[SIZE / 2 / 8] > 1);
		}
		if (waitpid(pid, &status, 0) != pid || status || !mr || !peer_reaches(mr))
			bad++;
		if (mr)
			ibv_dereg_mr(mr);
	}
	workers_join(&w, 1);
	ok(!bad && word[0] == w.count && word[SIZE / 2 / 8] == w.count,
	   "children of a program whose threads write have copies as of the fork: %d have not",
	   bad);
}

/* Threads that come and go. */
static void *write_once(void *arg)
{
	struct worker *w = arg;

	fill(mem + (size_t)w->index * PAGE, PAGE, w->count);
	return NULL;
}

static void *start_threads(void *arg)
{
	struct worker *w = arg, one = { .index = w->index };

	for (; !should_stop() && !w->err; w->count++) {
		one.count = w->count;
		if (pthread_create(&one.thread, NULL, write_once, &one))
			w->err = EAGAIN;
		else
			pthread_join(one.thread, NULL);
		if (!filled(mem + (size_t)w->index * PAGE, PAGE, w->count))
			w->err = EBADMSG;
	}
	return NULL;
}

static void test_short_threads(void)
{
	struct worker w[2] = { 0 };
	bool good;

	workers_start(w, 2, start_threads);
	good = rounds_run(ROUNDS);
	workers_join(w, 2);
	ok(good && !workers_error(w, 2), "threads that come and go: %llu of them: %s",
	   (unsigned long long)w[0].count + w[1].count, strerror(workers_error(w, 2)));
}

int main(int argc, char **argv)
{
	sigset_t set;

	lends_always = argc > 2 && !strcmp(argv[2], "lent");
	lends_never = argc > 2 && !strcmp(argv[2], "kept");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	mem = vb_pages(SIZE + PAGE, PROT_READ | PROT_WRITE);
	test_writers(false);
	test_writers(true);
	test_readers();
	test_waits();
	test_limit();
	test_send();
	test_fork();
	test_short_threads();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
