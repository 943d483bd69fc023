/* SPDX-License-Identifier: MIT */
/*
 * The capture ring: complete records in the engine's order, a requester that waits for room, lossy
 * captures, retransmissions recorded once each, token holders that die, and a ring that was
 * overwritten.
 */
#include "emulator/transport/capture_ring.h"
#include "emulator/port.h"
#include "tests/lib/engine/deaths.h"

#include <string.h>

#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp a, b;

/* All packets of port 1 of the first device are wanted, @snap bytes of each. */
static void look(u32 lossless, u32 snap)
{
	struct hca_capture *c = &m->hca->capture;

	c->on = 1;
	c->lossless = lossless;
	c->snap = snap;
	c->keep = snap;
	m->hca->dev[0].port[1].capture = 1;
	hca_update_watched(m->hca);
}

static void up(void)
{
	struct emu_conn o = emu_conn_defaults;

	o.mtu = 1;
	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
}

static void down(void)
{
	emu_free(m);
}

/* One SEND of @len bytes, with a receive for it. Return: status of its completion, or -1. */
static int send(u32 len)
{
	struct cqe c;

	emu_recv(m, &b, 1, m->c[1].mem, len);
	emu_fill(m->c[0].mem, len, 7);
	emu_post(m, &a, WR_SEND, 2, m->c[0].mem, len);
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
	emu_poll(m, &b.rcq, &c, NULL);
	return emu_poll(m, &a.scq, &c, NULL) ? (int)c.status : -1;
}

/*
 * Take the records up to @end. Return: packets, or -1 if a record is malformed; @bytes: of payload
 */
static int drain_to(u64 end, u64 *bytes)
{
	struct hca_capture *c = &m->hca->capture;
	u64 at = c->tail, next = ~0ULL;
	struct cap_view v;
	int n = 0;

	*bytes = 0;
	while (cap_rec_next(m->hca, &at, end, &v)) {
		if (next != ~0ULL && v.rec->nth != next)
			return -1;
		next = v.rec->nth + burst_packets(&v.rec->b);
		n += (int)burst_packets(&v.rec->b);
		if (v.rec->keep)
			*bytes +=
				min_u64(v.rec->b.len, (u64)v.rec->keep * burst_packets(&v.rec->b));
	}
	if (at != end)
		return -1;
	c->tail = at;
	return n;
}

static int drain(u64 *bytes)
{
	return drain_to(m->hca->capture.head, bytes);
}

static void test_records(void)
{
	struct hca_capture *c;
	struct cap_view v;
	u64 at, bytes;

	up();
	c = &m->hca->capture;
	CU_ASSERT_EQUAL(send(1000), 0);
	CU_ASSERT_EQUAL(drain(&bytes), 0);
	look(1, 65536);
	CU_ASSERT_EQUAL(send(1000), 0);
	at = c->tail;
	CU_ASSERT_FATAL(cap_rec_next(m->hca, &at, c->head, &v));
	CU_ASSERT_EQUAL(v.rec->b.op, BOP_SEND);
	CU_ASSERT_EQUAL(v.rec->b.npkts, 4);
	CU_ASSERT_EQUAL(v.rec->keep, 256);
	CU_ASSERT(!memcmp(v.payload, m->c[0].mem, 1000));
	CU_ASSERT_FATAL(cap_rec_next(m->hca, &at, c->head, &v));
	CU_ASSERT_EQUAL(v.rec->b.op, BOP_ACK);
	CU_ASSERT_EQUAL(v.rec->nth, 4);
	CU_ASSERT_EQUAL(at, c->head);
	CU_ASSERT_EQUAL(drain(&bytes), 5);
	/* The first bytes of each packet; the last packet is shorter. */
	look(1, 100);
	CU_ASSERT_EQUAL(send(256 + 30), 0);
	at = c->tail;
	CU_ASSERT_FATAL(cap_rec_next(m->hca, &at, c->head, &v));
	CU_ASSERT_EQUAL(v.rec->keep, 100);
	CU_ASSERT(!memcmp(v.payload, m->c[0].mem, 100));
	CU_ASSERT(!memcmp(v.payload + 100, m->c[0].mem + 256, 30));
	drain(&bytes);
	down();
}

