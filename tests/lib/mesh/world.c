/* SPDX-License-Identifier: MIT */
/* A joined fabric process in a test: see world.h. */
#include "tests/lib/mesh/world.h"

#include "emulator/audit/audit.h"
#include "emulator/cm/input.h"
#include "fabric/common/opts.h"
#include "fabric/join/conn.h"
#include "fabric/link/transit.h"
#include "fabric/proto/vmcopy.h"
#include "tests/lib/c/frozen.h"
#include "tests/lib/mesh/peer.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define STARTED_NS (1000 * NSEC_PER_SEC)
#define FD_EPOLL   (1 << 19)
#define FD_LISTEN  (1 << 20)

struct world world;

void world_fail(const char *what, const char *file, int line)
{
	world.on = false;
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	abort();
}

/* Instead of core/note.c. A line goes to a terminal, so a peer must not choose its bytes. */
void fabric_note(struct fabric *f, const char *fmt, ...)
{
	const char *p;
	va_list ap;

	(void)f;
	va_start(ap, fmt);
	vsnprintf(world.note, sizeof(world.note), fmt, ap);
	va_end(ap);
	for (p = world.note; *p; p++)
		WORLD_MUST(isprint((u8)*p));
	world.n_notes++;
}

/* --- what the engine calls --- */

static u64 ops_now(void *ctx)
{
	return fabric_ns(ctx);
}

static u64 ops_wall(void *ctx)
{
	return fabric_ns(ctx) + EMU_WALL;
}

static void *ops_seg(void *ctx, u32 client)
{
	struct fabric *f = ctx;

	if (client == HCA_SELF)
		return f->hca;
	if (client == HCA_LINK)
		return link_mem(f);
	if (client == HCA_JOIN)
		return join_burst_payload(f);
	return client < EMU_CLIENTS ? world.m->c[client].seg : NULL;
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
	int ret;

	(void)key;
	if (join_stream_copy(ctx, dst, doff, src, soff, len, &ret))
		return ret;
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
	((struct fabric *)ctx)->loop.kicked = true;
}

static int ops_link(void *ctx, const struct burst *b)
{
	return link_send(ctx, b);
}

static bool ops_under_way(void *ctx, struct hca_qp *qp)
{
	return link_under_way(ctx, qp);
}

static const struct engine_ops world_ops = {
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

/* --- making --- */

void world_address(u32 n, struct sockaddr_storage *sa)
{
	struct sockaddr_in *in = (void *)sa;

	memset(sa, 0, sizeof(*sa));
	in->sin_family = AF_INET;
	in->sin_port = htons(WORLD_PORT);
	in->sin_addr.s_addr = htonl(n ? 0xc6336400u + n : INADDR_LOOPBACK);
}

static void world_make_join(struct fabric *f)
{
	static struct opts o = { .ppm = CLOCK_PPM, .join = "198.51.100.1:7471" };
	struct join *j;

	WORLD_MUST(!join_start(f, &o));
	j = frozen_map(sizeof(*j));
	memcpy(j, f->join, sizeof(*j));
	free(f->join);
	f->join = j;
	j->id = WORLD_FABRIC;
	j->port = WORLD_PORT;
	j->ready_by = j->target[0].next_try = NEVER;
	j->token_len = sizeof(WORLD_TOKEN) - 1;
	memcpy(j->token, WORLD_TOKEN, j->token_len);
	WORLD_MUST(!loop_watch_add(f, &j->listen, FD_LISTEN, join_accept));
}

static void world_make_fabric(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct fabric *f = frozen_map(sizeof(*f));

	world.f = f;
	f->hca = world.m->hca;
	f->loop.epoll = FD_EPOLL;
	f->started = STARTED_NS;
	f->clock.ppm = CLOCK_PPM;
	f->starter_told = true;
	snprintf(f->node_name, sizeof(f->node_name), "node0");
	f->engine = (struct engine){ .hca = f->hca,
				     .ops = &world_ops,
				     .ctx = f,
				     .self = ENGINE_FABRIC,
				     .gsi_input = cm_input,
				     .token = TOKEN_FABRIC };
	WORLD_MUST(!link_make(f));
	world.link = f->link;
	world.qp = emu_qp_new(world.m, 0, &o, 4);
	world_make_join(f);
}

void world_make(void)
{
	struct emu *m;
	u32 i;

	if (world.f)
		return;
	world.clock = STARTED_NS;
	for (i = 0; i < WORLD_SOCKS; i++) {
		world.sock[i].in = calloc(1, sizeof(struct world_buf));
		world.sock[i].from = calloc(1, sizeof(struct world_buf));
		world.sock[i].peer = peer_new();
		WORLD_MUST(world.sock[i].in && world.sock[i].from && world.sock[i].peer);
	}
	world.m = m = emu_new(1);
	m->clock = STARTED_NS;
	world.on = true;
	world_make_fabric();
	world.on = false;
	frozen_add(m->hca, sizeof(*m->hca));
	for (i = 0; i < EMU_CLIENTS; i++) {
		frozen_add(m->c[i].seg, EMU_SEG);
		frozen_add(m->c[i].mem, EMU_AREA);
	}
	frozen_add(world.f->join, sizeof(*world.f->join));
	frozen_add(world.f, sizeof(*world.f));
	frozen_add(m, sizeof(*m));
	world.frozen = true;
	world_reset();
}

static void world_drop_members(struct join *j)
{
	struct jlane *l;
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		for (l = j->member[i] ? j->member[i]->lane : NULL;
		     l && l < j->member[i]->lane + LANES; l++)
			if (l->mem)
				munmap(l->mem, JOIN_LANE_SIZE);
		if (j->member[i])
			text_answer_close(&j->member[i]->answer);
		free(j->member[i]);
	}
	for (i = 0; i < JOIN_MAX_QUERIES; i++)
		if (j->query[i].member)
			close(j->query[i].fd);
}

