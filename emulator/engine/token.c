/* SPDX-License-Identifier: MIT */
/**
 * DOC: the engine token and doorbells.
 *
 * Theory of operation
 * -------------------
 * hca->token is 0 or names its holder. A poster first tries to take it; with it, its QP is run at
 * once and no doorbell is written. Without it, the doorbell is set (bit in the own segment, then in
 * hca->pending_clients, then in hca->pending) and the token is tried once more. The holder gives
 * the token back and only then looks at hca->pending again. Both sides use sequentially consistent
 * read-modify-writes, then sequentially consistent loads, so one of the two always sees the other:
 * no doorbell is lost, nobody waits (docs/design/memory-order.md).
 *
 * Posters and pollers never wait. A command does: it spins, then draws a ticket
 * (emulator/engine/token_queue.c), and the token is reserved for it after a few more holdings.
 *
 * What does not fit into the budget stays pending; the fabric process is kicked and leaves the
 * programs some time to go on with it from their next post or poll.
 *
 * Serving a client requires its segment. With many clients, a program only serves those whose
 * segments it has mapped (@near), or each program would map all of them; other doorbells stay
 * pending for their own clients and for the fabric process.
 */
#include "emulator/backoff.h"
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/requester.h"

#define POST_ROUNDS 64u /* holdings, each of a budget's worth, that one post may use */
#define FEW_CLIENTS 32u /* any of so many serves all the others */
#define NAP_NS	    20000u

static void holding_begin(struct engine *e)
{
	budget_reset(e);
	e->kick = false;
}

