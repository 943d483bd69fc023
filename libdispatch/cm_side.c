/* SPDX-License-Identifier: MIT */
#include "libdispatch/cm_side.h"
#include "libshim/interpose/interpose.h"

static __thread enum cm_side within = SIDE_NONE;

void *cm_side_function(void *slot[SIDES], enum cm_side side, const char *name)
{
	void *fn;

	if (side == SIDE_EMULATED)
		fn = emulated_symbol(&slot[side], name);
	else
		fn = next_symbol(&slot[side], name);
	/* A program that has loaded librdmacm itself has nothing in lookup order. */
	if (!fn && side == SIDE_REAL)
		fn = real_symbol(&slot[side], REAL_CM, name);
	if (!fn)
		errno = ENOSYS;
	return fn;
}

enum cm_side cm_side_within(void)
{
	return within;
}

enum cm_side cm_side_of_caller(const void *caller)
{
	if (within != SIDE_NONE)
		return within;
	return is_real_library(caller) ? SIDE_REAL : SIDE_NONE;
}

enum cm_side cm_side_enter(enum cm_side side)
{
	enum cm_side outer = within;

	within = side;
	return outer;
}

void cm_side_leave(enum cm_side outer)
{
	within = outer;
}
