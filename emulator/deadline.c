/* SPDX-License-Identifier: MIT */
/**
 * DOC: deadlines: objects of a kind that wait for a time have a bit each, with a bit per word of
 * those above. Arming sets it; disarming leaves it to the next scan. The fabric process sleeps
 * until the earliest of all kinds, hca->next_deadline.
 */
#include "emulator/deadline.h"
#include "emulator/engine.h"

void deadline_set(struct engine *e, u64 *bits, u64 *sum, u32 slot, u64 deadline)
{
	struct hca *hca = e->hca;

	if (!deadline)
		return;
	bits[slot / 64] |= BIT64(slot % 64);
	sum[slot / 64 / 64] |= BIT64(slot / 64 % 64);
	if (deadline < hca->next_deadline) {
		store_release(&hca->next_deadline, deadline);
		e->kick = true;
	}
}

/* Check the objects of one word. Return: the earliest deadline that is still to come. */
static u64 deadline_scan_word(struct engine *e, u64 *bits, u32 word, u64 now, deadline_fn look)
{
	u64 todo = bits[word], next = ~0ULL, at;
	u32 bit;

	for_each_bit64(bit, todo) {
		at = look(e, word * 64 + bit, now);
		if (at)
			next = min_u64(next, at);
		else
			bits[word] &= ~BIT64(bit);
	}
	return next;
}

u64 deadline_scan(struct engine *e, u64 *bits, u64 *sum, u32 n, u64 now, deadline_fn look)
{
	u64 next = ~0ULL;
	u32 i, j;

	for (i = 0; i < n / 64 / 64; i++) {
		u64 todo = sum[i];

		for_each_bit64(j, todo) {
			next = min_u64(next, deadline_scan_word(e, bits, i * 64 + j, now, look));
			if (!bits[i * 64 + j])
				sum[i] &= ~BIT64(j);
		}
	}
	return next;
}
