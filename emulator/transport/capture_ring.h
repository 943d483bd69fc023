/* SPDX-License-Identifier: MIT */
/**
 * DOC: the ring of captured packets in HCA memory.
 *
 * Theory of operation
 * -------------------
 * While a capture is attached to a port (hca_port.capture), the holder of the token writes a record
 * to the ring before it puts a packet on the wire: the burst, the addresses of its headers, and as
 * much of each packet's payload as the captures ask for. The fabric process drains the ring and
 * turns records into frames (fabric/capture/writer.c). Only the holder writes, so records are in
 * the engine's order.
 *
 * The record of a burst precedes that of its answer, which may be sent within the same call, but it
 * becomes visible only when the wire has taken the burst: the holder writes up to
 * hca_capture.write, and the reader reads up to hca_capture.head, which follows when the outermost
 * burst is done. The record of a burst that has to be retried is taken back. A holder that dies in
 * between leaves complete records before hca_capture.write; the process that takes the token from
 * it publishes them, because the packets may have arrived.
 *
 * No packet is lost to a capture unless all captures that want it are lossy: when the ring is full,
 * a request is not sent and its QP waits. The answer to a request always has room: enough is kept
 * free.
 */
#ifndef EMULATOR_TRANSPORT_CAPTURE_RING_H
#define EMULATOR_TRANSPORT_CAPTURE_RING_H

#include "emulator/engine.h"

/** enum cap_kind - the type of a record. */
enum cap_kind {
	CAP_BURST = 1,
	CAP_FRAME, /* raw Ethernet, unmodified */
	CAP_SKIP, /* padding: the next record is at the ring's start */
};

/** enum cap_fate - what happens to the packets of a record. */
enum cap_fate {
	CAP_DROPPED = 1 << 0,
	CAP_DAMAGED = 1 << 1,
};

/**
 * struct cap_rec - a record. Its text and then the payload follow, each aligned to 8 bytes.
 * @size: of the whole record, up to the next one; a multiple of 64
 * @nth: ordinal of its first packet among all that were recorded
 * @takers: captures that want it, a bit each
 * @keep: payload bytes kept of each packet, at most: those of packet i start at i * @keep
 * @frame_len: CAP_FRAME: length of the frame; @b says which QP has sent it, or at which port it
 *	passed
 * @text: bytes of a comment, with its NUL; 0: none
 * @cause, @info: CAP_DROPPED without a comment: as for journal_drop()
 * @b: without its pointers
 * @sgid, @dgid: the addresses of both ends as in a GRH or, mapped, in an IP header; @av has the
 *	rest
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

/** struct cap_note - what a record says of its burst in addition. @text: "": nothing */
struct cap_note {
	u8 fate; /* enum cap_fate */
	u32 cause, info;
	const char *text;
};

/**
 * struct cap_mark - state between cap_burst_begin() and cap_burst_end(). @on: captures are
 * attached; otherwise the other members are not used
 */
struct cap_mark {
	u64 write, nth;
	bool on, outermost;
};

#define CAP_ALIGN 64u /* of records in the ring */

/* Bytes of the text, between header and payload. */
static inline u64 cap_text_bytes(u32 text)
{
	return ALIGN_UP((u64)text, 8u);
}

/* Payload bytes of a record that keeps up to @keep bytes of each packet. */
static inline u64 cap_kept_bytes(const struct burst *b, u32 keep)
{
	u32 n = burst_packets(b);
	u64 last = b->len - min_u64(b->len, (u64)(n - 1) * b->mtu);

	return keep ? (u64)(n - 1) * keep + min_u64(keep, last) : 0;
}

/* Slow paths of the two functions below, used while captures are attached. */
int cap_burst_begin_on(struct engine *e, const struct burst *b, const struct cap_note *note,
		       struct cap_mark *m);
void cap_burst_end_on(struct engine *e, const struct cap_mark *m, int ret);

/**
 * cap_burst_begin() - record a burst that is about to be sent, if a capture wants it. Token held.
 * @note: NULL: nothing to add
 * Return: 0; -EAGAIN: no room, nothing has changed. In the fabric process, the running QP is then
 * told when to retry.
 */
static inline int cap_burst_begin(struct engine *e, const struct burst *b,
				  const struct cap_note *note, struct cap_mark *m)
{
	m->on = false;
	return likely(!e->hca->capture.on) ? 0 : cap_burst_begin_on(e, b, note, m);
}

/**
 * cap_burst_end() - after cap_burst_begin(): the wire has taken the burst or, if @ret is -EAGAIN,
 * has not.
 */
static inline void cap_burst_end(struct engine *e, const struct cap_mark *m, int ret)
{
	if (unlikely(m->on))
		cap_burst_end_on(e, m, ret);
}

/** cap_burst_put() - record a burst that is not sent. Return: as cap_burst_begin(). */
int cap_burst_put(struct engine *e, const struct burst *b, const struct cap_note *note);
/** cap_burst_missed() - a burst was sent without a record: count it as lost for its captures. */
void cap_burst_missed(struct engine *e, const struct burst *b);
/** cap_frame_put() - record a raw frame of QP @qp. Return: as cap_burst_begin(). */
int cap_frame_put(struct engine *e, const struct hca_qp *qp, const u8 *frame, u32 len);
/**
 * cap_frame_passed() - record a frame that is no burst, which the port of QP @qp has sent or
 * received. Without room it counts as lost.
 */
void cap_frame_passed(struct engine *e, const struct hca_qp *qp, const u8 *frame, u32 len);
/** cap_has_room() - whether a request with that payload has room, in up to @records records. */
bool cap_has_room(struct engine *e, const struct burst *b, u32 records);
/** cap_ring_recover() - the token was taken from a dead holder: publish its records. */
void cap_ring_recover(struct hca *hca);
/** cap_is_watched() - whether a capture wants packets between these ports. */
bool cap_is_watched(const struct hca *hca, const struct burst *b);

/* --- capture_reader.c: no token needed --- */

/** struct cap_view - the parts of a record, checked. */
struct cap_view {
	const struct cap_rec *rec;
	const char *text;
	const u8 *payload;
};

/**
 * cap_rec_next() - the record at *@at, which must be before @head.
 * Return: whether there is one; *at is then after it. false with *at == @head: no more records;
 * otherwise the ring is corrupt: a program has written to it.
 */
bool cap_rec_next(const struct hca *hca, u64 *at, u64 head, struct cap_view *v);

#endif
