/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/loop.h.
 */
#include "fabric/core/loop.h"
#include "fabric/core/fabric.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int loop_watch_add(struct fabric *f, struct watch *w, int fd,
		   void (*fn)(struct fabric *f, struct watch *w, u32 events))
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = w };

	w->fd = fd;
	w->fn = fn;
	return epoll_ctl(f->loop.epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void loop_watch_events(struct fabric *f, struct watch *w, u32 events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	epoll_ctl(f->loop.epoll, EPOLL_CTL_MOD, w->fd, &ev);
}

void loop_watch_remove(struct fabric *f, struct watch *w)
{
	if (w->fd >= 0)
		epoll_ctl(f->loop.epoll, EPOLL_CTL_DEL, w->fd, NULL);
}

void loop_watch_close(struct watch *w)
{
	if (w->fd < 0)
		return;
	/* Not enough where another process has a copy: loop_watch_remove() comes first. */
	close(w->fd);
	w->fd = -1;
}
