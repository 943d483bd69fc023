/* SPDX-License-Identifier: MIT */
/**
 * DOC: the event loop, and when the fabric leaves.
 *
 * It leaves under its lock (fabric/proto/state_dir.h), so that nobody starts another one meanwhile and whoever
 * has connected in the last moment is either seen here or finds out by the hang-up.
 */
#include "fabric/capture/capture.h"
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
#define OFTEN	       16u /* one exchange of a message brings less */
#define CROWD_MAX_NS   NSEC_PER_SEC
/* The first user of a fresh fabric may be slow to come, whatever the linger. */
#define FIRST_USE_NS (5 * NSEC_PER_SEC)

int loop_watch_add(struct fabric *f, struct watch *w, int fd,
		   void (*fn)(struct fabric *f, struct watch *w, u32 events))
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = w };

	w->fd = fd;
	w->fn = fn;
	return epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void loop_watch_close(struct watch *w)
{
	if (w->fd < 0)
		return;
	/* Closing alone is not enough when a copy of the descriptor lives elsewhere; none does. */
	close(w->fd);
	w->fd = -1;
}

void linger_update(struct fabric *f)
{
	u64 linger = f->linger_ns;

	if (f->n_conns > f->n_followers || f->n_leases || f->n_clients) {
		f->used |= f->n_leases || f->n_clients;
		f->leave_at = NEVER;
	} else if (linger == NEVER) {
		f->leave_at = NEVER;
	} else {
		if (!f->used && linger < FIRST_USE_NS)
			linger = FIRST_USE_NS;
		f->leave_at = real_ns() + linger;
	}
}

static void loop_on_kick(struct fabric *f, struct watch *w, u32 events)
{
	u64 n;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) == sizeof(n))
		f->kicked = true;
}

static void loop_on_timer(struct fabric *f, struct watch *w, u32 events)
{
	u64 n;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) == sizeof(n))
		f->timer_set = NEVER;
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
	return fd < 0 ? -errno : loop_watch_add(f, &f->signals, fd, loop_on_signal);
}

int server_listen(struct fabric *f)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, ret;

	if (snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", f->paths.sock) >=
	    (int)sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* Starters hold the lock: whatever is there has been left behind. */
	unlink(sa.sun_path);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) || listen(fd, SOMAXCONN))
		return -errno;
	ret = loop_watch_add(f, &f->listen, fd, conn_accept);
	if (!ret)
		ret = loop_watch_add(f, &f->kick, f->kick.fd, loop_on_kick);
	if (!ret)
		ret = server_watch_signals(f);
	if (ret)
		return ret;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	f->timer_set = NEVER;
	return loop_watch_add(f, &f->timer, fd, loop_on_timer);
}

/* Sets the timer to @at. Return: the timeout for epoll_wait(). */
static int loop_timer_arm(struct fabric *f, u64 at)
{
	struct itimerspec it = { 0 };

	if (at <= real_ns())
		return 0;
	/* An earlier alarm that is still set does no harm. */
	if (at >= f->timer_set)
		return -1;
	it.it_value.tv_sec = (time_t)(at / NSEC_PER_SEC);
	it.it_value.tv_nsec = (long)(at % NSEC_PER_SEC);
	if (timerfd_settime(f->timer.fd, TFD_TIMER_ABSTIME, &it, NULL))
		return 1;
	f->timer_set = at;
	return -1;
}

/* Leave if nobody has come meanwhile. Return: when to try again, or NEVER. */
static u64 linger_try_leave(struct fabric *f, u64 now)
{
	if (!f->leaving && now < f->leave_at)
		return f->leave_at;
	if (f->lock < 0)
		f->lock = lock_take(f->paths.lock, false);
	if (f->lock == -EWOULDBLOCK)
		return now + RETRY_LEAVE_NS;
	/* Where there is no lock to be had (directory removed) nobody can be waiting for it. */
	if (!f->leaving) {
		conn_accept(f, &f->listen, 0);
		if (f->leave_at == NEVER) {
			if (f->lock >= 0)
				close(f->lock);
			f->lock = -1;
			return NEVER;
		}
	}
	f->left = true;
	return now;
}

/* Isolated clients may all poll, and never give their CPUs away. */
static bool loop_clients_poll(const struct fabric *f)
{
	return f->isolated && f->n_clients >= f->n_cpus;
}

/*
 * A fabric that serves isolated clients looks at their rings a little longer before it sleeps,
 * unless that takes the CPU from a client that polls, which is the one to go on.
 */
static bool loop_spin(struct fabric *f)
{
	u64 now = real_ns();

	if (loop_clients_poll(f))
		return false;
	while (now - f->active_at < SPIN_NS) {
		if (isolated_has_work(f))
			return true;
		__builtin_ia32_pause();
		now = real_ns();
	}
	return false;
}

/*
 * Where much is brought over links, more comes soon. To sleep and be woken costs more than to bring
 * it, and who is woken by the first doorbell of many takes little at a time. So it stays awake for a
 * while, and gives its CPU away between looks, as pollers do. But who polls memory, or computes,
 * keeps it for a time slice, where a sleeper is woken at once: so this is not done for what is
 * rare, with a deadline near, or where that has happened a moment ago.
 *
 * Return: the number of events in @ev; 0: it is time to sleep, or there is work.
 */
static int loop_stay_awake(struct fabric *f, u64 next, struct epoll_event *ev)
{
	u64 until = f->brought_at + AWAKE_NS;
	int n = 0;

	if (f->brought_often < OFTEN || next < until || loop_clients_poll(f))
		return 0;
	while (!n && real_ns() < until && !load_relaxed(&f->hca->via_any) &&
	       yield_adaptive(&f->crowd, real_ns, CROWD_MAX_NS))
		n = epoll_wait(f->epoll, ev, EVENTS, 0);
	return n;
}

static int loop_wait_events(struct fabric *f, u64 next, struct epoll_event *ev)
{
	int n = loop_stay_awake(f, next, ev);

	if (n)
		return n;
	work_prepare_sleep(f, &next);
	n = epoll_wait(f->epoll, ev, EVENTS, loop_timer_arm(f, next));
	store_relaxed(&f->hca->via_asleep, 0);
	return n;
}

void server_loop(struct fabric *f)
{
	struct epoll_event ev[EVENTS];
	struct watch *w;
	u64 next;
	int i, n;

	f->n_cpus = (u32)sysconf(_SC_NPROCESSORS_ONLN);
	linger_update(f);
	for (;;) {
		next = work_run(f);
		next = min_u64(next, fabric_clock_work(f));
		next = min_u64(next, join_tick(f));
		next = min_u64(next, follow_tick(f));
		next = min_u64(next, fabric_capture_tick(f));
		next = min_u64(next, linger_try_leave(f, real_ns()));
		if (f->left)
			return;
		if (f->isolated && loop_spin(f))
			next = 0;
		n = loop_wait_events(f, next, ev);
		for (i = 0; i < n; i++) {
			w = ev[i].data.ptr;
			/* One event may close what another in this batch is about. */
			if (w->fd >= 0)
				w->fn(f, w, ev[i].events);
		}
		conns_reap(f);
	}
}
