/* SPDX-License-Identifier: MIT */
/**
 * DOC: commands, doorbells, and the work that a program does for the engine in passing.
 *
 * A direct client executes its commands itself, with the token held. An isolated client fills a
 * command slot of its segment, wakes the fabric process and sleeps on the slot's state.
 *
 * Programs call exit() in signal handlers, which destroys objects. A handler that interrupted its
 * own thread in the engine would wait for the token indefinitely; it gets EDEADLK instead.
 */
#include "libshim/client/command.h"

#include "emulator/engine.h"
#include "emulator/hca.h"
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/obj.h"
#include "emulator/qp.h"
#include "emulator/seg.h"
#include "emulator/doorbell.h"
#include "libshim/client/client.h"
#include "libshim/client/helper.h"
#include "libshim/interpose/syscall.h"

#include <errno.h>
#include <sched.h>
#include <limits.h>

#define WAIT_NS	   100000000ULL /* interval at which a sleeper checks for the end of the fabric */
#define ALL_SLOTS  ((1u << SEG_CMD_SLOTS) - 1)
#define MAX_DRAINS 64u /* each within the engine's budget; the fabric process goes on */

/* A bit per command slot that a thread of this process uses. */
static u32 slots_used;

/* Whether this thread is in the engine. Signal handlers on the same thread read it. */
static __thread volatile bool inside __attribute__((tls_model("initial-exec")));

static bool token_held; /* by shim_cmd_hold() */

void shim_cmd_forked(void)
{
	slots_used = 0;
}

void shim_cmd_wake(void)
{
	u32 i;

	for (i = 0; i < SEG_CMD_SLOTS; i++)
		sys_futex_wake(&shim.seg->cmd[i].state, INT_MAX, 0);
	sys_futex_wake(&slots_used, INT_MAX, FUTEX_PRIVATE_FLAG);
}

/* Wake the fabric process. */
static void fabric_kick(void)
{
	u64 one = 1;

	/* EAGAIN: the count is at its limit, so the fabric process is awake or about to be. */
	sys_write(shim.kick_fd, &one, sizeof(one));
}

