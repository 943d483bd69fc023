/* SPDX-License-Identifier: MIT */
/**
 * DOC: see buddy.h.
 */
#include "fabric/link/buddy.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static size_t buddy_books_size(u32 n)
{
	return (size_t)n * (2 * sizeof(u32) + sizeof(u8));
}

static void buddy_list_add(struct buddy *b, u32 unit, u32 order)
{
	b->state[unit] = (u8)(order + 1);
	b->prev[unit] = 0;
	b->next[unit] = b->head[order];
	if (b->head[order])
		b->prev[b->head[order] - 1] = unit + 1;
	b->head[order] = unit + 1;
}

static void buddy_list_del(struct buddy *b, u32 unit, u32 order)
{
	u32 next = b->next[unit], prev = b->prev[unit];

	if (next)
		b->prev[next - 1] = prev;
	if (prev)
		b->next[prev - 1] = next;
	else
		b->head[order] = next;
	b->state[unit] = 0;
}

int buddy_make(struct buddy *b, u64 bytes)
{
	u32 n = (u32)(bytes / BUDDY_MAX) << (BUDDY_ORDERS - 1), i;
	u32 *books = mmap(NULL, buddy_books_size(n), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (books == MAP_FAILED)
		return -ENOMEM;
	*b = (struct buddy){ .n = n, .next = books, .prev = books + n };
	b->state = (u8 *)(books + 2 * (size_t)n);
	for (i = n; i; i -= 1u << (BUDDY_ORDERS - 1))
		buddy_list_add(b, i - (1u << (BUDDY_ORDERS - 1)), BUDDY_ORDERS - 1);
	return 0;
}

void buddy_destroy(struct buddy *b)
{
	if (b->next)
		munmap(b->next, buddy_books_size(b->n));
	memset(b, 0, sizeof(*b));
}

static u32 buddy_order_for(u64 bytes)
{
	u32 order = 0;

	while (order < BUDDY_ORDERS && ((u64)BUDDY_UNIT << order) < bytes)
		order++;
	return order;
}

/* The smallest order of at least @order that has a free piece. */
static u32 buddy_order_free(const struct buddy *b, u32 order)
{
	while (order < BUDDY_ORDERS && !b->head[order])
		order++;
	return order;
}

bool buddy_has_room(const struct buddy *b, u64 bytes)
{
	return buddy_order_free(b, buddy_order_for(bytes)) < BUDDY_ORDERS;
}

int buddy_alloc(struct buddy *b, u64 bytes)
{
	u32 order = buddy_order_for(bytes), from = buddy_order_free(b, order), unit;

	if (from >= BUDDY_ORDERS)
		return -ENOMEM;
	unit = b->head[from] - 1;
	buddy_list_del(b, unit, from);
	while (from > order) {
		from--;
		buddy_list_add(b, unit + (1u << from), from);
	}
	b->state[unit] = (u8)((order + 1) | BUDDY_TAKEN);
	b->used += 1u << order;
	return (int)unit;
}

void buddy_free(struct buddy *b, u32 unit)
{
	u32 order = (b->state[unit] & ~BUDDY_TAKEN) - 1, other;

	b->state[unit] = 0;
	b->used -= 1u << order;
	for (; order < BUDDY_ORDERS - 1; order++) {
		other = unit ^ 1u << order;
		if (b->state[other] != order + 1)
			break;
		buddy_list_del(b, other, order);
		unit &= ~(1u << order);
	}
	buddy_list_add(b, unit, order);
}
