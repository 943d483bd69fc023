/* SPDX-License-Identifier: MIT */
/* Verbs that fail. */
#ifndef TESTS_LIB_C_FAILS_H
#define TESTS_LIB_C_FAILS_H

#include "tests/lib/c/rc.h"

#include <errno.h>

/* A check: @call, a verb that returns an errno value, returns @want and has errno set to it. */
#define FAILS(call, want)                                                                          \
	do {                                                                                       \
		int ret_;                                                                          \
		errno = 0;                                                                         \
		ret_ = (call);                                                                     \
		if (!ok(ret_ == (want) && errno == (want), "%s: %s", #call, #want))                \
			note("returned %d, errno %d", ret_, errno);                                \
	} while (0)

#endif
