/* SPDX-License-Identifier: MIT */
/* Connection management with many nodes, timers and groups. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cm.h"
#include "tests/lib/engine/emu_cmid.h"

static struct emu *m;
static u32 ch;

static void begin(void)
{
	m = emu_fabric(1);
	ch = emu_chan(m, 0, 1);
}

static void end(void)
{
	CU_ASSERT_TRUE(emu_sound(m));
	emu_free(m);
}

static struct hca_cmid *listener(const char *ip, u32 port, u32 dev)
{
	struct cm_addr to = emu_ip(ip, (u16)port);

	return cm_listener_find(m->hca, dev, CM_PS_TCP, &to);
}

/* A port number of two nodes, and one that the table has in the same place. */
static void test_ports(void)
{
	u16 alike = (u16)(7000 + cm_port_slot(0, 0) - cm_port_slot(1, 0));
	struct cmd_cm c = { .backlog = 5 };
	u32 a, b, d, other;
	struct hca *h;

	begin();
	h = m->hca;
	h->client[m->c[1].id].node = 1;
	other = emu_chan(m, 1, 1);
	a = emu_id_new(m, 0, ch, CM_PS_TCP, 1);
	b = emu_id_new(m, 1, other, CM_PS_TCP, 2);
	d = emu_id_new(m, 1, other, CM_PS_TCP, 3);
	CU_ASSERT_EQUAL(emu_bind(m, 0, a, "0.0.0.0", 7000), 0);
	CU_ASSERT_EQUAL(emu_bind(m, 1, b, "0.0.0.0", 7000), 0);
	CU_ASSERT_EQUAL(emu_bind(m, 1, d, "0.0.0.0", alike), 0);
	CU_ASSERT_NOT_EQUAL(cm_port_slot(0, 7000), cm_port_slot(1, 7000));
	CU_ASSERT_EQUAL(cm_port_slot(0, 7000), cm_port_slot(1, alike));
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_LISTEN, a, &c), 0);
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_LISTEN, d, &c), 0);
	CU_ASSERT_FALSE(cm_port_has_listener(h, 1, CM_PS_TCP, 7000));
	CU_ASSERT_FALSE(cm_port_has_listener(h, 0, CM_PS_TCP, alike));
	CU_ASSERT_PTR_NULL(listener("192.0.2.2", 7000, 1));
	CU_ASSERT_PTR_NULL(listener("192.0.2.1", alike, 0));
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_LISTEN, b, &c), 0);
	CU_ASSERT_PTR_EQUAL(listener("192.0.2.1", 7000, 0), &h->cmid[a]);
	CU_ASSERT_PTR_EQUAL(listener("192.0.2.2", 7000, 1), &h->cmid[b]);
	CU_ASSERT_PTR_EQUAL(listener("192.0.2.2", alike, 1), &h->cmid[d]);
	CU_ASSERT_TRUE(emu_sound(m));
	cm_ports_rebuild(h);
	CU_ASSERT_PTR_EQUAL(listener("192.0.2.2", alike, 1), &h->cmid[d]);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_DESTROY_ID, a, NULL), 0);
	CU_ASSERT_PTR_NULL(listener("192.0.2.1", 7000, 0));
	CU_ASSERT_PTR_EQUAL(listener("192.0.2.2", alike, 1), &h->cmid[d]);
	end();
}

