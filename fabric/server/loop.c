/* SPDX-License-Identifier: MIT */
/**
 * DOC: the event loop: it calls every module in turn, and sleeps until the first of them has work.
 */
#include "emulator/backoff.h"
#include "fabric/server/server.h"
#include "fabric/capture/capture.h"
#include "fabric/join/join.h"
#include "fabric/journal/log.h"

#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#define EVENTS	       64
#define RETRY_LEAVE_NS (10 * NSEC_PER_MSEC)
#define SPIN_NS	       (20 * NSEC_PER_USEC)
#define AWAKE_NS       (200 * NSEC_PER_USEC)
#define BRIEF_NS       (50 * NSEC_PER_USEC) /* what a sleep and a wake-up cost, in a guest */
#define OFTEN	       16u /* one exchange of a message brings fewer */
#define CROWD_MAX_NS   NSEC_PER_SEC

static void loop_on_kick(struct fabric *f, struct watch *w, u32 events)
{
	u64 n;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) == sizeof(n))
		f->loop.kicked = true;
}

static void loop_on_timer(struct fabric *f, struct watch *w, u32 events)
{
	u64 n;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) == sizeof(n))
		f->loop.timer_at = NEVER;
}

static void loop_on_signal(struct fabric *f, struct watch *w, u32 events)
{
	struct signalfd_siginfo si;

	(void)events;
	if (read(w->fd, &si, sizeof(si)) == sizeof(si)) {
		fabric_note(f, "signal %u from process %u: leaving", si.ssi_signo, si.ssi_pid);
		f->leaving = true;
	}
}

static int server_watch_signals(struct fabric *f)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : loop_watch_add(f, &f->server->signals, fd, loop_on_signal);
}

int server_listen_at(struct fabric *f, struct watch *w, const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd;

	if (snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path) >= (int)sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* The starter holds the lock: a socket that exists is a dead fabric's. */
	unlink(sa.sun_path);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) || listen(fd, SOMAXCONN))
		return -errno;
	return loop_watch_add(f, w, fd, conn_accept);
}

int server_listen(struct fabric *f)
{
	int ret = server_listen_at(f, &f->server->listen, f->paths.sock), fd;

	if (!ret)
		ret = loop_watch_add(f, &f->loop.kick, f->loop.kick.fd, loop_on_kick);
	if (!ret)
		ret = server_watch_signals(f);
	if (ret)
		return ret;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	f->loop.timer_at = NEVER;
	return loop_watch_add(f, &f->loop.timer, fd, loop_on_timer);
}

/* Set the timer to @at. Return: the timeout for epoll_wait(). */
static int loop_timer_arm(struct fabric *f, u64 at)
{
	struct itimerspec it = { 0 };

	if (at <= real_ns())
		return 0;
	/* An earlier alarm that is still set does no harm. */
	if (at >= f->loop.timer_at)
		return -1;
	it.it_value.tv_sec = (time_t)(at / NSEC_PER_SEC);
	it.it_value.tv_nsec = (long)(at % NSEC_PER_SEC);
	if (timerfd_settime(f->loop.timer.fd, TFD_TIMER_ABSTIME, &it, NULL))
		return 1;
	f->loop.timer_at = at;
	return -1;
}

/* Leave unless a process has connected meanwhile. Return: when to retry, or NEVER. */
static u64 loop_try_leave(struct fabric *f, u64 now)
{
	const struct idle *l = &f->server->idle;

	if (!f->leaving && now < l->leave_at)
		return l->leave_at;
	if (!idle_lock(f))
		return now + RETRY_LEAVE_NS;
	if (!f->leaving) {
		conn_accept(f, &f->server->listen, 0);
		node_sockets_accept(f);
		if (l->leave_at == NEVER) {
			idle_unlock(f);
			return NEVER;
		}
	}
	f->server->idle.left = true;
	return now;
}

/* All isolated clients may be polling, without ever yielding their CPUs. */
static bool loop_clients_poll(const struct fabric *f)
{
	return f->isolated && f->clients.n >= f->server->n_cpus;
}

/*
 * Before it sleeps, a fabric with isolated clients scans their rings a little longer, unless that
 * takes the CPU from a client that polls and has to run.
 */
static bool loop_spin(struct fabric *f)
{
	u64 now = real_ns();

	if (loop_clients_poll(f))
		return false;
	while (now - f->server->work.active_at < SPIN_NS) {
		if (isolated_work_at(f, now) <= now)
			return true;
		cpu_pause();
		now = real_ns();
	}
	return false;
}

