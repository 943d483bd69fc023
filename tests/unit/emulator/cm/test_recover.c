/* SPDX-License-Identifier: MIT */
/*
 * A program dies at any instruction of its CM calls, which also run the other side's part. The
 * other side has the right event, once; nothing of the dead program is left, and the next program
 * finds consistent state.
 */
#include "tests/lib/engine/deaths.h"
#include "tests/lib/engine/emu_cm.h"

#include <stdlib.h>

/** enum phase - how far the connection had got before the fatal call. */
enum phase {
	RESOLVED,
	REQUESTED,
	REPLIED,
	ESTABLISHED,
	DISCONNECTING, /* the other side has asked */
};

typedef int (*call_fn)(struct emu *m, const struct emu_id *id);

/** struct victim - who dies, in which call, and what the survivor may hear. */
struct victim {
	const char *name;
	u32 side;
	enum phase phase;
	call_fn call;
	u32 last; /* event that ends it for the survivor */
	u32 or_last;
	bool must; /* it has to hear that */
};

static int call_connect(struct emu *m, const struct emu_id *id)
{
	return emu_cm_connect(m, id, NULL);
}

static int call_accept(struct emu *m, const struct emu_id *id)
{
	return emu_cm_accept(m, id, NULL);
}

static int call_reject(struct emu *m, const struct emu_id *id)
{
	return emu_cm_reject(m, id, NULL);
}

struct fatal {
	const struct victim *v;
	struct emu_cm *c;
	struct emu_id id[2];
};

static void fatal_call(struct emu *m, void *arg)
{
	const struct fatal *f = arg;

	f->v->call(m, &f->id[f->v->side]);
}

static void up_to(struct emu_cm *c, enum phase phase, struct emu_id id[2])
{
	struct cm_event ev;

	id[0] = emu_cm_active(c);
	id[1] = c->listener;
	if (phase < REQUESTED)
		return;
	CU_ASSERT_EQUAL_FATAL(emu_cm_connect(c->m, &id[0], NULL), 0);
	id[1] = emu_cm_request(c);
	if (phase < REPLIED)
		return;
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &id[1], NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	if (phase < ESTABLISHED)
		return;
	CU_ASSERT_EQUAL(emu_cm_rtu(c->m, &id[0]), 0);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_ESTABLISHED, 0, &ev));
}

/*
 * The survivor's events; it rejects requests itself. Return: how many of them end the connection.
 */
static u32 hear(struct emu_cm *c, const struct victim *v, struct emu_id *id)
{
	struct emu_id child = c->listener;
	u32 side = !v->side, over = 0;
	struct cm_event ev;

	CU_ASSERT(emu_run(c->m, ~0ULL));
	while (emu_cm_next(c, side, &ev)) {
		child.h = ev.id;
		if (ev.type == CM_EV_CONNECT_REQUEST)
			CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &child), 0);
		over += ev.type == v->last || ev.type == v->or_last;
	}
	if (side == 0 || v->phase >= REQUESTED)
		CU_ASSERT_EQUAL(emu_cm_destroy(c->m, id), 0);
	CU_ASSERT(emu_run(c->m, ~0ULL));
	return over;
}

static bool tables_empty(const struct hca *hca)
{
	u32 i;

	for (i = 0; i < HCA_MAX_CMID; i++)
		if (hca->cm_remote[i] || hca->cm_qpn[i])
			return false;
	return true;
}

static int after_death(struct emu *m, void *arg, bool died)
{
	struct fatal *f = arg;
	const struct victim *v = f->v;
	u32 left = v->side == 0, over;
	struct emu_id a, b;
	bool ok;

	if (!died)
		return 0;
	emu_reap(m);
	over = hear(f->c, v, &f->id[!v->side]);
	ok = over <= 1 && (over || !v->must);
	ok = ok && m->hca->tab[TAB_CMID].n == left && tables_empty(m->hca) && emu_cm_audit(m);
	CU_ASSERT(ok);
	if (!ok)
		printf("# %s: over %u, %u identifiers\n", v->name, over, m->hca->tab[TAB_CMID].n);
	emu_cm_again(f->c, v->side, CM_PS_TCP);
	CU_ASSERT(emu_cm_pair(f->c, &a, &b));
	return 0;
}

static void die_everywhere(const struct victim *v)
{
	struct emu_cm *c = v->side ? emu_cm_new_swapped(5, CM_PS_TCP) : emu_cm_new(5, CM_PS_TCP, 0);
	struct fatal f = { .v = v, .c = c };
	struct emu_deaths d = {
		.call = fatal_call, .after = after_death, .arg = &f, .step = emu_death_step(131)
	};

	up_to(c, v->phase, f.id);
	if (v->phase == DISCONNECTING)
		CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &f.id[!v->side]), 0);
	deaths_run(c->m, &d);
	printf("# %s: %u deaths\n", v->name, d.died);
	emu_cm_free(c);
}

static void test_active(void)
{
	static const struct victim victims[] = {
		{ "connect", 0, RESOLVED, call_connect, 0, 0, false },
		{ "RTU", 0, REPLIED, emu_cm_rtu, CM_EV_REJECTED, CM_EV_DISCONNECTED, true },
		{ "reject a reply", 0, REPLIED, call_reject, CM_EV_REJECTED, 0, true },
		{ "disconnect", 0, ESTABLISHED, emu_cm_disconnect, CM_EV_DISCONNECTED, 0, true },
		{ "destroy", 0, ESTABLISHED, emu_cm_destroy, CM_EV_DISCONNECTED, 0, true },
		{ "destroy a request", 0, REQUESTED, emu_cm_destroy, 0, 0, false },
		{ "answer a DREQ", 0, DISCONNECTING, emu_cm_disconnect, CM_EV_DISCONNECTED, 0,
		  true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(victims); i++)
		die_everywhere(&victims[i]);
}

static void test_passive(void)
{
	static const struct victim victims[] = {
		{ "accept", 1, REQUESTED, call_accept, CM_EV_REJECTED, CM_EV_UNREACHABLE, true },
		{ "reject", 1, REQUESTED, call_reject, CM_EV_REJECTED, 0, true },
		{ "destroy a child", 1, REQUESTED, emu_cm_destroy, CM_EV_REJECTED, 0, true },
		{ "disconnect", 1, ESTABLISHED, emu_cm_disconnect, CM_EV_DISCONNECTED, 0, true },
		{ "destroy", 1, ESTABLISHED, emu_cm_destroy, CM_EV_DISCONNECTED, 0, true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(victims); i++)
		die_everywhere(&victims[i]);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "the active side", test_active },
		{ "the passive side", test_passive },
		{ NULL, NULL },
	};

	return cu_run("cmdeath", tests);
}
