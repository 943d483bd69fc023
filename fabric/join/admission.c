/* SPDX-License-Identifier: MIT */
/**
 * DOC: admission: which strangers may greet.
 *
 * A connection that has not proved yet that its maker has the token takes a place, and there are
 * JOIN_MAX_EARLIES of them. A stranger who takes places and says nothing must not keep others out,
 * and a handshake takes a few round trips, so those that are there for long make room:
 *
 * - An address (of IPv6: 64 bits of it) has at most half of the places. Its oldest connection makes
 *   room for its newest.
 * - When half of that is taken, a random connection of the address goes, with a probability that
 *   rises with their number: a flood that is faster than handshakes hits its own connections most.
 * - When all places are taken, the oldest connection of the address that has most makes room.
 * - A connection that has not greeted goes before one that has, which waits for a proof.
 * - Addresses of members have JOIN_MAX_KNOWN places of their own: a member comes back whatever
 *   strangers do elsewhere.
 *
 * Log lines about strangers are limited, too: the log keeps what it said before.
 */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_NS    (100 * NSEC_PER_MSEC) /* without accept, when no descriptors are left */
#define STARVED_NS  (60 * NSEC_PER_SEC) /* until the log says so again */
#define LINES_PER_S 1u
#define LINES_BURST 20u
#define THOUSANDTHS 1000u

void admission_net(const struct sockaddr_storage *sa, u8 net[16])
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;

	memset(net, 0, 16);
	if (sa->ss_family == AF_INET)
		gid_map_v4(net, &in->sin_addr);
	else if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		memcpy(net, &in6->sin6_addr, 16);
	else
		memcpy(net, &in6->sin6_addr, 8);
}

bool admission_allows(struct allowance *a, u32 per_s, u32 burst)
{
	const u64 full = (u64)burst * THOUSANDTHS, now = real_ns();
	u64 ms = (now - a->at) / NSEC_PER_MSEC;

	if (!a->at || ms >= full) {
		a->left = full;
		a->at = now;
	} else {
		a->left = min_u64(full, a->left + ms * per_s);
		a->at += ms * NSEC_PER_MSEC;
	}
	if (a->left < THOUSANDTHS)
		return false;
	a->left -= THOUSANDTHS;
	return true;
}

void admission_note(struct fabric *f, const char *who, const char *why)
{
	struct join *j = f->join;

	if (!admission_allows(&j->lines, LINES_PER_S, LINES_BURST)) {
		j->lines_unsaid++;
		return;
	}
	if (j->lines_unsaid)
		fabric_note(f, "join: %llu more like the next one are left out",
			    (unsigned long long)j->lines_unsaid);
	j->lines_unsaid = 0;
	fabric_note(f, "join: %s: %s", who, why);
}

static bool admission_is_known(const struct join *j, const u8 net[16])
{
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i] && j->member[i]->proven &&
		    !memcmp(j->member[i]->net, net, sizeof(j->member[i]->net)))
			return true;
	return false;
}

/* Whether @c holds one of the places of strangers, or of members' addresses. */
static bool jconn_holds_place(const struct jconn *c, bool known)
{
	return c->state != JC_FREE && c->state != JC_UP && !c->out && c->known == known;
}

/* The places that an address has. */
static u32 admission_count(const struct join *j, bool known, const u8 net[16])
{
	u32 i, n = 0;

	for (i = 0; i < j->n_conns; i++)
		n += jconn_holds_place(&j->conn[i], known) &&
		     !memcmp(j->conn[i].net, net, sizeof(j->conn[i].net));
	return n;
}

/* Whether @a makes room before @b: one that has not greeted before one that has, then the older. */
static bool admission_goes_first(const struct jconn *a, const struct jconn *b)
{
	if ((a->state == JC_PROOF) != (b->state == JC_PROOF))
		return b->state == JC_PROOF;
	return a->since < b->since;
}

/*
 * The connection of an address that makes room: the @nth in the table of those that have not
 * greeted, otherwise the oldest, first of those.
 */
static struct jconn *admission_victim(struct join *j, bool known, const u8 net[16], u32 nth)
{
	struct jconn *c, *first = NULL;

	for (c = j->conn; c < j->conn + j->n_conns; c++) {
		if (!jconn_holds_place(c, known) || memcmp(c->net, net, sizeof(c->net)) != 0)
			continue;
		if (nth && c->state != JC_PROOF && !--nth)
			return c;
		if (!first || admission_goes_first(c, first))
			first = c;
	}
	return first;
}

/* A connection of the address that has most places, if they are all taken; or NULL. */
static struct jconn *admission_crowded(struct join *j, bool known, u32 places)
{
	const struct jconn *c, *most = NULL;
	u32 n, max = 0, all = 0;

	for (c = j->conn; c < j->conn + j->n_conns; c++) {
		if (!jconn_holds_place(c, known))
			continue;
		all++;
		n = admission_count(j, known, c->net);
		if (n > max) {
			max = n;
			most = c;
		}
	}
	return all >= places ? admission_victim(j, known, most->net, 0) : NULL;
}

/* A number below @n; 0 if there are no random numbers. */
static u32 admission_random(u32 n)
{
	u32 r = 0;

	return getrandom(&r, sizeof(r), GRND_NONBLOCK) == sizeof(r) ? r % n : 0;
}

/* Make room for a connection from @net. */
static void admission_make_room(struct fabric *f, const u8 net[16], bool known)
{
	struct join *j = f->join;
	u32 places = known ? JOIN_MAX_KNOWN : JOIN_MAX_EARLIES, share = places / 2;
	u32 n = admission_count(j, known, net);
	struct jconn *c = NULL;

	if (n >= share)
		c = admission_victim(j, known, net, 0);
	else if (n > share / 2 && admission_random(share - share / 2) < n - share / 2)
		c = admission_victim(j, known, net, 1 + admission_random(n));
	if (!c)
		c = admission_crowded(j, known, places);
	if (!c)
		return;
	j->n_turned_away++;
	jconn_close(f, c, "turned away: there are too many connections");
}

/* A connection that cannot be accepted would wake the loop at once again: do not listen for it. */
static void admission_pause(struct fabric *f)
{
	struct join *j = f->join;
	u64 now = real_ns();

	if (!j->starved_at || now - j->starved_at > STARVED_NS)
		fabric_note(f, "join: connections wait: no descriptors are left");
	j->starved_at = now;
	j->accept_at = now + PAUSE_NS;
	loop_watch_events(f, &j->listen, 0);
}

u64 admission_tick(struct fabric *f, u64 now)
{
	struct join *j = f->join;

	if (now < j->accept_at)
		return j->accept_at;
	j->accept_at = NEVER;
	loop_watch_events(f, &j->listen, EPOLLIN);
	return NEVER;
}

void join_accept(struct fabric *f, struct watch *w, u32 events)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct jconn *c;
	bool known;
	u8 net[16];
	int fd;

	(void)events;
	memset(&sa, 0, sizeof(sa));
	fd = accept4(w->fd, (struct sockaddr *)&sa, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			admission_pause(f);
		return;
	}
	admission_net(&sa, net);
	known = admission_is_known(f->join, net);
	admission_make_room(f, net, known);
	c = jconn_new(f, fd, false, &sa);
	if (!c) {
		f->join->n_turned_away++;
		close(fd);
		return;
	}
	c->known = known;
}
