/* SPDX-License-Identifier: MIT */
/*
 * Frames for libFuzzer that are put into a live queue pair: `make fuzz FUZZ=inject`. An input is a
 * link type's number, a byte of what is made right (ICRC, addresses, QP number, PSN), and a frame.
 * The queue pair goes on with work of its own, and is made anew when it has failed.
 */
#include "emulator/audit/audit.h"
#include "emulator/packet_fault.h"
#include "emulator/transport/wire.h"
#include "fabric/packet/packet.h"
#include "tests/fuzz/links.h"
#include "tests/lib/engine/emu_foreign.h"

enum right {
	RIGHT_PSN = 1 << 0,
	RIGHT_KEY = 1 << 1,
	RIGHT_WORK = 1 << 2,
};

static struct foreign f;
static u32 turns;

/* What no mutation finds by itself. */
static void make_right(struct roce_pkt *p, u32 right)
{
	const struct hca_qp *qp = foreign_qp(&f);
	const u8 *gid = f.m->hca->dev[0].port[1].gid[0].raw;

	p->wrong &= ~(u32)(ROCE_BAD_ICRC | ROCE_BAD_VCRC | ROCE_BAD_IP_CSUM | ROCE_BAD_UDP_CSUM);
	p->net = ROCE_IP4;
	memcpy(p->sgid, gid, 16);
	memcpy(p->dgid, gid, 16);
	p->dqpn = qp->qpn;
	p->pkey = IB_DEFAULT_PKEY;
	if (right & RIGHT_PSN)
		p->psn = roce_is_response(p->opcode) ? qp->req.una_psn : qp->resp.epsn;
	if (right & RIGHT_KEY) {
		p->rkey = f.m->c[1].key;
		p->va = (uintptr_t)f.m->c[1].mem + (p->va & 4095);
	}
}

static void work(void)
{
	struct cqe c;

	while (emu_poll(f.m, &f.live.scq, &c, NULL) ||
	       emu_poll(f.m, &f.live.rcq, &c, f.m->c[1].mem))
		;
	if (f.live.rq_prod - foreign_qp(&f)->resp.rq_cons < 8)
		emu_recv(f.m, &f.live, 1, f.m->c[1].mem, 8192);
	if (f.live.sq_prod - foreign_qp(&f)->req.una > 4)
		return;
	emu_remote(
		f.m,
		emu_post(f.m, &f.live, turns & 1 ? WR_RDMA_READ : WR_SEND, 2, f.m->c[1].mem, 3000),
		0, f.m->c[0].mem);
	emu_ring(f.m, &f.live);
}

static void put(struct roce_pkt *r)
{
	struct packet_burst p;
	u32 fault;

	if (packet_to_burst(f.m->hca, r, &p, &fault))
		return;
	/* The fabric process's memory is a client's here. */
	p.mem.client = 0;
	must(!engine_enter(&f.m->fabric));
	if (fault != PKT_FAULTS)
		untrusted_drop(&f.m->fabric, &p.b, fault);
	else
		must(!hca_input(&f.m->fabric, &p.b));
	engine_leave(&f.m->fabric);
	f.n_kept = 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	char why[256];
	struct roce_pkt r;
	u32 n;
	u8 *frame;

	if (len < 2)
		return 0;
	if (!f.m)
		foreign_up(&f, QPT_RC);
	n = (u32)len - 2;
	frame = malloc(n ? n : 1);
	must(frame);
	memcpy(frame, data + 2, n);
	if (roce_parse(links[data[0] % ARRAY_SIZE(links)], frame, n, n, &r) != -ENOMSG) {
		put(&r);
		if (data[1] & RIGHT_WORK)
			work();
		make_right(&r, data[1]);
		put(&r);
	}
	free(frame);
	if (emu_state(f.m, &f.live) == QPS_ERR)
		foreign_again(&f);
	must(++turns % 4096 || !hca_audit(f.m->hca, why, sizeof(why)));
	return 0;
}
