/* SPDX-License-Identifier: MIT */
/**
 * DOC: a flood of notices that differ in time, PSN and work request only. The first ones are
 * written. From then on the newest of them counts the others, as long as it is among the latest
 * entries: a flood leaves the ring to what else happens.
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

bool journal_count_alike(struct hca *hca, const struct journal_entry *j, u64 now)
{
	struct journal_entry *old, *newest = NULL;
	u64 seq = hca->notice_seq;
	u32 i, n = 0;

	if (j->cause == CAUSE_FAULT || j->rule ||
	    (j->kind != JRN_DROP && j->kind != JRN_NAK && j->kind != JRN_RETRY))
		return false;
	for (i = 1; i <= ALIKE_LATEST && i <= seq; i++) {
		old = &hca->notice[(seq - i) % JOURNAL_NOTICES];
		if (!alike_entries(old, j))
			continue;
		newest = newest ? newest : old;
		if (++n < ALIKE_WRITTEN && !newest->more)
			continue;
		/* A reader sees either value: the entry itself stays. */
		store_relaxed(&newest->until, now);
		store_relaxed(&newest->more, newest->more + (newest->more != UINT32_MAX));
		return true;
	}
	return false;
}
