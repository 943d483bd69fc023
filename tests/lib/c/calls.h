/* SPDX-License-Identifier: MIT */
/**
 * DOC: calls that a fault rule makes fail once each (fabric/proto/calls.h). Checks the result of
 * the failed call, and that the next one works.
 */
#ifndef TESTS_LIB_C_CALLS_H
#define TESTS_LIB_C_CALLS_H

#include "fabric/proto/calls.h"
#include "tests/lib/c/vb.h"

#include <rdma/rdma_cma.h>

/**
 * calls_errno() - the error that the rule of this test has for a call: another one from call to
 * call.
 */
int calls_errno(enum call_id id);
/** calls_verbs() - all of libibverbs. */
void calls_verbs(void);

static inline void calls_check(const char *name, bool failed, int err, enum call_id id)
{
	ok(failed && err == calls_errno(id), "%s fails: %s", name, strerrorname_np(err));
}

/**
 * MAKE() - a call that returns a pointer; MAKE_ANY(): what comes of the second one does not matter.
 */
#define MAKE_ANY(name, expr)                                                                       \
	({                                                                                         \
		__typeof__(expr) made;                                                             \
		errno = 0;                                                                         \
		made = (expr);                                                                     \
		calls_check(#name, !made, errno, CALL_##name);                                     \
		(expr);                                                                            \
	})
#define MAKE(name, expr)                                                                           \
	({                                                                                         \
		__typeof__(expr) made2 = MAKE_ANY(name, expr);                                     \
		ok(!!made2, "then " #name " does not");                                            \
		if (!made2)                                                                        \
			die("%s: %s", #name, strerror(errno));                                     \
		made2;                                                                             \
	})
/** CALL() - one that returns errno's value. */
#define CALL_ANY(name, expr)                                                                       \
	({                                                                                         \
		int got = (expr);                                                                  \
		calls_check(#name, got, got, CALL_##name);                                         \
		(expr);                                                                            \
	})
#define CALL(name, expr)                                                                           \
	do {                                                                                       \
		int got2 = CALL_ANY(name, expr);                                                   \
		ok(!got2, "then " #name " does not: %d", got2);                                    \
	} while (0)
/** TELL() - one that returns -1, and errno. */
#define TELL_ANY(name, expr)                                                                       \
	({                                                                                         \
		int got;                                                                           \
		errno = 0;                                                                         \
		got = (int)(expr);                                                                 \
		calls_check(#name, got == -1, errno, CALL_##name);                                 \
		(int)(expr);                                                                       \
	})
#define TELL(name, expr)                                                                           \
	do {                                                                                       \
		int got2 = TELL_ANY(name, expr);                                                   \
		ok(got2 != -1, "then " #name " does not");                                         \
	} while (0)

#endif