/* What ends together takes several holdings, and all of it ends. */
static void test_timers(void)
{
	enum { N = 1000 };
	static struct emu_id a[N], b[N];
	struct emu_cm *c = emu_cm_new(1, CM_PS_TCP, 0);
	struct hca *h = c->m->hca;
	u32 i, rounds = 0, left = N, before;

	for (i = 0; i < N; i++)
		CU_ASSERT_FATAL(emu_cm_pair(c, &a[i], &b[i]));
	for (i = 0; i < N; i++) {
		CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &a[i]), 0);
		CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &b[i]), 0);
	}
	for (i = 0; i < N; i++)
		CU_ASSERT_EQUAL(emu_cmid(c->m, &a[i])->proto, CMP_TIMEWAIT);
	c->m->clock += 1000000000000ULL;
	while (left && rounds++ < 100) {
		before = left;
		CU_ASSERT_EQUAL(engine_enter(&c->m->fabric), 0);
		engine_timers(&c->m->fabric);
		engine_leave(&c->m->fabric);
		for (left = 0, i = 0; i < N; i++)
			left += emu_cmid(c->m, &a[i])->proto != CMP_IDLE;
		CU_ASSERT_TRUE(left < before && before - left <= 300);
		CU_ASSERT_TRUE(!left || h->next_deadline <= c->m->clock);
	}
	CU_ASSERT_EQUAL(left, 0);
	CU_ASSERT_TRUE(rounds > 3);
	CU_ASSERT_TRUE(emu_cm_audit(c->m));
	emu_cm_free(c);
}

static int join(u32 id, u32 n)
{
	struct cmd_cm c = { .dst = emu_ip("239.0.0.0", 0), .context = n };

	c.dst.ip[14] = (u8)(n >> 8);
	c.dst.ip[15] = (u8)n;
	return emu_do(m, 0, CMD_CM_JOIN, id, &c);
}

static int leave(u32 id, u32 n)
{
	struct cmd_cm c = { .dst = emu_ip("239.0.0.0", 0), .context = n };

	c.dst.ip[14] = (u8)(n >> 8);
	c.dst.ip[15] = (u8)n;
	return emu_do(m, 0, CMD_CM_LEAVE, id, &c);
}

/* Two identifiers with many groups: each has its own, and they are found after a holder's death. */
static void test_groups(void)
{
	enum { N = 4000 };
	u32 id[2], i;
	struct hca *h;

	begin();
	h = m->hca;
	for (i = 0; i < 2; i++) {
		id[i] = emu_id_new(m, 0, ch, CM_PS_UDP, i + 1);
		CU_ASSERT_EQUAL(emu_bind(m, 0, id[i], "192.0.2.1", 0), 0);
	}
	for (i = 0; i < N; i++)
		CU_ASSERT_EQUAL(join(id[i % 2], i), 0);
	CU_ASSERT_EQUAL(h->tab[TAB_CMMC].n, N);
	CU_ASSERT_EQUAL(leave(id[0], 1), -EADDRNOTAVAIL);
	for (i = 0; i < N; i += 3)
		CU_ASSERT_EQUAL(leave(id[i % 2], i), 0);
	CU_ASSERT_EQUAL(leave(id[0], 0), -EADDRNOTAVAIL);
	CU_ASSERT_TRUE(emu_sound(m));
	/* In the middle of a change. */
	h->cmid[id[0]].groups = 0;
	CU_ASSERT_EQUAL(engine_enter(&m->c[1].e), 0);
	CU_ASSERT_TRUE(engine_steal(&m->fabric, m->c[1].e.token));
	engine_leave(&m->fabric);
	CU_ASSERT_TRUE(emu_sound(m));
	CU_ASSERT_EQUAL(leave(id[0], 2), 0);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_DESTROY_ID, id[0], NULL), 0);
	CU_ASSERT_EQUAL(leave(id[1], 1), 0);
	for (i = 0; i < h->tab[TAB_CMMC].high; i++)
		CU_ASSERT_TRUE(!h->cmmc[i].client || h->cmmc[i].id == id[1]);
	CU_ASSERT_TRUE(emu_sound(m));
	CU_ASSERT_EQUAL(engine_enter(&m->fabric), 0);
	engine_reap(&m->fabric, m->c[0].id);
	engine_leave(&m->fabric);
	CU_ASSERT_EQUAL(h->tab[TAB_CMMC].n, 0);
	end();
}

static const struct cu_test tests[] = {
	{ "one port number on two nodes", test_ports },
	{ "timers that end together", test_timers },
	{ "many groups", test_groups },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("cmscale", tests);
}
