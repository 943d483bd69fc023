/* SPDX-License-Identifier: MIT */
/*
 * A receiver that keeps notes of its own where the GRH of the next datagram lands, as UCX does: it
 * writes the same byte there after each datagram. One process sends to itself.
 */
#include "tests/lib/c/vb.h"

#include <string.h>

#define NOTE  0x80
#define ROOM  2048
#define BYTES 1000

static struct vb_side *s;

static bool post_datagram(uint64_t id)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, id, s, s->buf, BYTES);

	memset(s->buf, (int)id, BYTES);
	wr.ah = 1;
	wr.rqpn = s->addr[0].qpn;
	wr.rqkey = VB_QKEY;
	return !vb_send(s, 0, false, &wr);
}

static bool take(uint64_t id)
{
	struct ibv_wc wc;

	return vb_done(s, 0, VB_RCQ, id, IBV_WC_RECV, &wc) && wc.byte_len == VB_GRH + BYTES;
}

int main(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	volatile uint8_t *room, *first;
	struct ibv_wc wc;
	bool good;

	s = vb_local();
	vb_open(s);
	room = s->buf + 4096;
	first = s->buf + 8192;
	if (vb_create(s, 0, &spec) || vb_connect(s, 0, NULL, 0, &spec) || vb_ah(s, 0, &s->info.gid))
		die("no queue pair");
	good = !vb_recv1(s, 0, 1, (void *)room, ROOM) && post_datagram(1) && take(1);
	room[0] = NOTE;
	/*
	 * The payload of the next one lands before its GRH does, at the poll. In between, a
	 * recorder compares what peers can read.
	 */
	good = good && !vb_recv1(s, 0, 2, (void *)room, ROOM) &&
	       !vb_recv1(s, 0, 3, (void *)first, ROOM) && post_datagram(2) &&
	       vb_done(s, 0, VB_SCQ, 1, IBV_WC_SEND, &wc) &&
	       vb_done(s, 0, VB_SCQ, 2, IBV_WC_SEND, &wc) && post_datagram(3) && take(2);
	ok(good && room[VB_GRH] == 2, "a datagram lands where another one was");
	room[0] = NOTE;
	ok(take(3) && first[VB_GRH] == 3, "and the next one elsewhere");
	ok(!vb_destroy(s, 0), "the queue pair is destroyed");
	return tap_failed != 0;
}
