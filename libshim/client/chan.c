/* SPDX-License-Identifier: MIT */
/**
 * DOC: event channels: a ring in the segment and an eventfd that counts its events.
 *
 * The descriptor belongs to the program, which may poll it, set O_NONBLOCK on it, or leave it
 * blocking. The shim keeps a duplicate for events that this process itself causes: a program may
 * close its descriptor, and the shim must not write to whatever has that number next. A read that
 * finds no event in the ring was woken for nothing (a token holder died between ring and eventfd,
 * and the event was sent again) and reads on.
 *
 * Channel numbers are reused, with other descriptors. Peers cache the descriptors that they asked
 * for, so the ring counts the reuses (@fd_gen).
 */
#include "libshim/client/chan.h"

#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/rpc.h"
#include "libshim/client/seg_heap.h"
#include "libshim/interpose/own_fd.h"

#include <pthread.h>
#include <sys/eventfd.h>

#define LOCAL_EVENTS 2u /* events a process raises itself: device fatal, once */

struct shim_chan {
	pthread_mutex_t lock; /* serialises readers, and uses of the descriptor with its closing */
	int fd; /* own duplicate, or -1 */
	bool used;
	u32 debt; /* counts of voided events that readers took before they looked for the event */
	u32 n_local;
	struct chan_event *events; /* in the segment */
	struct chan_event local[LOCAL_EVENTS];
};

static struct shim_chan chans[SEG_MAX_CHANS];
static u32 n_opened; /* number of entries, from the first on, that are initialised */
static pthread_mutex_t alloc_lock = PTHREAD_MUTEX_INITIALIZER;

static int chan_claim(void)
{
	struct shim_chan *c;
	u32 i;

	pthread_mutex_lock(&alloc_lock);
	for (i = 0; i < n_opened && chans[i].used; i++)
		;
	if (i == SEG_MAX_CHANS) {
		pthread_mutex_unlock(&alloc_lock);
		return -EMFILE;
	}
	c = &chans[i];
	if (i == n_opened) {
		pthread_mutex_init(&c->lock, NULL);
		c->fd = -1;
		store_release(&n_opened, i + 1);
	}
	c->used = true;
	pthread_mutex_unlock(&alloc_lock);
	return (int)i;
}

/* A channel that exists or has existed; else NULL. */
static struct shim_chan *chan_at(u32 chan)
{
	return chan < load_acquire(&n_opened) ? &chans[chan] : NULL;
}

static void chan_release(u32 chan)
{
	struct shim_chan *c = &chans[chan];

	pthread_mutex_lock(&c->lock);
	if (c->fd >= 0)
		sys_close(c->fd);
	c->fd = -1;
	c->n_local = 0;
	c->debt = 0;
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_lock(&alloc_lock);
	c->used = false;
	pthread_mutex_unlock(&alloc_lock);
}

/*
 * An earlier user of the slot may have left events. The engine does not use the channel yet. The
 * place for its events stays with the slot. Return: 0 or -ENOMEM.
 */
static int chan_ring_reset(u32 chan)
{
	struct chan_ring *r = &shim.seg->chan[chan];

	if (!r->events)
		store_release(&r->events, shim_seg_alloc(SEG_CHAN_SIZE));
	if (!r->events)
		return -ENOMEM;
	chans[chan].events = shim_seg_at(r->events);
	store_release(&r->fd_gen, r->fd_gen + 1);
	store_release(&r->cons, load_acquire(&r->prod));
	return 0;
}

int shim_chan_new(int *fd)
{
	struct proto_msg m = { .op = PROTO_CHAN_ADD };
	int chan = chan_claim();
	int ret, dup_fd;

	if (chan < 0)
		return chan;
	*fd = sys_eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (*fd < 0) {
		chan_release((u32)chan);
		return *fd;
	}
	dup_fd = chan_ring_reset((u32)chan);
	if (!dup_fd)
		dup_fd = sys_fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	ret = dup_fd;
	if (dup_fd >= 0) {
		chans[chan].fd = own_fd_move_high(dup_fd);
		m.peer.chan = (u32)chan;
		ret = shim_rpc_call(&m, *fd, NULL, 0);
	}
	if (ret >= 0)
		return chan;
	sys_close(*fd);
	chan_release((u32)chan);
	return ret;
}

void shim_chan_free(u32 chan, int fd)
{
	struct proto_msg m = { .op = PROTO_CHAN_DEL, .peer.chan = chan };

	if (!chan_at(chan))
		return;
	/* Without a fabric process there is no one to tell. */
	if (!load_relaxed(&shim.fatal))
		shim_rpc_call(&m, -1, NULL, 0);
	sys_close(fd);
	chan_release(chan);
}

/* The next event of the ring. The channel's lock is held. */
static bool chan_ring_take(u32 chan, struct chan_event *ev)
{
	struct chan_ring *r = &shim.seg->chan[chan];
	u32 cons = r->cons;

	while (load_acquire(&r->prod) != cons) {
		*ev = chans[chan].events[cons % SEG_CHAN_DEPTH];
		store_release(&r->cons, ++cons);
		if (ev->type != CHAN_EV_VOID)
			return true;
	}
	return false;
}

/* Take @n counts from the descriptor. The channel's lock is held. */
static void chan_fd_uncount(struct shim_chan *c, u32 n)
{
	u64 one;

	for (; n; n--)
		if (sys_read_nowait(c->fd, &one, sizeof(one)) < 0)
			c->debt++;
}

