/* SPDX-License-Identifier: MIT */
/**
 * DOC: CUnit with the output that tests/run counts: a line `ok` or `not ok` per test.
 */
#ifndef TESTS_LIB_C_CU_H
#define TESTS_LIB_C_CU_H

#include <CUnit/CUnit.h>
#include <CUnit/TestRun.h>
#include <stdio.h>

#ifdef __clang_analyzer__
#include <stdlib.h>

/*
 * A fatal assertion that fails leaves the test with longjmp(), in the library, where clang-tidy
 * does not see it: it would follow the test on, with what has just been found not to be there.
 */
static inline void cu_assertion(CU_BOOL value, CU_BOOL fatal)
{
	if (fatal && !value)
		abort();
}

#define CU_assertImplementation(value, line, text, file, func, fatal) cu_assertion(value, fatal)
#endif

static inline void cu_complete(const CU_pTest test, const CU_pSuite suite,
			       const CU_pFailureRecord failure)
{
	CU_pFailureRecord f;

	printf("%s %s: %s\n", failure ? "not ok" : "ok", suite->pName, test->pName);
	for (f = failure; f; f = f->pNext)
		printf("# %s:%u: %s\n", f->strFileName, f->uiLineNumber, f->strCondition);
	fflush(stdout);
}

struct cu_test {
	const char *name;
	CU_TestFunc fn;
};

/** cu_run() - run a list of tests that ends with a NULL name. Return: the program's exit status. */
static inline int cu_run(const char *suite_name, const struct cu_test *tests)
{
	CU_pSuite suite;
	unsigned int failed;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	suite = CU_add_suite(suite_name, NULL, NULL);
	if (!suite)
		return 2;
	for (; tests->name; tests++)
		if (!CU_add_test(suite, tests->name, tests->fn))
			return 2;
	CU_set_test_complete_handler(cu_complete);
	CU_run_all_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}

#endif
