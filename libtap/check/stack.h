/* SPDX-License-Identifier: MIT */
/** DOC: stacks of the program, each kept once. */
#ifndef LIBTAP_CHECK_STACK_H
#define LIBTAP_CHECK_STACK_H

#include "emulator/types.h"

#define STACK_FRAMES 24u /* innermost ones that are kept */
#define STACKS	     (1u << 13)

/** check_stack - number of a stack; 0: none, as the table is full. */
typedef u32 check_stack;

/** check_stack_start() - load what unwinding needs, which allocates. */
void check_stack_start(void);
/** check_stack_fork() - in a child: the lock may be that of a thread that is not here. */
void check_stack_fork(void);
/**
 * check_stack_here() - the stack of the operation that this thread is in. A call site that was here
 * before with the same frame costs a lookup.
 */
check_stack check_stack_here(void);
/** check_stack_at() - that of the instruction that a signal has interrupted, in its handler. */
check_stack check_stack_at(const void *place);
/** check_stack_frames() - its return addresses, innermost first. Return: their number. */
u32 check_stack_frames(check_stack stack, void *const **frames);

#endif
