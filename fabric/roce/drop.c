/* SPDX-License-Identifier: MIT */
/**
 * DOC: datagrams that a wire drops before the engine sees them.
 *
 * Anybody may send any number of them, from any address: each is counted, and the log gets a line
 * for a reason at most every second, and at most every minute while the address is the same.
 */
#include "fabric/roce/wire.h"

#include "emulator/port.h"

#define NOTE_NS	     NSEC_PER_SEC
#define NOTE_SAME_NS (60 * NSEC_PER_SEC)

static const struct {
	const char *name, *text;
} drops[ROCE_DROPS] = {
	[ROCE_DROP_MALFORMED] = { "malformed", "it is no RoCE v2 packet" },
	[ROCE_DROP_BAD_ICRC] = { "bad_icrc", "its ICRC is wrong" },
	[ROCE_DROP_FILTERED] = { "filtered", "--roce-peers does not have that address" },
	[ROCE_DROP_STRANGER] = { "stranger", "no queue pair has a path to that address" },
	[ROCE_DROP_NO_PORT] = { "no_port", "no port has its destination" },
};

const char *roce_drop_name(enum roce_drop why)
{
	return drops[why].name;
}

void roce_drop(struct fabric *f, struct roce_wire *w, enum roce_drop why, const u8 from[16])
{
	struct roce_drop_note *note = &w->note[why];
	char text[INET6_ADDRSTRLEN];
	u64 now = real_ns();

	w->n.dropped[why]++;
	if (why == ROCE_DROP_BAD_ICRC)
		port_of(f->hca, w->dev, w->port)->counters[CNT_RCV_ERRORS]++;
	if (now < note->at || (!memcmp(from, note->from, 16) && now < note->same_at))
		return;
	*note = (struct roce_drop_note){ .at = now + NOTE_NS, .same_at = now + NOTE_SAME_NS };
	memcpy(note->from, from, 16);
	fabric_note(f, "roce: %s dropped a packet of %s: %s (so far %llu)", w->text,
		    roce_gid_text(from, text), drops[why].text,
		    (unsigned long long)w->n.dropped[why]);
}
