/* SPDX-License-Identifier: MIT */
/** DOC: the mesh: its members, the connections between them, and when to retry what. */
#include "fabric/join/mesh.h"
#include "fabric/core/starter.h"
#include "fabric/common/opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#define RETRY_MIN_NS (20 * NSEC_PER_MSEC)
#define RETRY_MAX_NS NSEC_PER_SEC

/* --- members --- */

/* Give the member's slot away. Its devices and nodes stay, but do not become the next member's. */
static void member_forget(struct fabric *f, struct member *m)
{
	struct hca *hca = f->hca;
	u32 i;

	for (i = 0; i < hca->n_devs; i++)
		if (hca->dev[i].member == m->number) {
			hca->dev[i].member = JOIN_FORGOTTEN;
			f->join->far_index[i] = JOIN_NOWHERE;
		}
	for (i = 0; i < hca->n_nodes; i++)
		if (hca->node[i].member == m->number)
			hca->node[i].member = JOIN_FORGOTTEN;
	free(m);
}

struct member *mesh_member(struct fabric *f, u64 id, bool make)
{
	struct join *j = f->join;
	struct member *m, **slot = NULL;
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		m = j->member[i];
		if (m && m->id == id)
			return m;
		if (!slot && (!m || (m->dead && !m->via && m->next_try == NEVER)))
			slot = &j->member[i];
	}
	if (!make || !slot)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	if (*slot)
		member_forget(f, *slot);
	*slot = m;
	m->id = id;
	m->number = (u32)(slot - j->member) + 1;
	m->next_try = NEVER;
	m->dead = true;
	snprintf(m->name, sizeof(m->name), "?");
	return m;
}

static void member_set_route(struct fabric *f, struct member *m, struct jconn *via)
{
	m->via = via;
	m->told = false;
	if (!via) {
		m->lost_at = real_ns();
		/* Bursts that wait for credit continue, and are lost. */
		wait_ring_all(f);
		return;
	}
	session_route(f, m);
}

bool jconn_has_route_to(const struct jconn *c, u64 id)
{
	u32 i;

	for (i = 0; i < c->n_behind; i++)
		if (c->behind[i] == id)
			return true;
	return false;
}

/*
 * The route to a member: its own connection, or the neighbour with the lowest id that is connected
 * with it. Both sides choose the same neighbour, which is connected with both.
 */
static struct jconn *member_best_route(struct fabric *f, const struct member *m)
{
	struct jconn *best = m->conn, *c;
	u32 i;

	for (i = 0; !m->conn && i < JOIN_MAX_CONNS; i++) {
		c = &f->join->conn[i];
		if (c->state == JC_UP && c->member && c->member->conn == c &&
		    (!best || c->peer < best->peer) && jconn_has_route_to(c, m->id))
			best = c;
	}
	return best;
}

static void mesh_reroute(struct fabric *f)
{
	struct jconn *way;
	struct member *m;
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		m = f->join->member[i];
		way = m ? member_best_route(f, m) : NULL;
		if (m && m->via != way)
			member_set_route(f, m, way);
	}
}

/* --- connections --- */

static u64 mesh_backoff_next(u64 last)
{
	return last ? min_u64(2 * last, RETRY_MAX_NS) : RETRY_MIN_NS;
}

static void target_retry_later(struct target *t, u64 wait)
{
	t->backoff = mesh_backoff_next(t->backoff);
	t->next_try = real_ns() + (wait ? wait : t->backoff);
}

/*
 * Which of two connections between the same members stays: a later one by the same side, otherwise
 * the one that the member with the lower id has made.
 */
static bool jconn_replaces(const struct fabric *f, const struct jconn *new, const struct jconn *old)
{
	if (new->out == old->out)
		return true;
	return new->out == (f->join->id < new->peer);
}

