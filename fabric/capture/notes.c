/* SPDX-License-Identifier: MIT */
/**
 * DOC: captures of what passes the fabric process's links, and what is said of packets that rules touch.
 */
#include "fabric/capture/capture.h"
#include "fabric/fault/table.h"

#include <stdarg.h>
#include <stdio.h>

void fault_capture_text(struct fabric *f, char *text, u32 rule, const char *fmt, ...)
{
	const struct fault_rule *r = fault_rule_find(f->faults, "", rule);
	size_t n = strlen(text);
	va_list ap;

	if (n)
		n += (size_t)snprintf(text + n, CAP_TEXT - n, "; ");
	va_start(ap, fmt);
	if (n < CAP_TEXT)
		n += (size_t)vsnprintf(text + n, CAP_TEXT - n, fmt, ap);
	va_end(ap);
	if (n >= CAP_TEXT)
		return;
	if (!r)
		snprintf(text + n, CAP_TEXT - n, " by fault rule %u", rule);
	else
		snprintf(text + n, CAP_TEXT - n, " by fault rule %s%s%.250s", r->name,
			 r->place[0] ? ", " : ": ", r->place[0] ? r->place : r->text);
}

int link_capture_lost(struct fabric *f, const struct burst *b, u32 cause, u32 info)
{
	struct cap_note note = { .fate = CAP_DROPPED, .cause = cause, .info = info };
	char text[CAP_TEXT] = "";

	if (likely(!f->hca->capture.on))
		return 0;
	if (cause == CAUSE_FAULT)
		fault_capture_text(f, text, info, "dropped");
	note.text = text;
	return cap_burst_put(&f->engine, b, &note);
}

int link_capture_may_send(struct fabric *f, const struct burst *b, u32 n)
{
	/* An answer has its room: its request would not have arrived else. */
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
	/* What answers a request that a rule has refused. */
	if (f->engine.rule && !(note && note->text && note->text[0])) {
		fault_capture_text(f, text, f->engine.rule, "sent");
		by_rule.text = text;
		by_rule.fate = note ? note->fate : 0;
		note = &by_rule;
	}
	/* Its payload is at hand, and there is room. */
	if (cap_burst_put(&f->engine, b, note))
		cap_burst_missed(&f->engine, b);
}

bool link_capture_answer_fits(struct fabric *f, const struct burst *b)
{
	return likely(!f->hca->capture.on) || !f->hca->capture.lossless ||
	       !cap_is_watched(f->hca, b) || cap_has_room(&f->engine, b, 1);
}
