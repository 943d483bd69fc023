/* SPDX-License-Identifier: MIT */
/* How many objects of a kind one client may have. */
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

static struct emu *m;

static int pd_make(u32 client)
{
	struct hca_cmd c = { .op = CMD_ALLOC_PD };

	return hca_cmd_exec(&m->fabric, m->c[client].id, &c);
}

/* Make PDs until there are no more. Return: how many. */
static u32 pds_make(u32 client)
{
	u32 n = 0;

	while (!pd_make(client))
		n++;
	return n;
}

static void test_isolated_clients_share(void)
{
	u32 first, second, i;

	m = emu_new(1);
	m->hca->isolated = 1;
	m->hca->dev[0].lim.max_pd = HCA_MAX_PD;
	first = pds_make(0);
	CU_ASSERT_EQUAL(pd_make(0), -ENOMEM);
	CU_ASSERT(first <= HCA_MAX_PD / 2);
	CU_ASSERT(first > HCA_MAX_PD / 2 - 16);
	second = pds_make(1);
	CU_ASSERT(second > HCA_MAX_PD / 4 - 16);
	for (i = 2; i < EMU_CLIENTS; i++)
		CU_ASSERT(pds_make(i) > HCA_MAX_PD / 128);
	emu_free(m);
}

static void test_what_is_given_back_can_be_had(void)
{
	struct hca_cmd c = { .op = CMD_DEALLOC_PD };
	u32 i;

	m = emu_new(1);
	m->hca->isolated = 1;
	m->hca->dev[0].lim.max_pd = HCA_MAX_PD;
	pds_make(0);
	for (i = 1; i < HCA_MAX_PD; i++)
		if (tab_owned(m->hca, TAB_PD, m->c[0].id, i) && i != m->c[0].pd)
			break;
	c.handle = i;
	CU_ASSERT_EQUAL(hca_cmd_exec(&m->fabric, m->c[0].id, &c), 0);
	CU_ASSERT_EQUAL(pd_make(0), 0);
	emu_free(m);
}

static void test_direct_clients_have_all(void)
{
	m = emu_new(1);
	m->hca->dev[0].lim.max_pd = HCA_MAX_PD;
	CU_ASSERT(pds_make(0) > HCA_MAX_PD - 16);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "a client of an isolated fabric leaves objects for others", test_isolated_clients_share },
	{ "what it gives back it can have again", test_what_is_given_back_can_be_had },
	{ "a client of a direct fabric may have all", test_direct_clients_have_all },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("commands", tests);
}
