/* SPDX-License-Identifier: MIT */
/**
 * DOC: a buddy allocator over an arena of fixed size: pieces of BUDDY_UNIT << n bytes.
 *
 * Its bookkeeping lies outside the arena, so an arena that is empty can be given back to the
 * system. The allocator is bounded and makes no system call after buddy_make().
 */
#ifndef FABRIC_LINK_BUDDY_H
#define FABRIC_LINK_BUDDY_H

#include "emulator/types.h"

#define BUDDY_UNIT   512u
#define BUDDY_ORDERS 12u /* the largest piece: 1 MiB */
#define BUDDY_MAX    (BUDDY_UNIT << (BUDDY_ORDERS - 1))

/**
 * struct buddy - the bookkeeping of an arena.
 * @n: units, a multiple of the largest piece
 * @used: units given out
 * @head: by order, the first free piece + 1
 * @next, @prev: by unit, of free pieces: neighbours in their list + 1
 * @state: by unit, of those that start a piece: order + 1, with BUDDY_TAKEN if it is given out
 */
struct buddy {
	u32 n;
	u32 used;
	u32 head[BUDDY_ORDERS];
	u32 *next, *prev;
	u8 *state;
};

#define BUDDY_TAKEN 0x80u

/** buddy_make() - bookkeeping for an arena of @bytes. Return: 0 or -ENOMEM. */
int buddy_make(struct buddy *b, u64 bytes);
void buddy_destroy(struct buddy *b);
/** buddy_alloc() - allocate a piece of at least @bytes. Return: its first unit, or -ENOMEM. */
int buddy_alloc(struct buddy *b, u64 bytes);
/** buddy_has_room() - whether buddy_alloc() would find a piece. */
bool buddy_has_room(const struct buddy *b, u64 bytes);
void buddy_free(struct buddy *b, u32 unit);

#endif
