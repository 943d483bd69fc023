/* SPDX-License-Identifier: MIT */
/* Which addresses a fabric has, for programs that have real devices as well: CM_FIND_ADDR. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cmid.h"

static int find(struct emu *m, const char *ip, u32 flags)
{
	struct cmd_cm c = { .dst = emu_ip(ip, 7), .flags = flags };

	return emu_do(m, 0, CMD_CM_FIND_ADDR, 0, &c);
}

static void test_find(void)
{
	struct emu *m = emu_fabric(1);
	struct cmd_cm none = { 0 };

	CU_ASSERT_EQUAL(find(m, "192.0.2.1", 0), 0);
	CU_ASSERT_EQUAL(find(m, "192.0.2.2", 0), 0);
	CU_ASSERT_EQUAL(find(m, "2001:db8::2", 0), 0);
	CU_ASSERT_EQUAL(find(m, "127.0.0.1", 0), 0);
	CU_ASSERT_EQUAL(find(m, "::", 0), 0);
	CU_ASSERT_EQUAL(find(m, "203.0.113.7", 0), -ENOENT);
	CU_ASSERT_EQUAL(find(m, "239.1.2.3", 0), -ENOENT);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_FIND_ADDR, 0, &none), -EAFNOSUPPORT);
	m->hca->wires.n = 1;
	CU_ASSERT_EQUAL(find(m, "203.0.113.7", 0), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(find(m, "192.0.2.2", 0), 0);
	m->hca->wires.n = 0;
	CU_ASSERT_EQUAL(m->hca->notice_seq, 0);
	CU_ASSERT_TRUE(emu_sound(m));
	emu_free(m);
}

static void test_note(void)
{
	struct emu *m = emu_fabric(1);
	const struct journal_entry *j = &m->hca->notice[0];

	CU_ASSERT_EQUAL(find(m, "203.0.113.7", CM_FIND_REAL_TOO), -ENOENT);
	CU_ASSERT_EQUAL_FATAL(m->hca->notice_seq, 0);
	CU_ASSERT_EQUAL(find(m, "192.0.2.1", CM_FIND_REAL_TOO), 0);
	CU_ASSERT_EQUAL_FATAL(m->hca->notice_seq, 1);
	CU_ASSERT_EQUAL(j->kind, JRN_AMBIGUOUS);
	CU_ASSERT_EQUAL(j->dev, 0);
	CU_ASSERT_EQUAL(j->port, 1);
	CU_ASSERT_EQUAL(j->who.client, 0);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "addresses of the fabric", test_find },
	{ "a real device has it, too", test_note },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("cm find address", tests);
}
