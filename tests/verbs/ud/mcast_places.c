/* SPDX-License-Identifier: MIT */
/*
 * The places for multicast groups at a wire of RoCE v2.
 *	app_ud_mcast_places PLACES LEFT: how many groups one program may join, and whether another
 *	program can join one more then (yes|no)
 *
 * Queue pair 0 of A joins groups until the device refuses one. QP 0 of B is in RTS, QP 1 in RESET.
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MORE 100 /* groups that a program asks for, at most */

struct member {
	int qp;
	uint8_t group;
};

static union ibv_gid group_gid(uint8_t n)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7, [15] = n } };

	return gid;
}

static int do_attach(struct vb_side *s, void *arg)
{
	const struct member *m = arg;
	union ibv_gid gid = group_gid(m->group);

	return ibv_attach_mcast(s->qp[m->qp].qp, &gid, 0);
}

static int do_detach(struct vb_side *s, void *arg)
{
	const struct member *m = arg;
	union ibv_gid gid = group_gid(m->group);

	return ibv_detach_mcast(s->qp[m->qp].qp, &gid, 0);
}

static int attach(struct vb_side *s, int qp, int group)
{
	struct member m = { qp, (uint8_t)group };

	return vb_call(s, do_attach, &m, sizeof(m));
}

static int detach(struct vb_side *s, int qp, int group)
{
	struct member m = { qp, (uint8_t)group };

	return vb_call(s, do_detach, &m, sizeof(m));
}

/* QPs 0 and 1 of B: one that has a port, one that has none yet. */
static void test_what_is_left(struct vb_side *b, bool left)
{
	static const char *const state[] = { "RTS", "RESET" };
	int want = left ? 0 : ENOMEM, i;

	for (i = 0; i < 2; i++) {
		ok(attach(b, i, MORE + i) == want, "another program's QP in %s: %s", state[i],
		   left ? "joins" : "ENOMEM");
		if (left)
			ok(!detach(b, i, MORE + i), "and leaves");
	}
	ok(!attach(b, 0, 0) && !attach(b, 1, 0) && !detach(b, 1, 0) && !detach(b, 0, 0),
	   "a group that has a place takes no other one");
}

/* Return: how many groups QP 0 has joined; *@err: why it could not join one more. */
static int join_all(struct vb_side *s, int *err)
{
	int n;

	for (n = 0; n < MORE; n++) {
		*err = attach(s, 0, n);
		if (*err)
			break;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	struct vb_side *a, *b;
	int places = argc > 2 ? atoi(argv[1]) : 0, n, err = 0;

	if (!places)
		return 2;
	b = vb_fork();
	a = vb_local();
	vb_open(a);
	vb_open(b);
	ok(!vb_create(a, 0, &spec) && !vb_connect(a, 0, NULL, 0, &spec) &&
		   !vb_create(b, 0, &spec) && !vb_connect(b, 0, NULL, 0, &spec) &&
		   !vb_create(b, 1, &spec),
	   "UD queue pairs");
	n = join_all(a, &err);
	ok(n == places && err == ENOMEM, "a program joins %d of %d groups, then: %s", n, places,
	   strerror(err));
	test_what_is_left(b, !strcmp(argv[2], "yes"));
	while (n--)
		if (detach(a, 0, n))
			break;
	ok(n == -1, "it leaves all");
	ok(!attach(b, 1, 1) && !detach(b, 1, 1), "and another program's QP in RESET joins");
	vb_close_two(a, b);
	return tap_failed != 0;
}
