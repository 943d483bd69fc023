/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EXPECT(condition) assert_true(condition)
#include "cases.h"

static void write_arrives(void **state)
{
	(void)state;
	case_write();
}

static void lost_packet(void **state)
{
	(void)state;
	case_lost_packet();
}

static void dead_link(void **state)
{
	(void)state;
	case_dead_link();
}

static void no_resources(void **state)
{
	(void)state;
	case_no_resources();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_arrives),
		cmocka_unit_test(lost_packet),
		cmocka_unit_test(dead_link),
		cmocka_unit_test(no_resources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
