/* SPDX-License-Identifier: MIT */
/*
 * Random commands of connection management, from several programs on two nodes, while ports and
 * routes change and programs die. HCA memory stays consistent, and no object is left.
 */
#include "emulator/tab.h"
#include "emulator/verbs/port.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cmid.h"

#include <stdlib.h>

#define CLIENTS 4u
#define TRIED	32u

static struct emu *m;
static u64 rnd;
static u32 ids[TRIED], chans[TRIED];
static u32 n_ids, n_chans;
static bool deaths;

static u32 pick(u32 n)
{
	return (u32)(emu_rnd(&rnd) >> 33) % n;
}

static struct cm_addr any_addr(void)
{
	static const char *const ips[] = { "192.0.2.1", "192.0.2.2", "127.0.0.1",    "0.0.0.0",
					   "::",	"::1",	     "2001:db8::1",  "2001:db8::2",
					   "224.1.2.3", "ff12::5",   "198.51.100.7", "203.0.113.9",
					   "fe80::7%3", "fe80::7" };
	struct cm_addr a = emu_ip(ips[pick(pick(3) ? 2 : ARRAY_SIZE(ips))], (u16)(7000 + pick(2)));

	if (!pick(4))
		a.port = 0;
	if (!pick(20))
		a.family = (u16)pick(12);
	if (!pick(20))
		a.ip[pick(16)] = (u8)pick(256);
	return a;
}

static void any_path(u8 *p)
{
	u32 flags = 0x2b, i;

	for (i = 0; i < CM_PATH_DATA; i++)
		p[i] = (u8)pick(256);
	if (pick(4))
		memcpy(p, &flags, sizeof(flags));
	if (pick(4))
		memcpy(p + 16, m->hca->dev[pick(2)].port[1].gid[0].raw, 16);
}

/* Noise, and over it what mostly makes sense. */
static void fill(u32 op, struct cmd_cm *c)
{
	static const u32 spaces[] = { CM_PS_TCP, CM_PS_TCP, CM_PS_UDP, CM_PS_IPOIB, CM_PS_IB, 7 };
	u8 *p = (u8 *)c;
	u32 i;

	for (i = 0; i < sizeof(*c); i++)
		p[i] = (u8)pick(256);
	if (!pick(16))
		return;
	c->chan = pick(64);
	c->uid = pick(16);
	c->ps = spaces[pick(ARRAY_SIZE(spaces))];
	c->qp_type = pick(12);
	c->backlog = pick(8);
	c->timeout_ms = pick(8);
	c->level = pick(3);
	c->optname = pick(5);
	c->optlen = pick(4) ? (pick(2) ? 4 : 1) : pick(400);
	c->event = pick(2) ? EV_COMM_EST : pick(20);
	c->reason = pick(2) ? 0 : pick(40);
	c->flags = pick(3);
	c->has_param = pick(4);
	c->src = any_addr();
	if (op == CMD_CM_RESOLVE_ADDR && pick(4))
		c->src.family = 0;
	c->dst = any_addr();
	c->context = pick(3);
	c->qp_state = pick(9);
	if (op == CMD_CM_SET_OPTION && c->level == 1) {
		c->optlen = CM_PATH_DATA * (1 + pick(4));
		for (i = 0; i < 4; i++)
			any_path(c->opt + i * CM_PATH_DATA);
	} else if (pick(8)) {
		c->param.data_len = (u8)pick(60);
		c->param.qpn = pick(100);
	}
}

static void note(u32 *list, u32 *n, u32 handle)
{
	if (*n < TRIED)
		list[(*n)++] = handle;
	else
		list[pick(TRIED)] = handle;
}

/* A command that is usually valid next for an identifier. */
static u32 sensible(const struct hca_cmid *id)
{
	static const u32 idle[] = { CMD_CM_RESOLVE_ADDR, CMD_CM_RESOLVE_ADDR, CMD_CM_BIND };
	static const u32 bound[] = { CMD_CM_LISTEN, CMD_CM_JOIN, CMD_CM_RESOLVE_ADDR };
	static const u32 resolved[] = { CMD_CM_RESOLVE_ROUTE, CMD_CM_RESOLVE_ROUTE,
					CMD_CM_SET_OPTION, CMD_CM_JOIN };
	static const u32 up[] = { CMD_CM_ACCEPT, CMD_CM_ACCEPT, CMD_CM_ACCEPT,	  CMD_CM_DISCONNECT,
				  CMD_CM_REJECT, CMD_CM_NOTIFY, CMD_CM_MIGRATE_ID };

	switch (id->state) {
	case CM_IDLE:
		return idle[pick(ARRAY_SIZE(idle))];
	case CM_ADDR_BOUND:
		return bound[pick(ARRAY_SIZE(bound))];
	case CM_ADDR_RESOLVED:
		return resolved[pick(ARRAY_SIZE(resolved))];
	case CM_ROUTE_RESOLVED:
		return CMD_CM_CONNECT;
	case CM_LISTEN:
		return CMD_CM_CREATE_ID;
	default:
		return up[pick(ARRAY_SIZE(up))];
	}
}

/* Whose a handle is, or anybody. */
static u32 owner(enum hca_table t, u32 handle)
{
	const struct hca_obj *o = handle < tab_max(t) ? tab_at(m->hca, t, handle) : NULL;

	return o && o->client && o->client <= CLIENTS && pick(30) ? o->client - 1 : pick(CLIENTS);
}

/* The channel is one of the program's, as a rule. */
static u32 chan_of(u32 client)
{
	u32 i, from = pick(n_chans);

	for (i = 0; i < n_chans && pick(60); i++)
		if (m->hca->cmch[chans[(from + i) % n_chans]].client == client + 1)
			return chans[(from + i) % n_chans];
	return chans[from];
}

