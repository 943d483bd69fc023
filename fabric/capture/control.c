/* SPDX-License-Identifier: MIT */
/** DOC: captures: when they begin and end. See capture.h. */
#include "emulator/transport/path.h"
#include "fabric/capture/control.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STUCK_NS    (5 * NSEC_PER_SEC) /* a capture whose output no process reads ends after that */
#define LOOK_NS	    (50 * NSEC_PER_MSEC)
#define END_NS	    (2 * NSEC_PER_SEC) /* for captures when the fabric ends */
#define SIG_UNSTICK SIGUSR2

static void capture_on_unstick(int sig)
{
	(void)sig;
}

int fabric_capture_init(struct fabric *f)
{
	/* Without SA_RESTART, so that a write that waits for a reader returns. */
	const struct sigaction sa = { .sa_handler = capture_on_unstick };

	f->captures = calloc(1, sizeof(*f->captures));
	if (!f->captures)
		return -ENOMEM;
	pthread_mutex_init(&f->captures->lock, NULL);
	return sigaction(SIG_UNSTICK, &sa, NULL) ? -errno : 0;
}

/* One reader of the ring less, or none is left. Token held. */
static void capture_release_ring(struct fabric *f, struct capture *c)
{
	struct hca_capture *ring = &f->hca->capture;
	u32 i;

	pthread_mutex_lock(&f->captures->lock);
	c->reads = false;
	for (i = 0; i < CAPTURES && !(f->captures->of[i] && f->captures->of[i]->reads); i++)
		;
	if (i == CAPTURES) {
		store_release(&ring->tail, ring->head);
		/* Give its memory back: no capture reads it. */
		fallocate(f->hca_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)offsetof(struct hca, capture.ring), CAP_RING);
	}
	pthread_mutex_unlock(&f->captures->lock);
}

/* --- requests --- */

void capture_describe(const struct capture *c, struct proto_capture *q)
{
	*q = c->ask;
	q->id = c->id;
	q->ended = c->told;
	q->packets = load_relaxed(&c->count.packets);
	q->bytes = load_relaxed(&c->count.bytes);
	q->filtered = load_relaxed(&c->count.filtered);
	q->lost = load_relaxed(&c->count.lost);
	q->files = load_relaxed(&c->count.files);
	q->state = load_acquire(&c->state);
	if (q->state != CAPTURE_ENDED)
		return;
	q->err = c->err;
	memcpy(q->text, c->why, sizeof(q->text));
}

static void capture_send_reply(struct capture *c, u32 op, int ret)
{
	static struct proto_msg m;
	struct conn *conn = c->conn;

	c->conn = NULL;
	if (!conn)
		return;
	m = (struct proto_msg){ .magic = PROTO_MAGIC, .op = op, .ret = ret };
	capture_describe(c, &m.capture);
	conn_reply(conn, &m);
}

static void capture_wake(const struct capture *c)
{
	const u64 one = 1;

	if (write(c->wake, &one, sizeof(one)) != sizeof(one))
		return; /* the eventfd is full: it was woken often enough */
}

void fabric_capture_wake_writers(struct fabric *f)
{
	u32 i;

	if (likely(!f->hca->capture.on) || !load_relaxed(&f->hca->capture.rung))
		return;
	for (i = 0; i < CAPTURES; i++)
		if (capture_is_running(f->captures->of[i]))
			capture_wake(f->captures->of[i]);
}

/* Block all signals in the thread except the one that unsticks it. */
static int capture_start_thread(struct capture *c)
{
	sigset_t all, was;
	int ret;

	sigfillset(&all);
	sigdelset(&all, SIG_UNSTICK);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	ret = pthread_create(&c->thread, NULL, capture_writer_thread, c);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return -ret;
}

static void capture_unregister(struct captures *t, struct capture *c)
{
	/* Threads of other captures read the table. */
	pthread_mutex_lock(&t->lock);
	if (t->of[c->bit] == c)
		t->of[c->bit] = NULL;
	pthread_mutex_unlock(&t->lock);
	if (c->wake >= 0)
		close(c->wake);
	free(c);
}

static bool capture_str_is_terminated(const char *s, size_t size)
{
	return memchr(s, '\0', size);
}