void world_reset(void)
{
	struct fabric *f = world.f;
	struct emu_qp qp = world.qp;
	struct lq_entry *e;
	u32 i;

	world.on = true;
	for (i = 0; i < f->join->n_conns; i++)
		jconn_close(f, &f->join->conn[i], NULL);
	world_drop_members(f->join);
	while (f->link->q.n_flows && (e = linkq_due(&f->link->q, NEVER)))
		linkq_done(&f->link->q, e);
	memset(f->link->pipe[0], 0, sizeof(f->link->pipe[0]));
	f->link->again_at = 0;
	world_close_all();
	frozen_restore();
	qp.sq_prod = qp.rq_prod = qp.scq.cons = qp.rcq.cons = 0;
	world.qp = qp;
	world.listener = &f->join->listen;
	world.listener_events = EPOLLIN;
	world.clock = STARTED_NS;
	world.n_random = 0;
	world.proven = 0;
	world.on = false;
}

/* --- running --- */

struct jconn *world_conn(const struct world_sock *s)
{
	struct join *j = world.f->join;
	u32 i;

	for (i = 0; i < j->n_conns; i++)
		if (s->state != SOCK_FREE && j->conn[i].state != JC_FREE &&
		    s->watch == &j->conn[i].w)
			return &j->conn[i];
	return NULL;
}

/* What epoll_wait() would say of a socket. */
static u32 sock_events(const struct world_sock *s)
{
	u32 ev = 0;

	if (s->state != SOCK_OPEN)
		return 0;
	if (s->error)
		return EPOLLERR | EPOLLHUP | (s->events & (EPOLLIN | EPOLLOUT));
	if (s->in->head != s->in->tail || s->ended)
		ev |= EPOLLIN;
	if (s->room)
		ev |= EPOLLOUT;
	return ev & s->events;
}

static void world_serve_sockets(struct fabric *f)
{
	struct world_sock *s;
	u32 i, ev;

	for (i = 0; i < WORLD_SOCKS; i++)
		if (world.sock[i].state == SOCK_KNOCKS && world.listener_events & EPOLLIN)
			world.listener->fn(f, world.listener, EPOLLIN);
	for (s = world.sock; s < world.sock + WORLD_SOCKS; s++) {
		if (s->state == SOCK_OPEN && !s->peer->deaf)
			peer_listen(s);
		s->room = s->takes;
		ev = sock_events(s);
		if (ev)
			s->watch->fn(f, s->watch, ev);
	}
}

static void world_work(struct fabric *f)
{
	WORLD_MUST(!engine_enter(&f->engine));
	f->wait.rung = false;
	join_input(f);
	relay_serve(&f->engine);
	link_work(f);
	engine_timers(&f->engine);
	engine_leave(&f->engine);
}

void world_turn(u64 ns)
{
	struct fabric *f = world.f;

	world.on = true;
	world.clock += ns;
	world.m->clock = world.clock;
	world_work(f);
	world.next = join_tick(f);
	join_texts_tick(f);
	world_serve_sockets(f);
	world_check();
	world.on = false;
}

