/* SPDX-License-Identifier: MIT */
/* A fabric process with a wire in a test: see wire_world.h. */
#include "tests/lib/wire/wire_world.h"
#include "tests/lib/wire/wire_calls.h"

#include "emulator/audit/audit.h"
#include "emulator/cm/input.h"
#include "emulator/mad.h"
#include "emulator/transport/relay.h"
#include "fabric/common/opts.h"
#include "fabric/link/transit.h"
#include "fabric/proto/vmcopy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/udp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#define TURNS 10000u

struct wire_world wire;

/* Instead of core/note.c. A line goes to a terminal, so a host must not choose its bytes. */
void fabric_note(struct fabric *f, const char *fmt, ...)
{
	char text[512];
	const char *p;
	va_list ap;

	(void)f;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (p = text; *p; p++)
		WIRE_MUST(isprint((u8)*p));
}

/* --- what the engine calls -------------------------------------------------------------------- */

static u64 ops_now(void *ctx)
{
	return fabric_ns(ctx);
}

static u64 ops_wall(void *ctx)
{
	return ops_now(ctx) + EMU_WALL;
}

static void *ops_seg(void *ctx, u32 client)
{
	struct fabric *f = ctx;

	if (client == HCA_SELF)
		return f->hca;
	if (client == HCA_LINK)
		return link_mem(f);
	if (client == HCA_ROCE)
		return roce_datagrams(f);
	return client < EMU_CLIENTS ? wire.m->c[client].seg : NULL;
}

static s32 ops_pid(void *ctx, u32 client)
{
	(void)ctx;
	return client < EMU_CLIENTS || client == HCA_PROC ? VM_OWN : VM_GONE;
}

static int ops_copy(void *ctx, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		    u64 soff, u64 len, u64 key)
{
	struct vm_ctx vm = { .ctx = ctx, .seg = ops_seg, .pid = ops_pid };

	(void)key;
	wire.n_copies++;
	return vm_copy(&vm, dst, doff, src, soff, len);
}

static int ops_atomic(void *ctx, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
		      struct atomic_res *res, u64 key)
{
	struct vm_ctx vm = { .ctx = ctx, .seg = ops_seg, .pid = ops_pid };

	(void)key;
	return vm_atomic(&vm, client, addr, op, compare_add, swap, res);
}

static void ops_notify(void *ctx, u32 client, u32 chan)
{
	(void)ctx;
	(void)client;
	(void)chan;
}

static void ops_kick(void *ctx)
{
	(void)ctx;
}

static int ops_link(void *ctx, const struct burst *b)
{
	return link_send(ctx, b);
}

static bool ops_under_way(void *ctx, struct hca_qp *qp)
{
	return link_under_way(ctx, qp);
}

static const struct engine_ops wire_ops = {
	.now = ops_now,
	.wall = ops_wall,
	.seg = ops_seg,
	.copy = ops_copy,
	.atomic = ops_atomic,
	.notify = ops_notify,
	.kick = ops_kick,
	.link = ops_link,
	.under_way = ops_under_way,
};

/* --- making ----------------------------------------------------------------------------------- */

static void gid_parse(const char *ip, u8 gid[16])
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	memcpy(gid, mapped, sizeof(mapped));
	if (inet_pton(AF_INET, ip, gid + 12) != 1)
		WIRE_MUST(inet_pton(AF_INET6, ip, gid) == 1);
}

void wire_host_gid(enum wire_to to, u32 host, u8 gid[16])
{
	gid_parse(to == WIRE_TO_6 ? "2001:db8::100" : "192.0.2.100", gid);
	gid[14] = (u8)(gid[14] + host / 100);
	gid[15] = (u8)(gid[15] + host % 100);
}

static struct roce_inbox *inbox_of(enum wire_to to)
{
	struct roce *r = wire.f->roce;

	return to == WIRE_TO_GROUP ? &r->group[0].box : &r->wire[to].box;
}

static void modify(const struct emu_qp *q, struct hca_qp_attr *attr, u32 state, u32 mask)
{
	attr->state = (u8)state;
	WIRE_MUST(!emu_modify(wire.m, q, attr, mask | QPA_STATE));
}

/* As the shim does when a queue pair becomes RESET. */
static void ring_empty(u32 client, u64 ring)
{
	struct wq_ctl *ctl = (void *)((u8 *)wire.m->c[client].seg + ring);

	store_release(&ctl->prod, 0);
}

