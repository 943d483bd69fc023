/* SPDX-License-Identifier: MIT */
/* A moderated CQ in this process. See tests/lib/engine/emu_cq.h. */
#include "tests/lib/engine/emu_cq.h"

#include <stdlib.h>

int emu_moderate(struct emu *m, const struct emu_cq *cq, u32 count, u32 period)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_CQ, .handle = cq->index };

	cmd.cq.mod_count = count;
	cmd.cq.mod_period = period;
	return emu_cmd(m, cq->client, &cmd);
}

struct emu *emu_moderated(struct emu_qp *q0, struct emu_qp *q1, u32 count, u32 period)
{
	struct emu *m = emu_new(11);

	emu_connect(m, 0, 1, &emu_conn_defaults, q0, q1);
	m->hca->cq[q1->rcq.index].chan = EMU_CHAN + 1;
	if (emu_moderate(m, &q1->rcq, count, period))
		abort();
	return m;
}

void emu_arm(struct emu *m, const struct emu_cq *cq, u32 how)
{
	struct cq_ctl *ctl = (void *)((u8 *)m->c[cq->client].seg + cq->ring);

	ctl->armed = how;
}

u32 emu_chan_events(struct emu *m, u32 client)
{
	struct chan_ring *r = &m->c[client].seg->chan[EMU_CHAN];
	u32 n = r->prod - r->cons;

	r->cons = r->prod;
	return n;
}
