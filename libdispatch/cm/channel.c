/* SPDX-License-Identifier: MIT */
/*
 * Event channels. A program waits for the descriptor of one, sets it to O_NONBLOCK, and hands it to
 * poll(2) and epoll(7), so it is an epoll descriptor over those of both libraries. These do not
 * block, so that an event of one never waits for one of the other.
 */
#include "libdispatch/cm/cm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

CM_EXPORT(struct rdma_event_channel *, rdma_create_event_channel, void);
CM_EXPORT(void, rdma_destroy_event_channel, struct rdma_event_channel *channel);
CM_EXPORT(int, rdma_migrate_id, struct rdma_cm_id *id, struct rdma_event_channel *channel);

static int channel_watch(const struct cm_both_channel *c, enum cm_side side)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = side };

	return epoll_ctl(c->ch.fd, EPOLL_CTL_ADD, c->side[side]->fd, &ev);
}

static struct cm_both_channel *channel_alloc(void)
{
	struct cm_both_channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ch.fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->ch.fd < 0) {
		free(c);
		return NULL;
	}
	c->known.object = c;
	cm_known_add(&c->known);
	return c;
}

void cm_both_channel_free(struct cm_both_channel *c)
{
	int saved = errno;

	cm_known_remove(&c->known);
	close(c->ch.fd);
	free(c);
	errno = saved;
}

static int channel_watch_unblocked(const struct cm_both_channel *c, enum cm_side side)
{
	int flags = fcntl(c->side[side]->fd, F_GETFL);

	if (flags < 0 || fcntl(c->side[side]->fd, F_SETFL, flags | O_NONBLOCK))
		return -1;
	return channel_watch(c, side);
}

/* Return: 0; -1 with errno: the library has no channel */
static int channel_open_side(struct cm_both_channel *c, enum cm_side side)
{
	int err;

	c->side[side] = CM_SIDE_GET(side, rdma_create_event_channel);
	if (!c->side[side])
		return -1;
	if (!channel_watch_unblocked(c, side))
		return 0;
	err = errno;
	CM_SIDE_DO(side, rdma_destroy_event_channel, c->side[side]);
	c->side[side] = NULL;
	errno = err;
	return -1;
}

/**
 * rdma_create_event_channel() - rdma_create_event_channel(3). A machine without the kernel's
 * connection management has events of emulated devices alone.
 * Return: NULL with errno, the real library's if neither has a channel
 */
struct rdma_event_channel *both_rdma_create_event_channel(void)
{
	enum cm_side within = cm_side_of_caller(__builtin_return_address(0));
	struct cm_both_channel *c;
	bool has_real;
	int err;

	if (within != SIDE_NONE)
		return CM_SIDE_GET(within, rdma_create_event_channel);
	c = channel_alloc();
	if (!c)
		return NULL;
	has_real = !channel_open_side(c, SIDE_REAL);
	err = errno;
	if (!channel_open_side(c, SIDE_EMULATED) || has_real)
		return &c->ch;
	cm_both_channel_free(c);
	errno = err;
	return NULL;
}

/** rdma_destroy_event_channel() - rdma_destroy_event_channel(3). */
void both_rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	enum cm_side within = cm_side_of(channel);
	struct cm_both_channel *c;
	u32 side;

	if (within != SIDE_NONE) {
		CM_SIDE_DO(within, rdma_destroy_event_channel, channel);
		return;
	}
	c = cm_both_channel_of(channel);
	for (side = 0; side < SIDES; side++)
		if (c->side[side])
			CM_SIDE_DO(side, rdma_destroy_event_channel, c->side[side]);
	cm_both_channel_free(c);
}

struct rdma_event_channel *cm_both_channel_of_id(struct cm_both_id *b)
{
	struct cm_both_channel *c = channel_alloc();
	u32 side;

	if (!c)
		return NULL;
	for (side = 0; side < SIDES; side++) {
		if (!b->side[side])
			continue;
		if (cm_both_channel_set(c, side, b->side[side]->channel)) {
			cm_both_channel_free(c);
			return NULL;
		}
	}
	b->own = c;
	return &c->ch;
}

int cm_both_channel_set(struct cm_both_channel *c, enum cm_side side,
			struct rdma_event_channel *below)
{
	c->side[side] = below;
	return channel_watch(c, side);
}

bool cm_channel_is_gone(const struct rdma_event_channel *channel)
{
	if (cm_side_of(channel) == SIDE_NONE)
		return false;
	errno = EBADF;
	return true;
}

/* Return: 0, or -1 with errno, and the library's identifier stays where it was */
static int side_migrate(struct cm_both_id *b, enum cm_side side, struct cm_both_channel *to)
{
	if (!b->side[side])
		return 0;
	return CM_SIDE_CALL(side, rdma_migrate_id, b->side[side], to ? to->side[side] : NULL);
}

/**
 * rdma_migrate_id() - rdma_migrate_id(3).
 * Return: 0, or -1 with errno
 */
int both_rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	struct cm_both_channel *to = channel ? cm_both_channel_of(channel) : NULL, *own;
	enum cm_side within = cm_side_of(id);
	struct cm_both_id *b;
	int err;

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_migrate_id, id, channel);
	if (channel && cm_channel_is_gone(channel))
		return -1;
	b = cm_both_id_of(id);
	own = b->own;
	if (side_migrate(b, SIDE_REAL, to))
		return -1;
	if (side_migrate(b, SIDE_EMULATED, to)) {
		err = errno;
		side_migrate(b, SIDE_REAL, own ? NULL : cm_both_channel_of(id->channel));
		errno = err;
		return -1;
	}
	b->own = NULL;
	id->channel = channel ? channel : cm_both_channel_of_id(b);
	if (own)
		cm_both_channel_free(own);
	cm_both_id_pull(b);
	return id->channel ? 0 : -1;
}