void wire_connect_at(struct emu_qp *q, enum wire_to to, u32 path_mtu)
{
	struct hca_qp_attr attr = { .port_num = 1, .path_mtu = (u8)path_mtu };
	const struct emu_conn *o = &emu_conn_defaults;

	attr.access = o->access;
	attr.dest_qpn = WIRE_HOST_QPN;
	attr.rq_psn = o->psn_a;
	attr.sq_psn = o->psn_b;
	attr.max_dest_rd_atomic = attr.max_rd_atomic = (u8)o->rd_atomic;
	attr.min_rnr_timer = (u8)o->min_rnr;
	attr.timeout = (u8)o->timeout;
	attr.retry_cnt = (u8)o->retry_cnt;
	attr.rnr_retry = (u8)o->rnr_retry;
	attr.av.is_global = attr.av.port_num = 1;
	attr.av.sgid_index = to == WIRE_TO_6;
	wire_host_gid(to, 1, attr.av.dgid);
	q->sq_prod = q->rq_prod = q->scq.cons = q->rcq.cons = 0;
	modify(q, &attr, QPS_RESET, 0);
	ring_empty(q->client, q->sq);
	ring_empty(q->client, q->rq);
	modify(q, &attr, QPS_INIT, QPA_PKEY_INDEX | QPA_PORT | QPA_ACCESS_FLAGS);
	modify(q, &attr, QPS_RTR,
	       QPA_AV | QPA_PATH_MTU | QPA_DEST_QPN | QPA_RQ_PSN | QPA_MAX_DEST_RD_ATOMIC |
		       QPA_MIN_RNR_TIMER);
	modify(q, &attr, QPS_RTS,
	       QPA_SQ_PSN | QPA_TIMEOUT | QPA_RETRY_CNT | QPA_RNR_RETRY | QPA_MAX_QP_RD_ATOMIC);
}

void wire_connect_qp(struct emu_qp *q, u32 path_mtu)
{
	wire_connect_at(q, WIRE_TO_4, path_mtu);
}

void wire_connect_with(u32 path_mtu)
{
	wire_connect_qp(&wire.live, path_mtu);
}

void wire_connect(void)
{
	wire_connect_with(3);
}

static void make_datagrams(void)
{
	struct hca_cmd cmd = { .op = CMD_ATTACH_MCAST };
	struct emu_conn o = emu_conn_defaults;

	o.type = QPT_UD;
	wire.ud = emu_qp_new(wire.m, 1, &o, 4);
	emu_start_datagrams(wire.m, &wire.ud, 1, WIRE_QKEY);
	cmd.handle = wire.ud.slot;
	gid_parse(WIRE_GROUP, cmd.mcast.gid);
	WIRE_MUST(!emu_cmd(wire.m, 1, &cmd));
}

static void make_fabric(struct emu *m)
{
	static struct opts o = { .ppm = CLOCK_PPM, .roce = "192.0.2.1,2001:db8::1" };
	struct fabric *f = calloc(1, sizeof(*f));
	struct hca_gid g = m->hca->dev[0].port[1].gid[0];

	WIRE_MUST(f);
	gid_parse("2001:db8::1", g.raw);
	hca_port_set_gid(m->hca, 0, 1, false, 1, &g);
	wire.f = f;
	f->hca = m->hca;
	f->loop.epoll = FD_EPOLL;
	f->clock.ppm = CLOCK_PPM;
	f->starter_told = true;
	f->engine = (struct engine){ .hca = m->hca,
				     .ops = &wire_ops,
				     .ctx = f,
				     .self = ENGINE_FABRIC,
				     .gsi_input = cm_input,
				     .token = TOKEN_FABRIC };
	WIRE_MUST(!link_make(f) && !roce_start(f, &o));
}

void wire_make(void)
{
	struct emu_conn o = emu_conn_defaults;

	if (wire.f)
		return;
	wire.cm = emu_cm_new(1, CM_PS_TCP, 8);
	wire.m = wire.cm->m;
	wire.on = true;
	make_fabric(wire.m);
	wire.on = false;
	wire.fresh = emu_qp_new(wire.m, 1, &o, 4);
	wire.live = emu_qp_new(wire.m, 1, &o, 4);
	wire_connect();
	make_datagrams();
	wire_turn();
	WIRE_MUST(inbox_of(WIRE_TO_GROUP)->wire);
}

bool wire_audit(void)
{
	char why[256];

	if (!hca_audit(wire.m->hca, why, sizeof(why)))
		return true;
	fprintf(stderr, "audit: %s\n", why);
	return false;
}

/* --- running ---------------------------------------------------------------------------------- */