/*
 * Others keep the CPUs busy, so a yield takes long. A sleep is expensive, too: the sender of the
 * next packet has to wake this process, which in a guest takes tens of microseconds of its CPU, and
 * then this process waits for a CPU. So the loop looks for about as long as a sleep would cost,
 * without a yield. Return: as loop_stay_awake().
 */
static int loop_look_briefly(struct fabric *f, struct epoll_event *ev)
{
	struct brief *b = &f->server->brief;
	u64 now = real_ns(), end = now + BRIEF_NS;
	bool found = false;
	int n = 0;

	if (!brief_may_look(b, now))
		return 0;
	for (; !found && now < end; now = real_ns()) {
		n = epoll_wait(f->loop.epoll, ev, EVENTS, 0);
		found = n > 0 || load_relaxed(&f->hca->via_any);
	}
	brief_looked(b, now, found);
	return n;
}

/*
 * Where links carry much traffic, more comes soon. A sleep and a wake-up cost more than a delivery,
 * and a process that each first doorbell wakes finds little to do. So the loop stays awake for a
 * while and yields its CPU between checks, as pollers do. But a program that polls memory or
 * computes keeps the CPU for a time slice, while a sleeping process is woken at once: the loop
 * therefore sleeps where traffic is rare, when a deadline is near, and after a yield that took
 * long.
 *
 * Return: the number of events in @ev; 0: it is time to sleep, or there is work.
 */
static int loop_stay_awake(struct fabric *f, u64 next, struct epoll_event *ev)
{
	u64 until = f->wake.at + AWAKE_NS;
	int n = 0;

	if (f->wake.often < OFTEN || next < until || loop_clients_poll(f))
		return 0;
	while (!n && real_ns() < until && !load_relaxed(&f->hca->via_any)) {
		if (!yield_adaptive(&f->server->crowd, real_ns, CROWD_MAX_NS))
			return loop_look_briefly(f, ev);
		n = epoll_wait(f->loop.epoll, ev, EVENTS, 0);
	}
	return n;
}

static int loop_wait_events(struct fabric *f, u64 next, struct epoll_event *ev)
{
	int n = loop_stay_awake(f, next, ev), timeout;
	u64 began;

	if (n)
		return n;
	work_prepare_sleep(f, &next);
	timeout = loop_timer_arm(f, next);
	began = real_ns();
	n = epoll_wait(f->loop.epoll, ev, EVENTS, timeout);
	if (timeout)
		slices_waited(&f->server->slices, began, real_ns());
	store_relaxed(&f->hca->via_asleep, 0);
	return n;
}

/* Programs of several processes want the fabric process, and maybe a CPU. */
static void loop_give_way(struct fabric *f)
{
	if (!f->server->accounts.are_mixed)
		return;
	f->server->accounts.are_mixed = false;
	slices_give_way(&f->server->slices);
}

void server_loop(struct fabric *f)
{
	struct epoll_event ev[EVENTS];
	struct watch *w;
	u64 next;
	int i, n;

	slices_begin(&f->server->slices);
	f->server->n_cpus = (u32)sysconf(_SC_NPROCESSORS_ONLN);
	idle_update(f);
	f->server->accounts.unpark_at = NEVER;
	for (;;) {
		accounts_turn(&f->server->accounts);
		/* Requests before work_run(): what they leave to do is done in the same turn. */
		parked_serve(f);
		conns_reap(f);
		next = work_run(f);
		next = min_u64(next, fabric_clock_work(f));
		next = min_u64(next, join_tick(f));
		next = min_u64(next, join_texts_tick(f));
		next = min_u64(next, follow_tick(f));
		next = min_u64(next, fabric_capture_tick(f));
		next = min_u64(next, channels_tick(f));
		next = min_u64(next, loop_try_leave(f, real_ns()));
		if (f->server->idle.left)
			return;
		next = min_u64(next, parked_next(f));
		if (f->isolated && loop_spin(f))
			next = 0;
		loop_give_way(f);
		n = loop_wait_events(f, next, ev);
		for (i = 0; i < n; i++) {
			w = ev[i].data.ptr;
			/* An event's handler may have closed the descriptor of a later event. */
			if (w->fd >= 0)
				w->fn(f, w, ev[i].events);
		}
		conns_reap(f);
		loop_give_way(f);
	}
}
