/* SPDX-License-Identifier: MIT */
/**
 * DOC: connecting: with targets, which the operator names, and with members, which have proved
 * themselves or which a proven member names.
 *
 * A proven member may name addresses at which nobody listens, or victims. So attempts at addresses
 * that others tell of back off up to a minute, few of them are under way at a time, and all of them
 * together are limited, however many members a neighbour names and however often.
 */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#include <unistd.h>

#define LOST_RETRIES_NS (8 * NSEC_PER_SEC) /* a member that has been away for long */
#define TOLD_RETRIES_NS (60 * NSEC_PER_SEC) /* a member that is only told of */
#define TOLD_AT_ONCE	16u /* attempts at such members under way */
#define TOLD_BUSY_NS	(100 * NSEC_PER_MSEC) /* until the next look when they are too many */
#define TOLD_BURST	JOIN_MAX_MEMBERS /* attempts at once, after a pause */
#define TOLD_PER_S	2u /* attempts per second in the long run */

static u64 dial_backoff_next(u64 last, u64 max)
{
	return last ? min_u64(2 * last, max) : JOIN_RETRY_NS;
}

static struct jconn *dial_address(struct fabric *f, const struct sockaddr_storage *sa)
{
	socklen_t len =
		sa->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	int fd = socket(sa->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct jconn *c = NULL;

	if (fd < 0)
		return NULL;
	if (!connect(fd, (const struct sockaddr *)sa, len) || errno == EINPROGRESS)
		c = jconn_new(f, fd, true, sa);
	if (!c)
		close(fd);
	else
		jconn_update_events(f, c);
	return c;
}

/* --- targets --- */

void mesh_target_retry(struct target *t, u64 wait)
{
	t->backoff = dial_backoff_next(t->backoff, JOIN_RETRIES_NS);
	t->next_try = real_ns() + (wait ? wait : t->backoff);
}

void mesh_dial_target(struct fabric *f, struct target *t)
{
	struct join *j = f->join;
	struct member *m = t->id ? mesh_member(f, t->id) : NULL;
	struct jconn *c;

	if (m && m->conn) {
		t->next_try = real_ns() + JOIN_RETRIES_NS;
		return;
	}
	mesh_target_retry(t, 0);
	t->refused[0] = '\0';
	if (t->next_addr >= t->n_addrs) {
		resolve_start(f, t);
		if (!t->n_addrs)
			return;
	}
	c = dial_address(f, &t->addr[t->next_addr++]);
	if (!c)
		return;
	c->target = (u32)(t - j->target) + 1;
	t->next_try = NEVER;
}

/* --- members --- */

void mesh_member_retry(struct member *m, u64 now)
{
	m->backoff = JOIN_RETRY_NS;
	m->next_try = now + m->backoff;
}

static u64 dial_member_max(const struct member *m, u64 now)
{
	if (!m->proven)
		return TOLD_RETRIES_NS;
	return m->lost_at && now - m->lost_at > JOIN_DEAD_NS ? LOST_RETRIES_NS : JOIN_RETRIES_NS;
}

/* Whether an attempt at @m may begin: it has none, and if it is only told of, there are few. */
static bool dial_member_may(struct fabric *f, const struct member *m)
{
	struct join *j = f->join;
	const struct member *other;
	struct jconn *c;
	u32 told = 0;

	for (c = j->conn; c < j->conn + j->n_conns; c++) {
		if (c->state == JC_FREE || c->state == JC_UP || !c->wanted)
			continue;
		if (c->wanted == m->id)
			return false;
		other = mesh_member(f, c->wanted);
		told += !other || !other->proven;
	}
	return m->proven ||
	       (told < TOLD_AT_ONCE && admission_allows(&j->dials, TOLD_PER_S, TOLD_BURST));
}

static void dial_sockaddr_fill(struct sockaddr_storage *sa, const struct join_peer *addr)
{
	struct sockaddr_in6 *in6 = (void *)sa;
	struct sockaddr_in *in = (void *)sa;

	memset(sa, 0, sizeof(*sa));
	if (gid_is_v4(addr->ip)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(addr->port);
		memcpy(&in->sin_addr, addr->ip + 12, 4);
		return;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(addr->port);
	memcpy(&in6->sin6_addr, addr->ip, 16);
	in6->sin6_scope_id = addr->scope;
}

void mesh_dial_member(struct fabric *f, struct member *m, u64 now)
{
	struct sockaddr_storage sa;
	struct join_peer addr;
	struct jconn *c;

	if (!dial_member_may(f, m)) {
		m->next_try = now + TOLD_BUSY_NS;
		return;
	}
	m->backoff = dial_backoff_next(m->backoff, dial_member_max(m, now));
	m->next_try = now + m->backoff;
	if (!mesh_peer_address(f, m, &addr)) {
		m->next_try = NEVER;
		return;
	}
	dial_sockaddr_fill(&sa, &addr);
	c = dial_address(f, &sa);
	if (c)
		c->wanted = m->id;
}