bool world_connect_to(const u8 gid[16])
{
	struct hca_qp_attr attr = { .state = QPS_RESET, .port_num = 1, .path_mtu = 3 };
	struct emu *m = world.m;
	struct emu_qp *q = &world.qp;

	attr.access = emu_conn_defaults.access;
	attr.dest_qpn = PEER_QPN;
	attr.max_dest_rd_atomic = attr.max_rd_atomic = 4;
	attr.min_rnr_timer = 12;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.av.is_global = attr.av.port_num = 1;
	memcpy(attr.av.dgid, gid, 16);
	q->sq_prod = q->rq_prod = q->scq.cons = q->rcq.cons = 0;
	if (emu_modify(m, q, &attr, QPA_STATE))
		return false;
	attr.state = QPS_INIT;
	if (emu_modify(m, q, &attr, QPA_STATE | QPA_PKEY_INDEX | QPA_PORT | QPA_ACCESS_FLAGS))
		return false;
	attr.state = QPS_RTR;
	if (emu_modify(m, q, &attr,
		       QPA_STATE | QPA_AV | QPA_PATH_MTU | QPA_DEST_QPN | QPA_RQ_PSN |
			       QPA_MAX_DEST_RD_ATOMIC | QPA_MIN_RNR_TIMER))
		return false;
	attr.state = QPS_RTS;
	return !emu_modify(m, q, &attr,
			   QPA_STATE | QPA_SQ_PSN | QPA_TIMEOUT | QPA_RETRY_CNT | QPA_RNR_RETRY |
				   QPA_MAX_QP_RD_ATOMIC);
}

bool world_connect(u32 nth)
{
	const struct hca *hca = world.m->hca;
	u32 i;

	for (i = 0; i < hca->n_devs; i++)
		if (hca->dev[i].member && hca->dev[i].port[1].gid[0].valid && !nth--)
			return world_connect_to(hca->dev[i].port[1].gid[0].raw);
	return false;
}

/* --- checking --- */

static bool sock_is_local(const struct world_sock *s)
{
	struct sockaddr_storage local;

	world_address(0, &local);
	return !memcmp(&s->them, &local, sizeof(local));
}

static void check_conn(const struct jconn *c)
{
	const struct world_sock *s = world.sock;
	const struct peer *p;

	while (s < world.sock + WORLD_SOCKS && (s->state == SOCK_FREE || s->watch != &c->w))
		s++;
	WORLD_MUST(s < world.sock + WORLD_SOCKS);
	p = s->peer;
	WORLD_MUST(c->rx_head <= c->rx_tail && c->rx_tail <= JOIN_RX_SIZE);
	WORLD_MUST(c->tx.head <= JOIN_TX_SIZE && c->tx.tail <= JOIN_TX_SIZE);
	WORLD_MUST(c->n_behind <= JOIN_MAX_PEERS && c->n_told <= JOIN_MAX_PEERS);
	if (c->state != JC_UP) {
		WORLD_MUST(!c->member && !c->seal);
		return;
	}
	WORLD_MUST(p->proved && c->peer == peer_id(p->who));
	WORLD_MUST(!!c->seal == p->sealed && (c->seal || sock_is_local(s)));
	WORLD_MUST(c->member && c->member->conn == c && c->member->id == c->peer);
}

static void check_member(const struct join *j, const struct member *m, u32 at)
{
	const struct jlane *l;

	WORLD_MUST(m->number == at + 1 && m->id && m->id != j->id);
	WORLD_MUST(join_name_ok(m->name, sizeof(m->name)) || !strcmp(m->name, "?"));
	WORLD_MUST(!m->proven || world.proven & BIT64(m->id));
	WORLD_MUST(!m->conn || (m->conn->state == JC_UP && m->conn->member == m));
	WORLD_MUST(!m->via || m->via->state == JC_UP);
	WORLD_MUST(m->incoming.got <= JOIN_NODE_DEVS && m->incoming.n_devs <= JOIN_NODE_DEVS);
	for (l = m->lane; l < m->lane + LANES; l++) {
		WORLD_MUST(l->head <= l->tail && l->tail <= JOIN_LANE_SIZE);
		WORLD_MUST(l->limit <= l->sent + JOIN_WINDOW);
		WORLD_MUST(l->granted <= l->taken + JOIN_WINDOW);
	}
}

void world_check(void)
{
	const struct join *j = world.f->join;
	const struct hca *hca = world.f->hca;
	u32 i;

	WORLD_MUST(hca->token == TOKEN_FREE && !hca->commit.valid);
	WORLD_MUST(hca->n_devs <= HCA_MAX_DEVS && hca->n_nodes <= HCA_MAX_NODES);
	for (i = 0; i < j->n_conns; i++)
		if (j->conn[i].state != JC_FREE)
			check_conn(&j->conn[i]);
	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i])
			check_member(j, j->member[i], i);
}

bool world_audit(void)
{
	char why[256] = "";

	if (!hca_audit(world.f->hca, why, sizeof(why)))
		return true;
	fprintf(stderr, "audit: %s\n", why);
	return false;
}
