/* SPDX-License-Identifier: MIT */
/**
 * DOC: the queue for the token: a waiter gets it after a bounded number of holdings.
 *
 * Theory of operation
 * -------------------
 * Posters and pollers take the token whenever it is free. With many of them a command, which must
 * have it, could lose every race. So a command that has spun in vain draws a ticket. Tickets are
 * served in order. When TOKEN_PASSES holdings of others have ended since it became a ticket's
 * turn, the next holder does not free the token but reserves it: the token's value then is the
 * ticket, and every attempt to take it fails, as if it were held, except that of the waiter.
 *
 * The bound: a waiter with n tickets ahead of its own sees at most (n + 1) * (TOKEN_PASSES + 2)
 * holdings of others end: TOKEN_PASSES that pass each ticket, the one that reserves, and the
 * ticket's own. A holding is bounded by its budget.
 *
 * A waiter may never come: it was killed, stopped, or its thread was cancelled. Tickets of dead
 * clients are skipped at once. Any other head of the queue is skipped by a waiter that has looked
 * TOKEN_LAPSE_LOOKS times, with a sleep in between, and saw the head stay while the token was free
 * or reserved. A waiter that was skipped draws another ticket. The fabric process queues as well.
 *
 * The head changes only under the token, so whoever has just taken it from the head's reservation
 * may advance it. A holder that dies before it does leaves the ticket of a dead client.
 */
#include "emulator/engine.h"

static bool ticket_is_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static u64 ticket_token(u32 ticket)
{
	return (u64)ticket << 32 | TOKEN_RESERVED;
}

/* Whether the process that drew a ticket is known to have ended. */
static bool ticket_is_dead(const struct hca *hca, u32 ticket)
{
	u64 who = load_acquire(&hca->queue.who[ticket % TOKEN_WAITERS]);
	u32 id = (u32)who - 1;

	if (!who || who == TOKEN_FABRIC || id >= HCA_MAX_CLIENTS)
		return false;
	return load_acquire(&hca->client[id].state) != CLIENT_LIVE ||
	       token_of(id, load_relaxed(&hca->client[id].gen)) != who;
}

static void ticket_draw(struct engine *e, struct token_wait *w)
{
	struct hca_token_queue *q = &e->hca->queue;

	w->ticket = __atomic_fetch_add(&q->tail, 1, __ATOMIC_SEQ_CST);
	store_release(&q->who[w->ticket % TOKEN_WAITERS], e->token);
	w->drawn = true;
	w->looks = 0;
}

/* The head's ticket is served or skipped. Token held. */
static void token_queue_advance(struct hca *hca)
{
	struct hca_token_queue *q = &hca->queue;
	u32 head = q->head + 1;

	store_relaxed(&q->passed, 0);
	store_relaxed(&q->who[q->head % TOKEN_WAITERS], 0);
	store_release(&q->head, head);
	if (head != load_acquire(&q->tail))
		return;
	/* A waiter draws its ticket before it sets the flag: one of the two sees the other. */
	exchange(&hca->waiting, 0);
	if (head != load_seq_cst(&q->tail))
		exchange(&hca->waiting, 1);
}

u64 token_queue_next(struct hca *hca)
{
	struct hca_token_queue *q = &hca->queue;

	if (likely(!load_relaxed(&hca->waiting)))
		return TOKEN_FREE;
	while (q->head != load_acquire(&q->tail) && ticket_is_dead(hca, q->head))
		token_queue_advance(hca);
	if (q->head == load_acquire(&q->tail) || load_relaxed(&hca->fatal))
		return TOKEN_FREE;
	if (q->passed < TOKEN_PASSES) {
		store_relaxed(&q->passed, q->passed + 1);
		return TOKEN_FREE;
	}
	return ticket_token(q->head);
}

static bool token_queue_take(struct engine *e, u32 ticket)
{
	u64 token = load_relaxed(&e->hca->token);

	if (token != TOKEN_FREE && token != ticket_token(ticket))
		return false;
	if (!__atomic_compare_exchange_n(&e->hca->token, &token, e->token, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return false;
	budget_reset(e);
	e->kick = false;
	return true;
}

/* The head does not come for its turn: take the token, skip the head, give the token back. */
static void token_queue_skip(struct engine *e, u32 head)
{
	if (!token_queue_take(e, head))
		return;
	if (e->hca->queue.head == head)
		token_queue_advance(e->hca);
	engine_leave(e);
}

bool token_queue_try(struct engine *e, struct token_wait *w)
{
	struct hca *hca = e->hca;
	u64 token;
	u32 head;

	if (!w->drawn || ticket_is_before(w->ticket, load_acquire(&hca->queue.head)))
		ticket_draw(e, w);
	if (!load_seq_cst(&hca->waiting))
		exchange(&hca->waiting, 1);
	head = load_acquire(&hca->queue.head);
	if (head == w->ticket) {
		if (!token_queue_take(e, head))
			return false;
		/* Another waiter may have skipped this one just now. */
		if (hca->queue.head == head)
			token_queue_advance(hca);
		w->drawn = false;
		return true;
	}
	token = load_relaxed(&hca->token);
	if (head != w->head || (token != TOKEN_FREE && token != ticket_token(head)))
		w->looks = 0;
	w->head = head;
	if (++w->looks > TOKEN_LAPSE_LOOKS || ticket_is_dead(hca, head)) {
		w->looks = 0;
		token_queue_skip(e, head);
	}
	return false;
}
