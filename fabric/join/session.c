/* SPDX-License-Identifier: MIT */
/**
 * DOC: sessions: from when on both sides count what a member sends.
 *
 * The frames from one member to another are a stream, parts of which are lost with the connections
 * that carry it. A session is a part of the stream without losses. Its sender starts it with BEGIN
 * and a number, then sends all tables, then bursts. Both sides count the bytes of bursts from BEGIN
 * on, each when it sends or receives them, so frames that were on their way before do not matter. A
 * credit names the session that it was counted in; credit of an earlier session is ignored.
 *
 * The two directions are independent, and BEGIN has no answer: two members may begin at the same
 * time. A member that takes a new route ignores frames until BEGIN comes on it, and sends ASK for
 * that where the other side may not have noticed the new route.
 *
 * Every wait has a deadline. A member asks again for tables that do not come. A sender that gets no
 * credit for as long as a connection may be silent takes the credit for lost and begins a new
 * session: frames that wait on the other side are lost, and queue pairs retransmit, or give up.
 */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#include <stdio.h>

/* A session begins with all tables. A member asks at most once in JOIN_SILENT_NS for each route. */
#define ASKS_PER_S 2u
#define ASKS_BURST 16u

/* Begin a session to @m. Queue pairs that wait for credit continue. */
static void session_begin(struct fabric *f, struct member *m)
{
	u8 body[JOIN_BEGIN];
	struct jlane *l;

	m->session++;
	for (l = m->lane; l < m->lane + LANES; l++) {
		l->sent = l->dry_at = 0;
		l->limit = JOIN_WINDOW;
	}
	join_u64_put(body, m->session);
	if (jconn_send(f, m->via, JT_BEGIN, f->join->id, m->id, body, sizeof(body))) {
		jconn_close(f, m->via, "it reads no tables");
		return;
	}
	tables_send_all(f, m);
	/*
	 * Otherwise they continue when it is ready: bursts to a member that is not ready are lost.
	 */
	if (m->ready)
		wait_ring_all(f);
}

/* Count what comes from @m from now on, as session @session; 0: it has not begun. */
static void session_restart_input(struct member *m, u64 session)
{
	struct jlane *l;

	m->heard = session;
	m->incoming.n_devs = m->incoming.got = 0;
	for (l = m->lane; l < m->lane + LANES; l++) {
		l->taken = 0;
		l->granted = JOIN_WINDOW;
		l->head = l->tail = 0;
	}
}

static void session_ask(struct fabric *f, struct member *m)
{
	m->asked_at = real_ns();
	/* If there is no room, session_tick() asks again. */
	(void)jconn_send(f, m->via, JT_ASK, f->join->id, m->id, NULL, 0);
}

void session_route(struct fabric *f, struct member *m)
{
	session_restart_input(m, 0);
	m->ready = false;
	m->asked_at = real_ns();
	/* On its own connection the other side begins by itself. */
	if (m->via != m->conn)
		session_ask(f, m);
	session_begin(f, m);
}

const char *session_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len)
{
	if (len != (type == JT_BEGIN ? JOIN_BEGIN : 0) || (len && !join_u64_get(body)))
		return "malformed session";
	if (type == JT_BEGIN)
		session_restart_input(m, join_u64_get(body));
	else if (admission_allows(&m->asks, ASKS_PER_S, ASKS_BURST))
		session_begin(f, m);
	return NULL;
}

bool session_accepts(const struct member *m, u8 type)
{
	if (m->refused_until && real_ns() < m->refused_until)
		return type == JT_BYE;
	if (m->heard)
		return true;
	return type != JT_NODE && type != JT_DEV && type != JT_READY && type != JT_BURST &&
	       type != JT_CREDIT && type != JT_PROBE && type != JT_PROBED;
}

/* Bursts to and from @m are lost for as long as a refused fabric waits; then it is asked again. */
static void session_suspend(struct member *m)
{
	m->ready = false;
	m->asked_at = real_ns() + JOIN_REFUSED_NS - JOIN_SILENT_NS;
	session_restart_input(m, 0);
}

static void session_note(struct fabric *f, const struct member *m, const char *what,
			 const char *why)
{
	char who[JOIN_NAME + sizeof(m->via->who) + 8], line[JOIN_TEXT + 32];

	snprintf(who, sizeof(who), "%s by %s", m->name, m->via->who);
	snprintf(line, sizeof(line), "%s: %s", what, why);
	admission_note(f, who, line);
}

void session_refuse(struct fabric *f, struct member *m, const char *why)
{
	f->join->n_turned_away++;
	session_note(f, m, "turned away", why);
	(void)jconn_send(f, m->via, JT_REFUSE, f->join->id, m->id, why, (u32)strlen(why));
	session_suspend(m);
	m->refused_until = real_ns() + JOIN_REFUSED_NS;
}

void session_refused(struct fabric *f, struct member *m, const char *why)
{
	session_note(f, m, "we are refused", why);
	session_suspend(m);
}

u64 session_tick(struct fabric *f, struct member *m, u64 now)
{
	u64 since = NEVER;
	u32 i;

	if (!m->ready) {
		if (now >= m->asked_at + JOIN_SILENT_NS)
			session_ask(f, m);
		return m->asked_at + JOIN_SILENT_NS;
	}
	for (i = 0; i < LANES; i++)
		if (m->lane[i].dry_at)
			since = min_u64(since, m->lane[i].dry_at);
	if (since == NEVER)
		return NEVER;
	if (now < since + JOIN_SILENT_NS)
		return since + JOIN_SILENT_NS;
	fabric_note(f, "join: %s grants no credit: data on its way to it is discarded", m->name);
	session_begin(f, m);
	return NEVER;
}
