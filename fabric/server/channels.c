/* SPDX-License-Identifier: MIT */
/**
 * DOC: the eventfds of clients' event channels.
 *
 * The client makes them, and can fill one up and make it block. The fabric process signals them
 * without waiting (eventfd_signal.h). That costs about 1 us more than a write(2), which programs of
 * a direct fabric save: they trust each other, and write. A program that writes to a full eventfd
 * blocks with the engine token in its hands. The fabric process has the same eventfd: while one
 * holder keeps the token for long, it takes a count out of each that is full, and disconnects the
 * client that has filled it.
 */
#include "fabric/server/channels.h"
#include "fabric/server/clients.h"
#include "fabric/server/server.h"

#include <poll.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#define TICK_NS	 NSEC_PER_SEC
#define ATTEMPTS 100 /* a client that fills it up again at once */

bool channel_is_eventfd(int fd)
{
	char path[32], target[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return errno == ENOENT; /* without /proc it cannot be checked */
	return !strcmp(target, "anon_inode:[eventfd]");
}

int channel_add(struct client *cl, u32 chan, int *fd)
{
	if (chan >= SEG_MAX_CHANS || *fd < 0 || !channel_is_eventfd(*fd))
		return -EINVAL;
	if (cl->chan_fd[chan] >= 0)
		close(cl->chan_fd[chan]);
	cl->chan_fd[chan] = *fd;
	*fd = -1;
	return 0;
}

int channel_del(struct client *cl, u32 chan)
{
	if (chan >= SEG_MAX_CHANS || cl->chan_fd[chan] < 0)
		return -ENOENT;
	close(cl->chan_fd[chan]);
	cl->chan_fd[chan] = -1;
	return 0;
}

static bool channel_is_full(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return !poll(&p, 1, 0);
}

/* Make room in a full eventfd. Its O_NONBLOCK flag is the client's as well: RWF_NOWAIT. */
static void channel_make_room(int fd)
{
	u64 count;
	struct iovec v = { &count, sizeof(count) };
	u32 i;

	for (i = 0; i < ATTEMPTS && channel_is_full(fd); i++)
		if (preadv2(fd, &v, 1, -1, RWF_NOWAIT) < 0)
			return;
}

static void channels_check_client(struct fabric *f, struct client *cl)
{
	u32 chan;

	for (chan = 0; chan < SEG_MAX_CHANS; chan++) {
		if (cl->chan_fd[chan] < 0 || !channel_is_full(cl->chan_fd[chan]))
			continue;
		channel_make_room(cl->chan_fd[chan]);
		if (!cl->dead)
			fabric_note(f,
				    "process %d (%s) has filled up its event channel %u, and is "
				    "disconnected",
				    f->hca->client[cl->id].pid, f->hca->client[cl->id].name, chan);
		client_die(f, cl);
	}
}

u64 channels_tick(struct fabric *f)
{
	struct channel_watch *w = &f->server->channels;
	u64 now = real_ns(), token;
	struct client *cl;

	if (f->isolated || !f->clients.n)
		return NEVER;
	if (now < w->at)
		return w->at;
	token = load_relaxed(&f->hca->token);
	if (token != TOKEN_FREE && token == w->token)
		for (cl = f->clients.list; cl; cl = cl->next)
			if (!cl->freed)
				channels_check_client(f, cl);
	w->token = token;
	w->at = now + TICK_NS;
	return w->at;
}
