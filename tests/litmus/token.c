/* SPDX-License-Identifier: MIT */
/*
 * Doorbells and the token: emulator/engine/token.c, token_queue.c, relay_serve.c and doorbell.c as
 * they are, with a send queue of one counter. No posted work request is left without somebody that
 * runs it or was woken for it.
 */
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/transport/relay.h"
#include "emulator/hca.h"
#include "emulator/seg.h"
#include "emulator/transport/requester.h"
#include "tests/litmus/model.h"

#include <stdio.h>

static struct hca hca;
static struct seg_hdr seg[2];
static struct engine engine[3];
static u32 posted[2], done[2], kicks;
static bool woken;

static void *ops_seg(void *ctx, u32 client)
{
	(void)ctx;
	return &seg[client];
}

static void ops_kick(void *ctx)
{
	(void)ctx;
	fetch_or(&kicks, 1);
}

static const struct engine_ops ops = { .seg = ops_seg, .kick = ops_kick };

/* The queue: the producer index that this reads is what posted work is found by. */
/* No host is outside. */
bool relay_may_leave(const struct engine *e, const struct hca_qp *qp)
{
	(void)e;
	(void)qp;
	return false;
}

void req_run_qp(struct engine *e, u32 slot)
{
	(void)e;
	done[slot] = load_acquire(&posted[slot]);
}

static void token_init(void)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		engine[i].hca = &hca;
		engine[i].ops = &ops;
		engine[i].self = i < 2 ? i : ENGINE_FABRIC;
		engine[i].token = i < 2 ? token_of(i, 1) : TOKEN_FABRIC;
	}
	for (i = 0; i < 2; i++) {
		hca.client[i].state = CLIENT_LIVE;
		hca.client[i].gen = 1;
		hca.qp[i].client = i + 1;
		hca.qp[i].state = QPS_RTS;
	}
	hca.n_clients = 2;
	hca.tab[TAB_QP].high = 2;
}

static void post_first(void)
{
	store_release(&posted[0], 1);
	engine_doorbell(&engine[0], &seg[0], 0);
}

static void post_second(void)
{
	store_release(&posted[1], 1);
	engine_doorbell(&engine[1], &seg[1], 1);
}

static bool all_done(void)
{
	return hca.token == TOKEN_FREE && done[0] == posted[0] && done[1] == posted[1];
}

/* A poster that leaves its work to the next holder, and a holder that gives the token back. */
static void post_deferred(void)
{
	store_release(&posted[0], 1);
	engine_defer(&engine[0], &seg[0], 0);
}

static void watch_init(void)
{
	token_init();
	hca.watching = 1;
}

static void watch_end(void)
{
	woken = doorbell_watch_end(&hca);
}

static bool is_kicked_or_found(void)
{
	return done[0] == posted[0] || kicks || woken;
}

/* A budget that is used up: what is left must not be lost. */
static void hold_without_budget(void)
{
	if (!engine_try(&engine[1]))
		return;
	engine[1].budget_wrs = 0;
	engine_leave(&engine[1]);
}

static bool is_done_or_kicked(void)
{
	return done[0] == posted[0] || kicks;
}

static void post_relayed(void)
{
	store_release(&posted[0], 1);
	relay_ring(&engine[0], 0);
}

static void relay_sleep(void)
{
	if (!relay_sleep_begin(&hca))
		relay_serve(&engine[2]);
}

static void relay_init(void)
{
	token_init();
	budget_reset(&engine[2]);
}

/* A poller that sleeps, and a delivery. */
static u32 delivered, seen;
static bool is_asleep, is_woken;

static void poller_sleep(void)
{
	u32 brought = load_acquire(&seg[0].brought);

	seen = load_relaxed(&delivered);
	poller_nap_begin(&seg[0]);
	/* futex(2) compares. */
	is_asleep = load_relaxed(&seg[0].brought) == brought;
}

static void poller_deliver(void)
{
	store_relaxed(&delivered, 1);
	is_woken = poller_brought(&seg[0]);
}

static bool is_seen_or_woken(void)
{
	return seen || !is_asleep || is_woken;
}

/* A waiter that draws a ticket while the last one is served. */
static struct token_wait waits[2];

static void ticket_init(void)
{
	token_init();
	memset(waits, 0, sizeof(waits));
	hca.queue.tail = 1;
	hca.waiting = 1;
	waits[1].drawn = true;
}

static void ticket_draw(void)
{
	done[0] = token_queue_try(&engine[0], &waits[0]);
}

static void ticket_serve(void)
{
	done[1] = token_queue_try(&engine[1], &waits[1]);
}

static bool is_waiter_announced(void)
{
	return done[0] || !done[1] || hca.waiting;
}

static const struct litmus_test tests[] = {
	{ "two posters: the token's holder serves both doorbells",
	  token_init,
	  { post_first, post_second },
	  all_done },
	{ "a deferred doorbell kicks or is found when the fabric process stops watching",
	  watch_init,
	  { post_deferred, watch_end },
	  is_kicked_or_found },
	{ "a holder without budget kicks for a doorbell",
	  token_init,
	  { post_first, hold_without_budget },
	  is_done_or_kicked },
	{ "a relayed doorbell kicks the fabric process, or is found before it sleeps",
	  relay_init,
	  { post_relayed, relay_sleep },
	  is_done_or_kicked },
	{ "a poller that sleeps is woken by a delivery that it has not seen",
	  token_init,
	  { poller_sleep, poller_deliver },
	  is_seen_or_woken },
	{ "holders count for a waiter that draws a ticket while another is served",
	  ticket_init,
	  { ticket_draw, ticket_serve },
	  is_waiter_announced },
};

int main(void)
{
	bool good = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		good &= litmus_run(&tests[i]);
	return !good;
}