/*
 * A reader that had a count has looked for its event. While counts are owed, it may have got a
 * later event, whose count is still in the descriptor and would leave it readable without an event.
 * The channel's lock is held.
 */
static void chan_debt_settle(struct shim_chan *c, bool found)
{
	u64 one;

	if (!found && c->debt)
		c->debt--;
	while (c->debt && sys_read_nowait(c->fd, &one, sizeof(one)) > 0)
		c->debt--;
}

static bool chan_take(u32 chan, struct chan_event *ev)
{
	struct shim_chan *c = &chans[chan];
	bool found;
	u32 i;

	pthread_mutex_lock(&c->lock);
	if (c->n_local) {
		*ev = c->local[0];
		c->n_local--;
		for (i = 0; i < c->n_local; i++)
			c->local[i] = c->local[i + 1];
		found = true;
	} else {
		found = chan_ring_take(chan, ev);
	}
	chan_debt_settle(c, found);
	pthread_mutex_unlock(&c->lock);
	return found;
}

/*
 * Programs end their event threads with pthread_cancel(), because the read(2) in libibverbs is a
 * cancellation point. The raw system call is none, hence the asynchronous type. No lock is held.
 */
static ssize_t chan_fd_read(int fd)
{
	ssize_t got;
	u64 one;
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	got = sys_read(fd, &one, sizeof(one));
	pthread_setcanceltype(type, NULL);
	return got;
}

int shim_chan_wait(int fd)
{
	ssize_t got;

	shim_engine_drain();
	got = chan_fd_read(fd);
	if (got >= 0)
		return 0;
	errno = (int)-got;
	return -1;
}

int shim_chan_get(u32 chan, int fd, struct chan_event *ev)
{
	if (!chan_at(chan)) {
		errno = EINVAL;
		return -1;
	}
	do {
		if (shim_chan_wait(fd))
			return -1;
	} while (!chan_take(chan, ev));
	return 0;
}

/* The channel's lock is held. */
static void chan_fd_count(const struct shim_chan *c, u64 n)
{
	/* Cannot fail: the count would have to reach 2^64. */
	if (c->fd >= 0)
		sys_write(c->fd, &n, sizeof(n));
}

/*
 * Void the events of an object in the ring. Each takes one count with it. If a reader already has
 * that count, the reader finds no event and reads on.
 */
static void chan_ring_void(struct shim_chan *c, struct chan_ring *r, u32 kind, u32 handle, u32 gen)
{
	u32 i, prod = load_acquire(&r->prod);
	struct chan_event *ev;

	for (i = r->cons; i != prod; i++) {
		ev = &c->events[i % SEG_CHAN_DEPTH];
		if (ev->kind != kind || ev->handle != handle || ev->gen != gen ||
		    ev->type == CHAN_EV_VOID)
			continue;
		ev->type = CHAN_EV_VOID;
		chan_fd_uncount(c, 1);
	}
}

void shim_chan_drop(u32 chan, u32 kind, u32 handle, u32 gen)
{
	if (!chan_at(chan))
		return;
	pthread_mutex_lock(&chans[chan].lock);
	chan_ring_void(&chans[chan], &shim.seg->chan[chan], kind, handle, gen);
	pthread_mutex_unlock(&chans[chan].lock);
}

/* Return: 0 or -ENOSPC. The channel's lock is held. */
static int chan_put_local(struct shim_chan *c, struct chan_ring *r, const struct chan_event *ev)
{
	u32 prod = load_relaxed(&r->prod);

	/*
	 * Only this process writes the ring of an isolated client whose fabric process has ended.
	 */
	if (shim.isolated && load_relaxed(&shim.fatal)) {
		if (prod - r->cons >= SEG_CHAN_DEPTH)
			return -ENOSPC;
		c->events[prod % SEG_CHAN_DEPTH] = *ev;
		store_release(&r->prod, prod + 1);
		return 0;
	}
	if (c->n_local >= LOCAL_EVENTS)
		return -ENOSPC;
	c->local[c->n_local++] = *ev;
	return 0;
}

int shim_chan_push(u32 chan, const struct chan_event *ev)
{
	struct shim_chan *c = chan_at(chan);
	int ret;

	if (!c || !c->used)
		return -EBADF;
	pthread_mutex_lock(&c->lock);
	ret = chan_put_local(c, &shim.seg->chan[chan], ev);
	if (!ret)
		chan_fd_count(c, 1);
	pthread_mutex_unlock(&c->lock);
	return ret;
}

void shim_chan_uncount(u32 chan, u32 n)
{
	struct shim_chan *c = chan_at(chan);

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	chan_fd_uncount(c, n);
	pthread_mutex_unlock(&c->lock);
}

void shim_chan_settle(u32 chan, bool found)
{
	struct shim_chan *c = chan_at(chan);

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	chan_debt_settle(c, found);
	pthread_mutex_unlock(&c->lock);
}

void shim_chan_count(u32 chan, u64 n)
{
	struct shim_chan *c = chan_at(chan);

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	chan_fd_count(c, n);
	pthread_mutex_unlock(&c->lock);
}

void shim_chan_notify(u32 chan)
{
	shim_chan_count(chan, 1);
}

void shim_chan_forked(void)
{
	u32 i;

	alloc_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (i = 0; i < n_opened; i++) {
		chans[i].lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		if (chans[i].fd >= 0)
			sys_close(chans[i].fd);
		chans[i].fd = -1;
		chans[i].used = false;
		chans[i].debt = 0;
		chans[i].n_local = 0;
	}
}
