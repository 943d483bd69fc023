/* SPDX-License-Identifier: MIT */
/**
 * DOC: rdmaemu-test.h - assertions of unit tests, in C and C++, about their fabric.
 *
 * Include it after the header of CUnit, Check, cmocka or GoogleTest: an assertion that fails ends
 * the test as that framework ends one. For other frameworks, define RDMAEMU_TEST_FAIL(text), which
 * must not return, before including it.
 *
 *	static void test_lost_read(void)
 *	{
 *		struct rdmaemu_test t;
 *
 *		RDMAEMU_TEST_BEGIN(&t);
 *		RDMAEMU_TEST_FAULT(&t, "drop opcode=RDMA_READ_REQUEST nth=1");
 *		run_the_code_under_test();
 *		RDMAEMU_ASSERT_NO_ERROR(&t);
 *		RDMAEMU_TEST_END(&t);
 *	}
 *
 * The program runs under `rdmaemu run`, or beside programs that do. rdmaemu(3) has the functions
 * that these macros call; a test may call them with t.r as well.
 */
#ifndef RDMAEMU_TEST_H
#define RDMAEMU_TEST_H

#include <rdmaemu.h>

#include <stdio.h>
#include <string.h>

/** RDMAEMU_TEST_FAIL() - end the test: it has failed, as @text says. */
#if defined(RDMAEMU_TEST_FAIL)
#elif defined(GTEST_FAIL_AT)
#define RDMAEMU_TEST_FAIL(text) GTEST_FAIL_AT(__FILE__, __LINE__) << (text)
#elif defined(CUNIT_CUNIT_H_SEEN)
#define RDMAEMU_TEST_FAIL(text)                                                                    \
	CU_assertImplementation(CU_FALSE, __LINE__, (text), __FILE__, "", CU_TRUE)
#elif defined(ck_abort_msg)
#define RDMAEMU_TEST_FAIL(text) ck_abort_msg("%s", (text))
#elif defined(fail_msg)
#define RDMAEMU_TEST_FAIL(text) fail_msg("%s", (text))
#else
#error "include the header of CUnit, Check, cmocka or GoogleTest first, or define RDMAEMU_TEST_FAIL"
#endif

#define RDMAEMU_TEST_RULES 32 /* of a test */

/**
 * struct rdmaemu_test - what a test knows of its fabric, between RDMAEMU_TEST_BEGIN() and
 * RDMAEMU_TEST_END(). A test that fails in between leaves its rules, which the next BEGIN removes.
 * @begin: the journal's end when the test began
 * @objects: how many objects this process had then
 * @rule: rules that must fire
 * @why: the text of a failed assertion
 */
struct rdmaemu_test {
	struct rdmaemu *r;
	struct rdmaemu_mark begin;
	int64_t objects;
	int rule[RDMAEMU_TEST_RULES];
	int n_rules;
	char why[1280];
};

/*
 * The functions below return NULL, or why the test fails. Frameworks end a test by returning from
 * it, by longjmp() or by an exception, so that the macros call them.
 */

static inline const char *rdmaemu_test_begin(struct rdmaemu_test *t)
{
	memset(t, 0, sizeof(*t));
	t->r = rdmaemu_open();
	if (!t->r)
		return "no fabric: run the tests with 'rdmaemu run --fresh'";
	t->objects = rdmaemu_objects(t->r, 0);
	if (t->objects < 0 || rdmaemu_fault_clear(t->r) < 0 ||
	    rdmaemu_journal_end(t->r, &t->begin)) {
		snprintf(t->why, sizeof(t->why), "%s", rdmaemu_error(t->r));
		return t->why;
	}
	return NULL;
}

static inline const char *rdmaemu_test_fault(struct rdmaemu_test *t, const char *rule)
{
	int id;

	if (t->n_rules == RDMAEMU_TEST_RULES)
		return "a test has at most 32 rules";
	id = rdmaemu_fault_add(t->r, rule);
	if (id < 0) {
		snprintf(t->why, sizeof(t->why), "%s", rdmaemu_error(t->r));
		return t->why;
	}
	t->rule[t->n_rules++] = id;
	return NULL;
}

/* The first error of the test that @what names, NULL: any. Return: whether there is one. */
static inline int rdmaemu_test_error(struct rdmaemu_test *t, const char *what,
				     struct rdmaemu_entry *e)
{
	struct rdmaemu_mark at = t->begin;

	while (rdmaemu_journal_next(t->r, &at, e) == 1)
		if (e->is_error && (!what || !strcmp(e->what, what)))
			return 1;
	return 0;
}

