/* SPDX-License-Identifier: MIT */
/**
 * DOC: isolated clients: they share only their own segment; the fabric process runs the engine for
 * them.
 *
 * They ring doorbells and post commands in the segment and kick the fabric process, which scans the
 * segments for both. A segment can change at any time, so a command is copied before it is checked.
 *
 * Each process has a slice of each turn of the loop (account.c). As long as several processes have
 * work, the budget of the engine is a slice's, too. The doorbells in a segment are enough
 * to find its work. So hca->pending, which programs of a direct fabric check, is emptied.
 */
#include "emulator/verbs/cmd.h"
#include "fabric/server/server.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The budget of a slice. The last burst may exceed it. */
#define SLICE_BYTES (64u << 10)
#define SLICE_WRS   16

static bool isolated_rings(const struct client *cl)
{
	return !cl->dead && (load_acquire(&cl->seg->db_any) || load_acquire(&cl->seg->cmd_bits));
}

u64 isolated_work_at(const struct fabric *f, u64 now)
{
	const struct client *cl;
	u64 at = NEVER;

	for (cl = f->clients.list; cl; cl = cl->next) {
		if (!isolated_rings(cl))
			continue;
		if (cl->account->rest_until <= now)
			return now;
		at = min_u64(at, cl->account->rest_until);
	}
	return at;
}

static void isolated_run_command(struct fabric *f, struct client *cl, struct cmd_slot *slot)
{
	struct hca_cmd cmd;

	if (load_acquire(&slot->state) != CMD_POSTED)
		return;
	memcpy(&cmd, slot->cmd, sizeof(cmd));
	hca_cmd_exec(&f->engine, cl->id, &cmd);
	memcpy(slot->cmd, &cmd, sizeof(cmd));
	store_release(&slot->state, CMD_DONE);
	/* Not FUTEX_PRIVATE: the waiter is another process. */
	syscall(SYS_futex, &slot->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * Execute commands in the order of their slots, as long as the account allows. The first one is
 * executed in any case: a client that posts without end would otherwise wait for it indefinitely.
 */
static void isolated_commands(struct fabric *f, struct client *cl, u64 bits)
{
	struct accounts *t = &f->server->accounts;
	bool may = true;
	u64 begin;
	u32 i;

	for_each_bit64(i, bits) {
		if (!may) {
			fetch_or(&cl->seg->cmd_bits, BIT64(i));
			continue;
		}
		begin = account_begin(cl->account);
		isolated_run_command(f, cl, &cl->seg->cmd[i]);
		account_end(t, cl->account, begin);
		may = account_may(t, cl->account, real_ns());
	}
}

static void isolated_doorbells(struct fabric *f, struct client *cl)
{
	struct accounts *t = &f->server->accounts;
	bool many = accounts_are_many(t);
	u64 begin = account_begin(cl->account);

	f->engine.budget_bytes = many ? SLICE_BYTES : BUDGET_BYTES;
	f->engine.budget_wrs = many ? SLICE_WRS : BUDGET_WRS;
	engine_serve_client(&f->engine, cl->id);
	account_end(t, cl->account, begin);
}

/*
 * Serve a client as long as its account allows; then another one of its process has its turn. Work
 * that the client posted before a command is begun before that command: a device copies an address
 * handle when a datagram is posted, so programs destroy it right after that. The commands are
 * therefore read first, and the doorbells served first.
 */
static void isolated_serve_client(struct fabric *f, struct client *cl)
{
	struct account *a = cl->account;
	u64 commands = 0;

	if (!account_may(&f->server->accounts, a, real_ns()))
		return;
	if (load_relaxed(&cl->seg->cmd_bits))
		commands = exchange(&cl->seg->cmd_bits, 0) & (BIT64(SEG_CMD_SLOTS) - 1);
	if (load_relaxed(&cl->seg->db_any))
		isolated_doorbells(f, cl);
	isolated_commands(f, cl, commands);
	a->from = cl->id + 1;
}

/* Serve the clients that come before account.from, or the others. */
static void isolated_serve_part(struct fabric *f, bool before)
{
	struct client *cl, *next;

	for (cl = f->clients.list; cl; cl = next) {
		next = cl->next;
		if (isolated_rings(cl) && (cl->id < cl->account->from) == before)
			isolated_serve_client(f, cl);
	}
}

void isolated_serve(struct fabric *f)
{
	struct hca *hca = f->hca;

	exchange(&hca->pending, 0);
	/* First those that their accounts have not reached in the turns before. */
	isolated_serve_part(f, false);
	isolated_serve_part(f, true);
	/* Doorbells that they have rung for others are in the segments, too. */
	exchange(&hca->pending, 0);
	budget_reset(&f->engine);
	f->server->work.active_at = real_ns();
}
