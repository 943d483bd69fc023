/* SPDX-License-Identifier: MIT */
/*
 * Arming a CQ that holds completions: a device of mlx5's kind raises the event at once if no event
 * has announced one of them, others wait for the next completion.
 *	app_cq_arm_pending yes|no: what the device does
 */
#include "tests/lib/c/rc.h"

#include <string.h>

#define WAIT  20000
#define SHORT 5

static struct end *a, *b;
static bool at_once;

static void fresh_pair(void)
{
	struct rc_opts o = rc_defaults;

	o.chan = true;
	pair_up(a, b, &o, &o);
}

/* A message of which B has the completion, without a poll of it. */
static void message(uint64_t id, unsigned int flags)
{
	struct rc_wr recv = wr_make(IBV_WR_SEND, id, b, b->buf, 64, NULL, NULL);
	struct rc_wr wr = wr_make(IBV_WR_SEND, id, a, a->buf, 8, NULL, NULL);
	struct ibv_wc wc;

	wr.flags |= flags;
	if (end_recv(b, &recv) || end_send(a, &wr) || !end_poll(a, 0, WAIT, &wc) || wc.status)
		die("no message");
}

/* Whether arming raises the event at once, where the device does such. */
static bool raises(bool solicited, bool wanted)
{
	wanted = wanted && at_once;
	return !end_arm(b, 1, solicited) && (end_comp(b, wanted ? WAIT : SHORT) == 1) == wanted;
}

static bool poll_one(uint64_t id)
{
	struct ibv_wc wc;

	return end_poll(b, 1, WAIT, &wc) && !wc.status && wc.wr_id == id;
}

static void test_untold(void)
{
	fresh_pair();
	message(1, 0);
	message(2, 0);
	ok(raises(false, true), "two completions that came before");
	if (!at_once) { /* the arming waits for the next one */
		message(3, 0);
		ok(end_comp(b, WAIT) == 1, "the next completion raises it");
		return;
	}
	ok(poll_one(1) && raises(false, true) && poll_one(2), "one poll for each event");
	ok(raises(false, false), "an empty CQ: no event");
	message(3, 0);
	ok(end_comp(b, WAIT) == 1 && poll_one(3), "until a completion comes");
}

/* The program arms before it polls, as ibv_get_cq_event(3) says. */
static void test_told(void)
{
	fresh_pair();
	ok(raises(false, false), "armed while it is empty");
	message(1, 0);
	ok(end_comp(b, WAIT) == 1 && raises(false, false),
	   "a completion that an event has announced raises no other");
	ok(poll_one(1), "and is polled");
	message(2, 0);
	ok(end_comp(b, WAIT) == 1 && poll_one(2), "the next one has its own");
}

static void test_solicited(void)
{
	fresh_pair();
	message(1, 0);
	ok(raises(true, false), "armed for solicited completions: not by others");
	ok(poll_one(1), "one that was not");
	fresh_pair();
	message(2, IBV_SEND_SOLICITED);
	message(3, 0);
	ok(raises(true, true), "a solicited one that came before");
	ok(poll_one(2) && poll_one(3), "both are polled");
}

static void test_resize(void)
{
	fresh_pair();
	for (uint64_t id = 1; id <= 3; id++)
		message(id, 0);
	ok(poll_one(1) && !end_resize(b, 1, 500) && raises(false, true) && poll_one(2),
	   "after a resize");
	ok(raises(false, true) && poll_one(3), "and again");
}

static void test_loop(void)
{
	bool good = true;

	fresh_pair();
	for (uint64_t id = 0; id < 20; id++)
		message(id, 0);
	for (uint64_t id = 0; good && id < 20; id++)
		good = !end_arm(b, 1, false) && end_comp(b, WAIT) == 1 && poll_one(id);
	ok(good, "a program that arms, sleeps and polls one sees them all");
}

int main(int argc, char **argv)
{
	at_once = argc > 1 && !strcmp(argv[1], "yes");
	a = end_local();
	b = end_local();
	end_open(a);
	end_open(b);
	test_untold();
	test_told();
	test_solicited();
	test_resize();
	if (at_once)
		test_loop();
	end_close(b);
	return tap_failed != 0;
}