void wire_put_bytes(enum wire_to to, u32 from, const u8 *data, u32 len)
{
	struct roce_inbox *box = inbox_of(to);
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) };
	u8 gid[16];

	wire_host_gid(to, from, gid);
	wire_arriving.data = data;
	wire_arriving.len = len;
	wire_arriving.from = (struct sockaddr_in6){ 0 };
	if (to == WIRE_TO_6) {
		wire_arriving.from.sin6_family = AF_INET6;
		wire_arriving.from.sin6_port = htons(ROCE_UDP_PORT);
		memcpy(&wire_arriving.from.sin6_addr, gid, 16);
		wire_arriving.from_len = sizeof(wire_arriving.from);
	} else {
		memcpy(&in.sin_addr, gid + 12, 4);
		memcpy(&wire_arriving.from, &in, sizeof(in));
		wire_arriving.from_len = sizeof(in);
	}
	wire.on = true;
	box->w.fn(wire.f, &box->w, EPOLLIN);
	wire.on = false;
	if (box->shared)
		return; /* it is read in a turn */
	wire_arriving.data = NULL;
	wire_arriving.tclass = 0;
	wire_arriving.step = 0;
}

/* Build the bytes after the UDP header. Return: how many; 0: no frame has such fields. */
static u32 datagram_build(enum wire_to to, u32 from, const struct roce_pkt *p, u16 id, u8 *out)
{
	static u8 frame[ROCE_FRAME_MAX];
	struct roce_pkt q = *p;
	u32 head, len;

	q.net = to == WIRE_TO_6 ? ROCE_IP6 : ROCE_IP4;
	wire_host_gid(to, from, q.sgid);
	memcpy(q.dgid, inbox_of(to)->gid, 16);
	q.udp_src = ROCE_UDP_PORT;
	q.udp_csum = 0;
	q.ip_id = id;
	q.ip_frag = ROCE_IP_DF;
	q.hop_limit = 64;
	q.vlan[0] = q.vlan[1] = q.flow_label = 0;
	if (roce_build(&q, frame, sizeof(frame), &len) < 0)
		return 0;
	head = ROCE_ETH + roce_ip_udp(q.dgid);
	wire_arriving.tclass = q.tclass;
	memcpy(out, frame + head, len - head);
	return len - head;
}

void wire_put_numbered(enum wire_to to, u32 from, const struct roce_pkt *p, u16 id)
{
	static u8 data[ROCE_FRAME_MAX];
	u32 len = datagram_build(to, from, p, id, data);

	if (len)
		wire_put_bytes(to, from, data, len);
}

void wire_put(enum wire_to to, u32 from, const struct roce_pkt *p)
{
	wire_put_numbered(to, from, p, 0);
}

void wire_put_run(enum wire_to to, u32 from, const struct roce_pkt *p, u32 n, u32 damaged)
{
	static u8 data[INGRESS_MAX + ROCE_FRAME_MAX];
	u32 len = 0, step = 0, one, i;

	for (i = 0; i < n && len <= INGRESS_MAX; i++) {
		one = datagram_build(to, from, &p[i], (u16)i, data + len);
		if (!one || (step && one > step))
			break;
		if (i == damaged)
			data[len + one / 2] ^= 1;
		step = step ? step : one;
		len += one;
		if (one < step)
			break;
	}
	wire_arriving.step = step;
	if (len && len <= INGRESS_MAX)
		wire_put_bytes(to, from, data, len);
	wire_arriving.step = 0;
}

bool wire_turn(void)
{
	struct fabric *f = wire.f;
	struct roce *r = f->roce;
	u32 i;

	wire.on = true;
	wire.m->clock += NSEC_PER_MSEC;
	for (i = 0; i < r->n && !wire.full; i++)
		if (r->wire[i].full)
			r->wire[i].full->fn(f, r->wire[i].full, EPOLLOUT);
	WIRE_MUST(!engine_enter(&f->engine));
	f->wait.rung = false;
	roce_input(f);
	relay_serve(&f->engine);
	link_work(f);
	engine_timers(&f->engine);
	engine_leave(&f->engine);
	wire.on = false;
	WIRE_MUST(f->hca->token == TOKEN_FREE && !f->hca->commit.valid);
	return r->due || r->retry_at != NEVER;
}

void wire_settle(void)
{
	u32 i;

	for (i = 0; i < TURNS && wire_turn(); i++)
		;
	WIRE_MUST(i < TURNS);
}

void wire_introduce(u32 host)
{
	static const u8 mad[MAD_SIZE];
	const struct roce_pkt p = { .opcode = ROCE_OPCODE(ROCE_UD, ROCE_SEND_ONLY),
				    .pkey = IB_DEFAULT_PKEY,
				    .dqpn = GSI_QPN,
				    .sqpn = GSI_QPN,
				    .qkey = GSI_QKEY,
				    .payload = mad,
				    .payload_len = MAD_SIZE,
				    .payload_cap = MAD_SIZE };

	wire_put(WIRE_TO_4, host, &p);
	wire_settle();
}

const struct roce_counts *wire_counts(void)
{
	const char *address;

	return roce_wire_counts(wire.f, WIRE_TO_4, &address);
}
