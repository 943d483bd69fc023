/* SPDX-License-Identifier: MIT */
/**
 * DOC: see fabric/link/burst_capture.h.
 */
#include "fabric/link/burst_capture.h"
#include "fabric/link/transit.h"

int link_capture_lost(struct fabric *f, const struct burst *b, u32 cause, u32 info)
{
	const struct cap_note note = {
		.fate = CAP_DROPPED, .cause = cause, .info = info, .text = ""
	};

	return likely(!f->hca->capture.on) ? 0 : cap_burst_put(&f->engine, b, &note);
}

int link_capture_may_send(struct fabric *f, const struct burst *b, u32 n)
{
	/* A response always has room: otherwise its request would not have been delivered. */
	if (likely(!f->hca->capture.on) || !cap_is_watched(f->hca, b) ||
	    linkq_key(b).cls == LQ_ANSWER || !f->hca->capture.lossless ||
	    cap_has_room(&f->engine, b, n))
		return 0;
	f->engine.kick = true;
	return link_hold(f, link_room_at(f, fabric_ns(f)));
}

void link_capture_sent(struct fabric *f, const struct burst *b, const struct cap_note *note)
{
	struct cap_note by_rule = { 0 };
	char text[CAP_TEXT] = "";

	if (likely(!f->hca->capture.on))
		return;
	/* The response to a request that a rule has refused. */
	if (f->engine.rule && !(note && note->text && note->text[0])) {
		f->link->rules->describe_sent(f, text, f->engine.rule);
		by_rule.text = text;
		by_rule.fate = note ? note->fate : 0;
		note = &by_rule;
	}
	/* The payload is at hand and link_capture_may_send() has found room. */
	if (cap_burst_put(&f->engine, b, note))
		cap_burst_missed(&f->engine, b);
}

bool link_capture_answer_fits(struct fabric *f, const struct burst *b)
{
	return likely(!f->hca->capture.on) || !f->hca->capture.lossless ||
	       !cap_is_watched(f->hca, b) || cap_has_room(&f->engine, b, 1);
}
