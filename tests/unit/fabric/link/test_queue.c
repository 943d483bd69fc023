/* SPDX-License-Identifier: MIT */
/* The queue of bursts on links, its memory, and the parser of link settings. */
#include "fabric/link/queue.h"
#include "fabric/common/parse_link.h"
#include "tests/lib/engine/emu.h"

#include "tests/lib/c/cu.h"
#include <stdlib.h>
#include <string.h>

/* A burst of flow @n with @len bytes; with @op it is of its class. */
static struct burst burst_of(u32 n, u8 op, u64 len)
{
	static const struct hca_mem mem = { .kind = MEM_VM };

	return (struct burst){ .op = op,
			       .src_qpn = n + 1,
			       .dst_qpn = n + 100001,
			       .src_port = 1,
			       .dst_port = 1,
			       .dst_dev = 1,
			       .npkts = packets_of(len, 1024),
			       .mtu = 1024,
			       .len = len,
			       .mem = len ? &mem : NULL };
}

static struct lq_entry *put(struct linkq *q, const struct burst *b, u64 left, u64 at)
{
	struct lq_key k = linkq_key(b);
	struct lq_entry *e = linkq_get(q, &k, b);

	if (!e)
		return NULL;
	e->left = left;
	e->at = at;
	e->wire = (u32)linkq_payload(b) + 62;
	linkq_put(q, &k, e);
	return e;
}

static bool is_empty(const struct linkq *q)
{
	return !q->n_entries && !q->n_flows && linkq_next(q) == ~0ULL &&
	       !q->arena[LQ_REQUEST].used && !q->arena[LQ_ANSWER].used;
}

/* Pieces do not overlap, and when all are back there is one of each of the largest again. */
static void test_buddy(void)
{
	enum { UNITS = 8 << (BUDDY_ORDERS - 1), TURNS = 200000, LIVE = 400 };
	static u8 owner[UNITS];
	struct {
		int unit;
		u32 n;
	} live[LIVE] = { 0 };
	struct buddy b;
	u64 seed = 7;
	u32 i, j, n = 0;
	bool bad = false;

	CU_ASSERT_EQUAL_FATAL(buddy_make(&b, 8ULL * BUDDY_MAX), 0);
	CU_ASSERT_EQUAL(b.n, UNITS);
	for (i = 0; i < TURNS; i++) {
		u32 at = (u32)(emu_rnd(&seed) % LIVE);
		u64 bytes = 1 + emu_rnd(&seed) % (1u << (10 + emu_rnd(&seed) % 10));
		bool can = buddy_has_room(&b, bytes);

		if (live[at].n) {
			for (j = 0; j < live[at].n; j++)
				bad |= !owner[live[at].unit + j], owner[live[at].unit + j] = 0;
			buddy_free(&b, (u32)live[at].unit);
			n -= live[at].n;
			live[at].n = 0;
			continue;
		}
		live[at].unit = buddy_alloc(&b, bytes);
		bad |= can != (live[at].unit >= 0);
		if (live[at].unit < 0)
			continue;
		for (live[at].n = 1; live[at].n * BUDDY_UNIT < bytes; live[at].n *= 2)
			;
		n += live[at].n;
		bad |= b.used != n;
		for (j = 0; j < live[at].n; j++)
			bad |= owner[live[at].unit + j], owner[live[at].unit + j] = 1;
	}
	CU_ASSERT_FALSE(bad);
	for (i = 0; i < LIVE; i++)
		if (live[i].n)
			buddy_free(&b, (u32)live[i].unit);
	CU_ASSERT_EQUAL(b.used, 0);
	for (i = 0; i < 8; i++)
		CU_ASSERT(buddy_alloc(&b, BUDDY_MAX) >= 0);
	CU_ASSERT_FALSE(buddy_has_room(&b, 1));
	CU_ASSERT_EQUAL(buddy_alloc(&b, BUDDY_MAX + 1), -ENOMEM);
	buddy_destroy(&b);
}

/*
 * Many flows, random times: all arrive when they are due, each flow's in the order they were sent.
 */
