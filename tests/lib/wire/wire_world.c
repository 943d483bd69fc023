/* SPDX-License-Identifier: MIT */
/* A fabric process with a wire in a test: see wire_world.h. */
#include "tests/lib/wire/wire_world.h"

#include "emulator/audit/audit.h"
#include "emulator/cm/input.h"
#include "emulator/transport/relay.h"
#include "fabric/common/opts.h"
#include "fabric/link/transit.h"
#include "fabric/proto/vmcopy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#define FD_EPOLL  (1 << 19)
#define FD_SOCKET (1 << 20)

#define WIRE_MUST(cond)                                                                            \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Declares what the linker makes of a call: the real one, and ours. */
#define CALL(type, name, ...)                                                                      \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

struct wire_world wire;

/* A datagram that has not been read. */
static struct {
	const u8 *data; /* NULL: there is none */
	u32 len;
	u8 tclass;
	struct sockaddr_in6 from;
	socklen_t from_len;
} arriving;

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

/* --- sockets ---------------------------------------------------------------------------------- */

CALL(int, socket, int domain, int type, int protocol)
{
	(void)domain;
	(void)type;
	(void)protocol;
	return FD_SOCKET;
}

CALL(int, setsockopt, int fd, int level, int name, const void *value, socklen_t len)
{
	(void)level;
	(void)name;
	(void)value;
	(void)len;
	WIRE_MUST(fd == FD_SOCKET);
	return 0;
}

CALL(int, bind, int fd, const struct sockaddr *sa, socklen_t len)
{
	(void)sa;
	(void)len;
	WIRE_MUST(fd == FD_SOCKET);
	return 0;
}

CALL(int, close, int fd)
{
	return fd == FD_SOCKET ? 0 : __real_close(fd);
}

CALL(int, epoll_ctl, int epoll, int op, int fd, struct epoll_event *event)
{
	(void)op;
	(void)event;
	WIRE_MUST(epoll == FD_EPOLL && fd == FD_SOCKET);
	return 0;
}

/* The traffic class, as the kernel reports it. */
static void arriving_report_class(struct msghdr *h)
{
	bool v4 = arriving.from_len == sizeof(struct sockaddr_in);
	int tclass = arriving.tclass;
	struct cmsghdr *c;

	WIRE_MUST(h->msg_controllen >= CMSG_SPACE(sizeof(int)));
	h->msg_controllen = CMSG_SPACE(sizeof(int));
	c = CMSG_FIRSTHDR(h);
	c->cmsg_level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
	c->cmsg_type = v4 ? IP_TOS : IPV6_TCLASS;
	c->cmsg_len = CMSG_LEN(v4 ? 1 : sizeof(int));
	if (v4)
		memcpy(CMSG_DATA(c), &arriving.tclass, 1);
	else
		memcpy(CMSG_DATA(c), &tclass, sizeof(tclass));
}

CALL(int, recvmmsg, int fd, struct mmsghdr *m, unsigned int n, int flags, struct timespec *timeout)
{
	struct msghdr *h = &m->msg_hdr;
	size_t len;

	(void)flags;
	(void)timeout;
	WIRE_MUST(fd == FD_SOCKET && n);
	if (!arriving.data) {
		errno = EAGAIN;
		return -1;
	}
	len = min_u64(arriving.len, h->msg_iov->iov_len);
	memcpy(h->msg_iov->iov_base, arriving.data, len);
	memcpy(h->msg_name, &arriving.from, arriving.from_len);
	arriving_report_class(h);
	h->msg_flags = arriving.len > len ? MSG_TRUNC : 0;
	m->msg_len = (unsigned int)len;
	arriving.data = NULL;
	return 1;
}

/* A frame stands where the wire has made it, with its Ethernet header. */
static void frame_check(const struct msghdr *h)
{
	bool v4 = h->msg_namelen == sizeof(struct sockaddr_in);
	u32 head = ROCE_ETH + (v4 ? ROCE_IP4_UDP : ROCE_IP6_UDP);
	u32 len = head + (u32)h->msg_iov->iov_len;

	WIRE_MUST(!roce_parse(ROCE_LINK_ETHERNET, (const u8 *)h->msg_iov->iov_base - head, len, len,
			      &wire.sent));
	WIRE_MUST(!wire.sent.wrong);
	wire.n_sent++;
}

