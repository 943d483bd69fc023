/* SPDX-License-Identifier: MIT */
/**
 * DOC: a flood of notices that differ in time, PSN and work request only. The first ones are
 * written: a reader sees each of a few. When there are more, the oldest of them counts all, and
 * readers leave out the others. So a flood is one line, from its first time to its last, and the
 * ring is left to what else happens. It is the same flood as long as one of its entries is among
 * the latest.
 *
 * Each hit of a fault rule is written: its reader looks for single packets.
 */
#include "emulator/journal/text.h"
#include "emulator/journal/writer.h"

#define ALIKE_WRITTEN 8u
#define ALIKE_LATEST  32u

static bool alike_side(const struct journal_who *a, const struct journal_who *b)
{
	return a->client == b->client && a->pid == b->pid && a->node == b->node && a->qpn == b->qpn;
}

static bool alike_entries(const struct journal_entry *a, const struct journal_entry *b)
{
	return a->kind == b->kind && a->status == b->status && a->cause == b->cause &&
	       a->info == b->info && a->rule == b->rule && a->optype == b->optype &&
	       a->opcode == b->opcode && a->dev == b->dev && a->port == b->port &&
	       a->conn == b->conn && alike_side(&a->who, &b->who) && alike_side(&a->peer, &b->peer);
}

/* The entry that is @back before the next. */
static struct journal_entry *notice_at(struct hca *hca, u64 back)
{
	return &hca->notice[(hca->notice_seq - back) % JOURNAL_NOTICES];
}

/* @flood counts @n more. A reader sees either value: the entry itself stays. */
static void flood_count(struct hca *hca, struct journal_entry *flood, u32 n, u64 now)
{
	store_relaxed(&flood->until, now);
	store_relaxed(&flood->more, flood->more + min_u32(n, UINT32_MAX - flood->more));
	store_relaxed(&flood->counted, hca->flood_seq + 1);
	store_release(&hca->flood_seq, hca->flood_seq + 1);
}

/* Make the entries at @back, newest first, one flood, with another that is not written. */
static void flood_begin(struct hca *hca, const u32 back[ALIKE_WRITTEN], u64 now)
{
	u32 i, oldest = back[ALIKE_WRITTEN - 1];

	flood_count(hca, notice_at(hca, oldest), ALIKE_WRITTEN, now);
	for (i = 0; i < ALIKE_WRITTEN - 1; i++)
		store_relaxed(&notice_at(hca, back[i])->counted_in, oldest - back[i]);
}

bool journal_count_alike(struct hca *hca, const struct journal_entry *j, u64 now)
{
	u32 i, n = 0, back[ALIKE_WRITTEN];
	struct journal_entry *old;

	if (j->cause == CAUSE_FAULT || j->rule ||
	    (j->kind != JRN_DROP && j->kind != JRN_NAK && j->kind != JRN_RETRY))
		return false;
	for (i = 1; i <= ALIKE_LATEST && i <= hca->notice_seq && n < ALIKE_WRITTEN; i++) {
		old = notice_at(hca, i);
		if (!alike_entries(old, j))
			continue;
		if (old->more || old->counted_in) {
			flood_count(hca, notice_at(hca, i + old->counted_in), 1, now);
			return true;
		}
		back[n++] = i;
	}
	if (n < ALIKE_WRITTEN)
		return false;
	flood_begin(hca, back, now);
	return true;
}
