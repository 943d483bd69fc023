/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu log --follow`, in the fabric process: it sends new entries of the journal to
 * followers.
 *
 * Programs write the journal without notifying this process, so it checks from time to time, as
 * long as there are followers. A follower that reads slowly gets its next answer when its socket
 * has room, and with it the number of entries that were overwritten meanwhile. Followers do not
 * keep a fabric alive.
 *
 * A follower gets the first entries of a flood as they come (emulator/journal/alike.c), and each
 * second the one that counts them, if it has counted more: never the same line twice.
 */
#include "fabric/journal/log.h"

#include <stdlib.h>
#include <unistd.h>

#define LOOK_NS	  (50 * NSEC_PER_MSEC)
#define FLOODS_NS NSEC_PER_SEC

/**
 * struct follower - what a connection has got of the journal.
 * @request: its PROTO_LOG, whose positions move on
 * @floods_at: real time at which it gets the counts of floods next
 */
struct follower {
	struct proto_msg request;
	u64 floods_at;
};

int follow_start(struct fabric *f, struct conn *c, const struct proto_msg *m)
{
	if (!c->follow) {
		c->follow = calloc(1, sizeof(*c->follow));
		if (!c->follow)
			return -ENOMEM;
		f->conns.n_followers++;
	}
	c->follow->request = *m;
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

/* @now: real time, or NEVER: it is the last chance */
static bool follow_has_floods(const struct fabric *f, const struct follower *l, u64 now)
{
	return now >= l->floods_at && l->request.log.floods != load_acquire(&f->hca->flood_seq);
}

static bool follow_has_news(const struct fabric *f, const struct proto_log *q)
{
	return q->errors != load_relaxed(&f->hca->error_seq) ||
	       q->notices != load_relaxed(&f->hca->notice_seq) || q->notes != f->notes.n;
}

static void follow_push_one(struct fabric *f, struct conn *c, u64 now)
{
	struct follower *l = c->follow;
	bool floods = follow_has_floods(f, l, now);
	struct proto_msg m = l->request;
	int fd, ret = 0;

	if (!floods)
		m.log.floods = UINT64_MAX;
	fd = log_make(f, &m.log, m.flags);
	if (fd < 0)
		return;
	/* New entries may not be among those that the follower has asked for. */
	if (lseek(fd, 0, SEEK_END) > 0 || m.log.lost)
		ret = conn_send(c, &m, &fd, 1);
	close(fd);
	if (ret && ret != -EAGAIN)
		conn_hang_up(c);
	if (ret)
		return;
	if (floods)
		l->floods_at = now + FLOODS_NS;
	else
		m.log.floods = l->request.log.floods;
	l->request.log = m.log;
}

/* Send what is new to each follower. @now: as follow_has_floods() */
static void follow_push_at(struct fabric *f, u64 now)
{
	struct conn *c;

	for (c = f->conns.list; c && f->conns.n_followers; c = c->next)
		if (!c->dead && c->follow &&
		    (follow_has_news(f, &c->follow->request.log) ||
		     follow_has_floods(f, c->follow, now)))
			follow_push_one(f, c, now);
}

void follow_push(struct fabric *f)
{
	follow_push_at(f, NEVER);
}

u64 follow_tick(struct fabric *f)
{
	u64 now;

	if (!f->conns.n_followers)
		return NEVER;
	now = real_ns();
	if (now >= f->conns.follow_at) {
		follow_push_at(f, now);
		f->conns.follow_at = now + LOOK_NS;
	}
	return f->conns.follow_at;
}
