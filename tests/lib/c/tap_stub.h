/* SPDX-License-Identifier: MIT */
/**
 * DOC: for unit tests of the tap: a library below it, of functions that the test writes by hand,
 * and two users, "a" further out than "b", which log what they see.
 */
#ifndef TESTS_LIB_C_TAP_STUB_H
#define TESTS_LIB_C_TAP_STUB_H

#include "libtap/process.h"

/** struct stub_fn - a function of the library below. */
struct stub_fn {
	const char *name;
	void *fn;
};

/** stub_fns - all of them, which the test defines; the last has no name. */
extern const struct stub_fn stub_fns[];

/**
 * struct stub_user - what a user does.
 * @on: it is on at the next start
 * @answers: the hook that it answers, as the log has it; NULL: none
 * @ret: with this result, an errno value for calls of the control path
 * @quiet: it need not see posts, and polls that find nothing
 * @poll_end, @cq_end, @cqex_end, @call_returned: called by its hook of that name; or NULL
 */
struct stub_user {
	bool on;
	const char *answers;
	int ret;
	bool quiet;
	void (*call_returned)(struct tap_call *c);
	void (*poll_end)(struct tap_poll *p);
	void (*cq_end)(struct tap_cqop *p);
	void (*cqex_end)(struct tap_cqex *p);
};

extern struct stub_user stub_a, stub_b;

/** stub_restart() - the next call is the first of the process. The users do nothing. */
void stub_restart(bool a_is_on, bool b_is_on);
/** stub_log() - append a word to the log. */
__attribute__((format(printf, 1, 2))) void stub_log(const char *fmt, ...);
/** stub_logged() - the log since the last time. */
const char *stub_logged(void);

#endif