static bool token_cas(struct hca *hca, u64 from, u64 to)
{
	return __atomic_compare_exchange_n(&hca->token, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static bool token_retry(struct engine *e)
{
	/* Look first: a failed compare-and-swap takes the line from its holder all the same. */
	return load_seq_cst(&e->hca->token) == TOKEN_FREE &&
	       token_cas(e->hca, TOKEN_FREE, e->token);
}

/* The waiter that it is reserved for serves doorbells, unless it never comes. */
static bool token_is_reserved(const struct hca *hca)
{
	return (u32)load_relaxed(&hca->token) == TOKEN_RESERVED;
}

bool engine_try(struct engine *e)
{
	if (!token_cas(e->hca, TOKEN_FREE, e->token))
		return false;
	/* The holder before has written them, and the first step will. */
	prefetch_write(&e->hca->commit);
	prefetch_write(&e->hca->commit.req);
	holding_begin(e);
	return true;
}

int engine_enter(struct engine *e)
{
	struct token_wait w = { 0 };
	u32 tries = 0;

	/* With a ticket, the token is taken in its turn only. */
	while (tries < REST_SPINS ? !token_retry(e) : !token_queue_try(e, &w)) {
		if (load_relaxed(&e->hca->fatal))
			return -EIO;
		backoff_wait(tries, NAP_NS);
		tries += tries < REST_SPINS;
	}
	holding_begin(e);
	return 0;
}

/*
 * Serve one word of doorbell bits from slot @from on. The others, and what the budget does not
 * allow, are rung again. A bit of a QP that is not the client's costs budget, too: looking for its
 * owner takes time.
 */
static void token_serve_word(struct engine *e, u32 client, struct seg_hdr *seg, u32 word, u32 from)
{
	u64 bits = exchange(&seg->db_bits[word], 0);
	u32 bit;

	for_each_bit64(bit, bits) {
		u32 slot = word * 64 + bit;

		if (slot >= e->hca->tab[TAB_QP].high || e->hca->qp[slot].client != client + 1) {
			e->budget_wrs--;
			continue;
		}
		if (!budget_left(e)) {
			engine_ring(e, client, slot);
		} else if (slot < from) {
			seg_ring(seg, slot);
		} else {
			req_run_qp(e, slot);
			if (!budget_left(e))
				e->hca->client[client].serve_from = slot + 1;
		}
	}
}

static void token_serve_slots(struct engine *e, u32 client, struct seg_hdr *seg, u32 from)
{
	u64 any = exchange(&seg->db_any, 0);
	u64 sum;
	u32 i, j;

	for_each_bit64(i, any) {
		if (i >= ARRAY_SIZE(seg->db_sum))
			break;
		sum = exchange(&seg->db_sum[i], 0);
		for_each_bit64(j, sum) {
			if (unlikely(!budget_left(e)))
				break;
			token_serve_word(e, client, seg, i * 64 + j, from);
		}
		if (unlikely(!budget_left(e))) {
			/* The other words stay rung as they are. */
			fetch_or(&seg->db_sum[i], sum);
			fetch_or(&seg->db_any, sum ? any : any & (any - 1));
			client_set_pending(e->hca, client);
			return;
		}
	}
}

/* Return: false when the client's segment cannot be had here. */
static bool token_serve_client(struct engine *e, u32 client)
{
	struct hca_client *c = &e->hca->client[client];
	struct seg_hdr *seg;
	u32 from;

	if (c->state != CLIENT_LIVE)
		return true;
	if (!budget_left(e)) {
		client_set_pending(e->hca, client);
		return true;
	}
	seg = e->ops->seg(e->ctx, client);
	if (!seg) {
		if (e->self == ENGINE_FABRIC)
			return true;
		client_set_pending(e->hca, client);
		return false;
	}
	from = c->serve_from;
	c->serve_from = 0;
	if (from)
		token_serve_slots(e, client, seg, from);
	token_serve_slots(e, client, seg, 0);
	if (!budget_left(e))
		e->hca->serve_from = (client + 1) % HCA_MAX_CLIENTS;
	return true;
}

void engine_serve_client(struct engine *e, u32 client)
{
	fetch_and(&e->hca->pending_clients[client / 64], ~BIT64(client % 64));
	token_serve_client(e, client);
}

/* Those of a group of clients that are served here. */
static inline u64 clients_near(const struct engine *e, u32 group)
{
	return likely(!e->near || e->hca->n_clients <= FEW_CLIENTS) ? ~0ULL : e->near[group];
}

/* Whether a doorbell is pending that is served here, when one is pending. */
static inline bool has_pending_near(const struct engine *e)
{
	const struct hca *hca = e->hca;
	u64 groups;
	u32 i;

	if (likely(!e->near || hca->n_clients <= FEW_CLIENTS))
		return true;
	groups = load_relaxed(&hca->pending);
	for_each_bit64(i, groups)
		if (load_relaxed(&hca->pending_clients[i]) & clients_near(e, i))
			return true;
	return false;
}

static bool token_serve_group(struct engine *e, u32 group, u64 mask)
{
	u64 here = mask & clients_near(e, group);
	u64 clients = fetch_and(&e->hca->pending_clients[group], ~here) & here;
	bool all = true;
	u32 c;

	if (unlikely(load_relaxed(&e->hca->pending_clients[group]) & mask & ~here)) {
		fetch_or(&e->hca->pending, BIT64(group));
		e->left = true;
	}
	for_each_bit64(c, clients)
		all &= token_serve_client(e, group * 64 + c);
	return all;
}

/*
 * Serve every client that rang. A client or QP that used up a budget has its next turn last, so
 * that one with endless work does not starve the others.
 * Return: false when some who are served here must be left to the fabric process.
 */
static bool token_serve_pending(struct engine *e)
{
	struct hca *hca = e->hca;
	u64 groups = exchange(&hca->pending, 0);
	u32 start = hca->serve_from / 64 % 64;
	u64 first = ~0ULL << hca->serve_from % 64;
	u64 turn = start ? groups >> start | groups << (64 - start) : groups;
	bool all = true;
	u32 i;

	e->left = false;
	for_each_bit64(i, turn)
		all &= token_serve_group(e, (start + i) % 64, i ? ~0ULL : first);
	if (~first && (groups & BIT64(start)))
		all &= token_serve_group(e, start, ~first);
	if (all && !e->left && budget_left(e))
		store_relaxed(&hca->served, hca->served + 1);
	return all;
}

/*
 * The token was given back, and doorbells are pending. @more: the holding's budget was not used up;
 * @next: what the token has become.
 * Return: whether it was taken again, to serve them. *kick: set if the fabric process is to.
 */
static bool token_regain(struct engine *e, bool more, u64 next, bool *kick)
{
	struct hca *hca = e->hca;

	if (unlikely(!more)) {
		*kick = true;
		return false;
	}
	/* If it is reserved, the waiter serves them, or the fabric process should it never come. */
	if (unlikely(next != TOKEN_FREE || !has_pending_near(e))) {
		*kick |= !load_seq_cst(&hca->watching);
		return false;
	}
	if (!token_retry(e))
		return false;
	e->kick = false;
	return true;
}

/* engine_leave(), where something is pending or somebody waits. @kick: for the fabric process */
static __attribute__((noinline)) void token_leave(struct engine *e, bool kick)
{
	const struct engine_ops *ops = e->ops;
	struct hca *hca = e->hca;
	void *ctx = e->ctx;
	u64 next;
	bool more;

	for (;;) {
		more = budget_left(e);
		while (more && load_relaxed(&hca->pending) && has_pending_near(e))
			more = token_serve_pending(e) && budget_left(e);
		kick |= e->kick || (!more && load_relaxed(&hca->pending));
		/* Once it is given back, another thread of this process may own @e. */
		next = token_queue_next(hca);
		exchange(&hca->token, next);
		if (!load_seq_cst(&hca->pending))
			break;
		if (!token_regain(e, more, next, &kick))
			break;
	}
	if (kick)
		ops->kick(ctx);
}

/* The token was given back, and a doorbell set meanwhile. @more: the budget was not used up */
static __attribute__((noinline)) void token_left(struct engine *e, bool more)
{
	const struct engine_ops *ops = e->ops;
	void *ctx = e->ctx;
	bool kick = false;

	if (token_regain(e, more, TOKEN_FREE, &kick))
		token_leave(e, kick);
	else if (kick)
		ops->kick(ctx);
}

void engine_leave(struct engine *e)
{
	struct hca *hca = e->hca;
	bool more;

	if (unlikely(load_relaxed(&hca->pending) | load_relaxed(&hca->waiting) | e->kick)) {
		token_leave(e, false);
		return;
	}
	more = budget_left(e);
	exchange(&hca->token, TOKEN_FREE);
	if (unlikely(load_seq_cst(&hca->pending)))
		token_left(e, more);
}

/* Leave the doorbell to the token's holder. Return: whether that has left meanwhile: it is ours. */
static __attribute__((noinline)) bool doorbell_set(struct engine *e, struct seg_hdr *seg, u32 slot)
{
	seg_ring(seg, slot);
	client_set_pending(e->hca, e->self);
	if (engine_try(e))
		return true;
	if (unlikely(token_is_reserved(e->hca)) && !load_seq_cst(&e->hca->watching))
		e->ops->kick(e->ctx);
	return false;
}

/*
 * What one holding could not do, the poster goes on with as long as nobody else wants the token: it
 * may be about to watch memory, and would poll nothing.
 */
static __attribute__((noinline)) void doorbell_go_on(struct engine *e, const struct seg_hdr *seg)
{
	u32 rounds = POST_ROUNDS;

	while (load_relaxed(&seg->db_any) && rounds--)
		if (!engine_poke(e))
			break;
}

/* Run a QP whose packets this process may send, and leave the rest to the fabric process. */
static void qp_run_relayed(struct engine *e, u32 slot)
{
	req_run_qp(e, slot);
	/* It may be about to exit: shim_sends_settle() waits for a doorbell, not for a timer. */
	if (unlikely(e->hca->qp[slot].stalled))
		relay_ring(e, slot);
}

/*
 * The packets of a QP are relayed: send them here, if this process may, or leave them to another.
 * To send takes longer than all else that a post does, and on the same host the answer may come
 * before it ends: so the token is given back before.
 */
static __attribute__((noinline)) void doorbell_relayed(struct engine *e, u32 slot)
{
	const struct hca_qp *qp = &e->hca->qp[slot];

	if (!e->leaves || load_relaxed(&qp->stalled) || !engine_try(e)) {
		relay_ring(e, slot);
		return;
	}
	if (!relay_may_leave(e, qp)) {
		relay_ring(e, slot);
		engine_leave(e);
		return;
	}
	e->late = true;
	qp_run_relayed(e, slot);
	e->late = false;
	engine_leave(e);
	e->ops->leave_late(e->ctx);
}

void engine_run_answered(struct engine *e)
{
	u32 i;

	e->late = true;
	for (i = 0; i < e->n_answered; i++)
		qp_run_relayed(e, e->answered[i]);
	e->late = false;
	e->n_answered = 0;
}

void engine_doorbell(struct engine *e, struct seg_hdr *seg, u32 slot)
{
	const struct hca_qp *qp = &e->hca->qp[slot];

	if (unlikely(qp->path.via && load_relaxed(&qp->state) == QPS_RTS)) {
		doorbell_relayed(e, slot);
		return;
	}
	if (likely(engine_try(e)))
		req_run_qp(e, slot);
	else if (!doorbell_set(e, seg, slot))
		return;
	engine_leave(e);
	if (unlikely(load_relaxed(&seg->db_any)))
		doorbell_go_on(e, seg);
}

void engine_defer(struct engine *e, struct seg_hdr *seg, u32 slot)
{
	struct hca *hca = e->hca;
	u64 bit = BIT64(slot % 64);

	/*
	 * Still set: the process that takes the bit finds the work that was published before this.
	 */
	if (fetch_or(&seg->db_bits[slot / 64], bit) & bit)
		return;
	seg_ring(seg, slot);
	client_set_pending(hca, e->self);
	if (!load_seq_cst(&hca->watching))
		e->ops->kick(e->ctx);
}

bool engine_poke(struct engine *e)
{
	if (!load_relaxed(&e->hca->pending) || load_relaxed(&e->hca->token) != TOKEN_FREE)
		return false;
	if (!engine_try(e))
		return false;
	engine_leave(e);
	return true;
}