static bool capture_request_is_sound(const struct proto_capture *q)
{
	return capture_str_is_terminated(q->node, sizeof(q->node)) &&
	       capture_str_is_terminated(q->dev, sizeof(q->dev)) &&
	       capture_str_is_terminated(q->filter, sizeof(q->filter)) &&
	       capture_str_is_terminated(q->path, sizeof(q->path)) && q->path[0];
}

/*
 * Enter the capture in the table unless another one writes to the same file. Return: 0 or -errno,
 * with the details in *q.
 */
static int capture_register(struct captures *t, struct capture *c, struct proto_capture *q)
{
	int ret;

	pthread_mutex_lock(&t->lock);
	ret = c->fd >= 0 ? capture_claim_file(t, c, c->fd, &q->id)
			 : capture_claim_ring(t, c, &q->id);
	if (!ret)
		t->of[c->bit] = c;
	pthread_mutex_unlock(&t->lock);
	/* Only now: a capture that is refused leaves the file as it was. A pipe has no length. */
	if (ret || c->fd < 0 || !strcmp(q->path, "-") || !ftruncate(c->fd, 0) || errno == EINVAL)
		return ret;
	q->err = errno;
	q->text[0] = '\0';
	return -EIO;
}

static int capture_start(struct fabric *f, struct conn *conn, struct proto_msg *m, int *fd)
{
	struct captures *t = f->captures;
	struct capture *c;
	u32 i;
	int ret;

	if (!capture_request_is_sound(&m->capture) || (*fd < 0) != (m->capture.ring_bytes != 0))
		return -EINVAL;
	if (!capture_any_port(f->hca, &m->capture))
		return -ENODEV;
	for (i = 0; i < CAPTURES && t->of[i]; i++)
		;
	if (i == CAPTURES)
		return -EUSERS;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct capture){ .f = f,
			       .id = t->last_id + 1,
			       .bit = i,
			       .ask = m->capture,
			       .fd = *fd,
			       .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
			       .conn = conn,
			       .owner = m->flags & PROTO_F_HOLD ? conn : NULL };
	ret = capture_register(t, c, &m->capture);
	if (!ret)
		ret = c->wake < 0 ? -EMFILE : capture_start_thread(c);
	if (ret) {
		capture_unregister(t, c);
		return ret;
	}
	t->last_id = c->id;
	*fd = -1;
	return -EINPROGRESS;
}

static int capture_stop(struct fabric *f, struct conn *conn, const struct proto_msg *m)
{
	struct capture *c = NULL, *at;
	u32 i;

	for (i = 0; i < CAPTURES && !c; i++) {
		at = f->captures->of[i];
		if (at && (!at->told || at->owner == conn) &&
		    (!m->capture.id || at->id == m->capture.id))
			c = at;
	}
	if (!c)
		return -ENOENT;
	if (c->conn)
		return -EBUSY;
	c->conn = conn;
	if (c->owner == conn)
		c->owner = NULL;
	c->stop = true;
	f->captures->news = 1;
	return -EINPROGRESS;
}

int fabric_capture_request(struct fabric *f, struct conn *conn, struct proto_msg *m, int *fd)
{
	return m->op == PROTO_CAPTURE_START ? capture_start(f, conn, m, fd)
					    : capture_stop(f, conn, m);
}

void fabric_capture_conn_closed(struct fabric *f, const struct conn *conn)
{
	struct capture *c;
	u32 i;

	for (i = 0; i < CAPTURES; i++) {
		c = f->captures->of[i];
		if (!c)
			continue;
		if (c->conn == conn)
			c->conn = NULL;
		if (c->owner == conn) {
			c->owner = NULL;
			c->stop = true;
			store_relaxed(&f->captures->news, 1);
		}
	}
}

/* --- course of a capture --- */

static void capture_run(struct fabric *f, struct capture *c)
{
	struct hca_capture *ring = &f->hca->capture;

	pthread_mutex_lock(&f->captures->lock);
	c->at = ring->head;
	c->reads = true;
	pthread_mutex_unlock(&f->captures->lock);
	store_release(&c->state, CAPTURE_RUNNING);
	capture_mark(f);
	capture_wake(c);
	fabric_note(f, "capture %u: to %s", c->id, c->ask.path);
	capture_send_reply(c, PROTO_CAPTURE_START, 0);
}

static void capture_begin_stop(struct fabric *f, struct capture *c)
{
	c->stop_at = f->hca->capture.head;
	store_release(&c->state, CAPTURE_STOPPING);
	c->stuck_since = real_ns();
	c->stuck_at = 0;
	capture_mark(f);
	capture_wake(c);
}

