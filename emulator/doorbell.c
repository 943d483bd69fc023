/* SPDX-License-Identifier: MIT */
/**
 * DOC: doorbells: the bits that say which QPs have work, and for whom.
 */
#include "emulator/doorbell.h"
#include "emulator/engine.h"

void seg_ring(struct seg_hdr *seg, u32 slot)
{
	u32 word = slot / 64;

	fetch_or(&seg->db_bits[word], BIT64(slot % 64));
	fetch_or(&seg->db_sum[word / 64], BIT64(word % 64));
	fetch_or(&seg->db_any, BIT64(word / 64));
}

void client_set_pending(struct hca *hca, u32 client)
{
	fetch_or(&hca->pending_clients[client / 64], BIT64(client % 64));
	fetch_or(&hca->pending, BIT64(client / 64));
}

void relay_ring(struct engine *e, u32 slot)
{
	struct hca *hca = e->hca;
	u32 word = slot / 64;

	/*
	 * Still set: the process that takes the bit finds the work that was published before this.
	 */
	if (fetch_or(&hca->via_bits[word], BIT64(slot % 64)) & BIT64(slot % 64))
		return;
	fetch_or(&hca->via_sum[word / 64], BIT64(word % 64));
	fetch_or(&hca->via_any, BIT64(word / 64));
	if (load_seq_cst(&hca->via_asleep) && exchange(&hca->via_asleep, 0))
		e->ops->kick(e->ctx);
}

bool relay_sleep_begin(struct hca *hca)
{
	if (load_relaxed(&hca->via_any))
		return false;
	/* A doorbell from now on kicks; an earlier one is found here. */
	exchange(&hca->via_asleep, 1);
	if (!load_seq_cst(&hca->via_any))
		return true;
	store_relaxed(&hca->via_asleep, 0);
	return false;
}

bool doorbell_watch_end(struct hca *hca)
{
	return exchange(&hca->watching, 0) && load_seq_cst(&hca->pending);
}

void poller_nap_begin(struct seg_hdr *seg)
{
	exchange(&seg->napping, 1);
	/* futex(2) compares the count after a full barrier, too. */
	fence_after_atomic();
}

bool poller_brought(struct seg_hdr *seg)
{
	__atomic_fetch_add(&seg->brought, 1, __ATOMIC_SEQ_CST);
	/* A poller announces its sleep before it compares the count. */
	return load_seq_cst(&seg->napping) && exchange(&seg->napping, 0);
}

/*
 * A queue pair of a program that receives has got an answer: the program runs it itself, unless it
 * waits in the fabric process. Return: whether it will.
 */
static bool engine_note_answered(struct engine *e, u32 client, u32 slot)
{
	u32 i;

	if (client != e->self)
		return false;
	if (e->hca->qp[slot].stalled) {
		e->relays = true;
		return false;
	}
	for (i = 0; i < e->n_answered; i++)
		if (e->answered[i] == slot)
			return true;
	if (i == ENGINE_ANSWERED)
		return false;
	e->answered[e->n_answered++] = slot;
	return true;
}

void engine_ring(struct engine *e, u32 client, u32 slot)
{
	struct seg_hdr *seg;

	if (unlikely(e->hca->qp[slot].path.via)) {
		if (!e->receives || !engine_note_answered(e, client, slot))
			relay_ring(e, slot);
		return;
	}
	seg = e->ops->seg(e->ctx, client);
	if (seg)
		seg_ring(seg, slot);
	client_set_pending(e->hca, client);
}
