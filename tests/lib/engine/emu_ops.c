/* SPDX-License-Identifier: MIT */
/* The engine's callbacks in tests: memory, clock, wire. See tests/lib/engine/emu.h. */
#include "emulator/cm/input.h"
#include "emulator/init.h"
#include "emulator/journal/writer.h"
#include "emulator/transport/wire.h"
#include "tests/lib/engine/emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/** struct emu_piece - part of a burst under way. */
struct emu_piece {
	struct emu_piece *next;
	u64 at;
	struct burst b;
	struct hca_mem mem;
	struct hca_av av;
};

static u64 ops_now(void *ctx)
{
	return ((struct emu *)ctx)->clock;
}

static u64 ops_wall(void *ctx)
{
	return ((struct emu *)ctx)->clock + EMU_WALL;
}

static void *ops_seg(void *ctx, u32 client)
{
	struct emu *m = ctx;

	if (client == HCA_SELF)
		return m->hca;
	return client < EMU_CLIENTS && client + 1 != m->hidden ? m->c[client].seg : NULL;
}

static u8 *at_iov(struct emu *m, const struct hca_mem *mem, u32 i, u64 off)
{
	if (mem->kind == MEM_SEG)
		return (u8 *)ops_seg(m, mem->client) + mem->iov[i].addr + off;
	return (u8 *)(uintptr_t)mem->iov[i].addr + off;
}

/* The iov entry that holds byte *off of @mem; *off becomes the offset in it. */
static u32 seek(const struct hca_mem *mem, u64 *off)
{
	u32 i = 0;

	while (i < mem->n && *off >= mem->iov[i].len)
		*off -= mem->iov[i++].len;
	return i;
}

static int ops_copy(void *ctx, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		    u64 soff, u64 len, u64 key)
{
	struct emu *m = ctx;
	u32 d = seek(dst, &doff), s = seek(src, &soff);

	(void)key;
	m->copy_from = *src;
	m->copy_to = *dst;
	if (m->copy_error && !m->copy_skip--) {
		int ret = m->copy_error;

		m->copy_error = 0;
		m->copy_skip = 0;
		return ret;
	}
	while (len) {
		u64 n = len;

		if (d >= dst->n)
			return -EFAULT_DST;
		if (s >= src->n)
			return -EFAULT_SRC;
		n = min_u64(n, min_u64(dst->iov[d].len - doff, src->iov[s].len - soff));
		if (src->iov[s].addr == IOV_NULL && dst->iov[d].addr != IOV_NULL)
			memset(at_iov(m, dst, d, doff), 0, n);
		else if (dst->iov[d].addr != IOV_NULL)
			memmove(at_iov(m, dst, d, doff), at_iov(m, src, s, soff), n);
		len -= n;
		doff += n;
		soff += n;
		while (d < dst->n && doff == dst->iov[d].len)
			doff = 0, d++;
		while (s < src->n && soff == src->iov[s].len)
			soff = 0, s++;
	}
	return 0;
}

/* Leaves a copy that is to fail to ops_copy(). */
static bool ops_copy_line(void *ctx, u32 client, u64 addr, const void *from, u64 len)
{
	struct emu *m = ctx;

	(void)client;
	if (m->copy_error && !m->copy_skip)
		return false;
	if (m->copy_error)
		m->copy_skip--;
	memcpy((void *)(uintptr_t)addr, from, len);
	return true;
}

static int ops_atomic(void *ctx, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
		      struct atomic_res *res, u64 key)
{
	u64 *p = (u64 *)(uintptr_t)addr;
	u64 want = atomic_result(op, *p, compare_add, swap);

	(void)ctx;
	(void)client;
	(void)key;
	atomic_begin(res, *p, want);
	__atomic_store_n(p, want, __ATOMIC_SEQ_CST);
	return 0;
}

static void ops_notify(void *ctx, u32 client, u32 chan)
{
	(void)chan;
	((struct emu *)ctx)->c[client].notified++;
}

