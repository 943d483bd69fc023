/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for the channel of a CQ by poll(2) or epoll_wait(2). Which descriptors an epoll
 * instance has, maybe in other instances, /proc/self/fdinfo tells; it is read only if the thread
 * has armed a CQ and not emptied it.
 */
#include "libtap/check/checks.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WAIT_DEPTH 3u /* of epoll instances in others */

/* Return: the text's length, 0: none. */
static size_t wait_read_fdinfo(int fd, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return 0;
	n = read(info, text, size - 1);
	close(info);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? 0 : (size_t)n;
}

static bool wait_fd_leads_to(int fd, int wanted, u32 depth)
{
	char text[4096];
	const char *at;

	if (fd == wanted)
		return true;
	if (fd < 0 || depth == WAIT_DEPTH || !wait_read_fdinfo(fd, text, sizeof(text)))
		return false;
	/* Lines "tfd: NUMBER events: ...", of epoll instances only. */
	for (at = text; (at = strstr(at, "tfd:")); at++)
		if (wait_fd_leads_to((int)strtol(at + 4, NULL, 10), wanted, depth + 1))
			return true;
	return false;
}

/* struct wait_fds - what the thread waits for. */
struct wait_fds {
	const struct pollfd *fds;
	size_t n;
};

static bool wait_find_cq(struct check_obj *c, void *arg)
{
	const struct ibv_cq *cq = (void *)(uintptr_t)c->tap->key;
	const struct wait_fds *w = arg;
	size_t i;

	if (!cq->channel || !check_cq_is_suspect(c))
		return false;
	for (i = 0; i < w->n; i++)
		if (wait_fd_leads_to(w->fds[i].fd, cq->channel->fd, 0)) {
			check_cq_report_lost(c);
			return true;
		}
	return false;
}

void check_wait(const struct pollfd *fds, size_t n)
{
	struct wait_fds w = { fds, n };

	check_obj_for_each(VOBJ_CQ, wait_find_cq, &w);
}
