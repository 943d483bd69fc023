/* SPDX-License-Identifier: MIT */
#include <CUnit/Basic.h>

#define EXPECT(condition) CU_ASSERT_FATAL(condition)
#include "cases.h"

int main(void)
{
	CU_pSuite suite;
	unsigned int failed;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	suite = CU_add_suite("loopback", NULL, NULL);
	if (!suite || !CU_add_test(suite, "write", case_write) ||
	    !CU_add_test(suite, "lost packet", case_lost_packet) ||
	    !CU_add_test(suite, "dead link", case_dead_link) ||
	    !CU_add_test(suite, "no resources", case_no_resources))
		return 2;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}
