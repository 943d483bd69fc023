/* SPDX-License-Identifier: MIT */
/*
 * Fault rules and raw Ethernet: which frames arrive, in which order, and the counters.
 *	app_fault_raw
 * Environment: RDMAEMU_BIN, the command that sets rules.
 */
#include "tests/lib/c/fault.h"
#include "tests/lib/c/raw.h"

#include <stdio.h>
#include <string.h>

#define FRAMES	5u
#define PAYLOAD 100u

static const uint8_t mac[6] = { 2, 0, 0, 0, 1, 1 };
static struct raw_end a, b;
static uint32_t posted; /* receives that b has */

/* Frame @id, whose payload is as long as its number says. Whether it has left. */
static bool send(uint32_t id)
{
	struct raw_pkt k = raw_udp4(mac, 7, 8, PAYLOAD + id);

	return raw_send(&a, raw_build(a.out, &k, id), 0) == IBV_WC_SUCCESS;
}

/* Which frame has come, whole; -1: none, -2: another than was sent */
static int next(bool wait)
{
	struct ibv_wc wc;
	uint32_t head = 42, id;

	if (!raw_poll(b.rcq, &wc, wait))
		return -1;
	posted--;
	id = wc.byte_len - head - PAYLOAD;
	if (wc.status || !filled(raw_slot(&b, wc.wr_id) + head, PAYLOAD + id, id))
		return -2;
	return (int)id;
}

/* FRAMES are sent under the rule; those in @want come, in that order, and no other. */
static void frames(const char *rule, const char *want, int hits)
{
	char got[64] = "";
	uint32_t i, n = (uint32_t)strlen(want);
	bool left = true;

	fault_add("%s", rule);
	for (; posted < 2 * FRAMES; posted++)
		raw_recvs(&b, 1, RAW_SLOT);
	for (i = 0; i < FRAMES; i++)
		left = send(i) && left;
	ok(left, "%s: each frame leaves", rule);
	for (i = 0; i < n; i++) {
		int id = next(true);

		got[i] = (char)(id < 0 ? '?' : '0' + id);
	}
	ok(!strcmp(got, want) && next(false) == -1, "%s: %s come", rule, want);
	if (strcmp(got, want) != 0)
		note("%s", got);
	ok(fault_hits() == hits, "%s: %d hits", rule, hits);
	fault_clear();
}

int main(void)
{
	struct ibv_context *ctx = rc_open_first();
	struct ibv_flow *f;

	raw_open(&a, ctx, 0, 0);
	raw_open(&b, ctx, 0, 0);
	f = raw_flow_dmac(b.qp, mac);
	frames("drop nth=2", "0234", 1);
	frames("drop type=RAW_PACKET size=144", "0134", 1);
	frames("drop opcode=SEND_ONLY every=2", "13", 3);
	frames("corrupt nth=3", "0134", 1);
	frames("duplicate nth=2", "011234", 1);
	frames("delay 5s nth=1", "12340", 1);
	frames("reorder nth=1 gap=2 2s", "12034", 1);
	frames("rate 10Mbit", "01234", 5);
	frames("drop type=UD ; drop opcode=RDMA_WRITE ; drop type=RC", "01234", 0);
	frames("loss 100%", "", 5);
	frames("link down node=node0 opcode=SEND_ONLY nth=3 for=1000s", "01", 1);
	ibv_destroy_flow(f);
	raw_close(&a);
	raw_close(&b);
	ibv_close_device(ctx);
	return tap_failed != 0;
}
