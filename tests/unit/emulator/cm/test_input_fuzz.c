/* SPDX-License-Identifier: MIT */
/*
 * Arbitrary messages to QP 1: noise, flipped bits, messages of other connections, in any state, in
 * between the programs' own calls. HCA memory stays consistent, and no object is left.
 */
#include "emulator/mad.h"
#include "emulator/transport/wire.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cm.h"

#include <stdlib.h>

#define IDS 24u

struct fuzz {
	struct emu_cm *c;
	u64 rnd;
	struct emu_id id[IDS];
	u32 n;
	u8 pool[64][MAD_SIZE];
	u32 pooled;
};

static u32 pick(struct fuzz *f, u32 n)
{
	return (u32)(emu_rnd(&f->rnd) >> 33) % n;
}

/* From a program's memory, or from where MADs under way lie. */
static void inject(struct fuzz *f, const u8 mad[MAD_SIZE])
{
	struct emu *m = f->c->m;
	struct hca_av av = { .is_global = 1, .port_num = 1, .dst_port = 1, .hop_limit = 64 };
	bool own = pick(f, 2);
	struct hca_mem mem = { .client = own ? HCA_SELF : 2, .n = 1 };
	struct burst b = {
		.op = BOP_SEND,
		.flags = BF_FIRST | BF_LAST,
		.src_port = 1,
		.dst_port = 1,
		.pkey = IB_DEFAULT_PKEY,
		.src_qpn = GSI_QPN,
		.dst_qpn = GSI_QPN,
		.dst_type = QPT_UD,
		.npkts = 1,
		.qkey = GSI_QKEY,
		.len = MAD_SIZE,
		.av = &av,
		.mem = &mem,
	};

	memcpy(av.dgid, m->hca->dev[0].port[1].gid[0].raw, 16);
	mem.kind = own ? MEM_SEG : MEM_VM;
	mem.iov[0].len = MAD_SIZE;
	if (own) {
		memcpy(m->hca->cm_mad[HCA_CM_MADS - 1].mad, mad, MAD_SIZE);
		mem.iov[0].addr = offsetof(struct hca, cm_mad[HCA_CM_MADS - 1].mad);
	} else {
		memcpy(m->c[2].mem, mad, MAD_SIZE);
		mem.iov[0].addr = (uintptr_t)m->c[2].mem;
	}
	/* Headers that do not fit. */
	switch (pick(f, 40)) {
	case 0:
		b.qkey = pick(f, 100);
		break;
	case 1:
		b.len = pick(f, MAD_SIZE);
		break;
	case 2:
		b.op = (u8)pick(f, BOP_NONE);
		break;
	case 3:
		b.dst_port = (u8)pick(f, 256);
		break;
	case 4:
		b.src_dev = pick(f, 5000);
		break;
	case 5:
		b.pkey = (u16)pick(f, 65536);
		break;
	case 6:
		av.sgid_index = (u8)pick(f, 256);
		memset(av.dgid, 0xfe, 16);
		break;
	case 7:
		b.dst_type = (u8)pick(f, 16);
		break;
	}
	CU_ASSERT_EQUAL_FATAL(engine_enter(&m->fabric), 0);
	hca_input(&m->fabric, &b);
	engine_leave(&m->fabric);
}

static void remember(struct fuzz *f)
{
	const struct hca *hca = f->c->m->hca;

	if (!hca->cm_sent)
		return;
	memcpy(f->pool[f->pooled++ % 64], hca->cm_mad[(hca->cm_sent - 1) % HCA_CM_MADS].mad,
	       MAD_SIZE);
}

static void noise(struct fuzz *f)
{
	u8 mad[MAD_SIZE];
	u32 i;

	for (i = 0; i < MAD_SIZE; i++)
		mad[i] = (u8)pick(f, 256);
	if (pick(f, 8)) {
		mad_set(mad, F_BASE_VERSION, MAD_BASE);
		mad_set(mad, F_CLASS, MAD_CLASS_CM);
		mad_set(mad, F_CLASS_VERSION, MAD_CM_VERSION);
		mad_set(mad, F_METHOD, MAD_METHOD_SEND);
		mad_set(mad, F_ATTR, MAD_REQ + pick(f, 12));
	}
	/* Ids that somebody has. */
	if (f->n && pick(f, 4)) {
		const struct hca_cmid *id = emu_cmid(f->c->m, &f->id[pick(f, f->n)]);

		mad_set(mad, F_REMOTE_ID, id->local_id);
		mad_set(mad, F_LOCAL_ID, id->remote_id);
	}
	inject(f, mad);
}

