/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory of the program that a user of the tap watches: system calls and faults that use it.
 *
 * The user takes rights away with mprotect(2), and gives them back when one of its hooks `memory`
 * and `fault` (tap.h) says that the program uses the memory.
 */
#ifndef LIBTAP_MEMORY_USE_H
#define LIBTAP_MEMORY_USE_H

#include "libshim/interpose/interpose.h"
#include "libtap/tap.h"

/** TAP_HOOK() - as HOOK(), for functions that the shim wraps under the name of that. */
#define TAP_HOOK(type, name, ...) HOOK_AS(type, tap_hook_##name, #name, __VA_ARGS__)
/** tap_next() - as libc_next(), of such a function. */
#define tap_next(name) next_of_hook(tap_hook_##name, #name)

/* --- memory_use.c --- */

/** tap_memory_watch() - whether there is memory to watch, so that system calls have to be shown. */
void tap_memory_watch(bool on);
/** enum tap_memory_kind - memory whose rights can be taken away and given back. */
enum tap_memory_kind {
	TAP_MEMORY_OTHER, /* not so */
	TAP_MEMORY_PRIVATE,
	TAP_MEMORY_SHARED, /* all or some of it */
};

/**
 * tap_memory_kind() - which kind memory is: it is writable, no device's, and not the calling
 * thread's stack, or it is of another kind.
 */
enum tap_memory_kind tap_memory_kind(u64 addr, u64 len);

/** struct tap_mapping - what is mapped from @from up to @to, and the program's rights to it. */
struct tap_mapping {
	u64 from;
	u64 to;
	bool read;
	bool write;
};

/** tap_memory_find() - the mapping that has @addr. Return: false: there is none, or no /proc. */
bool tap_memory_find(u64 addr, struct tap_mapping *found);

/* --- fault.c --- */

/** tap_fault_expect() - when the library is loaded: nobody blocks SIGSEGV from now on. */
void tap_fault_expect(void);
/** tap_fault_start() - show faults from now on. Return: false: that is not possible. */
bool tap_fault_start(void);
/**
 * tap_fault_start_steps() - let users ask for single instructions from now on. Return: false: that
 * is not possible.
 */
bool tap_fault_start_steps(void);
/** tap_fault_can_step() - whether they may; not on all CPUs. */
bool tap_fault_can_step(void);

#endif
