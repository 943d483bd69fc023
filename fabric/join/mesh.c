/* SPDX-License-Identifier: MIT */
/** DOC: the mesh: connections that come and go, and the deadlines of them and of members. */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"
#include "fabric/core/starter.h"
#include "fabric/common/opts.h"

#include <stdio.h>

/* --- connections --- */

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
	struct member *m = mesh_member_prove(f, c->peer);
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
	memcpy(m->net, c->net, sizeof(m->net));
	snprintf(m->name, sizeof(m->name), "%s", c->hello.name);
	member_learn_address(m, c);
	if (old) {
		old->member = NULL;
		jconn_close(f, old, NULL);
	}
	forward_begin(f, m);
	mesh_reroute(f);
	if (c->state == JC_UP)
		mesh_peers_send(f);
}

bool mesh_peer_found(struct fabric *f, const struct jconn *c)
{
	struct member *m = c->wanted ? mesh_member(f, c->wanted) : NULL;

	if (!c->wanted || c->wanted == c->peer)
		return c->peer != f->join->id && (!c->wanted || m);
	/*
	 * It is not at that address. A neighbour may have told the address of another fabric, or of
	 * no fabric: that one gets no proof.
	 */
	if (!m || !m->proven)
		return false;
	m->next_try = NEVER;
	/* A member that is connected already needs no second connection. */
	m = mesh_member(f, c->peer);
	return c->peer != f->join->id && !(m && m->conn);
}

void mesh_conn_down(struct fabric *f, struct jconn *c)
{
	struct member *m = c->member && c->member->conn == c ? c->member : NULL;
	struct target *t;

	if (c->target) {
		t = &f->join->target[c->target - 1];
		mesh_target_retry(t, t->refused[0] ? JOIN_REFUSED_NS : 0);
	}
	if (!m)
		return;
	m->conn = NULL;
	mesh_peers_forget(f, c);
	mesh_reroute(f);
	if (c->out && !c->target && m->addr.port)
		mesh_member_retry(m, real_ns());
	mesh_peers_send(f);
}

void mesh_conn_refused(struct fabric *f, struct jconn *c, const char *why)
{
	struct target *t = c->target ? &f->join->target[c->target - 1] : NULL;
	struct member *m = c->wanted ? mesh_member(f, c->wanted) : NULL;
	char line[JOIN_TEXT + 40];
	bool proven = c->state == JC_UP;

	snprintf(line, sizeof(line), "%s: %s", proven ? "we are refused" : "somebody there refuses",
		 why);
	if (t)
		snprintf(t->refused, sizeof(t->refused), "%s%s",
			 proven ? "refused: " : "somebody there refuses: ", why);
	jconn_close(f, c, line);
	if (m && !m->conn)
		m->next_try = real_ns() + JOIN_REFUSED_NS;
}

/* --- the loop --- */

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
	if (c->state == JC_UP && now >= c->sent_at + JOIN_PING_NS && jconn_idle(c)) {
		(void)jconn_send(f, c, JT_PING, f->join->id, c->peer, NULL, 0);
		c->sent_at = now;
	}
	if (!jconn_idle(c) && !c->want_write)
		jconn_flush(f, c);
	else if (jconn_idle(c))
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
			mesh_dial_member(f, m, now);
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
		m = j->target[i].id ? mesh_member(f, j->target[i].id) : NULL;
		up += m && m->ready;
		if (!j->target[i].refused[0])
			continue;
		starter_report_failure(f, "cannot start: join %s:%s: %s", j->target[i].host,
				       j->target[i].port, j->target[i].refused);
		j->ready_by = NEVER;
		f->leaving = true;
		return;
	}
	if (up < j->n_targets && now < j->ready_by)
		return;
	for (i = 0; i < j->n_targets && up < j->n_targets; i++) {
		m = j->target[i].id ? mesh_member(f, j->target[i].id) : NULL;
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

/* When to connect next: connections that were just closed may have set that. */
static u64 mesh_next_dial(const struct join *j)
{
	u64 next = NEVER;
	u32 i;

	for (i = 0; i < j->n_targets; i++)
		next = min_u64(next, j->target[i].next_try);
	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i] && !j->member[i]->conn)
			next = min_u64(next, j->member[i]->next_try);
	return next;
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
	j->n_ticks++;
	mesh_members_sweep(f);
	if (j->ready_by != NEVER)
		mesh_report_starter(f, now);
	next = min_u64(j->ready_by, admission_tick(f, now));
	next = min_u64(next, forward_tick(f, now));
	for (i = 0; i < j->n_targets; i++)
		if (now >= j->target[i].next_try)
			mesh_dial_target(f, &j->target[i]);
	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i])
			next = min_u64(next, mesh_tick_member(f, j->member[i], now));
	for (i = 0; i < j->n_conns; i++)
		if (j->conn[i].state != JC_FREE)
			next = min_u64(next, mesh_tick_conn(f, &j->conn[i], now));
	return j->due ? now : min_u64(next, mesh_next_dial(j));
}