/* Usually an existing identifier. */
static u32 live_id(void)
{
	u32 tries, handle = 0;

	for (tries = 0; n_ids && tries < 20 && !m->hca->cmid[handle].client; tries++)
		handle = ids[pick(n_ids)];
	return handle;
}

static u32 any_op(u32 *handle)
{
	u32 op = CMD_CM_OPEN_CHAN + pick(CMD_CM_FIND_ADDR - CMD_CM_OPEN_CHAN + 1);

	/* Not too many end before they have begun. */
	if ((op == CMD_CM_DESTROY_ID || op == CMD_CM_CLOSE_CHAN) && pick(4))
		op = CMD_CM_GET_EVENT;
	*handle = live_id();
	if (!pick(4))
		op = CMD_CM_GET_EVENT;
	else if (n_ids && pick(4))
		op = sensible(&m->hca->cmid[*handle]);
	if (op == CMD_CM_CLOSE_CHAN || op == CMD_CM_GET_EVENT)
		*handle = n_chans ? chans[pick(n_chans)] : 0;
	if (!pick(50))
		*handle = pick(2) ? pick(200) : (u32)emu_rnd(&rnd);
	return op;
}

/* @by: the client, or CLIENTS: whoever has what it is about. */
static void command(u32 by)
{
	struct hca_cmd cmd = { 0 };
	u32 op = cmd.op = any_op(&cmd.handle), client = pick(CLIENTS);

	if (op == CMD_CM_CLOSE_CHAN || op == CMD_CM_GET_EVENT)
		client = owner(TAB_CMCH, cmd.handle);
	else if (op != CMD_CM_OPEN_CHAN && op != CMD_CM_CREATE_ID)
		client = owner(TAB_CMID, cmd.handle);
	if (by < CLIENTS && client != by)
		return;
	fill(op, &cmd.cm);
	if (n_chans && pick(20))
		cmd.cm.ch = chan_of(client);
	if (emu_cmd(m, client, &cmd))
		return;
	if (op == CMD_CM_OPEN_CHAN)
		note(chans, &n_chans, cmd.handle);
	if (op == CMD_CM_CREATE_ID)
		note(ids, &n_ids, cmd.handle);
	if (op == CMD_CM_GET_EVENT && cmd.cm.ev.type == CM_EV_CONNECT_REQUEST)
		note(ids, &n_ids, cmd.cm.ev.id);
}

static void by_fabric(void (*fn)(void))
{
	CU_ASSERT_EQUAL_FATAL(engine_enter(&m->fabric), 0);
	fn();
	engine_leave(&m->fabric);
}

static void port_changes(void)
{
	u32 dev = pick(2);

	if (pick(2))
		port_set_state(&m->fabric, dev, 1, pick(8) ? PORT_ACTIVE : PORT_DOWN);
	else
		port_set_pkey(&m->fabric, dev, 1, pick(2), pick(8) ? 0xffff : 0);
}

static void fatal_commands(struct emu *unused, void *arg)
{
	u32 i;

	(void)unused;
	(void)arg;
	for (i = 0; i < 12; i++)
		command(0);
}

/* Client 0 dies in the middle of something: of a command, mostly, or of several. */
static void die(void)
{
	long n = 1 + pick(pick(8) ? 2000 : 20000);
	u32 i, before = pick(12);
	bool died;

	for (i = 0; i < before; i++)
		command(0);
	died = emu_die_in(m, fatal_commands, NULL, n);
	CU_ASSERT_FATAL(emu_sound(m) || died);
	if (!died)
		return;
	emu_reap(m);
	CU_ASSERT_FATAL(emu_sound(m));
	emu_client_new(m, 0);
}

static u32 victim;

static void reap(void)
{
	engine_reap(&m->fabric, victim);
}

static void step(void)
{
	switch (pick(200)) {
	case 0:
		by_fabric(port_changes);
		break;
	case 1:
		if (pick(10))
			break;
		victim = pick(CLIENTS);
		by_fabric(reap);
		CU_ASSERT_FATAL(emu_sound(m));
		emu_client_new(m, victim);
		break;
	case 2:
	case 3:
		emu_run(m, m->clock + (u64)pick(1 << 30) * 32);
		break;
	case 4:
		if (deaths && !pick(2))
			die();
		break;
	default:
		command(CLIENTS);
	}
}

static void walk(u64 seed, u32 steps)
{
	u32 i;

	m = emu_fabric(seed);
	m->hca->client[3].node = 1;
	rnd = seed | 1;
	n_ids = n_chans = 0;
	for (i = 0; i < steps; i++) {
		step();
		CU_ASSERT_FATAL(emu_sound(m));
	}
	for (victim = 0; victim < CLIENTS; victim++)
		by_fabric(reap);
	CU_ASSERT_TRUE(emu_run(m, ~0ULL));
	for (i = TAB_CMCH; i <= TAB_CMMC; i++)
		CU_ASSERT_EQUAL(m->hca->tab[i].n, 0);
	CU_ASSERT_TRUE(emu_sound(m));
	emu_free(m);
}

static void test_any(void)
{
	u64 seed;

	for (seed = 1; seed <= 8; seed++)
		walk(seed, emu_walk_steps(20000));
}

/* Programs die in the middle of their commands. */
static void test_deaths(void)
{
	u64 seed;

	deaths = true;
	for (seed = 21; seed <= 22; seed++)
		walk(seed, emu_walk_steps(15000));
	deaths = false;
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "any content", test_any },
		{ "any content, and deaths", test_deaths },
		{ NULL, NULL },
	};

	return cu_run("cmcmds", tests);
}
