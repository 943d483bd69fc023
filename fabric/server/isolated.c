/* SPDX-License-Identifier: MIT */
/**
 * DOC: isolated clients: they share only their own segment; the fabric process runs the engine for
 * them.
 *
 * They ring doorbells and post commands in the segment and kick the fabric process, which scans the
 * segments for both. A segment can change at any time, so a command is copied before it is checked.
 */
#include "emulator/verbs/cmd.h"
#include "fabric/server/server.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

bool isolated_has_work(struct fabric *f)
{
	struct hca *hca = f->hca;
	struct client *cl;
	bool found = false;

	for (cl = f->clients.list; cl; cl = cl->next) {
		if (cl->dead)
			continue;
		if (load_acquire(&cl->seg->db_any)) {
			fetch_or(&hca->pending_clients[cl->id / 64], BIT64(cl->id % 64));
			fetch_or(&hca->pending, BIT64(cl->id / 64));
			found = true;
		}
		found |= load_acquire(&cl->seg->cmd_bits) != 0;
	}
	return found;
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

void isolated_commands(struct fabric *f)
{
	struct client *cl;
	u64 bits;
	u32 i;

	for (cl = f->clients.list; cl; cl = cl->next) {
		if (cl->dead || !load_relaxed(&cl->seg->cmd_bits))
			continue;
		bits = exchange(&cl->seg->cmd_bits, 0) & (BIT64(SEG_CMD_SLOTS) - 1);
		for_each_bit64(i, bits)
			isolated_run_command(f, cl, &cl->seg->cmd[i]);
	}
	f->server->work.active_at = real_ns();
}
