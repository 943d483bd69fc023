/* SPDX-License-Identifier: MIT */
/*
 * Work that a program posts right before it takes the QP out of RTS, or destroys it, is on its way
 * by then, as on a device, which begins such work long before the command gets to it.
 *	app_qp_posted_before_error [local|remote]: where the receiver lives
 */
#include "tests/lib/c/vb.h"

#include <string.h>

#define ROUNDS 200
#define BYTES  64

static struct vb_side *a, *b;

typedef int (*leave_fn)(void);

static int leave_to_err(void)
{
	return vb_to_state(a, 0, IBV_QPS_ERR);
}

static int leave_to_reset(void)
{
	return vb_to_state(a, 0, IBV_QPS_RESET);
}

static int leave_by_destroy(void)
{
	return vb_destroy(a, 0);
}

/* Post a SEND and take its QP out of RTS. Return: whether the message arrives. */
static bool send_and_leave(enum ibv_qp_type type, leave_fn leave, uint64_t wr_id)
{
	struct vb_spec spec = vb_spec_of(type);
	struct vb_pair p = { 0 };
	struct ibv_wc wc;
	struct vb_wr wr;
	bool good;

	if (vb_pair_up(&p, a, b, &spec))
		return false;
	wr = vb_pair_send(&p, wr_id, BYTES);
	good = !vb_recv1(b, p.recv, wr_id, b->buf + BYTES, BYTES + p.off) &&
	       !vb_send(a, 0, false, &wr) && !leave() &&
	       vb_done(b, p.rq, p.rcq, wr_id, IBV_WC_RECV, &wc);
	vb_pair_down(&p);
	return good;
}

static void test_leave(enum ibv_qp_type type, leave_fn leave, const char *what)
{
	uint64_t i = 0;

	while (i < ROUNDS && send_and_leave(type, leave, i))
		i++;
	ok(i == ROUNDS, "%s, then %s: the message arrives, in %u of %u rounds", vb_type_str(type),
	   what, (unsigned int)i, ROUNDS);
}

int main(int argc, char **argv)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	vb_open_two(argc, argv, &a, &b);
	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		test_leave(types[i], leave_to_err, "ERR");
		test_leave(types[i], leave_to_reset, "RESET");
		test_leave(types[i], leave_by_destroy, "destroyed");
	}
	vb_close_two(a, b);
	return tap_failed != 0;
}
