/* SPDX-License-Identifier: MIT */
/**
 * DOC: verbs that return an errno value.
 *
 * In libibverbs their value is what an ioctl left in errno, so errno has it, too, and programs
 * print it with perror(3) or %m. A verb that is defined with one of the macros below sets errno
 * to the value that it returns. ibv_destroy_comp_channel(3) makes no ioctl and leaves errno alone,
 * and so do the calls of the data path.
 */
#ifndef LIBSHIM_VERBS_ERRNO_VERB_H
#define LIBSHIM_VERBS_ERRNO_VERB_H

#include <errno.h>

#include "libshim/interpose/export.h"

static inline int errno_set(int ret)
{
	if (ret)
		errno = ret;
	return ret;
}

/* NOLINTBEGIN(bugprone-macro-parentheses): @params and @args are lists with their parentheses. */
#define ERRNO_DEFINE(attr, name, params, args)                                                     \
	static int name##_value params;                                                            \
	attr int name params                                                                       \
	{                                                                                          \
		return errno_set(name##_value args);                                               \
	}                                                                                          \
	static int name##_value params
/* NOLINTEND(bugprone-macro-parentheses) */

/** ERRNO_VERB() - a verb of a context's table. @params: its parameters, @args: their names */
#define ERRNO_VERB(name, params, args) ERRNO_DEFINE(, name, params, args)
/** ERRNO_EXPORT() - the same for an exported verb. */
#define ERRNO_EXPORT(name, params, args) ERRNO_DEFINE(SHIM_EXPORT, name, params, args)

#endif
