/* SPDX-License-Identifier: MIT */
/*
 * Events of connection management: order, channels, backlogs, and the death of a client that is
 * adding one.
 */
#include "tests/lib/engine/deaths.h"
#include "tests/lib/engine/emu_cmid.h"

#include <stdio.h>
#include <stdlib.h>

#define SEC 1000000000ULL

static struct emu *m;
static u32 ch;

static void begin(void)
{
	m = emu_fabric(1);
	ch = emu_chan(m, 1, 1);
}

static void end(void)
{
	CU_ASSERT_TRUE(emu_sound(m));
	emu_free(m);
}

static u32 tcp(u64 uid)
{
	return emu_id_new(m, 1, ch, CM_PS_TCP, uid);
}

/* As the protocol does, in client @by's process: an event of client 1's identifier. */
static void happens(u32 by, u32 id, u32 state, u32 type, s32 status)
{
	struct engine *e = &m->c[by].e;

	CU_ASSERT_EQUAL_FATAL(engine_enter(e), 0);
	cm_event_raise_status(e, &m->hca->cmid[id], state, CMP_IDLE, type, status);
	engine_leave(e);
}

/* As the protocol does: a request comes to a listener. Return: the new identifier; 0: no room. */
static u32 request(u32 by, u32 listener)
{
	struct cm_event ev = { .type = CM_EV_CONNECT_REQUEST };
	struct engine *e = &m->c[by].e;
	struct hca_cmid *id;
	u32 slot = 0;

	if (engine_enter(e))
		abort();
	id = cmid_child_new(e, &m->hca->cmid[listener]);
	if (id) {
		slot = cmid_slot(m->hca, id);
		cm_event_raise(e, id, CM_CONNECT, CMP_MRA_REQ_SENT, &ev);
	}
	engine_leave(e);
	return slot;
}

static u32 listener(u32 backlog, u64 uid)
{
	struct cmd_cm c = { .backlog = backlog };
	u32 id = tcp(uid);

	if (emu_do(m, 1, CMD_CM_LISTEN, id, &c))
		abort();
	return id;
}

static bool nothing(u32 on)
{
	struct cm_event ev;

	return emu_get(m, 1, on, &ev) == -EAGAIN;
}

static void test_order(void)
{
	struct cmd_cm c;
	u32 a, b;

	begin();
	a = tcp(1);
	b = tcp(2);
	happens(0, a, CM_CONNECT, CM_EV_ESTABLISHED, 0);
	happens(2, b, CM_CONNECT, CM_EV_REJECTED, 28);
	happens(0, a, CM_DISCONNECT, CM_EV_DISCONNECTED, 0);
	happens(1, a, CM_DISCONNECT, CM_EV_TIMEWAIT_EXIT, 0);
	CU_ASSERT_EQUAL(m->c[1].notified, 4);
	CU_ASSERT_EQUAL(m->hca->cmid[a].state, CM_DISCONNECT);
	CU_ASSERT_TRUE(emu_sound(m));
	CU_ASSERT_TRUE(emu_got(m, 1, ch, CM_EV_ESTABLISHED, 1, 0));
	CU_ASSERT_TRUE(emu_got(m, 1, ch, CM_EV_REJECTED, 2, 28));
	CU_ASSERT_TRUE(emu_got(m, 1, ch, CM_EV_DISCONNECTED, 1, 0));
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_DESTROY_ID, a, &c), 0);
	CU_ASSERT_TRUE(c.reported == 2 && c.dropped == 1);
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_DESTROY_ID, a, &c), -EINVAL);
	CU_ASSERT_TRUE(nothing(ch));
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_DESTROY_ID, b, &c), 0);
	CU_ASSERT_TRUE(c.reported == 1 && c.dropped == 0);
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_CLOSE_CHAN, ch, NULL), 0);
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_GET_EVENT, ch, &c), -EINVAL);
	end();
}

/* Requests in the middle of the queue are dropped, too; unaccepted ones cause no event. */
static void test_drop(void)
{
	struct cmd_cm c;
	u32 a, b, none;

	begin();
	a = tcp(1);
	b = tcp(2);
	none = tcp(0);
	for (u32 i = 0; i < 3; i++) {
		happens(0, a, CM_CONNECT, CM_EV_ESTABLISHED, 0);
		happens(0, b, CM_CONNECT, CM_EV_ESTABLISHED, 0);
	}
	happens(0, none, CM_DISCONNECT, CM_EV_DISCONNECTED, 0);
	CU_ASSERT_EQUAL(m->hca->cmid[none].state, CM_DISCONNECT);
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_DESTROY_ID, b, &c), 0);
	CU_ASSERT_EQUAL(c.dropped, 3);
	CU_ASSERT_TRUE(emu_sound(m));
	happens(0, a, CM_CONNECT, CM_EV_DISCONNECTED, 0);
	for (u32 i = 0; i < 3; i++)
		CU_ASSERT_TRUE(emu_got(m, 1, ch, CM_EV_ESTABLISHED, 1, 0));
	CU_ASSERT_TRUE(emu_got(m, 1, ch, CM_EV_DISCONNECTED, 1, 0));
	CU_ASSERT_TRUE(nothing(ch));
	end();
}

