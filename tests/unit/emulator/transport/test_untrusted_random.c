/* SPDX-License-Identifier: MIT */
/*
 * Random packets from an untrusted source, close to expected ones, in between the program's
 * traffic. FOREIGN_PACKETS=N in the environment sets their number.
 */
#include "emulator/audit/audit.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_foreign.h"

#include <stdlib.h>

static struct foreign f;

static void put(const struct foreign_pkt *p)
{
	foreign_put(&f, p);
}

static u8 random_op(u64 *s)
{
	static const u8 ops[] = { BOP_SEND,	  BOP_WRITE,	    BOP_READ_REQ,   BOP_READ_RESP,
				  BOP_ATOMIC_REQ, BOP_ATOMIC_WRITE, BOP_ATOMIC_ACK, BOP_ACK,
				  BOP_FLUSH,	  BOP_NONE };

	return ops[emu_rnd(s) % ARRAY_SIZE(ops)];
}

static u32 pick(u64 *s, const u32 *of, u32 n)
{
	return of[emu_rnd(s) % n];
}

static void random_pkt(u64 *s, struct foreign_pkt *p)
{
	static const u32 lens[] = {
		0, 1, 8, 16, 100, FOREIGN_MTU - 1, FOREIGN_MTU, FOREIGN_MTU + 1, 4096
	};
	static const u32 dmas[] = { 0, 1, 8, FOREIGN_MTU, 2 * FOREIGN_MTU, 5000, 1u << 30, ~0u };
	u32 at;

	*p = (struct foreign_pkt){ .op = random_op(s),
				   .flags = (u8)(emu_rnd(s) % BF_FOREIGN),
				   .len = pick(s, lens, ARRAY_SIZE(lens)),
				   .dma_len = pick(s, dmas, ARRAY_SIZE(dmas)),
				   .swap = (u32)emu_rnd(s) % 40,
				   .aeth = (u8)emu_rnd(s),
				   .off = emu_rnd(s) % 4 ? (u32)(emu_rnd(s) % 4096 & ~7u)
							 : EMU_AREA - 4,
				   .rkey = emu_rnd(s) % 8 ? 0 : (u32)emu_rnd(s) };
	if (emu_rnd(s) % 4)
		p->aeth &= 0x3f;
	/* Near what is expected: requests at @epsn, answers at what is outstanding. */
	at = foreign_first(p->op) == emu_conn_defaults.psn_a ? foreign_qp(&f)->resp.epsn
							     : foreign_qp(&f)->req.una_psn;
	p->psn = (at - foreign_first(p->op) + (u32)(emu_rnd(s) % 8 ? 0 : emu_rnd(s) % 9 - 4)) &
		 IB_PSN_MASK;
	if (p->op == BOP_READ_REQ || p->op == BOP_ATOMIC_REQ || p->op == BOP_ACK)
		p->len = 0;
	if (p->op == BOP_READ_REQ && p->dma_len > 5000)
		p->dma_len = 5000;
	if (p->op == BOP_WRITE && emu_rnd(s) % 2)
		p->dma_len = p->len;
}

/* The live side goes on working meanwhile; when it has failed another one takes its place. */
static void live_turn(u64 *s)
{
	static const u32 ops[] = { WR_SEND, WR_RDMA_READ, WR_RDMA_WRITE, WR_ATOMIC_FETCH_AND_ADD };
	struct cqe c;
	u32 op;

	f.n_kept = 0;
	while (emu_poll(f.m, &f.live.scq, &c, NULL) ||
	       emu_poll(f.m, &f.live.rcq, &c, f.m->c[1].mem))
		;
	if (f.live.rq_prod - foreign_qp(&f)->resp.rq_cons < 8)
		emu_recv(f.m, &f.live, 1, f.m->c[1].mem, 8 * FOREIGN_MTU);
	if (f.live.sq_prod - foreign_qp(&f)->req.una > 8)
		return;
	op = pick(s, ops, ARRAY_SIZE(ops));
	emu_remote(f.m,
		   emu_post(f.m, &f.live, op, 2, f.m->c[1].mem,
			    op == WR_ATOMIC_FETCH_AND_ADD ? 8 : 3000),
		   0, f.m->c[0].mem);
	emu_ring(f.m, &f.live);
}

static void test_random(void)
{
	const char *more = getenv("FOREIGN_PACKETS");
	u64 n = more ? strtoull(more, NULL, 0) : 200000, s = 12345, deaths = 0;
	char why[256] = "";
	struct foreign_pkt p;

	foreign_up(&f, QPT_RC);
	while (n--) {
		random_pkt(&s, &p);
		put(&p);
		if (!(emu_rnd(&s) % 4))
			live_turn(&s);
		if (emu_state(f.m, &f.live) != QPS_ERR)
			continue;
		if (!(deaths++ % 64) && hca_audit(f.m->hca, why, sizeof(why)))
			break;
		foreign_again(&f);
	}
	if (*why)
		printf("# audit: %s\n", why);
	CU_ASSERT_EQUAL(*why, 0);
	CU_ASSERT(deaths > 0);
	printf("# %llu queue pairs have failed\n", (unsigned long long)deaths);
	CU_ASSERT(foreign_down(&f));
}

static const struct cu_test tests[] = {
	{ "packets at random", test_random },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("foreign_random", tests);
}
