/* SPDX-License-Identifier: MIT */
/**
 * DOC: engine work of the fabric process: work that needs the token.
 *
 * Work is found by checking state, not by queues: dead clients, deadlines, doorbells in shared
 * memory. If some is due, the loop tries once to take the token, and if another process has it
 * again after 50 us, 100 us, up to a millisecond, and after 8 attempts it queues for the token
 * (emulator/engine/token_queue.c); meanwhile it serves its sockets.
 *
 * In a fabric that is not isolated, doorbells are left to the programs for a while: a program moves
 * data with one copy, the fabric process needs two. Deadlines, dead clients, and QPs for which a
 * helper has finished are handled at once. (A QP of a program that cannot reach some memory has a
 * deadline that has passed.)
 *
 * The holder of the token may have died or may be stopped. The token is taken back from a dead one.
 * The fabric process waits for a stopped one, and reports it.
 */
#include "fabric/server/work.h"
#include "emulator/doorbell.h"
#include "fabric/capture/capture.h"
#include "fabric/fault/table.h"
#include "fabric/inject/inject.h"
#include "fabric/join/join.h"
#include "fabric/roce/roce.h"
#include "fabric/link/chaos.h"
#include "fabric/link/link.h"
#include "fabric/nodes/ports.h"
#include "fabric/server/clients.h"
#include "fabric/server/server.h"
#include "fabric/server/status.h"

#define BACKOFF_MIN_NS	   (50 * NSEC_PER_USEC)
#define BACKOFF_MAX_NS	   NSEC_PER_MSEC
#define QUEUE_ATTEMPTS	   8u /* for the token, before the fabric process queues for it */
#define BACKOFF_STOPPED_NS (20 * NSEC_PER_MSEC)
#define PENDING_WAIT_NS	   (200 * NSEC_PER_USEC)
#define LATE_TURNS	   256u /* so long deadlines wait for bursts of rules */
#define STOPPED_NS	   (100 * NSEC_PER_MSEC)
#define STRANGER_NS	   (2 * NSEC_PER_SEC)
#define ROCE_LONG_NS	   NSEC_PER_MSEC

static struct client *work_token_holder(struct fabric *f, u64 token)
{
	u32 id = (u32)token - 1;
	struct client *cl = id < HCA_MAX_CLIENTS ? f->clients.by_id[id] : NULL;

	return cl && token == token_of(cl->id, cl->gen) ? cl : NULL;
}

/* The token is held by @token, still or for the first time. */
static void work_watch_holder(struct fabric *f, u64 token, u64 now)
{
	struct client *cl = work_token_holder(f, token);
	const struct hca_client *h;

	if (f->server->work.busy_token != token) {
		f->server->work.busy_token = token;
		f->server->work.busy_since = now;
		f->server->work.busy_noted = false;
	}
	if (f->server->work.busy_noted || !cl || now - f->server->work.busy_since < STOPPED_NS)
		return;
	h = &f->hca->client[cl->id];
	if (process_is_stopped(h->fabric_pid)) {
		f->server->work.busy_noted = true;
		fabric_note(f,
			    "process %d (%s) is stopped inside the engine: all others wait for it",
			    h->fabric_pid, h->name);
	}
}

/*
 * Whether the holder will never release the token. A holder that is no client any more had closed
 * its connection and was reaped, and has entered the engine once more.
 */
static bool work_is_holder_gone(struct fabric *f, struct client *cl)
{
	return cl ? cl->dead && client_is_image_gone(f, cl)
		  : real_ns() - f->server->work.busy_since > STRANGER_NS;
}

bool work_try_token(struct fabric *f)
{
	struct work *w = &f->server->work;

	/* In the queue, the token is taken in its turn only. */
	if (w->attempts < QUEUE_ATTEMPTS && !w->queued.drawn) {
		w->attempts++;
		if (!engine_try(&f->engine))
			return false;
	} else if (!token_queue_try(&f->engine, &w->queued)) {
		return false;
	}
	w->attempts = 0;
	return true;
}

