/* SPDX-License-Identifier: MIT */
/*
 * Signals of a program whose threads are stopped all the time because memory is lent: it gets its
 * own, each ends the call that it would end, and it never gets the one that stops threads.
 *	app_mr_lent_signals local|remote lent|kept
 */
#include "tests/lib/c/vb_lent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	 4096u
#define SIZE	 (16 * PAGE)
#define ROUNDS	 40
#define LIMIT_MS 200
#define KILLS	 60
#define GAP_US	 3000
#define FORKS	 200
#define SENT	 (4u << 20)

static struct vb_side *a, *b;
static struct vb_pair p;
static bool lends;
static volatile int n_hits; /* of SIGUSR1 */

/* A thread that makes a call again and again. */
struct worker {
	pthread_t thread;
	void (*run)(struct worker *w);
	int fd[2];
	sem_t sem;
	uint64_t count;
	uint64_t took;
	int err; /* the first one that the program should not see */
	bool end;
};

static bool has_ended(const struct worker *w)
{
	return __atomic_load_n(&w->end, __ATOMIC_ACQUIRE);
}

static uint64_t count_of(const struct worker *w)
{
	return __atomic_load_n(&w->count, __ATOMIC_ACQUIRE);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	while (!has_ended(w) && !w->err) {
		w->run(w);
		__atomic_add_fetch(&w->count, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void worker_start(struct worker *w)
{
	if (pthread_create(&w->thread, NULL, worker_main, w))
		die("pthread_create");
}

static void worker_end(struct worker *w)
{
	__atomic_store_n(&w->end, true, __ATOMIC_RELEASE);
	pthread_join(w->thread, NULL);
}

/* Lend memory, and give it back. Return: whether it was lent. */
static bool round_run(void)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;
	bool lent;

	fill(at, SIZE, 1);
	mr = ibv_reg_mr(a->pd, at, SIZE, ALL);
	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	lent = vb_lent_bytes(at, SIZE) != 0;
	if (!filled(at, SIZE, 1) || ibv_dereg_mr(mr))
		die("a region");
	(void)vb_give_back(at, SIZE);
	munmap(at, SIZE);
	return lent;
}

/* More rounds if none lent anything: the machine may be busy. Return: whether one did. */
static bool rounds_run(int n)
{
	uint64_t end = now_ns() + VB_WAIT * 1000000ull;
	bool lent = false;

	for (int i = 0; i < n || (lends && !lent && now_ns() < end); i++)
		lent |= round_run();
	return lent;
}

/* --- sets of signals: a program fills them, and waits for all of them --- */

static void run_sigwait(struct worker *w)
{
	sigset_t all;
	int sig = 0;

	sigfillset(&all);
	w->err = sigwait(&all, &sig);
	if (!w->err && sig != SIGTERM)
		w->err = sig;
}

static void run_signalfd(struct worker *w)
{
	struct signalfd_siginfo info = { 0 };

	if (read(w->fd[0], &info, sizeof(info)) != sizeof(info))
		w->err = errno;
	else if (info.ssi_signo != SIGTERM)
		w->err = (int)info.ssi_signo;
}

static void run_poll_signalfd(struct worker *w)
{
	struct pollfd fd = { .fd = w->fd[0], .events = POLLIN };
	struct signalfd_siginfo info = { 0 };

	if (poll(&fd, 1, -1) != 1 || read(w->fd[0], &info, sizeof(info)) != sizeof(info))
		w->err = errno;
	else if (info.ssi_signo != SIGTERM)
		w->err = (int)info.ssi_signo;
}

static void test_set(const char *name, void (*run)(struct worker *w))
{
	struct worker w = { .run = run };
	bool lent, early;
	sigset_t all;

	sigfillset(&all);
	w.fd[0] = signalfd(-1, &all, SFD_NONBLOCK);
	if (w.fd[0] < 0)
		die("signalfd: %s", strerror(errno));
	/* read(2) is to sleep, and poll(2) to say the truth. */
	if (run == run_signalfd && fcntl(w.fd[0], F_SETFL, 0))
		die("fcntl: %s", strerror(errno));
	worker_start(&w);
	lent = rounds_run(ROUNDS);
	early = count_of(&w) != 0;
	__atomic_store_n(&w.end, true, __ATOMIC_RELEASE);
	/* NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread): the thread waits for it */
	if (!early && pthread_kill(w.thread, SIGTERM))
		die("pthread_kill");
	pthread_join(w.thread, NULL);
	ok(!early && !w.err, "%s of all signals gets those of the program: %d", name, w.err);
	ok(lent == lends, "memory was%s lent", lent ? "" : " not");
	close(w.fd[0]);
}

/* --- limits of sockets --- */

static void run_recv(struct worker *w)
{
	uint64_t begin = now_ns();
	char byte;

	errno = 0;
	if (recv(w->fd[0], &byte, 1, 0) != -1 || errno != EAGAIN)
		w->err = errno ? errno : EBADMSG;
	w->took = now_ns() - begin;
}

/* Nothing tells how much of the limit is left: the memory stays where it is. */
static void test_socket_limit(void)
{
	const struct timeval limit = { 0, LIMIT_MS * 1000 };
	uint64_t end = now_ns() + VB_WAIT * 1000000ull;
	struct worker w = { .run = run_recv };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, w.fd) ||
	    setsockopt(w.fd[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		die("socketpair: %s", strerror(errno));
	worker_start(&w);
	while (count_of(&w) < 3 && now_ns() < end)
		(void)round_run();
	ok(count_of(&w) >= 3, "recv() of %d ms ends next to attempts to lend", LIMIT_MS);
	worker_end(&w);
	ok(!w.err && w.took >= LIMIT_MS * 1000000ull, "it takes its time: %llu ms, %s",
	   (unsigned long long)w.took / 1000000, strerror(w.err));
	close(w.fd[0]);
	close(w.fd[1]);
}

/* --- signals that end a call --- */

static void on_signal(int sig)
{
	(void)sig;
	n_hits++;
}

static void run_pause(struct worker *w)
{
	errno = 0;
	if (pause() != -1 || errno != EINTR)
		w->err = errno ? errno : EBADMSG;
}

static void run_read(struct worker *w)
{
	char byte;

	errno = 0;
	if (read(w->fd[0], &byte, 1) != -1 || errno != EINTR)
		w->err = errno ? errno : EBADMSG;
}

static void run_sem(struct worker *w)
{
	errno = 0;
	if (sem_wait(&w->sem) != -1 || errno != EINTR)
		w->err = errno ? errno : EBADMSG;
}

struct killer {
	pthread_t thread;
	struct worker *w;
	int lost;
	bool done;
};

/* Send signals to the thread when it sleeps: each is to end its call. */
static void *killer_main(void *arg)
{
	struct killer *k = arg;

	for (int i = 0; i < KILLS && !k->w->err; i++) {
		uint64_t n = count_of(k->w), end;

		usleep((useconds_t)(GAP_US + i * 37 % GAP_US));
		pthread_kill(k->w->thread, SIGUSR1);
		end = now_ns() + 2000000000;
		while (count_of(k->w) == n && now_ns() < end)
			usleep(200);
		if (count_of(k->w) == n)
			k->lost++;
	}
	__atomic_store_n(&k->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * A signal that comes at the stop's very end may still be too early for a call that begins again,
 * so one of them may be.
 */
static void test_kill(const char *name, void (*run)(struct worker *w))
{
	const struct sigaction act = { .sa_handler = on_signal };
	struct worker w = { .run = run };
	struct killer k = { .w = &w };
	bool lent = false;

	sem_init(&w.sem, 0, 0);
	if (pipe(w.fd) || sigaction(SIGUSR1, &act, NULL))
		die("pipe: %s", strerror(errno));
	worker_start(&w);
	if (pthread_create(&k.thread, NULL, killer_main, &k))
		die("pthread_create");
	while (!__atomic_load_n(&k.done, __ATOMIC_ACQUIRE))
		lent |= round_run();
	pthread_join(k.thread, NULL);
	ok(!w.err && k.lost <= 1, "%s ends by a signal of the program: %d of %d do not end it: %s",
	   name, k.lost, KILLS, strerror(w.err));
	ok(lent == lends, "memory was%s lent", lent ? "" : " not");
	__atomic_store_n(&w.end, true, __ATOMIC_RELEASE);
	for (uint64_t n = count_of(&w); count_of(&w) == n && !w.err; usleep(1000))
		pthread_kill(w.thread, SIGUSR1);
	pthread_join(w.thread, NULL);
	close(w.fd[0]);
	close(w.fd[1]);
}

/* --- fork --- */

/* Fork, with a mask of the thread's own, which is to stay. */
static void run_fork(struct worker *w)
{
	sigset_t own, now;
	pid_t pid;

	sigemptyset(&own);
	sigaddset(&own, w->fd[0]);
	pthread_sigmask(SIG_SETMASK, &own, NULL);
	pid = fork();
	if (!pid)
		_exit(0);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	if (sigismember(&now, w->fd[0]) != 1 || sigismember(&now, w->fd[1]))
		w->err = EBADMSG;
	if (waitpid(pid, NULL, 0) != pid)
		w->err = errno;
}

static void test_forks(void)
{
	struct worker w[2] = {
		{ .run = run_fork, .fd = { SIGUSR1, SIGUSR2 } },
		{ .run = run_fork, .fd = { SIGUSR2, SIGUSR1 } },
	};

	worker_start(&w[0]);
	worker_start(&w[1]);
	while ((count_of(&w[0]) < FORKS || count_of(&w[1]) < FORKS) && !w[0].err && !w[1].err)
		usleep(1000);
	worker_end(&w[0]);
	worker_end(&w[1]);
	ok(!w[0].err && !w[1].err, "two threads that fork keep their own signal masks");
}

/* --- a thread that cannot be stopped --- */

static void *send_all(void *arg)
{
	static uint8_t bytes[SENT];
	struct worker *w = arg;

	if (send(w->fd[1], bytes, SENT, 0) != SENT)
		w->err = errno ? errno : EBADMSG;
	return NULL;
}

static void drain(int fd)
{
	uint8_t bytes[PAGE];
	ssize_t n;

	for (size_t got = 0; got < SENT; got += (size_t)n) {
		n = read(fd, bytes, sizeof(bytes));
		if (n <= 0)
			die("read: %s", strerror(errno));
	}
}

static bool is_zero(const uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (at[i])
			return false;
	return true;
}

static void test_discard(bool registered)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct worker w = { 0 };
	struct ibv_mr *mr;

	fill(at, SIZE, 4);
	mr = ibv_reg_mr(a->pd, at, SIZE, ALL);
	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	if (!registered)
		ibv_dereg_mr(mr);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, w.fd) ||
	    pthread_create(&w.thread, NULL, send_all, &w))
		die("a thread: %s", strerror(errno));
	usleep(50000); /* until it sleeps */
	ok(!madvise(at + PAGE, 2 * PAGE, MADV_DONTNEED) && is_zero(at + PAGE, 2 * PAGE) &&
		   filled(at, PAGE, 4),
	   "next to a thread in send() memory that was %s can be discarded: %s",
	   registered ? "registered" : "idle", strerror(errno));
	if (registered)
		ok(vb_peer_reaches(b, mr->rkey, at) && vb_peer_reaches(b, mr->rkey, at + PAGE) &&
			   vb_peer_reaches(b, mr->rkey, at + SIZE - PAGE),
		   "a peer reaches what the program has there");
	drain(w.fd[0]);
	pthread_join(w.thread, NULL);
	ok(!w.err, "send() does not notice: %s", strerror(w.err));
	if (registered)
		ibv_dereg_mr(mr);
	munmap(at, SIZE);
	close(w.fd[0]);
	close(w.fd[1]);
}

int main(int argc, char **argv)
{
	sigset_t set;

	lends = argc > 2 && !strcmp(argv[2], "lent");
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	test_kill("pause()", run_pause);
	test_kill("read()", run_read);
	test_kill("sem_wait()", run_sem);
	test_discard(true);
	test_discard(false);
	test_socket_limit();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	test_set("sigwait()", run_sigwait);
	test_set("read() of a signalfd()", run_signalfd);
	test_set("poll() of a signalfd()", run_poll_signalfd);
	test_forks();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