CALL(int, sendmmsg, int fd, struct mmsghdr *m, unsigned int n, int flags)
{
	unsigned int i;

	(void)flags;
	WIRE_MUST(fd == FD_SOCKET);
	if (wire.full) {
		errno = EAGAIN;
		return -1;
	}
	for (i = 0; i < n; i++) {
		frame_check(&m[i].msg_hdr);
		m[i].msg_len = (unsigned int)m[i].msg_hdr.msg_iov->iov_len;
	}
	return (int)n;
}

/* --- time ------------------------------------------------------------------------------------- */

CALL(int, clock_gettime, clockid_t id, struct timespec *ts)
{
	if (!wire.on)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(wire.m->clock / NSEC_PER_SEC);
	ts->tv_nsec = (long)(wire.m->clock % NSEC_PER_SEC);
	return 0;
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

void wire_connect(void)
{
	struct hca_qp_attr attr = { .port_num = 1, .path_mtu = 3 };
	const struct emu_conn *o = &emu_conn_defaults;
	struct emu_qp *q = &wire.live;

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
	wire_host_gid(WIRE_TO_4, 1, attr.av.dgid);
	q->sq_prod = q->rq_prod = q->scq.cons = q->rcq.cons = 0;
	modify(q, &attr, QPS_RESET, 0);
	modify(q, &attr, QPS_INIT, QPA_PKEY_INDEX | QPA_PORT | QPA_ACCESS_FLAGS);
	modify(q, &attr, QPS_RTR,
	       QPA_AV | QPA_PATH_MTU | QPA_DEST_QPN | QPA_RQ_PSN | QPA_MAX_DEST_RD_ATOMIC |
		       QPA_MIN_RNR_TIMER);
	modify(q, &attr, QPS_RTS,
	       QPA_SQ_PSN | QPA_TIMEOUT | QPA_RETRY_CNT | QPA_RNR_RETRY | QPA_MAX_QP_RD_ATOMIC);
}

static void make_datagrams(void)
{
	struct hca_qp_attr attr = { .port_num = 1, .qkey = WIRE_QKEY };
	struct hca_cmd cmd = { .op = CMD_ATTACH_MCAST };
	struct emu_conn o = emu_conn_defaults;

	o.type = QPT_UD;
	wire.ud = emu_qp_new(wire.m, 1, &o, 4);
	modify(&wire.ud, &attr, QPS_INIT, QPA_PKEY_INDEX | QPA_PORT | QPA_QKEY);
	modify(&wire.ud, &attr, QPS_RTR, 0);
	modify(&wire.ud, &attr, QPS_RTS, QPA_SQ_PSN);
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
	arriving.data = data;
	arriving.len = len;
	arriving.from = (struct sockaddr_in6){ 0 };
	if (to == WIRE_TO_6) {
		arriving.from.sin6_family = AF_INET6;
		arriving.from.sin6_port = htons(ROCE_UDP_PORT);
		memcpy(&arriving.from.sin6_addr, gid, 16);
		arriving.from_len = sizeof(arriving.from);
	} else {
		memcpy(&in.sin_addr, gid + 12, 4);
		memcpy(&arriving.from, &in, sizeof(in));
		arriving.from_len = sizeof(in);
	}
	wire.on = true;
	box->w.fn(wire.f, &box->w, EPOLLIN);
	wire.on = false;
	arriving.data = NULL;
	arriving.tclass = 0;
}

void wire_put(enum wire_to to, u32 from, const struct roce_pkt *p)
{
	static u8 frame[ROCE_FRAME_MAX];
	struct roce_pkt q = *p;
	u32 head, len;

	q.net = to == WIRE_TO_6 ? ROCE_IP6 : ROCE_IP4;
	wire_host_gid(to, from, q.sgid);
	memcpy(q.dgid, inbox_of(to)->gid, 16);
	q.udp_src = ROCE_UDP_PORT;
	q.udp_csum = q.ip_id = 0;
	q.ip_frag = ROCE_IP_DF;
	q.hop_limit = 64;
	q.vlan[0] = q.vlan[1] = q.flow_label = 0;
	if (roce_build(&q, frame, sizeof(frame), &len) < 0)
		return;
	head = ROCE_ETH + roce_ip_udp(q.dgid);
	arriving.tclass = q.tclass;
	wire_put_bytes(to, from, frame + head, len - head);
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

const struct roce_counts *wire_counts(void)
{
	return &wire.f->roce->wire[WIRE_TO_4].n;
}
