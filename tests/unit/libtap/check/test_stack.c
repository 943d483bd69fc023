/* SPDX-License-Identifier: MIT */
/* Stacks of call sites: a site that was here before is not unwound again. */
#include "libtap/check/stack.h"
#include "libtap/process.h"
#include "tests/lib/c/cu.h"

#include <execinfo.h>

#define SITES  4u /* of a loop */
#define ROUNDS 100u

__thread struct tap_thread tap_thread;
static u32 unwound;

/* The C library's place: a stack that begins where the program has made the call. */
int backtrace(void **frame, int size)
{
	unwound++;
	CU_ASSERT_FATAL(size > 2);
	frame[0] = (void *)(uintptr_t)tap_thread.caller;
	frame[1] = (void *)(uintptr_t)tap_thread.frame;
	return 2;
}

static check_stack stack_of(uintptr_t caller, uintptr_t frame)
{
	tap_thread.caller = (const void *)caller;
	tap_thread.frame = (const void *)frame;
	return check_stack_here();
}

/* A loop whose calls are @apart bytes from each other. Return: how often it unwinds. */
static u32 loop_unwinds(uintptr_t apart)
{
	uintptr_t code = 0x401000 + 0x100000 * apart, frame = 0x7ffc12345670;
	u32 i;

	unwound = 0;
	for (i = 0; i < SITES * ROUNDS; i++)
		stack_of(code + i % SITES * apart, frame);
	return unwound;
}

static void test_sites_of_a_loop(void)
{
	uintptr_t apart;

	for (apart = 5; apart < 3000; apart++)
		CU_ASSERT_EQUAL(loop_unwinds(apart), SITES);
}

static void test_frames_tell_calls_apart(void)
{
	check_stack stack = stack_of(0x1000, 0x7000), other = stack_of(0x1000, 0x7010);

	CU_ASSERT_NOT_EQUAL(stack, other);
	CU_ASSERT_EQUAL(stack_of(0x1000, 0x7000), stack);
	CU_ASSERT_EQUAL(stack_of(0x1000, 0x7010), other);
}

static void test_frames_of_a_stack(void)
{
	void *const *frames;

	CU_ASSERT_EQUAL_FATAL(check_stack_frames(stack_of(0x1000, 0x7000), &frames), 2);
	CU_ASSERT_EQUAL((uintptr_t)frames[0], 0x1000);
	CU_ASSERT_EQUAL((uintptr_t)frames[1], 0x7000);
}

int main(void)
{
	static const struct cu_test tests[] = {
		/* The last one fills the table of stacks. */
		{ "a call site is told from others by its frame", test_frames_tell_calls_apart },
		{ "frames of a stack", test_frames_of_a_stack },
		{ "the call sites of a loop are unwound once each", test_sites_of_a_loop },
		{ NULL, NULL },
	};

	return cu_run("check, stacks", tests);
}
