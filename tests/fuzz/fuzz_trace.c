/* SPDX-License-Identifier: MIT */
/*
 * What `rdmaemu fault try` makes of a trace's frames, for libFuzzer: `make fuzz`.
 *
 * An input is a link type, by its number in the table, and frames, each after its length in one
 * byte (255: the rest) and a byte of how many bytes were not captured. The target reads all of them
 * as one trace.
 */
#include "fabric/cli/fault_try/connection.h"
#include "tests/fuzz/links.h"

#include <stdlib.h>

#define FRAMES 64u

/*
 * Frames of the input; the next one begins at *@at. Memory of its own, so that what is read beyond
 * it shows.
 */
static u8 *next_frame(const u8 *data, size_t len, size_t *at, u32 *caplen, u32 *wire)
{
	u32 n, cut;
	u8 *copy;

	if (len - *at < 2)
		return NULL;
	n = data[*at];
	cut = data[*at + 1];
	*at += 2;
	if (n == 255 || n > len - *at)
		n = (u32)(len - *at);
	copy = malloc(n ? n : 1);
	must(copy);
	memcpy(copy, data + *at, n);
	*at += n;
	*caplen = n;
	*wire = n + cut;
	return copy;
}

static void see(struct trace_conns *t, u32 frame, const struct trace_pkt *p, bool learn)
{
	struct fault_pkt pkt;

	must(p->dst_qpn <= 0xffffff && p->psn <= 0xffffff && p->size < 70000);
	if (learn) {
		must(!trace_conns_learn(t, frame, p));
		return;
	}
	must(trace_conns_look(t, frame, p, &pkt));
	must(pkt.src.dev < trace_conns_n_nodes(t) && pkt.dst.dev < trace_conns_n_nodes(t) &&
	     pkt.op < 64);
	must(pkt.conn <= trace_conns_count(t) && pkt.round && pkt.rel <= 0xffffff);
}

static void pass(struct trace_conns *t, const u8 *data, size_t len, bool learn)
{
	u32 link = links[data[0] % ARRAY_SIZE(links)], frame, caplen, wire;
	struct trace_pkt p;
	size_t at = 1;
	u8 *bytes;

	for (frame = 1; frame <= FRAMES; frame++) {
		bytes = next_frame(data, len, &at, &caplen, &wire);
		if (!bytes)
			return;
		if (trace_frame_parse(link, bytes, caplen, wire, &p) == TRACE_RDMA)
			see(t, frame, &p, learn);
		free(bytes);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct trace_conns *t;

	if (!len)
		return 0;
	t = trace_conns_make(2 * FRAMES);
	must(t);
	pass(t, data, len, true);
	trace_conns_settle(t);
	pass(t, data, len, false);
	trace_conns_free(t);
	return 0;
}