static void test_backlog(void)
{
	struct cmd_cm c;
	struct cm_event ev;
	u32 l, id[3];

	begin();
	l = listener(3, 9);
	for (u32 i = 0; i < 3; i++)
		id[i] = request(0, l);
	CU_ASSERT_TRUE(id[0] && id[1] && id[2]);
	CU_ASSERT_EQUAL(request(0, l), 0);
	CU_ASSERT_TRUE(emu_sound(m));
	/* It is nobody's before it was got. */
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_DESTROY_ID, id[0], NULL), -EINVAL);
	CU_ASSERT_EQUAL(emu_get(m, 1, ch, &ev), 0);
	CU_ASSERT_TRUE(ev.type == CM_EV_CONNECT_REQUEST && ev.uid == 9 && ev.listen_id == l);
	CU_ASSERT_EQUAL(ev.id, id[0]);
	/* Which makes room for another. */
	CU_ASSERT_NOT_EQUAL(request(0, l), 0);
	CU_ASSERT_EQUAL(request(0, l), 0);
	/* The listener goes with those that were not got, and not with others. */
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_DESTROY_ID, l, &c), 0);
	CU_ASSERT_TRUE(c.reported == 1 && c.dropped == 3);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_CMID].n, 1);
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_DESTROY_ID, id[0], &c), 0);
	CU_ASSERT_TRUE(c.reported == 0 && c.dropped == 0);
	end();
}

static void test_migrate(void)
{
	struct cmd_cm c = { .ch = 77 };
	u32 to, a, b, l, n;

	begin();
	to = emu_chan(m, 1, 2);
	a = tcp(1);
	b = tcp(2);
	l = listener(8, 3);
	happens(0, a, CM_CONNECT, CM_EV_ESTABLISHED, 0);
	CU_ASSERT_TRUE(emu_got(m, 1, ch, CM_EV_ESTABLISHED, 1, 0));
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_MIGRATE_ID, b, &c), -EINVAL);
	c.ch = to;
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_MIGRATE_ID, b, &c), 0);
	CU_ASSERT_TRUE(c.reported == 0 && c.dropped == 0);
	happens(0, a, CM_CONNECT, CM_EV_DISCONNECTED, 0);
	happens(0, a, CM_CONNECT, CM_EV_TIMEWAIT_EXIT, 0);
	CU_ASSERT_NOT_EQUAL(request(0, l), 0);
	CU_ASSERT_NOT_EQUAL(request(0, l), 0);
	happens(0, b, CM_CONNECT, CM_EV_REJECTED, 8);
	n = m->c[1].notified;
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_MIGRATE_ID, a, &c), 0);
	CU_ASSERT_TRUE(c.reported == 1 && c.dropped == 2);
	CU_ASSERT_EQUAL(m->c[1].notified, n + 2);
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_MIGRATE_ID, l, &c), 0);
	CU_ASSERT_TRUE(c.reported == 0 && c.dropped == 2);
	CU_ASSERT_TRUE(emu_sound(m));
	CU_ASSERT_TRUE(nothing(ch));
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_CLOSE_CHAN, ch, NULL), 0);
	CU_ASSERT_TRUE(emu_got(m, 1, to, CM_EV_REJECTED, 2, 8));
	CU_ASSERT_TRUE(emu_got(m, 1, to, CM_EV_DISCONNECTED, 1, 0));
	CU_ASSERT_TRUE(emu_got(m, 1, to, CM_EV_TIMEWAIT_EXIT, 1, 0));
	CU_ASSERT_TRUE(emu_got(m, 1, to, CM_EV_CONNECT_REQUEST, 3, 0));
	CU_ASSERT_TRUE(emu_got(m, 1, to, CM_EV_CONNECT_REQUEST, 3, 0));
	CU_ASSERT_TRUE(nothing(to));
	end();
}

/* No client has more than half of all. */
static void test_flood(void)
{
	struct cm_event ev;
	u32 a, n = 0;

	begin();
	a = tcp(1);
	for (u32 i = 0; i < CM_CLIENT_EVENTS + 10; i++)
		happens(0, a, i % 2 ? CM_CONNECT : CM_DISCONNECT, CM_EV_ESTABLISHED, 0);
	CU_ASSERT_TRUE(emu_sound(m));
	while (!emu_get(m, 1, ch, &ev))
		n++;
	CU_ASSERT_EQUAL(n, CM_CLIENT_EVENTS);
	end();
}