/* When the token, which another process has, is to be tried again. */
static void work_retry_later(struct work *w, u64 now)
{
	if (w->busy_noted)
		w->backoff_ns = BACKOFF_STOPPED_NS;
	else if (!w->backoff_ns || w->queued.drawn)
		w->backoff_ns = BACKOFF_MIN_NS; /* the token may be reserved, and idle */
	else
		w->backoff_ns = min_u64(2 * w->backoff_ns, BACKOFF_MAX_NS);
	w->retry_at = now + w->backoff_ns;
}

static bool work_take_token(struct fabric *f, u64 now)
{
	struct engine *e = &f->engine;
	struct client *cl;
	u64 token;

	if (work_try_token(f))
		goto taken;
	token = load_relaxed(&f->hca->token);
	if (token != TOKEN_FREE) {
		work_watch_holder(f, token, now);
		cl = work_token_holder(f, token);
		if (work_is_holder_gone(f, cl) && engine_steal(e, token)) {
			fabric_note(f, "engine taken back from process %d (%s), which died in it",
				    cl ? f->hca->client[cl->id].fabric_pid : 0,
				    cl ? f->hca->client[cl->id].name : "a former client");
			goto taken;
		}
	}
	work_retry_later(&f->server->work, now);
	return false;
taken:
	if (f->server->work.busy_noted)
		fabric_note(f, "the engine is free again");
	f->server->work.busy_noted = false;
	f->server->work.busy_token = TOKEN_FREE;
	f->server->work.backoff_ns = 0;
	f->server->work.retry_at = 0;
	return true;
}

/* Whether dead clients are to be reaped now. Reaping one may search all of the HCA's tables. */
static bool work_may_reap(const struct fabric *f, u64 now)
{
	const struct accounts *t = &f->server->accounts;

	return f->clients.n_dead && (!f->isolated || account_may(t, &t->reaper, now));
}

static void work_reap_dead(struct fabric *f)
{
	struct account *a = &f->server->accounts.reaper;
	struct client *cl;
	u64 begin;

	for (cl = f->clients.list; cl && work_may_reap(f, real_ns()); cl = cl->next) {
		if (!cl->dead || cl->freed)
			continue;
		begin = account_begin(a);
		engine_reap(&f->engine, cl->id);
		client_free(f, cl);
		account_end(&f->server->accounts, a, begin);
	}
}

/* Whether doorbells that programs may serve are the fabric process's by now. */
static bool work_is_pending_due(struct fabric *f, u64 now)
{
	struct hca *hca = f->hca;

	if (!load_relaxed(&hca->pending)) {
		f->server->work.pending_at = NEVER;
		if (!doorbell_watch_end(hca))
			return false;
	}
	if (f->isolated || f->wait.rung || f->server->move.to)
		return true;
	/* As long as programs serve doorbells, the pending ones are new. */
	if (f->server->work.pending_at == NEVER ||
	    f->server->work.served != load_relaxed(&hca->served)) {
		f->server->work.served = load_relaxed(&hca->served);
		f->server->work.pending_at = now + PENDING_WAIT_NS;
		exchange(&hca->watching, 1);
	}
	return now >= f->server->work.pending_at;
}

u64 work_deadline(const struct fabric *f)
{
	return min_u64(min_u64(load_relaxed(&f->hca->next_deadline), link_next(f)),
		       min_u64(fault_table_next_due(f), chaos_next(f)));
}

