/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/wait.h.
 */
#include "emulator/doorbell.h"
#include "fabric/core/wait.h"
#include "fabric/core/fabric.h"

void wait_add_current(struct fabric *f)
{
	struct waiters *w = &f->wait;
	u32 slot;

	if (!f->hca->cur_qp)
		return;
	slot = f->hca->cur_qp - 1;
	if (w->slot[slot / 64] & BIT64(slot % 64))
		return;
	w->slot[slot / 64] |= BIT64(slot % 64);
	w->n++;
}

void wait_ring_all(struct fabric *f)
{
	struct waiters *w = &f->wait;
	u32 i, bit, slot, owner;

	if (!w->n)
		return;
	for (i = 0; w->n && i < ARRAY_SIZE(w->slot); i++) {
		u64 bits = w->slot[i];

		w->slot[i] = 0;
		for_each_bit64(bit, bits) {
			w->n--;
			slot = i * 64 + bit;
			owner = f->hca->qp[slot].client;
			if (owner && owner <= HCA_MAX_CLIENTS)
				engine_ring(&f->engine, owner - 1, slot);
		}
	}
	w->rung = true;
}
