/* SPDX-License-Identifier: MIT */
/*
 * An address handle is destroyed as soon as the datagrams are posted that use it, as mckey does:
 * all of them arrive. One process sends to itself.
 */
#include "tests/lib/c/vb.h"

#define ROUNDS	  1000
#define DATAGRAMS 10
#define BYTES	  64
#define ROOM	  128

static struct vb_side *s;

static bool post_round(void)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 0, s, s->buf, BYTES);
	int i;

	wr.ah = 1;
	wr.rqpn = s->addr[0].qpn;
	wr.rqkey = VB_QKEY;
	for (i = 0; i < DATAGRAMS; i++)
		if (vb_recv1(s, 0, (uint64_t)i, s->buf + 4096 + (size_t)i * ROOM, ROOM))
			return false;
	if (vb_ah(s, 0, &s->info.gid))
		return false;
	for (i = 0; i < DATAGRAMS; i++) {
		wr.wr_id = (uint64_t)i;
		if (vb_send(s, 0, false, &wr))
			return false;
	}
	return !ibv_destroy_ah(s->ah[0]);
}

static bool take_round(void)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < DATAGRAMS; i++)
		if (!vb_done(s, 0, VB_SCQ, (uint64_t)i, IBV_WC_SEND, &wc) ||
		    !vb_done(s, 0, VB_RCQ, (uint64_t)i, IBV_WC_RECV, &wc))
			return false;
	return true;
}

int main(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	int good = 0;

	s = vb_local();
	vb_open(s);
	if (vb_create(s, 0, &spec) || vb_connect(s, 0, NULL, 0, &spec))
		die("no queue pair");
	while (good < ROUNDS && post_round() && take_round())
		good++;
	ok(good == ROUNDS, "datagrams arrive whose address handle is destroyed: %d of %d rounds",
	   good, ROUNDS);
	return tap_failed != 0;
}
