/* SPDX-License-Identifier: MIT */
/**
 * DOC: sessions: from when on what a member sends is counted.
 *
 * Theory of operation
 * -------------------
 * What goes from one member to another is a stream of frames, of which parts get lost with the
 * connections that carry it. A session is a stretch of it of which nothing is lost: its sender begins
 * it with BEGIN and a number, then come all tables, then bursts. Both sides count the bytes of bursts
 * from BEGIN on, each at its own time, so it does not matter what was under way before. A credit
 * names the session that it was counted in: one of an earlier session is passed over.
 *
 * The two directions have nothing to do with each other: BEGIN is answered by nothing, so two that
 * begin at the same time are done with it. Who takes a new way is deaf until BEGIN comes on it, and
 * ASKs for that where the other side may not have noticed.
 *
 * Nobody waits for the other side without a deadline. Tables that do not come are asked for again. A
 * sender who gets no credit for as long as a connection may be silent takes it for lost, and begins
 * anew: what waits on the other side is lost, and queue pairs send again, or give up.
 */
#include "fabric/join/mesh.h"

/* What is sent to @m counts from now on. Queue pairs that wait for credit go on. */
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
	/* Else when it is ready: what is sent to who is not is lost. */
	if (m->ready)
		wait_ring_all(f);
}

/* What comes from @m counts from now on. */
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
	/* Where there is no room it is asked again. */
	(void)jconn_send(f, m->via, JT_ASK, f->join->id, m->id, NULL, 0);
}

void session_route(struct fabric *f, struct member *m)
{
	session_restart_input(m, 0);
	m->ready = false;
	m->asked_at = real_ns();
	/* On a connection of our own it begins by itself. */
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
	else
		session_begin(f, m);
	return NULL;
}

bool session_accepts(const struct member *m, u8 type)
{
	if (m->heard)
		return true;
	return type != JT_NODE && type != JT_DEV && type != JT_READY && type != JT_BURST &&
	       type != JT_CREDIT;
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
