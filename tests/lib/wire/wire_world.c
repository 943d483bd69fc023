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
#include <netinet/udp.h>
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

/* Datagrams that have not been read. */
static struct {
	const u8 *data; /* NULL: there are none */
	u32 len;
	u32 step; /* bytes of each but the last; 0: there is one */
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

/* roce_socket_cuts() sends two bytes to itself, which arrive as two datagrams. */
static u8 probe_next;

CALL(int, getsockname, int fd, struct sockaddr *sa, socklen_t *len)
{
	(void)sa;
	(void)len;
	WIRE_MUST(fd == FD_SOCKET);
	return 0;
}

CALL(ssize_t, sendto, int fd, const void *data, size_t len, int flags, const struct sockaddr *sa,
     socklen_t sa_len)
{
	(void)flags;
	(void)sa;
	(void)sa_len;
	WIRE_MUST(fd == FD_SOCKET && len == 2 && !memcmp(data, "\0\1", 2));
	probe_next = 0;
	return 2;
}

CALL(ssize_t, recv, int fd, void *data, size_t len, int flags)
{
	(void)flags;
	WIRE_MUST(fd == FD_SOCKET && len);
	*(u8 *)data = probe_next++;
	return 1;
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

static void arriving_report(struct msghdr *h, int level, int type, const void *value, u32 len)
{
	struct cmsghdr *c = (void *)((u8 *)h->msg_control + h->msg_controllen);

	h->msg_controllen += CMSG_SPACE(len);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), value, len);
}

/* The traffic class, and the length of datagrams, as the kernel reports them. */
static void arriving_report_all(struct msghdr *h)
{
	bool v4 = arriving.from_len == sizeof(struct sockaddr_in);
	int tclass = arriving.tclass, step = (int)arriving.step;

	WIRE_MUST(h->msg_controllen >= 2 * CMSG_SPACE(sizeof(int)));
	h->msg_controllen = 0;
	if (v4)
		arriving_report(h, IPPROTO_IP, IP_TOS, &arriving.tclass, 1);
	else
		arriving_report(h, IPPROTO_IPV6, IPV6_TCLASS, &tclass, sizeof(tclass));
	if (step)
		arriving_report(h, IPPROTO_UDP, UDP_GRO, &step, sizeof(step));
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
	arriving_report_all(h);
	h->msg_flags = arriving.len > len ? MSG_TRUNC : 0;
	m->msg_len = (unsigned int)len;
	arriving.data = NULL;
	return 1;
}

/* Frame @i of a message stands where the wire has made it, with its Ethernet header. */
static void frame_check(const struct msghdr *h, u32 i)
{
	bool v4 = h->msg_namelen == sizeof(struct sockaddr_in);
	u32 head = ROCE_ETH + (v4 ? ROCE_IP4_UDP : ROCE_IP6_UDP);
	u32 len = head + (u32)h->msg_iov[i].iov_len;

	WIRE_MUST(!roce_parse(ROCE_LINK_ETHERNET, (const u8 *)h->msg_iov[i].iov_base - head, len,
			      len, &wire.sent));
	WIRE_MUST(!wire.sent.wrong && !wire.sent.udp_csum);
	/* The kernel numbers them so, and the ICRC covers that. */
	WIRE_MUST(!v4 || wire.sent.ip_id == i);
	wire.n_sent++;
}

/* Several frames in one piece: all but the last are as long as the control message says. */
CALL(ssize_t, sendmsg, int fd, const struct msghdr *h, int flags)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(h);
	u16 step;
	u32 i;

	(void)flags;
	WIRE_MUST(fd == FD_SOCKET && h->msg_iovlen > 1 && h->msg_iovlen <= 64);
	if (wire.full) {
		errno = EAGAIN;
		return -1;
	}
	while (c && (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_SEGMENT))
		c = CMSG_NXTHDR((struct msghdr *)(uintptr_t)h, (struct cmsghdr *)(uintptr_t)c);
	WIRE_MUST(c && c->cmsg_len == CMSG_LEN(sizeof(step)));
	memcpy(&step, CMSG_DATA(c), sizeof(step));
	for (i = 0; i < h->msg_iovlen; i++) {
		WIRE_MUST(i + 1 == h->msg_iovlen ? h->msg_iov[i].iov_len <= step
						 : h->msg_iov[i].iov_len == step);
		frame_check(h, i);
	}
	wire.n_runs++;
	return 1;
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
		WIRE_MUST(m[i].msg_hdr.msg_iovlen == 1);
		frame_check(&m[i].msg_hdr, 0);
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
	arriving.step = 0;
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
	arriving.tclass = q.tclass;
	memcpy(out, frame + head, len - head);
	return len - head;
}

void wire_put(enum wire_to to, u32 from, const struct roce_pkt *p)
{
	static u8 data[ROCE_FRAME_MAX];
	u32 len = datagram_build(to, from, p, 0, data);

	if (len)
		wire_put_bytes(to, from, data, len);
}

void wire_put_run(enum wire_to to, u32 from, const struct roce_pkt *p, u32 n, u32 damaged)
{
	static u8 data[ROCE_IN_MAX + ROCE_FRAME_MAX];
	u32 len = 0, step = 0, one, i;

	for (i = 0; i < n && len <= ROCE_IN_MAX; i++) {
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
	arriving.step = step;
	if (len && len <= ROCE_IN_MAX)
		wire_put_bytes(to, from, data, len);
	arriving.step = 0;
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
