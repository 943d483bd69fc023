/* SPDX-License-Identifier: MIT */
/**
 * DOC: interposition: wrappers between the program and the libraries that are loaded after the
 * shim.
 *
 * A wrapper of libc's foo() is a function hook_foo() whose symbol is "foo" (HOOK()), so that its
 * definition does not clash with the attributes, redirections and inlines of libc's headers. It
 * reaches the function that it hides with libc_next(foo). Everything here may run before main(), in
 * signal handlers, in a vfork()ed child and in processes that never use RDMA.
 *
 * This folder uses no other part of the shim. The recorder links dl.c and real_symbol.c, too.
 */
#ifndef LIBSHIM_INTERPOSE_INTERPOSE_H
#define LIBSHIM_INTERPOSE_INTERPOSE_H

#include "emulator/types.h"
#include "libshim/interpose/export.h"

/**
 * interpose_soname - the library that this is linked into; dlopen() of libibverbs yields it.
 */
extern const char interpose_soname[];
/**
 * interpose_follows - real_symbol() uses the files that the program has named to dlopen(). The
 * tap does: what it passes calls on to is what the program has chosen.
 */
extern const bool interpose_follows;

/** interpose_has_cm, interpose_has_efa - dlopen() of librdmacm, of libefa yields it as well. */
extern const bool interpose_has_cm;
extern const bool interpose_has_efa;

/** dlopen_also - further libraries, up to NULL, for which dlopen() yields it; or NULL. */
extern const char *const *dlopen_also;

/** HOOK_AS() - declare @fn, the wrapper of libc's function @name, exported without a version. */
#define HOOK_AS(type, fn, name, ...) SHIM_EXPORT type fn(__VA_ARGS__) __asm__(name)
/** HOOK() - the same for hook_@name(). */
#define HOOK(type, name, ...) HOOK_AS(type, hook_##name, #name, __VA_ARGS__)

/**
 * next_of_hook() - the next definition of the function @name, which the wrapper @fn hides, in
 * lookup order: libc's, or that of another preloaded library. NULL if there is none (a function
 * newer than this libc).
 */
#define next_of_hook(fn, name)                                                                     \
	({                                                                                         \
		static void *slot_;                                                                \
		(__typeof__(&(fn)))next_symbol(&slot_, name);                                      \
	})
/** libc_next() - the same for what hook_@name() hides. */
#define libc_next(name) next_of_hook(hook_##name, #name)

/* --- ptp_clock.c --- */

/**
 * clock_gettime_look_up() - when the library is loaded: find the clock_gettime() behind ours. NULL
 * in the tap, which has none.
 */
__attribute__((weak)) void clock_gettime_look_up(void);

/** enum real_lib - the installed libraries. */
enum real_lib {
	REAL_VERBS, /* libibverbs.so.1 */
	REAL_CM, /* librdmacm.so.1 */
	REAL_MLX5, /* libmlx5.so.1 */
	REAL_EFA, /* libefa.so.1 */
	REAL_LIBS,
};

/* --- beside.c --- */

/**
 * shim_setting() - a variable that `rdmaemu run` has set for the shim: the value of PROTO_ENV,
 * PROTO_NODE_ENV or PROTO_RUN_ENV, or of what takes its place in a shim that is not preloaded.
 * Another variable has no value there: memory that a real device has pinned cannot be lent.
 * Return: NULL: not set.
 */
const char *shim_setting(const char *name);

/* --- dl.c --- */

/**
 * dlopen_file() - the file that the program has first named to dlopen() for that library, by its
 * path. Return: NULL: none
 */
const char *dlopen_file(enum real_lib lib);

/* --- real_symbol.c --- */

/** next_symbol_resolve() - find @name in later libraries and cache it in @slot. Keeps errno. */
void *next_symbol_resolve(void **slot, const char *name);

static inline void *next_symbol(void **slot, const char *name)
{
	void *fn = load_acquire(slot);

	return likely(fn) ? fn : next_symbol_resolve(slot, name);
}

/**
 * real_symbol() - a function of an installed library, which is loaded on demand. Only for functions
 * that touch neither devices nor our objects. Return: NULL if it does not exist.
 */
void *real_symbol(void **slot, enum real_lib lib, const char *name);

/* --- ops_padding.c --- */

/**
 * ops_padding() - the table for verbs_context.priv: 8 KiB in which every word is the address of a
 * function that returns EOPNOTSUPP.
 *
 * The real libibverbs keeps a table of functions there. A verb that is newer than the shim binds
 * to the real library, takes our context, and calls through that table.
 */
void *ops_padding(void);

#endif
