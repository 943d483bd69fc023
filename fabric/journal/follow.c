/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu log --follow`, in the fabric process: it sends new entries of the journal to
 * followers.
 *
 * Programs write the journal without notifying this process, so it checks from time to time, as
 * long as there are followers. A follower that reads slowly gets its next answer when its socket
 * has room, and with it the number of entries that were overwritten meanwhile. Followers do not
 * keep a fabric alive.
 */
#include "fabric/journal/log.h"

#include <stdlib.h>
#include <unistd.h>

#define LOOK_NS (50 * NSEC_PER_MSEC)

int follow_start(struct fabric *f, struct conn *c, const struct proto_msg *m)
{
	if (!c->follow) {
		c->follow = malloc(sizeof(*c->follow));
		if (!c->follow)
			return -ENOMEM;
		f->conns.n_followers++;
	}
	*c->follow = *m;
	return 0;
}

void follow_end(struct fabric *f, struct conn *c)
{
	if (!c->follow)
		return;
	free(c->follow);
	c->follow = NULL;
	f->conns.n_followers--;
}

static bool follow_has_news(const struct fabric *f, const struct proto_log *q)
{
	return q->errors != load_relaxed(&f->hca->error_seq) ||
	       q->notices != load_relaxed(&f->hca->notice_seq) || q->notes != f->notes.n;
}

static void follow_push_one(struct fabric *f, struct conn *c)
{
	struct proto_msg m = *c->follow;
	int fd = log_make(f, &m.log, m.flags), ret = 0;

	if (fd < 0)
		return;
	/* New entries may not be among those that the follower has asked for. */
	if (lseek(fd, 0, SEEK_END) > 0 || m.log.lost)
		ret = conn_send(c, &m, &fd, 1);
	close(fd);
	if (!ret)
		c->follow->log = m.log;
	else if (ret != -EAGAIN)
		conn_hang_up(c);
}

void follow_push(struct fabric *f)
{
	struct conn *c;

	for (c = f->conns.list; c && f->conns.n_followers; c = c->next)
		if (!c->dead && c->follow && follow_has_news(f, &c->follow->log))
			follow_push_one(f, c);
}

u64 follow_tick(struct fabric *f)
{
	u64 now;

	if (!f->conns.n_followers)
		return NEVER;
	now = real_ns();
	if (now >= f->conns.follow_at) {
		follow_push(f);
		f->conns.follow_at = now + LOOK_NS;
	}
	return f->conns.follow_at;
}