/*
 * The thread of a capture has ended. Return: whether the capture was freed: its end was reported,
 * or no connection will ask for it.
 */
static bool capture_reap(struct fabric *f, struct capture *c)
{
	/* A capture that has ended by itself reads no more. */
	bool began = c->reads || c->joined;

	if (!c->joined) {
		pthread_join(c->thread, NULL);
		c->joined = true;
		capture_mark(f);
		capture_release_ring(f, c);
		if (c->cut && (!c->err || c->err == EPIPE)) {
			c->err = EPIPE;
			snprintf(c->why, sizeof(c->why), "no process reads the output");
		}
		if (c->err)
			fabric_note(f, "capture %u: %s: %s: it has ended, after %llu packets",
				    c->id, c->why[0] ? c->why : c->ask.path, strerror(c->err),
				    (unsigned long long)c->count.packets);
		else
			fabric_note(f, "capture %u: it has ended, after %llu packets", c->id,
				    (unsigned long long)c->count.packets);
	}
	/* The end of a capture that has ended by itself is reported on request. */
	if (!c->stop && began)
		return false;
	capture_send_reply(c, began ? PROTO_CAPTURE_STOP : PROTO_CAPTURE_START, began ? 0 : -EIO);
	/* Its owner does not know yet. */
	if (began && c->owner) {
		c->told = true;
		c->stop = false;
		return false;
	}
	capture_unregister(f->captures, c);
	return true;
}

bool fabric_capture_due(const struct fabric *f)
{
	return f->captures && load_relaxed(&f->captures->news);
}

void fabric_capture_work(struct fabric *f)
{
	struct capture *c;
	u32 i;

	exchange(&f->captures->news, 0);
	if (f->hca->capture.on) {
		capture_mark(f);
		relay_update_paths(f->hca);
	}
	for (i = 0; i < CAPTURES; i++) {
		c = f->captures->of[i];
		if (!c)
			continue;
		if (load_acquire(&c->state) == CAPTURE_READY)
			capture_run(f, c);
		if (load_acquire(&c->state) == CAPTURE_RUNNING && c->stop)
			capture_begin_stop(f, c);
		if (load_acquire(&c->state) == CAPTURE_ENDED)
			capture_reap(f, c);
	}
}

/*
 * No process reads its output: end it as if the reader had gone, so that nothing counts as written
 * from now on.
 */
static void capture_unstick(struct fabric *f, struct capture *c)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	close(ends[0]);
	pthread_mutex_lock(&f->captures->lock);
	if (c->fd >= 0 && !c->closing)
		dup3(ends[1], c->fd, O_CLOEXEC);
	pthread_mutex_unlock(&f->captures->lock);
	close(ends[1]);
	pthread_kill(c->thread, SIG_UNSTICK);
	c->cut = true;
}

u64 fabric_capture_tick(struct fabric *f)
{
	u64 now = real_ns(), next = NEVER, bytes;
	struct capture *c;
	u32 i;

	for (i = 0; i < CAPTURES; i++) {
		c = f->captures->of[i];
		if (!c || load_acquire(&c->state) != CAPTURE_STOPPING)
			continue;
		next = now + LOOK_NS;
		bytes = load_relaxed(&c->count.bytes);
		if (bytes != c->stuck_at) {
			c->stuck_at = bytes;
			c->stuck_since = now;
		} else if (now - c->stuck_since > STUCK_NS) {
			capture_unstick(f, c);
		}
	}
	return next;
}

void fabric_capture_shutdown(struct fabric *f)
{
	struct capture *c;
	u64 until = real_ns() + END_NS;
	u32 i;

	for (i = 0; i < CAPTURES; i++) {
		c = f->captures->of[i];
		if (!c || !c->reads || c->joined)
			continue;
		if (load_acquire(&c->state) == CAPTURE_RUNNING) {
			c->stop_at = load_acquire(&f->hca->capture.head);
			store_release(&c->state, CAPTURE_STOPPING);
		}
		capture_wake(c);
	}
	for (i = 0; i < CAPTURES; i++) {
		c = f->captures->of[i];
		while (c && c->reads && load_acquire(&c->state) != CAPTURE_ENDED) {
			if (real_ns() > until)
				capture_unstick(f, c);
			usleep(1000);
		}
	}
}
