/* SPDX-License-Identifier: MIT */
/** DOC: the objects that the program has from the dispatcher. */
#ifndef LIBDISPATCH_CM_KNOWN_H
#define LIBDISPATCH_CM_KNOWN_H

#include "libdispatch/cm_side.h"

/**
 * struct cm_known - an object that the dispatcher has given to the program, as a member of it.
 * @object: its address, as the program has it
 */
struct cm_known {
	struct cm_known *next;
	const void *object;
};

/* --- known.c --- */

/** cm_known_add() - @known->object is the program's from now on. */
void cm_known_add(struct cm_known *known);
/** cm_known_remove() - before its memory is freed */
void cm_known_remove(struct cm_known *known);
/**
 * cm_side_of() - the library that a call passes to as it is, by its first object, or SIDE_NONE: the
 * object is the program's, and the dispatcher's. rsockets have identifiers of the real library.
 */
enum cm_side cm_side_of(const void *object);

#endif