/* --- deaths: client 0 does something, and dies at any instruction of it --- */

static u32 victim[4];
static u32 notified; /* before the call */

static void make_events(struct emu *emu, void *arg)
{
	(void)emu;
	(void)arg;
	happens(0, victim[0], CM_CONNECT, CM_EV_ESTABLISHED, 0);
	(void)request(0, victim[1]);
	happens(0, victim[0], CM_DISCONNECT, CM_EV_DISCONNECTED, 0);
}

/* Whichever thread died, each event of the others is either absent or complete. */
static int after_maker_death(struct emu *unused, void *arg, bool died)
{
	static const u32 states[] = { CM_ROUTE_RESOLVED, CM_CONNECT, CM_DISCONNECT };
	const struct hca_cmid *id = &m->hca->cmid[victim[0]];
	u32 seen = 0, requests = 0;
	struct cm_event ev;

	(void)unused;
	(void)arg;
	emu_reap(m);
	CU_ASSERT_TRUE(emu_sound(m));
	CU_ASSERT_TRUE(emu_got(m, 1, ch, CM_EV_ROUTE_RESOLVED, 1, 0));
	while (!emu_get(m, 1, ch, &ev)) {
		const bool request_came = ev.type == CM_EV_CONNECT_REQUEST;
		const u32 in_order = seen ? CM_EV_DISCONNECTED : CM_EV_ESTABLISHED;

		CU_ASSERT_TRUE(request_came ? m->hca->cmid[ev.id].state == CM_CONNECT
					    : ev.type == in_order);
		requests += request_came;
		seen += !request_came;
	}
	CU_ASSERT_TRUE(m->c[1].notified >= notified + seen + requests);
	CU_ASSERT_TRUE(seen <= 2 && id->state == states[seen]);
	CU_ASSERT_TRUE(requests <= 1 && (seen < 2 || requests));
	CU_ASSERT_EQUAL(m->hca->tab[TAB_CMID].n, 2 + requests);
	CU_ASSERT_TRUE(died || seen == 2);
	CU_ASSERT_TRUE(request(2, victim[1]) && emu_sound(m));
	return 0;
}

/* All that a program does by itself; and one that listens is left with nothing of it. */
static void live(struct emu *emu, void *arg)
{
	struct cmd_cm c = { .timeout_ms = 1, .ch = victim[1], .backlog = 2 };
	struct cm_event ev;
	u32 id = emu_id_new(emu, 0, victim[0], CM_PS_UDP, 1);

	(void)arg;
	emu_resolve(emu, 0, id, NULL, "192.0.2.2", 7000);
	emu_do(emu, 0, CMD_CM_MIGRATE_ID, id, &c);
	emu_do(emu, 0, CMD_CM_RESOLVE_ROUTE, id, &c);
	emu_get(emu, 0, victim[1], &ev);
	id = emu_id_new(emu, 0, victim[1], CM_PS_UDP, 2);
	emu_bind(emu, 0, id, "192.0.2.1", 7001);
	c = (struct cmd_cm){ .dst = emu_ip("239.1.2.3", 0) };
	emu_do(emu, 0, CMD_CM_JOIN, id, &c);
	emu_do(emu, 0, CMD_CM_LEAVE, id, &c);
	emu_do(emu, 0, CMD_CM_JOIN, id, &c);
	emu_do(emu, 0, CMD_CM_DESTROY_ID, id, &c);
	/* The listener that client 2's requests wait at. */
	c.ch = victim[1];
	emu_do(emu, 0, CMD_CM_MIGRATE_ID, victim[2], &c);
	emu_get(emu, 0, victim[1], &ev);
	emu_get(emu, 0, victim[1], &ev);
	emu_do(emu, 0, CMD_CM_DESTROY_ID, victim[2], &c);
}

static int after_own_death(struct emu *unused, void *arg, bool died)
{
	const u32 *id = arg;
	struct cmd_cm c = { .backlog = 4 };

	(void)unused;
	(void)died;
	emu_reap(m);
	CU_ASSERT_TRUE(emu_sound(m));
	CU_ASSERT_TRUE(m->hca->tab[TAB_CMID].n == 2 && m->hca->tab[TAB_CMEV].n == 0);
	CU_ASSERT_TRUE(m->hca->tab[TAB_CMCH].n == 1 && m->hca->tab[TAB_CMMC].n == 0);
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_LISTEN, id[0], &c), 0);
	CU_ASSERT_EQUAL(emu_bind(m, 1, id[1], "192.0.2.1", 7000), 0);
	CU_ASSERT_TRUE(emu_sound(m));
	return 0;
}

static void deaths(struct emu_deaths *d)
{
	deaths_run(m, d);
	printf("# %u deaths within %ld instructions\n", d->died, d->n);
	end();
}