/* Whether the next record has the first 100 bytes of each packet of that message. */
static bool has_pieces(u64 *at, u32 len)
{
	struct hca_capture *c = &m->hca->capture;
	u32 n = packets_of(len, 256), i, kept;
	struct cap_view v;

	if (!cap_rec_next(m->hca, at, c->head, &v) || v.rec->keep != 100 ||
	    burst_packets(&v.rec->b) != n)
		return false;
	for (i = 0; i < n; i++) {
		kept = min_u32(100, len - i * 256);
		if (memcmp(v.payload + i * 100ull, m->c[0].mem + i * 256ull, kept) != 0)
			return false;
	}
	return cap_rec_next(m->hca, at, c->head, &v);
}

/*
 * Long messages of which little is kept, wherever in the ring they come to lie, whoever sends them
 * for their owner.
 */
static void test_pieces(void)
{
	struct hca_capture *c;
	struct cqe cqe;
	u64 at, before = 0;
	u32 i, len;

	up();
	c = &m->hca->capture;
	look(1, 100);
	for (i = 0; i < 300; i++) {
		len = 200000 + i * 131;
		/*
		 * The reader is a message late, as records would begin anew behind all that was
		 * read.
		 */
		c->tail = before;
		before = at = c->head;
		/* Every other time it is the receiver's process that carries it out. */
		if (i % 2) {
			CU_ASSERT_EQUAL(send(len), 0);
		} else {
			emu_fill(m->c[0].mem, len, (int)i);
			emu_post(m, &a, WR_SEND, 2, m->c[0].mem, len);
			emu_recv(m, &b, 1, m->c[1].mem, len);
			emu_publish(m, &a);
			engine_poke(&m->c[1].e);
			emu_run(m, m->clock + SEC);
			CU_ASSERT(emu_poll(m, &b.rcq, &cqe, NULL));
			CU_ASSERT(emu_poll(m, &a.scq, &cqe, NULL));
		}
		CU_ASSERT(has_pieces(&at, len));
	}
	CU_ASSERT(c->head > CAP_RING);
	down();
}

/* Round the ring's end, many times, behind a reader that is always a message late. */
static void test_round(void)
{
	struct hca_capture *c;
	u64 bytes, want, end;
	u32 i, len, n;

	up();
	c = &m->hca->capture;
	look(1, 65536);
	CU_ASSERT_EQUAL(send(1000), 0);
	len = 1000;
	for (i = 0; i < 200; i++) {
		end = c->head;
		n = packets_of(len, 256) + 1;
		want = len;
		len = 100000 + i * 1237;
		CU_ASSERT_EQUAL(send(len), 0);
		CU_ASSERT_EQUAL(drain_to(end, &bytes), (int)n);
		CU_ASSERT_EQUAL(bytes, want);
	}
	CU_ASSERT(c->head > 2 * CAP_RING);
	down();
}

/*
 * Behind one that has read all, records begin anew, where the ring does: no more of it is used than
 * is needed.
 */
static void test_anew(void)
{
	static const u8 untouched[4096];
	struct hca_capture *c;
	u64 bytes;
	u32 i;

	up();
	c = &m->hca->capture;
	look(1, 65536);
	for (i = 0; i < 200; i++) {
		CU_ASSERT_EQUAL(send(100000 + i * 1237), 0);
		CU_ASSERT_EQUAL(drain(&bytes), (int)packets_of(100000 + i * 1237, 256) + 1);
		CU_ASSERT_EQUAL(bytes, 100000 + i * 1237);
	}
	CU_ASSERT(c->head > 2 * CAP_RING);
	CU_ASSERT(!memcmp(c->ring + CAP_RING / 2, untouched, sizeof(untouched)));
	down();
}