static void mesh_send_peers(struct fabric *f)
{
	struct join *j = f->join;
	struct join_peer peer[JOIN_MAX_PEERS];
	u8 body[JOIN_MAX_PEERS * JOIN_PEER];
	u32 i, n = 0;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i] && j->member[i]->conn) {
			peer[n] = j->member[i]->addr;
			peer[n++].id = j->member[i]->id;
		}
	n = join_peers_put(body, peer, n);
	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i] && j->member[i]->conn)
			(void)jconn_send(f, j->member[i]->conn, JT_PEERS, j->id, j->member[i]->id,
					 body, n);
}

/* The address at which other members reach this one: where it connects from, and its own port. */
static void member_learn_address(struct member *m, const struct jconn *c)
{
	memset(&m->addr, 0, sizeof(m->addr));
	m->addr.id = m->id;
	if (c->hello.port && jconn_address(c->w.fd, true, m->addr.ip, &m->addr.scope))
		m->addr.port = c->hello.port;
}

void mesh_conn_up(struct fabric *f, struct jconn *c)
{
	struct join *j = f->join;
	struct member *m = mesh_member(f, c->peer, true);
	struct jconn *old = m ? m->conn : NULL;

	if (!m) {
		jconn_refuse(f, c, "there are %u members already", JOIN_MAX_MEMBERS);
		return;
	}
	if (c->target) {
		j->target[c->target - 1].id = c->peer;
		j->target[c->target - 1].backoff = 0;
	}
	if (old && !jconn_replaces(f, c, old)) {
		jconn_close(f, c, NULL);
		return;
	}
	c->member = m;
	m->conn = c;
	m->backoff = 0;
	m->next_try = NEVER;
	snprintf(m->name, sizeof(m->name), "%s", c->hello.name);
	member_learn_address(m, c);
	if (old) {
		old->member = NULL;
		jconn_close(f, old, NULL);
	}
	mesh_reroute(f);
	if (c->state == JC_UP)
		mesh_send_peers(f);
}

bool mesh_peer_found(struct fabric *f, const struct jconn *c)
{
	struct member *m = c->wanted ? mesh_member(f, c->wanted, false) : NULL;

	if (!c->wanted || c->wanted == c->peer)
		return c->peer != f->join->id;
	/*
	 * It is not at that address. A member that is connected already needs no second connection.
	 */
	if (m)
		m->next_try = NEVER;
	m = mesh_member(f, c->peer, false);
	return c->peer != f->join->id && !(m && m->conn);
}

void mesh_conn_down(struct fabric *f, struct jconn *c)
{
	struct member *m = c->member && c->member->conn == c ? c->member : NULL;
	struct target *t;

	if (c->target) {
		t = &f->join->target[c->target - 1];
		target_retry_later(t, t->refused[0] ? JOIN_REFUSED_NS : 0);
	}
	if (m)
		m->conn = NULL;
	mesh_reroute(f);
	if (!m)
		return;
	if (c->out && !c->target && m->addr.port) {
		m->backoff = RETRY_MIN_NS;
		m->next_try = real_ns() + m->backoff;
	}
	mesh_send_peers(f);
}

void mesh_conn_refused(struct fabric *f, struct jconn *c, const char *why)
{
	struct target *t = c->target ? &f->join->target[c->target - 1] : NULL;
	struct member *m = c->wanted ? mesh_member(f, c->wanted, false) : NULL;
	char line[JOIN_TEXT + 32];

	snprintf(line, sizeof(line), "we are refused: %s", why);
	if (t)
		snprintf(t->refused, sizeof(t->refused), "%s", why);
	jconn_close(f, c, line);
	if (m && !m->conn)
		m->next_try = real_ns() + JOIN_REFUSED_NS;
}

static struct jconn *mesh_dial(struct fabric *f, const struct sockaddr_storage *sa)
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

static void mesh_dial_target(struct fabric *f, struct target *t)
{
	struct join *j = f->join;
	struct member *m = t->id ? mesh_member(f, t->id, false) : NULL;
	struct jconn *c;

	if (m && m->conn) {
		t->next_try = real_ns() + RETRY_MAX_NS;
		return;
	}
	target_retry_later(t, 0);
	t->refused[0] = '\0';
	if (t->next_addr >= t->n_addrs) {
		resolve_start(f, t);
		if (!t->n_addrs)
			return;
	}
	c = mesh_dial(f, &t->addr[t->next_addr++]);
	if (!c)
		return;
	c->target = (u32)(t - j->target) + 1;
	t->next_try = NEVER;
}

