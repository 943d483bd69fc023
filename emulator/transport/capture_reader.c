/* SPDX-License-Identifier: MIT */
/**
 * DOC: the reader's side of the capture ring: it checks each record, since any program that has HCA
 * memory mapped can write there. See capture_ring.h.
 */
#include "emulator/burst.h"
#include "emulator/transport/capture_ring.h"

/* Check the record: any process that has HCA memory mapped can write there. */
static bool cap_rec_is_sound(const struct cap_rec *r, u64 *behind)
{
	u64 n;

	*behind = sizeof(*r) + cap_text_bytes(r->text);
	if (r->kind == CAP_SKIP)
		return true;
	if (r->kind != CAP_BURST && r->kind != CAP_FRAME)
		return false;
	if (r->kind == CAP_FRAME)
		n = r->keep;
	else if (!r->b.mtu || r->keep > r->b.mtu || burst_packets(&r->b) > r->b.len / r->b.mtu + 1)
		return !r->keep && *behind <= r->size;
	else
		n = cap_kept_bytes(&r->b, r->keep);
	return r->keep <= LIM_FRAME + CAP_RING && *behind + n <= r->size;
}

bool cap_rec_next(const struct hca *hca, u64 *at, u64 head, struct cap_view *v)
{
	const struct hca_capture *c = &hca->capture;
	const struct cap_rec *r;
	u64 behind;
	u32 i;

	while (*at != head) {
		i = (u32)(*at % CAP_RING);
		r = (const struct cap_rec *)(const void *)(c->ring + i);
		if (head - *at > CAP_RING || r->size < CAP_ALIGN || r->size % CAP_ALIGN ||
		    r->size > CAP_RING - i || r->size > head - *at || !cap_rec_is_sound(r, &behind))
			return false;
		*at += r->size;
		if (r->kind == CAP_SKIP)
			continue;
		v->rec = r;
		v->text = r->text ? (const char *)(r + 1) : "";
		v->payload = (const u8 *)r + behind;
		return true;
	}
	return false;
}