static void mutated(struct fuzz *f)
{
	u8 mad[MAD_SIZE];
	u32 i, flips = pick(f, 4);

	if (!f->pooled)
		return;
	memcpy(mad, f->pool[pick(f, f->pooled < 64 ? f->pooled : 64)], MAD_SIZE);
	for (i = 0; i < flips; i++)
		mad[16 + pick(f, 120)] ^= (u8)(1 << pick(f, 8));
	if (!pick(f, 4))
		mad_set(mad, F_ATTR, MAD_REQ + pick(f, 11));
	inject(f, mad);
}

static void forget(struct fuzz *f, u32 i)
{
	CU_ASSERT_EQUAL(emu_cm_destroy(f->c->m, &f->id[i]), 0);
	f->id[i] = f->id[--f->n];
}

static void events(struct fuzz *f)
{
	struct cm_event ev;
	u32 side;

	for (side = 0; side < 2; side++)
		while (emu_cm_next(f->c, side, &ev)) {
			struct emu_id id = { side, f->c->ch[side], ev.id };

			if (ev.type != CM_EV_CONNECT_REQUEST)
				continue;
			if (f->n == IDS)
				forget(f, pick(f, f->n));
			f->id[f->n++] = id;
		}
}

static void program(struct fuzz *f)
{
	struct emu *m = f->c->m;
	struct emu_id *id;
	struct cmd_cm arg = { .qp_state = pick(f, 8), .event = EV_COMM_EST };

	if (!f->n || !pick(f, 4)) {
		if (f->n == IDS)
			forget(f, pick(f, f->n));
		/* What waits would be taken for the answers. */
		events(f);
		if (f->n < IDS)
			f->id[f->n++] = emu_cm_active(f->c);
	}
	id = &f->id[pick(f, f->n)];
	switch (pick(f, 9)) {
	case 0:
	case 1:
		emu_cm_connect(m, id, NULL);
		break;
	case 2:
	case 3:
		emu_cm_accept(m, id, NULL);
		break;
	case 4:
		emu_cm_rtu(m, id);
		break;
	case 5:
		emu_cm_reject(m, id, NULL);
		break;
	case 6:
		emu_cm_disconnect(m, id);
		break;
	case 7:
		emu_cm_cmd(m, id, CMD_CM_INIT_QP_ATTR, &arg);
		emu_cm_cmd(m, id, CMD_CM_NOTIFY, &arg);
		break;
	default:
		forget(f, (u32)(id - f->id));
	}
}

static void run(u64 seed, u32 ps, u32 steps)
{
	struct fuzz *f = calloc(1, sizeof(*f));
	struct emu *m;
	u32 i;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	if (!f)
		return; /* that it does not come here is not known to the analyzer */
	f->c = emu_cm_new(seed, ps, 0);
	f->rnd = seed | 1;
	m = f->c->m;
	for (i = 0; i < steps; i++) {
		switch (pick(f, 8)) {
		case 0:
			noise(f);
			break;
		case 1:
		case 2:
		case 3:
			mutated(f);
			break;
		case 4:
			events(f);
			break;
		case 5:
			emu_run(m, m->clock + pick(f, 1 << 30) * 8ULL);
			break;
		default:
			program(f);
		}
		remember(f);
		CU_ASSERT_FATAL(emu_cm_audit(m));
	}
	events(f);
	while (f->n)
		forget(f, 0);
	CU_ASSERT_EQUAL(emu_cm_destroy(m, &f->c->listener), 0);
	CU_ASSERT(emu_run(m, ~0ULL));
	CU_ASSERT_EQUAL(m->hca->tab[TAB_CMID].n, 0);
	for (i = 0; i < HCA_MAX_CMID; i++)
		if (m->hca->cm_remote[i] || m->hca->cm_qpn[i])
			break;
	CU_ASSERT_EQUAL(i, HCA_MAX_CMID);
	CU_ASSERT(emu_cm_audit(m));
	emu_cm_free(f->c);
	free(f);
}

static void test_tcp(void)
{
	u64 seed;

	for (seed = 1; seed <= 8; seed++)
		run(seed, CM_PS_TCP, 20000);
}

static void test_udp(void)
{
	u64 seed;

	for (seed = 1; seed <= 4; seed++)
		run(seed, CM_PS_UDP, 20000);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "connections", test_tcp },
		{ "datagrams", test_udp },
		{ NULL, NULL },
	};

	return cu_run("cmfuzz", tests);
}