static inline const char *rdmaemu_test_no_error(struct rdmaemu_test *t)
{
	struct rdmaemu_entry e;

	if (!rdmaemu_test_error(t, NULL, &e))
		return NULL;
	snprintf(t->why, sizeof(t->why), "the journal has an error: %s", e.text);
	return t->why;
}

static inline const char *rdmaemu_test_has_error(struct rdmaemu_test *t, const char *what)
{
	struct rdmaemu_entry e;
	int other;

	if (rdmaemu_test_error(t, what, &e))
		return NULL;
	other = rdmaemu_test_error(t, NULL, &e);
	snprintf(t->why, sizeof(t->why), "the journal has no %s, but %s", what,
		 other ? e.text : "no error at all");
	return t->why;
}

static inline const char *rdmaemu_test_no_leak(struct rdmaemu_test *t)
{
	int64_t n = rdmaemu_objects(t->r, 0);

	if (n < 0) {
		snprintf(t->why, sizeof(t->why), "%s", rdmaemu_error(t->r));
		return t->why;
	}
	if (n <= t->objects)
		return NULL;
	snprintf(t->why, sizeof(t->why), "the test leaves %lld objects",
		 (long long)(n - t->objects));
	return t->why;
}

static inline const char *rdmaemu_test_counter(struct rdmaemu_test *t, const char *name,
					       uint64_t expected)
{
	uint64_t value;

	if (rdmaemu_counter(t->r, NULL, NULL, 1, name, &value))
		snprintf(t->why, sizeof(t->why), "%s", rdmaemu_error(t->r));
	else if (value != expected)
		snprintf(t->why, sizeof(t->why), "counter %s is %llu, not %llu", name,
			 (unsigned long long)value, (unsigned long long)expected);
	else
		return NULL;
	return t->why;
}

static inline const char *rdmaemu_test_end(struct rdmaemu_test *t)
{
	struct rdmaemu_fault rule;
	const char *why = NULL;
	int i;

	for (i = 0; i < t->n_rules && !why; i++) {
		if (rdmaemu_fault_get(t->r, t->rule[i], &rule))
			snprintf(t->why, sizeof(t->why), "%s", rdmaemu_error(t->r));
		else if (!rule.hits)
			snprintf(t->why, sizeof(t->why), "fault rule '%s' has never fired",
				 rule.rule);
		else
			continue;
		why = t->why;
	}
	for (i = 0; i < t->n_rules; i++)
		rdmaemu_fault_remove(t->r, t->rule[i]);
	rdmaemu_close(t->r);
	t->r = NULL;
	return why;
}

#define RDMAEMU_TEST_CHECK_(call)                                                                  \
	do {                                                                                       \
		const char *rdmaemu_why_ = (call);                                                 \
		if (rdmaemu_why_)                                                                  \
			RDMAEMU_TEST_FAIL(rdmaemu_why_);                                           \
	} while (0)

/** RDMAEMU_TEST_BEGIN() - connect to the fabric, and remove all fault rules. */
#define RDMAEMU_TEST_BEGIN(t) RDMAEMU_TEST_CHECK_(rdmaemu_test_begin(t))
/** RDMAEMU_TEST_FAULT() - add a fault rule, which must fire before the test ends. */
#define RDMAEMU_TEST_FAULT(t, rule) RDMAEMU_TEST_CHECK_(rdmaemu_test_fault(t, rule))
/** RDMAEMU_TEST_END() - check that all rules have fired, and remove them. */
#define RDMAEMU_TEST_END(t) RDMAEMU_TEST_CHECK_(rdmaemu_test_end(t))
/** RDMAEMU_ASSERT_NO_ERROR() - the journal has no error since the test began. */
#define RDMAEMU_ASSERT_NO_ERROR(t) RDMAEMU_TEST_CHECK_(rdmaemu_test_no_error(t))
/** RDMAEMU_ASSERT_ERROR() - it has this one: "IBV_WC_RETRY_EXC_ERR", "ENOMEM", ... */
#define RDMAEMU_ASSERT_ERROR(t, what) RDMAEMU_TEST_CHECK_(rdmaemu_test_has_error(t, what))
/** RDMAEMU_ASSERT_NO_LEAK() - this process has no more objects than when the test began. */
#define RDMAEMU_ASSERT_NO_LEAK(t) RDMAEMU_TEST_CHECK_(rdmaemu_test_no_leak(t))
/** RDMAEMU_ASSERT_COUNTER() - a counter of port 1 of this node's first device is @value. */
#define RDMAEMU_ASSERT_COUNTER(t, name, value)                                                     \
	RDMAEMU_TEST_CHECK_(rdmaemu_test_counter(t, name, value))

#endif
