/* SPDX-License-Identifier: MIT */
/**
 * DOC: two connected queue pairs, and a rule about one work request of theirs.
 */
#ifndef TESTS_UNIT_EMULATOR_TRANSPORT_WC_RULE_H
#define TESTS_UNIT_EMULATOR_TRANSPORT_WC_RULE_H

#include "emulator/audit/audit.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp a, b;

/* The rule of a test: work request @id, or receive @id, ends with @status. */
static struct {
	bool recv;
	u64 id;
	u32 status;
	u32 asked; /* how often the engine asked about @id */
	u32 later; /* and about requests after it */
	u64 hold_ns; /* it is deferred */
	u32 hold_posts;
} rule;

static inline u32 decide(struct emu *e, struct hca_work *w)
{
	(void)e;
	if (w->recv != rule.recv)
		return 0;
	rule.later += w->wr_id > rule.id;
	if (w->wr_id != rule.id)
		return 0;
	rule.asked++;
	w->rule = 77;
	w->hold_ns = rule.hold_ns;
	w->hold_posts = rule.hold_posts;
	return rule.status;
}

static inline void up(u32 type, bool recv, u64 id, u32 status)
{
	struct emu_conn o = emu_conn_defaults;

	o.type = type;
	o.mtu = 1;
	rule.recv = recv;
	rule.id = id;
	rule.status = status;
	rule.asked = rule.later = rule.hold_posts = 0;
	rule.hold_ns = 0;
	m = emu_new(1);
	emu_fault(m, decide);
	emu_connect(m, 0, 1, &o, &a, &b);
	for (u32 i = 1; i <= 4; i++)
		emu_recv(m, &b, 100 + i, m->c[1].mem + 65536 + i * 4096, 4096);
}

static inline void down(void)
{
	char why[200] = "";

	CU_ASSERT_FALSE(hca_audit(m->hca, why, sizeof(why)));
	if (why[0])
		printf("# audit: %s\n", why);
	emu_free(m);
}

/* The next completion: its status, with @id as its work request; 255: none, 254: of another one. */
static inline u32 ends(struct emu_cq *cq, u64 id)
{
	struct cqe c;

	if (!emu_poll(m, cq, &c, NULL))
		return 255;
	return c.wr_id == id ? c.status : 254;
}

static inline void post(u32 opcode, u64 id, u32 len)
{
	struct sq_wqe *w = emu_post(m, &a, opcode, id, m->c[0].mem, len);

	emu_remote(m, w, 1, m->c[1].mem);
}

#endif