/* When work is due next, in real time. */
static u64 work_next_due(const struct fabric *f, u64 now)
{
	u64 timers = fabric_real_at(f, load_relaxed(&f->hca->next_deadline));
	u64 links = fabric_real_at(f, link_next(f));

	if (f->isolated)
		timers = min_u64(timers, isolated_work_at(f, now));
	if (f->isolated && f->clients.n_dead)
		timers = min_u64(timers, f->server->accounts.reaper.rest_until);
	if (unlikely(link_retry_at(f)) && links < link_retry_at(f))
		links = link_retry_at(f);
	return min_u64(min_u64(timers, links),
		       min_u64(min_u64(min_u64(join_next(f), roce_next(f)), inject_next(f)),
			       fabric_real_at(f, min_u64(fault_table_next_due(f), chaos_next(f)))));
}

bool work_is_quiet(struct fabric *f)
{
	return !f->server->work.retry_at && !link_retry_at(f) && !f->loop.kicked && !f->wait.rung &&
	       !f->clients.n_dead && !f->wait.n && !fabric_ports_due(f) && !fabric_capture_due(f) &&
	       inject_next(f) == NEVER && !load_relaxed(&f->hca->pending) &&
	       !load_relaxed(&f->hca->via_any) && !fault_table_is_due(f) &&
	       work_deadline(f) > fabric_ns(f) && !(f->isolated && isolated_work_at(f, 0) != NEVER);
}

static bool work_is_due(struct fabric *f, u64 now)
{
	if (f->loop.kicked) {
		f->loop.kicked = false;
		helpers_check_done(f);
		fabric_capture_wake_writers(f);
	}
	return work_is_pending_due(f, now) || f->server->work.queued.drawn ||
	       work_may_reap(f, now) || fabric_ports_due(f) || fabric_capture_due(f) ||
	       inject_due(f) || join_due(f, now) || roce_due(f, now) || fault_table_is_due(f) ||
	       load_relaxed(&f->hca->via_any) || now >= work_next_due(f, now);
}

void work_prepare_sleep(struct fabric *f, u64 *next)
{
	if (relay_sleep_begin(f->hca))
		return;
	*next = min_u64(*next, f->server->work.retry_at);
}

u64 work_run(struct fabric *f)
{
	u64 now = real_ns();

	if (!work_is_due(f, now)) {
		f->wait.rung = false;
		return min_u64(work_next_due(f, now), f->server->work.pending_at);
	}
	if (now < f->server->work.retry_at || !work_take_token(f, now))
		return f->server->work.retry_at;
	f->wait.rung = false;
	f->server->work.pending_at = NEVER;
	/* Only this process sets it. */
	if (load_relaxed(&f->hca->watching))
		exchange(&f->hca->watching, 0);
	if (work_may_reap(f, now))
		work_reap_dead(f);
	if (fabric_ports_due(f))
		fabric_ports_work(f);
	if (fault_table_is_due(f))
		fault_table_work(f);
	if (fabric_capture_due(f))
		fabric_capture_work(f);
	if (f->isolated)
		isolated_serve(f);
	if (f->join)
		join_input(f);
	if (f->roce)
		roce_input(f);
	if (inject_due(f))
		inject_work(f);
	relay_serve(&f->engine);
	/* Deliver first: an arrival may be what a timer would otherwise give up on. */
	link_work(f);
	/* ACKs may have come since: sending takes long where the CPU is busy. */
	if (f->roce && real_ns() - now > ROCE_LONG_NS)
		roce_input(f);
	if (!f->faults->wire || !link_has_arrivals(f) ||
	    ++f->server->work.late_turns > LATE_TURNS) {
		f->server->work.late_turns = 0;
		engine_timers(&f->engine);
	}
	if (unlikely(f->chaos))
		chaos_work(f);
	if (f->roce)
		link_publish_parked(f);
	engine_leave(&f->engine);
	poller_wake_all(f);
	/* Work that exceeded the budget, or doorbells that were rung meanwhile. */
	if (f->loop.kicked || load_seq_cst(&f->hca->pending))
		return f->isolated || f->loop.kicked
			       ? 0
			       : min_u64(work_next_due(f, now), now + PENDING_WAIT_NS);
	return work_next_due(f, now);
}
