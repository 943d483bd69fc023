/* SPDX-License-Identifier: MIT */
/**
 * DOC: the wire as captures see it: a ring in HCA memory of what was sent.
 *
 * Theory of operation
 * -------------------
 * While a capture looks at a port (hca_port.capture), whoever holds the token and puts a packet on the wire
 * first puts a record of it into the ring: the burst, the addresses that its headers are made of, and as much
 * of each packet's payload as somebody wants. One process drains the ring and makes frames of it
 * (fabric/capturewrite.c). Since only the holder writes, records are in the engine's order.
 *
 * A record lies before the one of its answer, which may be sent within the same call, but counts only when the
 * wire has taken the burst: hca_capture.write is the holder's, and becomes hca_capture.head, the reader's, when
 * the outermost burst is done with. What was to be tried again is taken back. A holder that dies in between
 * leaves whole records behind hca_capture.write; they are published by who takes the token from it, as its
 * packets may have arrived.
 *
 * Nothing gets lost unless all captures that want a packet are lossy: where the ring is full, a request is not
 * sent, and its QP waits. What answers a request always finds room: that much is left free.
 */
#ifndef EMULATOR_CAPTURE_H
#define EMULATOR_CAPTURE_H

#include "emulator/engine.h"

/** enum cap_kind - what a record is. */
enum cap_kind {
	CAP_BURST = 1,
	CAP_FRAME, /* raw Ethernet, as it is */
	CAP_SKIP, /* nothing: the next one is at the ring's begin */
};

/** enum cap_fate - what becomes of the packets of a record. */
enum cap_fate {
	CAP_DROPPED = 1 << 0,
	CAP_DAMAGED = 1 << 1,
};

/**
 * struct cap_rec - a record. Its text and then the payload follow, each from a multiple of 8 bytes on.
 * @size: of all of it, up to the next one; a multiple of 64
 * @nth: of its first packet, among all that were recorded
 * @takers: captures that want it, a bit each
 * @keep: payload bytes that are here of each packet, at most: packet i has its own from i * @keep on
 * @frame_len: CAP_FRAME: bytes; @b says who has sent it
 * @text: bytes of a comment, with its 0; 0: none
 * @cause, @info: CAP_DROPPED without a comment: as journal_drop()
 * @b: without its pointers
 * @sgid, @dgid: the ends' addresses as they are in a GRH or, mapped, in an IP header; @av has the rest
 */
struct cap_rec {
	u32 size;
	u8 kind; /* enum cap_kind */
	u8 fate; /* enum cap_fate */
	u16 text;
	u64 ns; /* fabric clock */
	u64 nth;
	u32 takers;
	u32 keep;
	u32 frame_len;
	u32 cause, info;
	u32 pad;
	u8 sgid[16], dgid[16];
	struct hca_av av;
	struct burst b;
};

#define CAP_TEXT 512u /* of a comment */

/** struct cap_note - what is to be said of a burst beyond itself. @text: "": nothing */
struct cap_note {
	u8 fate; /* enum cap_fate */
	u32 cause, info;
	const char *text;
};

/** struct cap_mark - a burst between cap_burst_begin() and cap_burst_end(). @on: somebody captures; else nothing else counts */
struct cap_mark {
	u64 write, nth;
	bool on, outermost;
};

/* The two below, while there are captures. */
int cap_burst_begin_on(struct engine *e, const struct burst *b, const struct cap_note *note,
		       struct cap_mark *m);
void cap_burst_end_on(struct engine *e, const struct cap_mark *m, int ret);

/**
 * cap_burst_begin() - record a burst that is about to be sent, if somebody wants it. Token held.
 * @note: NULL: nothing is said of it
 * Return: 0; -EAGAIN: not now, nothing has changed. In the fabric process, the QP that runs is told when to
 * try again.
 */
static inline int cap_burst_begin(struct engine *e, const struct burst *b,
				  const struct cap_note *note, struct cap_mark *m)
{
	m->on = false;
	return likely(!e->hca->capture.on) ? 0 : cap_burst_begin_on(e, b, note, m);
}

/** cap_burst_end() - after cap_burst_begin(): the wire has taken it, or, with @ret -EAGAIN, has not. */
static inline void cap_burst_end(struct engine *e, const struct cap_mark *m, int ret)
{
	if (unlikely(m->on))
		cap_burst_end_on(e, m, ret);
}

/** cap_burst_put() - both, of a burst that goes nowhere. Return: as cap_burst_begin(). */
int cap_burst_put(struct engine *e, const struct burst *b, const struct cap_note *note);
/** cap_burst_missed() - a burst was sent, though captures have no record of it: it is counted as lost. */
void cap_burst_missed(struct engine *e, const struct burst *b);
/** cap_frame_put() - record a raw frame of QP @qp. Return: as cap_burst_begin(). */
int cap_frame_put(struct engine *e, const struct hca_qp *qp, const u8 *frame, u32 len);
/** cap_has_room() - whether a request of so much payload, in any number of records, finds room. */
bool cap_has_room(struct engine *e, const struct burst *b, u32 records);
/** cap_ring_recover() - the token was taken from a dead holder: publish what it has left. */
void cap_ring_recover(struct hca *hca);
/** cap_is_watched() - whether somebody wants what is sent from or to these ports. */
bool cap_is_watched(const struct hca *hca, const struct burst *b);

/** hca_update_watched() - ports have changed, or captures: hca.watched is set anew. */
void hca_update_watched(struct hca *hca);

/* --- the reader's: no token needed ------------------------------------------------------------ */

/** struct cap_view - a record's pieces, checked. */
struct cap_view {
	const struct cap_rec *rec;
	const char *text;
	const u8 *payload;
};

/**
 * cap_rec_next() - the record at *@at, which comes before @head.
 * Return: whether there is one; *at is then behind it. false with *at == @head: that was the last; else the ring is
 * broken: a program has written where it should not.
 */
bool cap_rec_next(const struct hca *hca, u64 *at, u64 head, struct cap_view *v);

#endif