static void ops_kick(void *ctx)
{
	/* Called without the token. */
	__atomic_fetch_add(&((struct emu *)ctx)->kicks, 1, __ATOMIC_RELAXED);
}

static bool chance(struct emu *m, u32 permille)
{
	return permille && emu_rnd(&m->seed) % 1000 < permille;
}

static void enqueue(struct emu *m, const struct burst *b)
{
	struct emu_piece *p = malloc(sizeof(*p)), **at = &m->wire;

	if (!p)
		abort();
	p->b = *b;
	if (b->mem) {
		p->mem = *b->mem;
		p->b.mem = &p->mem;
	}
	if (b->av) {
		p->av = *b->av;
		p->b.av = &p->av;
	}
	p->at = m->clock + m->faults.delay;
	if (chance(m, m->faults.late))
		p->at += emu_rnd(&m->seed) % m->faults.jitter;
	while (*at && (*at)->at <= p->at)
		at = &(*at)->next;
	p->next = *at;
	*at = p;
}

static void send_piece(struct emu *m, const struct burst *b)
{
	m->carried++;
	if (m->carried == m->lose || chance(m, m->faults.loss)) {
		m->lost++;
		if (m->lose_rule)
			journal_drop(&m->fabric, b, CAUSE_FAULT, m->lose_rule);
		return;
	}
	enqueue(m, b);
	if (m->carried == m->twice || chance(m, m->faults.dup)) {
		m->dups++;
		enqueue(m, b);
	}
}

static int ops_wire(void *ctx, const struct burst *b)
{
	struct emu *m = ctx;
	struct burst part;

	if (!m->queued)
		return hca_input(&m->fabric, b);
	if (b->op == BOP_READ_REQ || b->npkts < 2 || !chance(m, m->faults.split)) {
		send_piece(m, b);
		return 0;
	}
	for (u32 i = 0; i < b->npkts;) {
		u32 n = min_u32(b->npkts - i, 1 + (u32)(emu_rnd(&m->seed) % 3));

		burst_split(b, i, n, &part);
		send_piece(m, &part);
		i += n;
	}
	return 0;
}

static const struct engine_ops direct_ops = {
	.now = ops_now,
	.wall = ops_wall,
	.seg = ops_seg,
	.copy = ops_copy,
	.copy_line = ops_copy_line,
	.atomic = ops_atomic,
	.notify = ops_notify,
	.kick = ops_kick,
};

static const struct engine_ops wire_ops = {
	.now = ops_now,
	.wall = ops_wall,
	.seg = ops_seg,
	.copy = ops_copy,
	.copy_line = ops_copy_line,
	.atomic = ops_atomic,
	.notify = ops_notify,
	.kick = ops_kick,
	.wire = ops_wire,
};

static u32 ops_fault(void *ctx, struct hca_work *work)
{
	struct emu *m = ctx;

	return m->fault(m, work);
}

static void set_ops(struct emu *m)
{
	m->ops = m->queued ? wire_ops : direct_ops;
	m->ops.fault = m->fault ? ops_fault : NULL;
}

void emu_fault(struct emu *m, u32 (*fn)(struct emu *m, struct hca_work *work))
{
	m->fault = fn;
	set_ops(m);
}

void emu_wire(struct emu *m, const struct emu_faults *f)
{
	m->queued = f != NULL;
	if (f)
		m->faults = *f;
	set_ops(m);
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		abort();
	}
	return p;
}

void emu_client_new(struct emu *m, u32 i)
{
	struct emu_client *c = &m->c[i];
	struct hca_cmd cmd = { .op = CMD_ALLOC_PD };

	c->id = (u32)hca_add_client(m->hca);
	c->gen = m->hca->client[c->id].gen;
	m->hca->client[c->id].fabric_reach = 1;
	seg_format(c->seg, c->id, c->gen);
	for (u32 k = 0; k < EMU_CHANS; k++)
		c->seg->chan[k].events = EMU_EVENTS + k * SEG_CHAN_SIZE;
	c->heap = SEG_HEAP_OFF;
	c->e = (struct engine){ .hca = m->hca,
				.ops = &m->ops,
				.ctx = m,
				.self = c->id,
				.gsi_input = cm_input,
				.token = token_of(c->id, c->gen) };
	if (c->id != i || emu_cmd(m, c->id, &cmd))
		abort();
	c->pd = cmd.handle;
	cmd = (struct hca_cmd){ .op = CMD_REG_MR };
	cmd.mr = (struct cmd_reg_mr){ .addr = (uintptr_t)c->mem,
				      .iova = (uintptr_t)c->mem,
				      .len = EMU_AREA,
				      .pd = c->pd,
				      .access = emu_conn_defaults.access };
	if (emu_cmd(m, c->id, &cmd))
		abort();
	c->key = cmd.mr.key;
}

