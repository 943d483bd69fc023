/* SPDX-License-Identifier: MIT */
/**
 * DOC: verbs that the emulator does not offer (yet): exported, and answering "not supported".
 *
 * A verb that the shim left out would bind to the real library, which looks behind our objects for
 * fields of its own and crashes. The three macros are the three ways in which the API reports an
 * error; the man page of each function says which one is its own.
 */
#ifndef LIBSHIM_STUBS_H
#define LIBSHIM_STUBS_H

#include "libshim/interpose.h"

/* The arguments of what is not supported are not looked at. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/** STUB_NULL() - returns a pointer: NULL and errno. @type has the asterisk. */
#define STUB_NULL(type, name, ...)                                                                 \
	SHIM_EXPORT type name(__VA_ARGS__)                                                         \
	{                                                                                          \
		errno = EOPNOTSUPP;                                                                \
		return NULL;                                                                       \
	}

/** STUB_ERRNO() - returns 0 or the value of errno. */
#define STUB_ERRNO(name, ...)                                                                      \
	SHIM_EXPORT int name(__VA_ARGS__)                                                          \
	{                                                                                          \
		errno = EOPNOTSUPP;                                                                \
		return EOPNOTSUPP;                                                                 \
	}

/** STUB_MINUS1() - returns a negative value and errno. */
#define STUB_MINUS1(name, ...)                                                                     \
	SHIM_EXPORT int name(__VA_ARGS__)                                                          \
	{                                                                                          \
		errno = EOPNOTSUPP;                                                                \
		return -1;                                                                         \
	}

/** STUB_VOID() - destroys what no other function has made. */
#define STUB_VOID(name, ...)                                                                       \
	SHIM_EXPORT void name(__VA_ARGS__)                                                         \
	{                                                                                          \
	}

#endif
