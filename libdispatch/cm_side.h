/* SPDX-License-Identifier: MIT */
/**
 * DOC: calls of one of the two libraries of connection management.
 *
 * Both libraries call their own exported functions by name, and the dispatcher is what the loader
 * finds then. So a thread notes whose call it is in, and what it calls from there is of the same
 * library: the objects in its arguments are that library's, not the program's. rsockets are code of
 * librdmacm that the program calls, and which looks past the public fields of identifiers: theirs
 * are the real library's.
 */
#ifndef LIBDISPATCH_CM_SIDE_H
#define LIBDISPATCH_CM_SIDE_H

#include "emulator/types.h"
#include "libdispatch/emulated.h"

#include <rdma/rdma_cma.h>

/** enum cm_side - the libraries. */
enum cm_side {
	SIDE_REAL,
	SIDE_EMULATED,
	SIDES,
	SIDE_NONE = SIDES,
};

/** type cm_function - any function of librdmacm: see libdispatch/forward.c. */
typedef u64 (*cm_function)(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);

/* --- cm_side.c --- */

/**
 * cm_side_function() - a function of a library.
 * @slot: caches it. Return: NULL with errno ENOSYS: the library does not have it.
 */
void *cm_side_function(void *slot[SIDES], enum cm_side side, const char *name);
/** cm_side_within() - the library whose call the thread is in, or SIDE_NONE. */
enum cm_side cm_side_within(void);
/**
 * cm_side_of_caller() - the library that a call passes to as it is, by its return address, or
 * SIDE_NONE: the call is the program's.
 */
enum cm_side cm_side_of_caller(const void *caller);
/** cm_side_enter() - the thread calls a library. Return: what cm_side_leave() takes */
enum cm_side cm_side_enter(enum cm_side side);
/** cm_side_leave() - the call has returned. Keeps errno. */
void cm_side_leave(enum cm_side outer);

/** CM_SIDE_CALL() - call a function that returns an int. Return: -1 with errno ENOSYS: no such */
#define CM_SIDE_CALL(side, name, ...)                                                              \
	({                                                                                         \
		static void *slot_[SIDES];                                                         \
		__typeof__(&name) fn_ = (__typeof__(&name))cm_side_function(slot_, side, #name);   \
		enum cm_side outer_ = cm_side_enter(side);                                         \
		int ret_ = fn_ ? fn_(__VA_ARGS__) : -1;                                            \
                                                                                                   \
		cm_side_leave(outer_);                                                             \
		ret_;                                                                              \
	})

/** CM_SIDE_GET() - call a function that returns a pointer. Return: NULL, also with ENOSYS */
#define CM_SIDE_GET(side, name, ...)                                                               \
	({                                                                                         \
		static void *slot_[SIDES];                                                         \
		__typeof__(&name) fn_ = (__typeof__(&name))cm_side_function(slot_, side, #name);   \
		enum cm_side outer_ = cm_side_enter(side);                                         \
		void *ret_ = fn_ ? fn_(__VA_ARGS__) : NULL;                                        \
                                                                                                   \
		cm_side_leave(outer_);                                                             \
		ret_;                                                                              \
	})

/** CM_SIDE_DO() - call a function without a result. */
#define CM_SIDE_DO(side, name, ...)                                                                \
	do {                                                                                       \
		static void *slot_[SIDES];                                                         \
		__typeof__(&name) fn_ = (__typeof__(&name))cm_side_function(slot_, side, #name);   \
		enum cm_side outer_ = cm_side_enter(side);                                         \
                                                                                                   \
		if (fn_)                                                                           \
			fn_(__VA_ARGS__);                                                          \
		cm_side_leave(outer_);                                                             \
	} while (0)

#endif
