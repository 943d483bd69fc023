/* SPDX-License-Identifier: MIT */
/* A message that a program posts right before it calls exit(3) arrives, as on a device. */
#include "tests/lib/c/vb.h"

#include <stdlib.h>

#define SENDERS 12
#define BYTES	64

static int post_and_exit(struct vb_side *s, void *arg)
{
	exit(vb_send(s, 0, false, arg));
}

/* Return: whether the message of a sender arrives that has ended by then. */
static bool sent_at_exit(struct vb_side *from, struct vb_side *to, enum ibv_qp_type type,
			 uint64_t wr_id)
{
	struct vb_spec spec = vb_spec_of(type);
	struct vb_pair p = { 0 };
	struct ibv_wc wc;
	struct vb_wr wr;
	bool good;

	vb_open(from);
	if (vb_pair_up(&p, from, to, &spec) ||
	    vb_recv1(to, p.recv, wr_id, to->buf + BYTES, BYTES + p.off))
		return false;
	wr = vb_pair_send(&p, wr_id, BYTES);
	good = !vb_call_last(from, post_and_exit, &wr, sizeof(wr)) &&
	       vb_done(to, p.rq, p.rcq, wr_id, IBV_WC_RECV, &wc);
	return !vb_destroy(to, 1) && good;
}

int main(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct vb_side *from[3 * SENDERS], *to;
	int i, good[3] = { 0 };

	for (i = 0; i < 3 * SENDERS; i++)
		from[i] = vb_fork();
	to = vb_local();
	vb_open(to);
	for (i = 0; i < 3 * SENDERS; i++)
		good[i % 3] += sent_at_exit(from[i], to, types[i % 3], (uint64_t)i);
	for (i = 0; i < 3; i++)
		ok(good[i] == SENDERS, "%s: what is posted right before exit(3) arrives: %d of %d",
		   vb_type_str(types[i]), good[i], SENDERS);
	vb_close(to);
	return tap_failed != 0;
}
