/* SPDX-License-Identifier: MIT */
#include <check.h>

#define EXPECT(condition) ck_assert(condition)
#include "cases.h"

START_TEST(write_arrives)
{
	case_write();
}
END_TEST

START_TEST(lost_packet)
{
	case_lost_packet();
}
END_TEST

START_TEST(dead_link)
{
	case_dead_link();
}
END_TEST

START_TEST(no_resources)
{
	case_no_resources();
}
END_TEST

/* Check forks for each test: each is a program of its own on the fabric. */
int main(void)
{
	Suite *suite = suite_create("loopback");
	TCase *tcase = tcase_create("loopback");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, write_arrives);
	tcase_add_test(tcase, lost_packet);
	tcase_add_test(tcase, dead_link);
	tcase_add_test(tcase, no_resources);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