static void mesh_dial_member(struct fabric *f, struct member *m)
{
	struct sockaddr_storage sa = { 0 };
	struct sockaddr_in6 *in6 = (void *)&sa;
	struct sockaddr_in *in = (void *)&sa;
	struct jconn *c;

	m->backoff = mesh_backoff_next(m->backoff);
	m->next_try = real_ns() + m->backoff;
	if (m->addr.ip[10] == 0xff && m->addr.ip[11] == 0xff) {
		in->sin_family = AF_INET;
		in->sin_port = htons(m->addr.port);
		memcpy(&in->sin_addr, m->addr.ip + 12, 4);
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(m->addr.port);
		memcpy(&in6->sin6_addr, m->addr.ip, 16);
		in6->sin6_scope_id = m->addr.scope;
	}
	c = mesh_dial(f, &sa);
	if (c)
		c->wanted = m->id;
}

int mesh_peers_input(struct fabric *f, struct jconn *c, const u8 *body, u32 len)
{
	struct join_peer peer[JOIN_MAX_PEERS];
	int i, n = join_peers_get(body, len, peer);
	struct member *m;

	if (n < 0)
		return n;
	for (i = 0, c->n_behind = 0; i < n; i++) {
		if (peer[i].id == f->join->id)
			continue;
		c->behind[c->n_behind++] = peer[i].id;
		m = mesh_member(f, peer[i].id, true);
		if (m && !m->conn && peer[i].port && m->next_try == NEVER) {
			m->addr = peer[i];
			m->next_try = real_ns();
		}
	}
	mesh_reroute(f);
	return 0;
}

/* --- the loop --- */

void join_accept(struct fabric *f, struct watch *w, u32 events)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct jconn *c;
	int fd = accept4(w->fd, (struct sockaddr *)&sa, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0)
		return;
	c = jconn_new(f, fd, false, &sa);
	if (!c) {
		f->join->n_turned_away++;
		fabric_note(f, "join: turned away: there are too many connections");
		close(fd);
		return;
	}
	hello_send(f, c);
	if (c->state != JC_FREE)
		jconn_flush(f, c);
}

/* Why a connection has to be closed by now, or NULL. */
static const char *jconn_overdue_reason(const struct jconn *c, u64 now, u64 *next)
{
	if (c->state != JC_UP) {
		*next = min_u64(*next, c->since + JOIN_EARLY_NS);
		return now >= c->since + JOIN_EARLY_NS ? "no greeting in time" : NULL;
	}
	*next = min_u64(*next, min_u64(c->heard_at, c->moved_at) + JOIN_SILENT_NS);
	if (now >= c->heard_at + JOIN_SILENT_NS)
		return "it is silent";
	return now >= c->moved_at + JOIN_SILENT_NS ? "it is too slow: it takes no data" : NULL;
}

static u64 mesh_tick_conn(struct fabric *f, struct jconn *c, u64 now)
{
	/* Every connection is checked once in that time, see mesh_shift_deadlines(). */
	u64 next = now + JOIN_PING_NS;
	const char *why = jconn_overdue_reason(c, now, &next);

	if (why) {
		jconn_close(f, c, c->state == JC_CONNECTING ? NULL : why);
		return NEVER;
	}
	if (c->state == JC_UP && now >= c->sent_at + JOIN_PING_NS && c->tx.head == c->tx.tail) {
		(void)jconn_send(f, c, JT_PING, f->join->id, c->peer, NULL, 0);
		c->sent_at = now;
	}
	if (c->tx.head != c->tx.tail && !c->want_write)
		jconn_flush(f, c);
	else if (c->tx.head == c->tx.tail)
		c->moved_at = now;
	if (c->state == JC_UP)
		next = min_u64(next, c->sent_at + JOIN_PING_NS);
	return c->state == JC_FREE ? NEVER : next;
}

