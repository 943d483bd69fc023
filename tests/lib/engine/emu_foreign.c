/* SPDX-License-Identifier: MIT */
/* See emu_foreign.h. */
#include "emulator/audit/audit.h"
#include "emulator/transport/wire.h"
#include "tests/lib/engine/emu_foreign.h"

#include <stdio.h>
#include <stdlib.h>

static struct foreign *keeper;

static int keep(void *ctx, const struct burst *b)
{
	(void)ctx;
	if (keeper->n_kept < FOREIGN_KEPT)
		keeper->kept[keeper->n_kept++] = *b;
	return 0;
}

static void connect_them(struct foreign *f, u32 type)
{
	struct emu_conn o = emu_conn_defaults;

	o.type = type;
	emu_connect(f->m, 0, 1, &o, &f->ghost, &f->live);
	f->m->ops.wire = keep;
	keeper = f;
}

void foreign_up(struct foreign *f, u32 type)
{
	f->m = emu_new(1);
	connect_them(f, type);
	f->n_kept = 0;
	f->n_errors = f->m->hca->error_seq;
}

void foreign_again(struct foreign *f)
{
	u32 type = foreign_qp(f)->type, i;

	emu_destroy(f->m, &f->live);
	emu_destroy(f->m, &f->ghost);
	f->m->ops.wire = NULL;
	for (i = 0; i < 2; i++) {
		memset((char *)f->m->c[i].seg + SEG_HEAP_OFF, 0, f->m->c[i].heap - SEG_HEAP_OFF);
		f->m->c[i].heap = SEG_HEAP_OFF;
	}
	connect_them(f, type);
}

bool foreign_down(struct foreign *f)
{
	char why[256] = "";
	bool ok = !hca_audit(f->m->hca, why, sizeof(why));

	if (!ok)
		printf("# audit: %s\n", why);
	emu_free(f->m);
	return ok;
}

bool foreign_silent(struct foreign *f)
{
	bool ok = !f->n_kept;

	f->n_kept = 0;
	return ok;
}

bool foreign_dropped(const struct foreign *f, u32 fault)
{
	const struct hca *hca = f->m->hca;
	const struct journal_entry *j = &hca->notice[(hca->notice_seq - 1) % JOURNAL_NOTICES];

	return hca->notice_seq && j->kind == JRN_DROP && j->cause == CAUSE_PACKET &&
	       j->info == fault;
}

struct cqe foreign_polled(struct foreign *f, struct emu_cq *cq)
{
	struct cqe c = { .status = 255 };

	emu_poll(f->m, cq, &c, NULL);
	return c;
}

u32 foreign_first(u8 op)
{
	bool answer = op == BOP_ACK || op == BOP_READ_RESP || op == BOP_ATOMIC_ACK;

	return answer ? emu_conn_defaults.psn_b : emu_conn_defaults.psn_a;
}

void foreign_put(struct foreign *f, const struct foreign_pkt *p)
{
	struct hca_mem mem = { .client = 0, .kind = MEM_VM, .n = 1 };
	struct emu *m = f->m;
	struct burst b = {
		.op = p->op,
		.flags = p->flags | (p->npkts ? 0 : BF_FOREIGN),
		.aeth = p->aeth,
		.psn = psn_add(foreign_first(p->op), p->psn),
		.path = m->hca->qp[f->ghost.slot].path,
		.npkts = p->npkts ? p->npkts : 1,
		.mtu = 4096,
		.va = (uintptr_t)m->c[1].mem + p->off,
		.rkey = p->rkey ? p->rkey : m->c[1].key,
		.dma_len = p->dma_len,
		.len = p->len,
		.atomic_op = WR_ATOMIC_FETCH_AND_ADD,
		.compare_add = 1,
		.swap = p->swap,
		.mem = &mem,
	};

	mem.iov[0] = (struct hca_iov){ (uintptr_t)m->c[0].mem, p->len };
	if (!p->len || p->op == BOP_READ_REQ)
		b.mem = NULL;
	if (p->op == BOP_READ_REQ) {
		b.len = p->part ? p->part : p->dma_len;
		b.off = p->asked;
	}
	if (engine_enter(&m->fabric) || hca_input(&m->fabric, &b))
		abort();
	engine_leave(&m->fabric);
}
