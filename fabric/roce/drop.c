/* SPDX-License-Identifier: MIT */
/**
 * DOC: datagrams that a wire drops before the engine sees them.
 *
 * Anybody may send any number of them, from any address: each is counted. For each reason the log
 * gets at most DROP_LINES lines in a second, and one in a minute about each of the latest
 * addresses.
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

/* Where the latest line about an address is; DROP_LINES: nowhere. */
static u32 drop_place(const struct roce_drop_note *note, const u8 from[16])
{
	u32 i;

	for (i = 0; i < DROP_LINES && memcmp(from, note->from[i].gid, 16) != 0; i++)
		;
	return i;
}

/* Whether the log gets a line about that address. */
static bool drop_is_noted(struct roce_drop_note *note, const u8 from[16], u64 now)
{
	u32 at = drop_place(note, from);

	if (at < DROP_LINES && now < note->from[at].again_at)
		return false;
	if (now - note->begun >= NOTE_NS) {
		note->begun = now;
		note->lines = 0;
	}
	if (note->lines == DROP_LINES)
		return false;
	note->lines++;
	if (at == DROP_LINES) {
		at = note->next;
		note->next = (at + 1) % DROP_LINES;
	}
	memcpy(note->from[at].gid, from, 16);
	note->from[at].again_at = now + NOTE_SAME_NS;
	return true;
}

void roce_drop(struct fabric *f, struct roce_wire *w, enum roce_drop why, const u8 from[16])
{
	char text[INET6_ADDRSTRLEN];

	w->n.dropped[why]++;
	if (why == ROCE_DROP_BAD_ICRC)
		port_of(f->hca, w->dev, w->port)->counters[CNT_RCV_ERRORS]++;
	if (drop_is_noted(&w->note[why], from, real_ns()))
		fabric_note(f, "roce: %s dropped a packet of %s: %s (so far %llu)", w->text,
			    roce_gid_text(from, text), drops[why].text,
			    (unsigned long long)w->n.dropped[why]);
}