struct emu *emu_new(u64 seed)
{
	static const u8 gid[16] = { [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1 };
	struct emu *m = map(sizeof(*m));
	struct hca_port *p;
	struct hca_dev *d;

	m->hca = map(sizeof(*m->hca));
	m->seed = seed | 1;
	m->clock = 1000000;
	hca_format(m->hca, seed, false, "test");
	hca_node_begin(m->hca, "node0", 1);
	d = &m->hca->dev[0];
	d->valid = 1;
	d->n_ports = 1;
	d->link_layer = LINK_ETHERNET;
	hca_default_limits(&d->lim);
	p = &d->port[1];
	p->state = PORT_ACTIVE;
	p->active_mtu = 5;
	p->max_mtu = 5;
	p->pkey[0] = IB_DEFAULT_PKEY;
	memcpy(p->gid[0].raw, gid, 16);
	p->gid[0].type = 2;
	p->gid[0].valid = 1;
	hca_node_publish(m->hca, 0);
	set_ops(m);
	m->fabric = (struct engine){ .hca = m->hca,
				     .ops = &m->ops,
				     .ctx = m,
				     .self = ENGINE_FABRIC,
				     .gsi_input = cm_input,
				     .token = TOKEN_FABRIC };
	for (u32 i = 0; i < EMU_CLIENTS; i++) {
		m->c[i].seg = map(EMU_SEG);
		m->c[i].mem = map(EMU_AREA);
		emu_client_new(m, i);
	}
	return m;
}

void emu_port_add(struct emu *m)
{
	struct hca_dev *d = &m->hca->dev[0];

	d->port[2] = d->port[1];
	d->port[2].gid[0].raw[15]++;
	d->n_ports = 2;
	hca_nodes_index(m->hca);
}

void emu_free(struct emu *m)
{
	while (m->wire) {
		struct emu_piece *p = m->wire;

		m->wire = p->next;
		free(p);
	}
	for (int i = 0; i < EMU_CLIENTS; i++) {
		munmap(m->c[i].seg, EMU_SEG);
		munmap(m->c[i].mem, EMU_AREA);
	}
	munmap(m->hca, sizeof(*m->hca));
	munmap(m, sizeof(*m));
}

/* Deliver what is due. */
static void deliver(struct emu *m)
{
	while (m->wire && m->wire->at <= m->clock) {
		struct emu_piece *p = m->wire;

		m->wire = p->next;
		if (hca_input(&m->fabric, &p->b) == -EAGAIN) {
			p->at = m->clock + 1000;
			p->next = m->wire;
			m->wire = p;
			return;
		}
		free(p);
	}
}

bool emu_run(struct emu *m, u64 until)
{
	for (u32 rounds = 0;; rounds++) {
		u64 next;

		if (engine_enter(&m->fabric))
			return false;
		deliver(m);
		next = engine_timers(&m->fabric);
		engine_leave(&m->fabric);
		if (m->hca->pending) {
			if (rounds > 10000000)
				return false;
			continue;
		}
		/* Serving doorbells may have armed a timer. */
		next = min_u64(next, m->hca->next_deadline);
		if (m->wire)
			next = min_u64(next, m->wire->at);
		if (next == ~0ULL)
			return true;
		if (next > until) {
			m->clock = until > m->clock ? until : m->clock;
			return false;
		}
		if (next > m->clock)
			m->clock = next;
	}
}
