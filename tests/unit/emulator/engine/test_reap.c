/* SPDX-License-Identifier: MIT */
/* The objects and counts of a client that has died. */
#include "emulator/audit/audit.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define WRONG 5u

static struct emu *m;

static void reap(u32 client)
{
	engine_enter(&m->fabric);
	engine_reap(&m->fabric, m->c[client].id);
	engine_leave(&m->fabric);
}

static bool is_sound(void)
{
	char why[256];

	if (!hca_audit(m->hca, why, sizeof(why)))
		return true;
	printf("# audit: %s\n", why);
	return false;
}

static u32 objects(u32 client)
{
	const struct hca_client *c = &m->hca->client[m->c[client].id];
	u32 t, n = 0;

	for (t = 0; t < TAB_COUNT; t++)
		n += c->n[t];
	return n;
}

/* To count all tables anew takes long, whatever the client had. */
static void test_reaping_counts_what_the_client_had(void)
{
	struct hca_pd *pd;

	m = emu_new(1);
	CU_ASSERT(objects(1) > 0);
	pd = &m->hca->pd[m->c[0].pd];
	pd->refs += WRONG;
	reap(1);
	CU_ASSERT_EQUAL(objects(1), 0);
	CU_ASSERT(pd->refs >= WRONG);
	pd->refs -= WRONG;
	CU_ASSERT(is_sound());
	emu_free(m);
}

static int domain_open(u32 client)
{
	struct hca_cmd c = { .op = CMD_OPEN_XRCD,
			     .xrcd = { .st_dev = 1, .st_ino = 2, .oflags = XRCD_CREAT } };

	return hca_cmd_exec(&m->fabric, m->c[client].id, &c);
}

static void test_what_passes_to_another_is_counted_there(void)
{
	u32 before;

	m = emu_new(1);
	CU_ASSERT_EQUAL(domain_open(0), 0);
	before = objects(1);
	CU_ASSERT_EQUAL(domain_open(1), 0);
	CU_ASSERT_EQUAL(objects(1), before + 1);
	reap(0);
	CU_ASSERT_EQUAL(objects(0), 0);
	CU_ASSERT_EQUAL(objects(1), before + 2);
	CU_ASSERT_EQUAL(m->hca->client[m->c[1].id].n[TAB_XRCD], 1);
	CU_ASSERT(is_sound());
	reap(1);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_XRCD].n, 0);
	CU_ASSERT(is_sound());
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "reaping counts what the client had", test_reaping_counts_what_the_client_had },
	{ "what passes to another client is counted there",
	  test_what_passes_to_another_is_counted_there },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("reap", tests);
}