/* Return: a slot, or -EIO when the fabric process ended while all were in use. */
static int cmd_slot_claim(void)
{
	u32 used = load_relaxed(&slots_used);
	u32 slot;

	for (;;) {
		if (load_relaxed(&shim.fatal))
			return -EIO;
		if (used == ALL_SLOTS) {
			sys_futex_wait(&slots_used, used, WAIT_NS, FUTEX_PRIVATE_FLAG);
			used = load_relaxed(&slots_used);
			continue;
		}
		slot = (u32)__builtin_ctz(~used);
		if (__atomic_compare_exchange_n(&slots_used, &used, used | 1u << slot, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return (int)slot;
	}
}

static void cmd_slot_release(u32 slot)
{
	u32 before = __atomic_fetch_and(&slots_used, ~(1u << slot), __ATOMIC_RELEASE);

	if (before == ALL_SLOTS)
		sys_futex_wake(&slots_used, 1, FUTEX_PRIVATE_FLAG);
}

static int cmd_exec_isolated(struct hca_cmd *cmd)
{
	int slot = cmd_slot_claim();
	struct cmd_slot *s;

	if (slot < 0)
		return slot;
	s = &shim.seg->cmd[slot];
	memcpy(s->cmd, cmd, sizeof(*cmd));
	store_release(&s->state, CMD_POSTED);
	fetch_or(&shim.seg->cmd_bits, BIT64(slot));
	fabric_kick();
	while (load_acquire(&s->state) == CMD_POSTED) {
		/* The slot stays claimed: the command may still be answered. */
		if (load_relaxed(&shim.fatal))
			return -EIO;
		sys_futex_wait(&s->state, CMD_POSTED, WAIT_NS, 0);
	}
	memcpy(cmd, s->cmd, sizeof(*cmd));
	store_release(&s->state, CMD_FREE);
	cmd_slot_release((u32)slot);
	return cmd->ret;
}

/*
 * Return when the fabric process has begun what this process had posted, and every copy of before
 * has ended: it answers a command, which need not exist, after that.
 */
static void isolated_settle(void)
{
	struct hca_cmd none = { .op = CMD_COUNT };

	if (shim.live && !load_relaxed(&shim.fatal))
		(void)cmd_exec_isolated(&none);
}

/*
 * An isolated client cannot keep the fabric process waiting, but can have it leave copies to the
 * helper thread.
 */
static void isolated_hold(void)
{
	store_release(&shim.seg->lent.held, 1);
	isolated_settle();
}

int shim_cmd_hold(void)
{
	if (shim.isolated) {
		isolated_hold();
		return 0;
	}
	if (inside)
		return -EDEADLK;
	inside = true;
	/* When the fabric process has gone nobody enters the engine. */
	token_held = shim.live && !engine_enter(&shim.engine);
	return 0;
}

void shim_cmd_release(void)
{
	if (shim.isolated) {
		store_release(&shim.seg->lent.held, 0);
		return;
	}
	if (token_held)
		engine_leave(&shim.engine);
	token_held = false;
	inside = false;
}

int shim_cmd_exec(struct hca_cmd *cmd)
{
	struct engine *e = &shim.engine;
	int err = errno, ret;

	if (!shim.live || load_relaxed(&shim.fatal)) {
		ret = -EIO;
	} else if (shim.isolated) {
		ret = cmd_exec_isolated(cmd);
	} else if (inside) {
		ret = -EDEADLK;
	} else {
		inside = true;
		ret = engine_enter(e);
		if (!ret) {
			ret = hca_cmd_exec(e, shim.id, cmd);
			engine_leave(e);
		}
		inside = false;
	}
	/* The helper may be using addresses that it was given while the region existed. */
	if (!ret && (cmd->op == CMD_DEREG_MR || cmd->op == CMD_REREG_MR))
		shim_helper_settle();
	/* A verb that succeeds leaves errno alone, but the wait may have timed out in between. */
	errno = err;
	cmd->ret = ret;
	return ret;
}

/* In an isolated fabric, or where a signal handler posts in a thread that is in the engine. */
static __attribute__((noinline)) void doorbell_ring_otherwise(u32 slot)
{
	if (shim.engine.hca) {
		engine_doorbell(&shim.engine, shim.seg, slot);
	} else if (shim.live) {
		seg_ring(shim.seg, slot);
		fabric_kick();
	}
}

void shim_doorbell_ring(u32 slot)
{
	if (unlikely(!shim.engine.hca || inside)) {
		doorbell_ring_otherwise(slot);
		return;
	}
	inside = true;
	engine_doorbell(&shim.engine, shim.seg, slot);
	inside = false;
}

bool shim_engine_poke(void)
{
	bool outer = inside, did;

	if (!shim.engine.hca)
		return false;
	inside = true;
	did = engine_poke(&shim.engine);
	inside = outer;
	return did;
}

void shim_engine_drain(void)
{
	u32 i;

	if (!shim.engine.hca)
		return;
	/* While another process holds the token, that process serves our doorbells. */
	for (i = 0; i < MAX_DRAINS && load_relaxed(&shim.seg->db_any); i++)
		if (!shim_engine_poke())
			break;
	if (load_relaxed(&shim.seg->db_any))
		fabric_kick();
}

#define SETTLE_NS	100000000ULL /* limit of each wait */
#define SETTLE_MORE_NS	5000000000ULL /* what all waits together may take beyond that */
#define SETTLE_SLEEP_NS 50000

/*
 * Whether a QP of this process has sends that only the fabric process can do. A QP that is stalled
 * has begun: of a reliable one the rest is lost with the QP, as on hardware.
 */
static bool qp_has_unsettled_sends(const struct hca *hca, u32 slot)
{
	const struct hca_qp *qp = &hca->qp[slot];

	return qp->client == shim.engine.self + 1 && qp->state == QPS_RTS &&
	       ((load_relaxed(&qp->stalled) && !qp_reliable(qp)) ||
		load_relaxed(&hca->cur_qp) == slot + 1 ||
		(load_relaxed(&hca->via_bits[slot / 64]) & BIT64(slot % 64)));
}

static bool has_unsettled_sends(const struct hca *hca, u32 slot)
{
	u32 i, last = load_relaxed(&hca->tab[TAB_QP].high);

	if (slot != ANY_SLOT && slot != ANY_UD_SLOT)
		return slot < HCA_MAX_QP && qp_has_unsettled_sends(hca, slot);
	for (i = 0; i < last && i < HCA_MAX_QP; i++)
		if ((slot == ANY_SLOT || hca->qp[i].type == QPT_UD) &&
		    qp_has_unsettled_sends(hca, i))
			return true;
	return false;
}

/*
 * On hardware, posted work has begun before the program can destroy the QP or AH that it was posted
 * with, or modify the QP, and programs rely on it: rsockets of librdmacm post their last message
 * right before they move the QP to ERR. The wait lets a fabric process that is short of CPU time
 * catch up. The common limit keeps a program with many QPs on a blocked link from waiting for each
 * of them.
 */
void shim_sends_settle(u32 slot)
{
	static u64 more = SETTLE_MORE_NS;
	const struct timespec nap = { .tv_nsec = SETTLE_SLEEP_NS };
	const struct hca *hca = shim.engine.hca;
	u64 from, took = 0, left = load_relaxed(&more);

	if (!hca || !load_relaxed(&hca->n_via))
		return;
	from = sys_now();
	while (has_unsettled_sends(hca, slot) && took < SETTLE_NS + left &&
	       !load_relaxed(&hca->fatal)) {
		nanosleep(&nap, NULL);
		took = sys_now() - from;
	}
	if (took > SETTLE_NS)
		store_relaxed(&more, left - min_u64(left, took - SETTLE_NS));
}

/* A device also sends what a program posts right before exit(3). */
static __attribute__((destructor)) void sends_settle_at_exit(void)
{
	if (!shim.isolated)
		shim_sends_settle(ANY_SLOT);
	else if (load_relaxed(&shim.seg->db_any))
		isolated_settle();
}