static u64 mesh_tick_member(struct fabric *f, struct member *m, u64 now)
{
	if (!m->conn && now >= m->next_try) {
		/* A member that has been away for long may have moved. */
		if (m->dead && !m->via && m->lost_at && now - m->lost_at > 6 * JOIN_DEAD_NS)
			m->next_try = NEVER;
		else
			mesh_dial_member(f, m);
	}
	if (m->via)
		return min_u64(m->conn ? NEVER : m->next_try, session_tick(f, m, now));
	if (!m->dead && now >= m->lost_at + JOIN_DEAD_NS)
		f->join->due = true;
	return min_u64(m->next_try, m->dead ? NEVER : m->lost_at + JOIN_DEAD_NS);
}

/* Tell the starter when all targets have joined, or that they have not in time. */
static void mesh_report_starter(struct fabric *f, u64 now)
{
	struct join *j = f->join;
	char line[320], but[320] = "";
	struct member *m;
	u32 i, up = 0;

	for (i = 0; i < j->n_targets; i++) {
		m = j->target[i].id ? mesh_member(f, j->target[i].id, false) : NULL;
		up += m && m->ready;
		if (!j->target[i].refused[0])
			continue;
		starter_report_failure(f, "cannot start: join %s:%s: refused: %s",
				       j->target[i].host, j->target[i].port, j->target[i].refused);
		j->ready_by = NEVER;
		f->leaving = true;
		return;
	}
	if (up < j->n_targets && now < j->ready_by)
		return;
	for (i = 0; i < j->n_targets && up < j->n_targets; i++) {
		m = j->target[i].id ? mesh_member(f, j->target[i].id, false) : NULL;
		if (m && m->ready)
			continue;
		snprintf(line, sizeof(line), "not joined with %s:%s yet (%s), retrying",
			 j->target[i].host, j->target[i].port,
			 j->target[i].unknown ? "no such host" : "no fabric answers there");
		fabric_note(f, "join: %s", line);
		if (!but[0])
			snprintf(but, sizeof(but), "%s", line);
	}
	j->ready_by = NEVER;
	starter_report_ready(f, but[0] ? but : NULL);
}

/*
 * This process did not run for @away ns: what other members have sent meanwhile is not read yet, so
 * none of them is late.
 */
static void mesh_shift_deadlines(struct join *j, u64 now, u64 away)
{
	struct member *m;
	struct jconn *c;
	u32 i, l;

	for (c = j->conn; c < j->conn + j->n_conns; c++) {
		c->since = min_u64(now, c->since + away);
		c->heard_at = min_u64(now, c->heard_at + away);
		c->moved_at = min_u64(now, c->moved_at + away);
	}
	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		m = j->member[i];
		if (!m)
			continue;
		m->asked_at = min_u64(now, m->asked_at + away);
		for (l = 0; l < LANES; l++)
			if (m->lane[l].dry_at)
				m->lane[l].dry_at = min_u64(now, m->lane[l].dry_at + away);
	}
}

u64 join_tick(struct fabric *f)
{
	struct join *j = f->join;
	u64 now = real_ns(), next;
	u32 i;

	if (!j)
		return NEVER;
	if (j->ticked_at && now - j->ticked_at > 2 * JOIN_PING_NS)
		mesh_shift_deadlines(j, now, now - j->ticked_at);
	j->ticked_at = now;
	if (j->ready_by != NEVER)
		mesh_report_starter(f, now);
	next = j->ready_by;
	for (i = 0; i < j->n_targets; i++) {
		if (now >= j->target[i].next_try)
			mesh_dial_target(f, &j->target[i]);
		next = min_u64(next, j->target[i].next_try);
	}
	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i])
			next = min_u64(next, mesh_tick_member(f, j->member[i], now));
	for (i = 0; i < j->n_conns; i++)
		if (j->conn[i].state != JC_FREE)
			next = min_u64(next, mesh_tick_conn(f, &j->conn[i], now));
	return j->due ? now : next;
}