static void test_order(void)
{
	enum { FLOWS = 200, TURNS = 300000 };
	static u32 sent[FLOWS], got[FLOWS];
	struct linkq q;
	struct lq_entry *e;
	u64 seed = 11, now = 1000;
	bool bad = false;
	u32 i, n;

	CU_ASSERT_EQUAL_FATAL(linkq_make(&q), 0);
	for (i = 0; i < TURNS; i++) {
		struct burst b =
			burst_of(n = (u32)(emu_rnd(&seed) % FLOWS),
				 emu_rnd(&seed) % 2 ? BOP_SEND : BOP_WRITE, emu_rnd(&seed) % 3000);

		b.psn = sent[n];
		if (put(&q, &b, now, now + emu_rnd(&seed) % 100000))
			sent[n]++;
		now += emu_rnd(&seed) % 100;
		while ((e = linkq_due(&q, now))) {
			n = e->b.src_qpn - 1;
			if (emu_rnd(&seed) % 10 == 0) {
				linkq_retry_at(&q, e, now + emu_rnd(&seed) % 1000);
				continue;
			}
			bad |= e->at > now || e->b.psn != got[n]++;
			linkq_done(&q, e);
		}
	}
	while ((e = linkq_due(&q, ~0ULL - 1))) {
		bad |= e->b.psn != got[e->b.src_qpn - 1]++;
		linkq_done(&q, e);
	}
	CU_ASSERT_FALSE(bad);
	CU_ASSERT_FALSE(memcmp(sent, got, sizeof(sent)));
	CU_ASSERT(is_empty(&q));
	linkq_destroy(&q);
}

/* Times of a flow never go back, whatever jitter says. */
static void test_no_overtaking(void)
{
	struct burst b = burst_of(1, BOP_SEND, 100);
	struct linkq q;

	CU_ASSERT_EQUAL_FATAL(linkq_make(&q), 0);
	put(&q, &b, 10, 1000);
	CU_ASSERT_EQUAL(put(&q, &b, 20, 500)->at, 1000);
	CU_ASSERT_PTR_NULL(linkq_due(&q, 999));
	linkq_done(&q, linkq_due(&q, 1000));
	CU_ASSERT_EQUAL(linkq_next(&q), 1000);
	linkq_done(&q, linkq_due(&q, 1000));
	CU_ASSERT(is_empty(&q));
	linkq_destroy(&q);
}

/* Bounds: entries, payload, what one flow may have; answers find room when requests do not. */
static void test_bounds(void)
{
	struct burst small = burst_of(0, BOP_SEND, 0), big = burst_of(0, BOP_SEND, BUDDY_MAX);
	struct burst ack = burst_of(0, BOP_ACK, 0), read = burst_of(0, BOP_READ_RESP, BUDDY_MAX);
	struct lq_entry *e;
	struct linkq q;
	u32 i, n;

	CU_ASSERT_EQUAL_FATAL(linkq_make(&q), 0);
	for (n = 0; put(&q, &small, 0, 5); n++)
		;
	CU_ASSERT_EQUAL(n, LQ_FLOW);
	for (i = 1; n < LQ_ENTRIES; i++) {
		small = burst_of(i, BOP_SEND, 0);
		if (!put(&q, &small, 0, 5))
			break;
		n++;
	}
	CU_ASSERT_EQUAL(n, LQ_ENTRIES - LQ_SPARE);
	for (i = 0; i < LQ_SPARE; i++) {
		ack = burst_of(i, BOP_ACK, 0);
		CU_ASSERT_PTR_NOT_NULL(put(&q, &ack, 0, 5));
	}
	CU_ASSERT_PTR_NULL(put(&q, &ack, 0, 5));
	while ((e = linkq_due(&q, 5)))
		linkq_done(&q, e);
	CU_ASSERT(is_empty(&q));

	for (n = 0; put(&q, &big, 0, 5); n++)
		;
	CU_ASSERT_EQUAL(n, LQ_BYTES / BUDDY_MAX);
	for (i = 1; i < 100; i++) {
		big = burst_of(i, BOP_SEND, BUDDY_MAX);
		n += put(&q, &big, 0, 5) != NULL;
	}
	CU_ASSERT_EQUAL(n, LQ_ARENA / BUDDY_MAX);
	for (i = 0; i < LQ_ARENA / BUDDY_MAX; i++)
		CU_ASSERT_PTR_NOT_NULL(put(&q, &read, 0, 5));
	CU_ASSERT_PTR_NULL(put(&q, &read, 0, 5));
	while ((e = linkq_due(&q, 5)))
		linkq_done(&q, e);
	CU_ASSERT(is_empty(&q));
	linkq_destroy(&q);
}

/* Bursts that have not left count as backlog, in bytes on the wire. */
static void test_backlog(void)
{
	struct burst b = burst_of(3, BOP_WRITE, 938);
	struct lq_key k = linkq_key(&b);
	struct linkq q;
	u64 next;

	CU_ASSERT_EQUAL_FATAL(linkq_make(&q), 0);
	CU_ASSERT_PTR_NULL(linkq_flow(&q, &k));
	put(&q, &b, 100, 1000);
	put(&q, &b, 200, 1100);
	put(&q, &b, 300, 1200);
	CU_ASSERT_EQUAL(linkq_backlog(&q, linkq_flow(&q, &k), 50, &next), 3000);
	CU_ASSERT_EQUAL(next, 100);
	CU_ASSERT_EQUAL(linkq_backlog(&q, linkq_flow(&q, &k), 200, &next), 1000);
	CU_ASSERT_EQUAL(next, 300);
	put(&q, &b, 400, 1300);
	CU_ASSERT_EQUAL(linkq_backlog(&q, linkq_flow(&q, &k), 250, &next), 2000);
	CU_ASSERT_EQUAL(linkq_backlog(&q, linkq_flow(&q, &k), 400, &next), 0);
	put(&q, &b, 500, 1400);
	CU_ASSERT_EQUAL(linkq_backlog(&q, linkq_flow(&q, &k), 450, &next), 1000);
	/* Delivered before the flow is checked again. */
	for (u32 i = 0; i < 5; i++)
		linkq_done(&q, linkq_due(&q, 2000));
	CU_ASSERT(is_empty(&q));
	linkq_destroy(&q);
}

