/* SPDX-License-Identifier: MIT */
/* No identifier outlives its program, whichever program dies, at whatever moment. */
#include "tests/lib/engine/deaths.h"
#include "tests/lib/engine/emu_cm.h"

/* Client @client is killed, not holding the token. */
static void kill_client(struct emu *m, u32 client)
{
	CU_ASSERT_EQUAL_FATAL(engine_enter(&m->fabric), 0);
	engine_reap(&m->fabric, client);
	engine_leave(&m->fabric);
}

/* It had not read that it was connected; the other side does not answer its end. */
static void test_unread(void)
{
	struct emu_cm *c = emu_cm_new(1, CM_PS_TCP, 0);
	struct emu_id a = emu_cm_active(c), b;
	struct cm_event ev;

	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_rtu(c->m, &a), 0);
	kill_client(c->m, 1);
	CU_ASSERT(emu_cm_audit(c->m));
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_DISCONNECTED, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	CU_ASSERT(emu_run(c->m, ~0ULL));
	CU_ASSERT_EQUAL(c->m->hca->tab[TAB_CMID].n, 0);
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

/* Many with events unread are destroyed; those of the others come as they came. */
static void test_others(void)
{
	enum { N = 5000 };
	static struct emu_id a[N], b[N];
	struct emu_cm *c = emu_cm_new(3, CM_PS_TCP, 0);
	struct cm_event ev;
	u32 i;

	for (i = 0; i < N; i++)
		CU_ASSERT_FATAL(emu_cm_pair(c, &a[i], &b[i]));
	for (i = 0; i < N; i++)
		CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &a[i]), 0);
	for (i = 0; i < N; i++)
		CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &b[i]), 0);
	emu_run(c->m, c->m->clock + 1000000000000ULL);
	CU_ASSERT_EQUAL(c->m->hca->tab[TAB_CMEV].n, 4 * N);
	for (i = N; i-- > 0;)
		if (i % 3)
			CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a[i]), 0);
	CU_ASSERT(emu_cm_audit(c->m));
	for (i = 0; i < N; i += 3) {
		CU_ASSERT(emu_cm_want(c, 0, CM_EV_DISCONNECTED, 0, &ev));
		CU_ASSERT_EQUAL(ev.id, a[i].h);
	}
	for (i = 0; i < N; i++)
		CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b[i]), 0);
	for (i = 0; i < N; i += 3)
		CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a[i]), 0);
	CU_ASSERT_EQUAL(c->m->hca->tab[TAB_CMID].n, 1);
	CU_ASSERT_EQUAL(c->m->hca->tab[TAB_CMEV].n, 0);
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

struct fatal {
	int (*call)(struct emu *m, const struct emu_id *id);
	struct emu_id id;
};

static void fatal_call(struct emu *m, void *arg)
{
	const struct fatal *f = arg;

	f->call(m, &f->id);
}

static int after_death(struct emu *m, void *arg, bool died)
{
	(void)arg;
	if (!died)
		return 0;
	emu_reap(m);
	CU_ASSERT(emu_run(m, ~0ULL));
	CU_ASSERT_EQUAL(m->hca->tab[TAB_CMID].n, 1);
	CU_ASSERT(emu_cm_audit(m));
	return 0;
}

/*
 * Side 1 has destroyed its identifier, which waits for the answer to its DREQ; side 0 dies in the
 * call that answers.
 */
static void die_answering(int (*call)(struct emu *m, const struct emu_id *id))
{
	struct emu_cm *c = emu_cm_new(2, CM_PS_TCP, 0);
	struct fatal f = { .call = call };
	struct emu_deaths d = {
		.call = fatal_call, .after = after_death, .arg = &f, .step = emu_death_step(23)
	};
	struct emu_id b;

	CU_ASSERT_FATAL(emu_cm_pair(c, &f.id, &b));
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b), 0);
	CU_ASSERT_EQUAL(c->m->hca->tab[TAB_CMID].n, 3);
	deaths_run(c->m, &d);
	emu_cm_free(c);
}

static void test_answering(void)
{
	die_answering(emu_cm_disconnect);
	die_answering(emu_cm_destroy);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "killed with an event unread", test_unread },
		{ "events of others", test_others },
		{ "killed while it answers one who has gone", test_answering },
		{ NULL, NULL },
	};

	return cu_run("cmgone", tests);
}