static void test_maker_dies(void)
{
	struct emu_deaths d = { .call = make_events,
				.after = after_maker_death,
				.step = emu_death_step(17) };

	begin();
	victim[0] = tcp(1);
	victim[1] = listener(4, 2);
	happens(1, victim[0], CM_ROUTE_RESOLVED, CM_EV_ROUTE_RESOLVED, 0);
	notified = m->c[1].notified;
	deaths(&d);
}

static void test_owner_dies(void)
{
	struct cmd_cm c = { .backlog = 4 };
	u32 survivors[2];
	struct emu_deaths d = { .call = live,
				.after = after_own_death,
				.arg = survivors,
				.step = emu_death_step(149) };

	begin();
	victim[0] = emu_chan(m, 0, 1);
	victim[1] = emu_chan(m, 0, 2);
	victim[2] = emu_id_new(m, 0, victim[0], CM_PS_TCP, 3);
	/* Client 1 shares the victim's port numbers. */
	emu_option(m, 0, victim[2], 1, 1, 4);
	emu_bind(m, 0, victim[2], "192.0.2.1", 7000);
	emu_do(m, 0, CMD_CM_LISTEN, victim[2], &c);
	survivors[0] = tcp(1);
	survivors[1] = tcp(2);
	emu_bind(m, 1, survivors[0], "198.51.100.7", 7000);
	for (u32 i = 0; i < 3; i++)
		if (!request(2, victim[2]))
			abort();
	deaths(&d);
}

/* With chaos: events are reported late, in order, and each wakes a reader. */
static void test_late(void)
{
	struct cmd_cm c;
	u32 a, b, other;
	u64 was;

	begin();
	m->hca->chaos = 1;
	m->hca->chaos_seed = 7;
	other = emu_chan(m, 1, 2);
	a = tcp(1);
	b = tcp(2);
	was = m->clock;
	for (u32 i = 0; i < 20; i++)
		happens(i % 3, i % 2 ? a : b, CM_CONNECT, CM_EV_ESTABLISHED, 0);
	CU_ASSERT_TRUE(nothing(ch) && m->c[1].notified == 0);
	CU_ASSERT_EQUAL(m->hca->cmid[a].state, CM_CONNECT);
	CU_ASSERT_TRUE(emu_sound(m));
	/*
	 * Those of which nobody was told are not counted when they go with their identifier, or
	 * elsewhere.
	 */
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_DESTROY_ID, b, &c), 0);
	CU_ASSERT_EQUAL(c.dropped, 0);
	c = (struct cmd_cm){ .ch = other };
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_MIGRATE_ID, a, &c), 0);
	CU_ASSERT_TRUE(c.dropped == 0 && emu_sound(m));
	CU_ASSERT_TRUE(emu_run(m, m->clock + SEC));
	CU_ASSERT_TRUE(m->clock > was && m->c[1].notified == 10);
	for (u32 i = 0; i < 10; i++)
		CU_ASSERT_TRUE(emu_got(m, 1, other, CM_EV_ESTABLISHED, 1, 0));
	CU_ASSERT_TRUE(nothing(other));
	/* Behind one that is late nothing is there either. */
	m->hca->chaos = 0;
	happens(0, a, CM_CONNECT, CM_EV_DISCONNECTED, 0);
	m->hca->chaos = 1;
	happens(0, a, CM_CONNECT, CM_EV_TIMEWAIT_EXIT, 0);
	m->hca->chaos = 0;
	happens(0, a, CM_CONNECT, CM_EV_ADDR_CHANGE, 0);
	m->hca->chaos = 1;
	CU_ASSERT_EQUAL(m->c[1].notified, 11);
	CU_ASSERT_TRUE(emu_got(m, 1, other, CM_EV_DISCONNECTED, 1, 0));
	CU_ASSERT_TRUE(nothing(other));
	CU_ASSERT_TRUE(emu_run(m, m->clock + SEC));
	CU_ASSERT_EQUAL(m->c[1].notified, 13);
	CU_ASSERT_TRUE(emu_got(m, 1, other, CM_EV_TIMEWAIT_EXIT, 1, 0));
	CU_ASSERT_TRUE(emu_got(m, 1, other, CM_EV_ADDR_CHANGE, 1, 0));
	CU_ASSERT_TRUE(nothing(other));
	end();
}

static const struct cu_test tests[] = {
	{ "in order, and counted", test_order },
	{ "unread ones go with their identifier", test_drop },
	{ "the backlog", test_backlog },
	{ "migration", test_migrate },
	{ "there is a limit", test_flood },
	{ "late ones", test_late },
	{ "who makes one dies", test_maker_dies },
	{ "who has identifiers dies", test_owner_dies },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("connection events", tests);
}