/* The burst in the queue refers to nothing of the one that was given. */
static void test_copy(void)
{
	struct hca_av av = { .dst_dev = 1, .dlid = 7 };
	struct burst b = burst_of(0, BOP_SEND, 600), read = burst_of(0, BOP_READ_REQ, 0);
	struct lq_entry *e;
	struct linkq q;

	CU_ASSERT_EQUAL_FATAL(linkq_make(&q), 0);
	b.av = &av;
	b.off = 512;
	e = put(&q, &b, 1, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	memset(&av, 0xff, sizeof(av));
	CU_ASSERT_PTR_EQUAL(e->b.av, &e->av);
	CU_ASSERT_EQUAL(e->b.av->dlid, 7);
	CU_ASSERT_EQUAL(e->b.off, 0);
	CU_ASSERT_PTR_EQUAL(e->b.mem, &e->mem);
	CU_ASSERT_EQUAL(e->mem.client, HCA_LINK);
	CU_ASSERT_EQUAL(e->mem.n, 1);
	CU_ASSERT_EQUAL(e->mem.iov[0].len, 600);
	CU_ASSERT(e->mem.iov[0].addr + 600 <= LQ_ARENA);
	/* A READ request takes no memory, however much it asks for. */
	read.len = read.dma_len = 1u << 30;
	e = put(&q, &read, 1, 3);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT_PTR_NULL(e->b.mem);
	CU_ASSERT_EQUAL(e->b.len, 1u << 30);
	linkq_done(&q, linkq_due(&q, 3));
	linkq_done(&q, linkq_due(&q, 3));
	CU_ASSERT(is_empty(&q));
	linkq_destroy(&q);
}

static bool says(const char *text, const struct hca_uplink *want)
{
	char copy[200], *word[16], again[200];
	struct hca_uplink l;
	const char *what;
	int n = 0, at;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *s = strtok(copy, " "); s && n < 16; s = strtok(NULL, " "))
		word[n++] = s;
	if (link_parse(word, n, &l, &at, &what))
		return !want && at <= n && what;
	if (!want || memcmp(&l, want, sizeof(l)) != 0)
		return false;
	/* And back: what is shown can be said. */
	link_text(&l, again, sizeof(again));
	return !strstr(again, "  ") && (!strcmp(text, again) || says(again, want));
}

#define LINK(...) (&(const struct hca_uplink){ __VA_ARGS__ })

static void test_words(void)
{
	CU_ASSERT(says("none", LINK(.mtu = 0)));
	CU_ASSERT(says("delay 1ms", LINK(.delay_ns = 1000000)));
	CU_ASSERT(says(
		"delay 1500us jitter 20ns rate 10Gbit mtu 1024",
		LINK(.delay_ns = 1500000, .jitter_ns = 20, .rate_bps = 10000000000, .mtu = 3)));
	CU_ASSERT(says("mtu 4096 rate 1kbit", LINK(.rate_bps = 1000, .mtu = 5)));
	CU_ASSERT(says("rate 1000gbit", LINK(.rate_bps = 1000000000000)));
	CU_ASSERT(says("delay 10s jitter 0", LINK(.delay_ns = 10000000000)));
	static const char *const wrong[] = {
		"",
		"delay",
		"delay 1",
		"delay 11s",
		"delay -1ms",
		"delay 1 ms",
		"delay 1mss",
		"jitter ms",
		"rate 1bit",
		"rate 0",
		"rate 2Tbit",
		"rate 1001Gbit",
		"mtu 1500",
		"mtu 1k",
		"mtu",
		"none none",
		"speed 1Gbit",
		"delay 1ms 2",
		"delay 99999999999999999999s",
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (!says(wrong[i], NULL))
			CU_FAIL(wrong[i]);
}

static const struct cu_test tests[] = {
	{ "pieces of memory", test_buddy },
	{ "order within flows, and by time", test_order },
	{ "jitter lets nothing overtake", test_no_overtaking },
	{ "bounds", test_bounds },
	{ "backlog", test_backlog },
	{ "copies", test_copy },
	{ "links in words", test_words },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("links", tests);
}