/* Nobody reads: requests wait, and go on when somebody does. None is lost, none is sent twice. */
static void test_full(void)
{
	struct cqe c;
	u64 bytes;
	int n = 0, i;

	up();
	look(1, 65536);
	for (i = 0; i < 40 && !send(1u << 20); i++)
		;
	CU_ASSERT(i > 8 && i < 16);
	CU_ASSERT(m->hca->capture.rung);
	CU_ASSERT(m->hca->capture.write - m->hca->capture.tail <= CAP_RING);
	n = drain(&bytes);
	CU_ASSERT_EQUAL(n, i * 4097);
	emu_run(m, m->clock + SEC);
	CU_ASSERT(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, 0);
	CU_ASSERT_EQUAL(drain(&bytes), 4097);
	CU_ASSERT_EQUAL(m->hca->capture.lost[0], 0);
	/* Lossy: nobody waits, and what is missing is counted. */
	look(0, 65536);
	for (i = 0; i < 40; i++)
		CU_ASSERT_EQUAL(send(1u << 20), 0);
	n = drain(&bytes);
	CU_ASSERT(m->hca->capture.lost[0] > 0);
	CU_ASSERT_EQUAL((u64)n + m->hca->capture.lost[0], 40 * 4097);
	down();
}

/* What cannot be delivered now is sent again, but was seen once. */
static void test_again(void)
{
	u64 bytes;

	up();
	look(1, 65536);
	m->copy_error = -EAGAIN;
	m->copy_skip = 1; /* the record's own copy works */
	CU_ASSERT_EQUAL(send(1000), 0);
	CU_ASSERT_EQUAL(drain(&bytes), 5);
	m->copy_error = -EAGAIN;
	m->copy_skip = 0;
	CU_ASSERT_EQUAL(send(1000), 0);
	CU_ASSERT_EQUAL(drain(&bytes), 5);
	down();
}

static int after_death(struct emu *unused, void *arg, bool died)
{
	u64 bytes;

	(void)unused;
	(void)arg;
	if (died)
		emu_reap(m);
	CU_ASSERT(drain(&bytes) >= 0);
	CU_ASSERT_EQUAL(m->hca->capture.head, m->hca->capture.write);
	return 0;
}

/* Wherever its holder dies, the ring is one that can be read, and the packets go on in order. */
static void test_death(void)
{
	up();
	look(1, 65536);
	emu_recv(m, &b, 1, m->c[1].mem, 3000);
	emu_post(m, &a, WR_SEND, 2, m->c[0].mem, 3000);
	deaths_ring(m, &a, 307, after_death);
	down();
}

/*
 * A program that has HCA memory can write anything there: the reader says so, and reads nothing
 * outside.
 */
static void test_garbage(void)
{
	u64 seed = 11, at, bytes;
	struct hca_capture *c;
	struct cap_view v;
	u32 i, j;
	u8 *p;

	up();
	c = &m->hca->capture;
	look(1, 65536);
	for (i = 0; i < 2000; i++) {
		send(600);
		at = c->tail;
		for (j = 0; j < 4; j++) {
			p = &c->ring[(c->tail + emu_rnd(&seed) % 256) % CAP_RING];
			*p = (u8)emu_rnd(&seed);
		}
		while (cap_rec_next(m->hca, &at, c->head, &v)) {
			CU_ASSERT(v.payload >= c->ring && v.payload <= c->ring + CAP_RING);
			CU_ASSERT(v.rec->kind != CAP_FRAME ||
				  v.payload + v.rec->keep <= c->ring + CAP_RING);
		}
		c->tail = c->head;
		drain(&bytes);
	}
	down();
}

static const struct cu_test tests[] = {
	{ "records: what is sent, in order, as much as is wanted", test_records },
	{ "long messages of which little is kept, whoever carries them out", test_pieces },
	{ "round the ring's end", test_round },
	{ "a ring that was read is begun anew", test_anew },
	{ "a full ring: requests wait, or are counted", test_full },
	{ "what is tried again is recorded once", test_again },
	{ "a holder dies anywhere", test_death },
	{ "a ring that was overwritten", test_garbage },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("capture", tests);
}
