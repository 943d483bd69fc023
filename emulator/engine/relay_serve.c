/* SPDX-License-Identifier: MIT */
/**
 * DOC: serving the doorbells of QPs whose packets pass links: the fabric process only.
 */
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/transport/requester.h"

static void relay_serve_word(struct engine *e, u32 word, u32 from)
{
	u64 bits = exchange(&e->hca->via_bits[word], 0);
	u32 bit, slot;

	for_each_bit64(bit, bits) {
		slot = word * 64 + bit;
		if (slot < from || !budget_left(e)) {
			relay_ring(e, slot);
			continue;
		}
		req_run_qp(e, slot);
		if (!budget_left(e))
			e->hca->via_from = slot + 1;
	}
}

static void relay_serve_from(struct engine *e, u32 from)
{
	struct hca *hca = e->hca;
	u64 any = exchange(&hca->via_any, 0), sum;
	u32 i, j;

	for_each_bit64(i, any) {
		if (i >= ARRAY_SIZE(hca->via_sum))
			break;
		sum = exchange(&hca->via_sum[i], 0);
		for_each_bit64(j, sum)
			relay_serve_word(e, i * 64 + j, from);
	}
}

void relay_serve(struct engine *e)
{
	u32 from = e->hca->via_from;

	if (!load_relaxed(&e->hca->via_any))
		return;
	budget_reset(e);
	e->hca->via_from = 0;
	if (from)
		relay_serve_from(e, from);
	relay_serve_from(e, 0);
}
