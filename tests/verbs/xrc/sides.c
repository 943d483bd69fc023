/* SPDX-License-Identifier: MIT */
/*
 * XRC between three sides.
 *	app_xrc_sides [local|remote]: where B lives
 *
 * A has the initiators. B and C share a domain by the inode of a file. The target QPs are B's; SRQs
 * are in both, in protection domains of their own. C is always a process of its own.
 */
#include "tests/lib/c/vb.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INI    0 /* of A */
#define TGT    1 /* of B */
#define OPENED 4 /* the other one's handle on a target */

static struct vb_side *a, *b, *c;
static char path[64];

/* --- Domains */

struct domain {
	char path[64]; /* "": fd is used as it is */
	int fd, oflags;
	uint32_t mask;
	bool keep; /* as the side's domain */
};

static int do_open_xrcd(struct vb_side *s, void *arg)
{
	struct domain *d = arg;
	struct ibv_xrcd_init_attr attr = { .comp_mask = d->mask, .fd = d->fd, .oflags = d->oflags };
	struct ibv_xrcd *xrcd;
	int ret = 0;

	if (d->path[0])
		attr.fd = open(d->path, O_RDONLY | O_CLOEXEC);
	errno = 0;
	xrcd = ibv_open_xrcd(s->ctx, &attr);
	if (!xrcd)
		ret = errno ? errno : -1;
	if (d->path[0])
		close(attr.fd);
	if (xrcd && d->keep)
		s->xrcd = xrcd;
	else if (xrcd)
		ret = ibv_close_xrcd(xrcd) ? -2 : 0;
	return ret;
}

static int domain(struct vb_side *s, const char *file, int fd, int oflags, uint32_t mask, bool keep)
{
	struct domain d = { .fd = fd, .oflags = oflags, .mask = mask, .keep = keep };

	snprintf(d.path, sizeof(d.path), "%s", file);
	return vb_call(s, do_open_xrcd, &d, sizeof(d));
}

static int do_close_xrcd(struct vb_side *s, void *arg)
{
	int ret = ibv_close_xrcd(s->xrcd);

	(void)arg;
	if (!ret)
		s->xrcd = NULL;
	return ret;
}

static int close_xrcd(struct vb_side *s)
{
	char none = 0;

	return vb_call(s, do_close_xrcd, &none, 1);
}

#define BOTH (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)

static bool answers(int ret, int want, const char *what)
{
	return ok(ret == want, "%s: %s", what, ret < 0 ? "?" : strerror(ret));
}

static void test_domains(void)
{
	answers(domain(b, "", -1, O_CREAT, BOTH, false), 0, "a domain without an inode");
	answers(domain(b, path, 0, 0, BOTH, false), EAGAIN,
		"one of a file that has none, without O_CREAT");
	answers(domain(b, "", 9999, O_CREAT, BOTH, false), EBADF, "of a bad descriptor");
	answers(domain(b, "", -1, O_CREAT, IBV_XRCD_INIT_ATTR_FD, false), EINVAL, "without oflags");
	ok(domain(b, "", -1, O_CREAT, BOTH | 1 << 7, false) != 0, "unknown attributes are refused");
	answers(domain(b, path, 0, O_CREAT, BOTH, true), 0, "one of a file");
	answers(domain(c, path, 0, O_CREAT | O_EXCL, BOTH, false), EINVAL,
		"the same in another process with O_EXCL");
	answers(domain(c, path, 0, 0, BOTH, true), 0, "the same in another process");
}

/* --- Objects */

static int do_open_qp(struct vb_side *s, void *arg)
{
	struct ibv_qp_open_attr *attr = arg;
	struct ibv_qp *qp;

	attr->xrcd = s->xrcd;
	errno = 0;
	qp = ibv_open_qp(s->ctx, attr);
	if (!qp)
		return errno ? errno : -1;
	s->qp[OPENED].qp = qp;
	return qp->qp_num == attr->qp_num && qp->qp_type == IBV_QPT_XRC_RECV ? 0 : -2;
}

static int open_qp(struct vb_side *s, uint32_t qpn, enum ibv_qp_type type)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn,
		.qp_type = type,
	};

	return vb_call(s, do_open_qp, &attr, sizeof(attr));
}

static void connect_up(uint8_t rnr_retry)
{
	struct vb_spec ini = vb_spec_of(IBV_QPT_XRC_SEND), tgt = vb_spec_of(IBV_QPT_XRC_RECV);
	int ret;

	ini.rnr_retry = rnr_retry;
	ret = vb_link(a, INI, &ini, b, TGT, &tgt);
	if (ret) {
		ok(false, "XRC queue pairs: %s", strerror(ret));
		exit(1);
	}
}

static void disconnect(void)
{
	if (vb_destroy(a, INI) || vb_destroy(b, TGT))
		die("cannot destroy XRC queue pairs");
	while (vb_event(b, 0) >= 0 || vb_event(c, 0) >= 0)
		;
}

static struct vb_wr xrc_wr(enum ibv_wr_opcode op, uint64_t wr_id, uint32_t len,
			   const struct vb_side *to)
{
	struct vb_wr wr = vb_wr(op, wr_id, a, a->buf, len);

	wr.srqn = to->srqn[0];
	wr.raddr = (uintptr_t)to->buf + 65536;
	wr.rkey = to->info.rkey;
	return wr;
}

static bool sent(const struct vb_wr *wr, enum ibv_wc_opcode op)
{
	struct ibv_wc wc;

	return !vb_send(a, INI, false, wr) && vb_done(a, INI, VB_SCQ, wr->wr_id, op, &wc);
}

static bool message(struct vb_side *to, uint64_t id, uint32_t len)
{
	struct vb_wr wr = xrc_wr(IBV_WR_SEND_WITH_IMM, id, len, to);
	struct ibv_wc wc;

	wr.imm = htonl((uint32_t)id);
	fill(a->buf, len, id);
	memset(to->buf, 0, len);
	return !vb_recv1(to, -1, id, to->buf, len) && sent(&wr, IBV_WC_SEND) &&
	       vb_done(to, 0, VB_SRQ_CQ, id, IBV_WC_RECV, &wc) && wc.byte_len == len &&
	       wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == htonl((uint32_t)id) &&
	       wc.qp_num == b->addr[TGT].qpn && filled(to->buf, len, id);
}

static void test_messages(void)
{
	static const uint32_t sizes[] = { 0, 8, 73, 128, 1024, 3000, 500000 };
	bool good = true;

	for (uint64_t i = 0; i < 60 && good; i++)
		good = message(i & 1 ? c : b, i, sizes[i / 2 % 7]);
	ok(good, "messages by one target to SRQs of two processes");
	ok(b->srqn[0] != c->srqn[0], "whose numbers differ");
}

/* The responder resolves keys in the protection domain of the SRQ that the request names. */
static void test_rdma(struct vb_side *to, const char *who)
{
	uint64_t *at = (uint64_t *)(void *)(to->buf + 65536);
	struct vb_wr wr = xrc_wr(IBV_WR_RDMA_WRITE, 1, 5000, to);
	bool good;

	fill(a->buf, 5000, 33);
	memset(at, 0, 5000);
	good = sent(&wr, IBV_WC_RDMA_WRITE) && filled(at, 5000, 33);
	ok(good, "RDMA_WRITE to %s", who);
	memset(a->buf, 0, 5000);
	wr = xrc_wr(IBV_WR_RDMA_READ, 2, 5000, to);
	ok(sent(&wr, IBV_WC_RDMA_READ) && filled(a->buf, 5000, 33), "RDMA_READ from %s", who);
	wr = xrc_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 8, to);
	wr.compare = 5;
	*at = 10;
	ok(sent(&wr, IBV_WC_FETCH_ADD) && *at == 15 && *(uint64_t *)(void *)a->buf == 10,
	   "ATOMIC_FETCH_AND_ADD on %s", who);
}

static void refused(const char *what, const struct vb_wr *wr, enum ibv_wc_status one,
		    enum ibv_wc_status other)
{
	struct ibv_wc wc = { 0 };
	bool good;

	good = !vb_send(a, INI, false, wr) && vb_poll(a, INI, VB_SCQ, VB_WAIT, &wc);
	ok(good && (wc.status == one || wc.status == other) && vb_state(a, INI) == IBV_QPS_ERR &&
		   vb_state(b, TGT) == IBV_QPS_ERR,
	   "%s: %s", what, ibv_wc_status_str(wc.status));
	disconnect();
	connect_up(7);
}

static void test_refused(void)
{
	struct vb_wr wr = xrc_wr(IBV_WR_RDMA_WRITE, 1, 100, b);

	wr.rkey = c->info.rkey;
	wr.raddr = (uintptr_t)c->buf;
	refused("another process's key with this SRQ", &wr, IBV_WC_REM_ACCESS_ERR,
		IBV_WC_REM_ACCESS_ERR);
	wr = xrc_wr(IBV_WR_RDMA_READ, 1, 100, c);
	wr.rkey = b->info.rkey;
	wr.raddr = (uintptr_t)b->buf;
	refused("the other way round", &wr, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	wr = xrc_wr(IBV_WR_SEND, 1, 100, b);
	wr.srqn = 0xfffff0;
	refused("SEND to an SRQ that does not exist", &wr, IBV_WC_REM_INV_REQ_ERR,
		IBV_WC_REM_OP_ERR);
	wr = xrc_wr(IBV_WR_RDMA_WRITE, 1, 100, b);
	wr.srqn = 0xfffff0;
	refused("RDMA_WRITE to an SRQ that does not exist", &wr, IBV_WC_REM_INV_REQ_ERR,
		IBV_WC_REM_OP_ERR);
}

/* An SRQ of A's own domain is none of the target's. */
static void test_other_domain(void)
{
	struct vb_wr wr;

	/* Numbers are a fabric's own: over there, another SRQ may have it. */
	if (peer_far())
		return;
	if (!ok(!vb_srq(a, 0, 16, 1, true), "an SRQ in another domain"))
		return;
	wr = xrc_wr(IBV_WR_SEND, 1, 100, a);
	refused("SEND to it", &wr, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR);
	ok(!vb_srq_destroy(a, 0) && !close_xrcd(a), "and both go");
}

static void test_length(void)
{
	struct vb_wr wr = xrc_wr(IBV_WR_SEND, 1, 3000, c);
	bool good = !vb_recv1(c, -1, 5, c->buf, 2000) && !vb_send(a, INI, false, &wr);

	ok(good && vb_status(c, 0, VB_SRQ_CQ, 5, IBV_WC_LOC_LEN_ERR) &&
		   vb_status(a, INI, VB_SCQ, 1, IBV_WC_REM_INV_REQ_ERR),
	   "too long for the receive: LOC_LEN_ERR at the SRQ, REM_INV_REQ_ERR");
	disconnect();
	connect_up(7);
}

/* --- SRQs: empty ones, limits */

static int do_limit(struct vb_side *s, void *arg)
{
	return ibv_modify_srq(s->srq[0], arg, IBV_SRQ_LIMIT);
}

static void test_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct vb_wr wr = xrc_wr(IBV_WR_SEND, 1, 100, c);
	struct ibv_wc wc;
	bool good;

	fill(a->buf, 100, 44);
	good = !vb_send(a, INI, false, &wr) && vb_nothing(a, INI, VB_SCQ) &&
	       !vb_recv1(c, -1, 2, c->buf, 100) && vb_done(a, INI, VB_SCQ, 1, IBV_WC_SEND, &wc) &&
	       vb_done(c, 0, VB_SRQ_CQ, 2, IBV_WC_RECV, &wc) && filled(c->buf, 100, 44);
	ok(good, "an empty SRQ: waits until there is a receive");
	good = !vb_recv1(c, -1, 3, c->buf, 100) && !vb_call(c, do_limit, &attr, sizeof(attr)) &&
	       !vb_send(a, INI, false, &wr) && vb_done(a, INI, VB_SCQ, 1, IBV_WC_SEND, &wc) &&
	       vb_event(c, VB_WAIT) == IBV_EVENT_SRQ_LIMIT_REACHED;
	ok(good && vb_event(c, VB_SHORT) == -1 && vb_done(c, 0, VB_SRQ_CQ, 3, IBV_WC_RECV, &wc),
	   "the limit's event goes to the SRQ's process");
	disconnect();
	connect_up(0);
	ok(!vb_send(a, INI, false, &wr) && vb_status(a, INI, VB_SCQ, 1, IBV_WC_RNR_RETRY_EXC_ERR) &&
		   vb_state(b, TGT) == IBV_QPS_RTS,
	   "an empty SRQ, rnr_retry 0: RNR_RETRY_EXC_ERR");
	disconnect();
	connect_up(7);
}

/* --- ibv_open_qp() */

static void test_open_qp(void)
{
	struct vb_wr wr = xrc_wr(IBV_WR_RDMA_WRITE, 1, 100, b);
	int one, two;

	answers(open_qp(c, b->addr[TGT].qpn + 12345, IBV_QPT_XRC_RECV), EINVAL,
		"ibv_open_qp of an unused number");
	answers(open_qp(c, b->addr[TGT].qpn, IBV_QPT_RC), EINVAL, "as another type");
	if (!answers(open_qp(c, b->addr[TGT].qpn, IBV_QPT_XRC_RECV), 0,
		     "ibv_open_qp in another process"))
		return;
	ok(vb_state(c, OPENED) == IBV_QPS_RTS, "it is queried there");
	wr.rkey ^= 0x5a5a00;
	ok(!vb_send(a, INI, false, &wr) && vb_status(a, INI, VB_SCQ, 1, IBV_WC_REM_ACCESS_ERR),
	   "an access error");
	one = vb_event(b, VB_WAIT);
	two = vb_event(c, VB_WAIT);
	ok(one == IBV_EVENT_QP_ACCESS_ERR && two == IBV_EVENT_QP_ACCESS_ERR,
	   "its event goes to both (%d, %d)", one, two);
	ok(!vb_to_state(c, OPENED, IBV_QPS_RESET) && vb_state(b, TGT) == IBV_QPS_RESET,
	   "it is modified there");
	ok(close_xrcd(c) == EBUSY, "a domain with a QP is not closed: EBUSY");
	/* A process that has the QP open keeps it. */
	ok(!vb_destroy(a, INI) && !vb_destroy(b, TGT), "the creator lets go");
	ok(vb_state(c, OPENED) == IBV_QPS_RESET, "it is still there");
}

/* C has the only handle on the target now. */
static void test_only_opened(void)
{
	struct vb_spec ini = vb_spec_of(IBV_QPT_XRC_SEND), tgt = vb_spec_of(IBV_QPT_XRC_RECV);
	struct vb_wr wr;
	bool good;

	ini.timeout = 10;
	/* What comes before it may take its time from afar. */
	ini.retry_cnt = peer_far() ? 7 : 2;
	c->addr[OPENED] = b->addr[TGT];
	good = !vb_create(a, INI, &ini) && !vb_connect(c, OPENED, a, INI, &tgt) &&
	       !vb_connect(a, INI, c, OPENED, &ini);
	ok(good && message(c, 7, 2000) && message(b, 8, 100), "and works for both processes");
	wr = xrc_wr(IBV_WR_RDMA_WRITE, 9, 100, c);
	ok(!vb_destroy(c, OPENED) && !vb_send(a, INI, false, &wr) &&
		   vb_status(a, INI, VB_SCQ, 9, IBV_WC_RETRY_EXC_ERR),
	   "the last one lets go, and it is gone: RETRY_EXC_ERR");
	vb_destroy(a, INI);
	connect_up(7);
}

/* --- What these types do not have */

static int do_post_tgt(struct vb_side *s, void *arg)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv = NULL;

	(void)arg;
	if (!ibv_post_send(s->qp[TGT].qp, &wr, &bad) || bad != &wr)
		return 1;
	if (!ibv_post_recv(s->qp[TGT].qp, &recv, &bad_recv) || bad_recv != &recv)
		return 2;
	return 0;
}

static void test_rules(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = a->pd,
	};
	struct ibv_qp_init_attr_ex tgt = { .qp_type = IBV_QPT_XRC_RECV };
	char none = 0;
	int ret;

	ok(vb_recv1(a, INI, 1, a->buf, 8) == EINVAL, "ibv_post_recv on an initiator: EINVAL");
	ret = vb_call(b, do_post_tgt, &none, 1);
	ok(!ret, "nothing can be posted to a target (%d)", ret);
	errno = 0;
	ok(!ibv_create_srq_ex(a->ctx, &attr) && errno == EINVAL,
	   "an XRC SRQ without a domain and a CQ: EINVAL");
	errno = 0;
	ok(!ibv_create_qp_ex(a->ctx, &tgt) && errno == EINVAL, "a target without a domain: EINVAL");
	ok(close_xrcd(b) == EBUSY && close_xrcd(c) == EBUSY,
	   "domains in use are not closed: EBUSY");
}

/* The other direction has objects of its own. */
static void test_both_ways(void)
{
	struct vb_spec ini = vb_spec_of(IBV_QPT_XRC_SEND), tgt = vb_spec_of(IBV_QPT_XRC_RECV);
	struct vb_wr wr;
	struct ibv_wc wc;
	bool good;

	good = !vb_srq(a, 0, 16, 1, true) && !vb_link(b, 2, &ini, a, 3, &tgt);
	ok(good, "an initiator and a target the other way");
	for (uint64_t i = 0; i < 50 && good; i++) {
		good = message(b, i, 300);
		fill(b->buf, 400, i + 7);
		wr = vb_wr(IBV_WR_SEND, i, b, b->buf, 400);
		wr.srqn = a->srqn[0];
		good = good && !vb_recv1(a, -1, i, a->buf, 400) && !vb_send(b, 2, false, &wr) &&
		       vb_done(b, 2, VB_SCQ, i, IBV_WC_SEND, &wc) &&
		       vb_done(a, 0, VB_SRQ_CQ, i, IBV_WC_RECV, &wc) &&
		       wc.qp_num == a->addr[3].qpn && filled(a->buf, 400, i + 7);
	}
	ok(good, "50 messages there and back");
	ok(!vb_destroy(b, 2) && !vb_destroy(a, 3) && !vb_srq_destroy(a, 0) && !close_xrcd(a),
	   "and all is destroyed");
}

/* C leaves without a word: its SRQ is gone, B's is not, nor is a target that B has open. */
static void test_death(void)
{
	struct vb_spec ini = vb_spec_of(IBV_QPT_XRC_SEND), tgt = vb_spec_of(IBV_QPT_XRC_RECV);
	struct vb_wr wr = xrc_wr(IBV_WR_SEND, 1, 100, c), to_b = xrc_wr(IBV_WR_SEND, 2, 300, b);
	struct ibv_wc wc = { 0 };
	bool good;

	good = !vb_link(a, 2, &ini, c, 2, &tgt) && !open_qp(b, c->addr[2].qpn, IBV_QPT_XRC_RECV);
	ok(good, "a target of C that B has open");
	vb_close(c);
	if (vb_send(a, INI, false, &wr) || !vb_poll(a, INI, VB_SCQ, VB_WAIT, &wc))
		note("no completion");
	ok(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_OP_ERR,
	   "SEND to an SRQ of a process that has gone: %s", ibv_wc_status_str(wc.status));
	fill(a->buf, 300, 55);
	good = good && !vb_recv1(b, -1, 3, b->buf, 300) && !vb_send(a, 2, false, &to_b) &&
	       vb_done(a, 2, VB_SCQ, 2, IBV_WC_SEND, &wc) &&
	       vb_done(b, 0, VB_SRQ_CQ, 3, IBV_WC_RECV, &wc) && filled(b->buf, 300, 55);
	ok(good && vb_state(b, OPENED) == IBV_QPS_RTS, "its target goes on for B");
	ok(!vb_destroy(b, OPENED) && !vb_destroy(a, 2) && !vb_destroy(a, INI) &&
		   !vb_destroy(b, TGT),
	   "until that lets go");
	connect_up(7);
	ok(message(b, 3, 100), "the domain is still good for the other");
	vb_destroy(a, INI);
	ok(close_xrcd(b) == EBUSY, "a domain with QP and SRQ: EBUSY");
	vb_destroy(b, TGT);
	ok(close_xrcd(b) == EBUSY, "a domain with an SRQ: EBUSY");
	ok(!vb_srq_destroy(b, 0) && !close_xrcd(b), "without them it is closed");
	ok(domain(b, path, 0, 0, BOTH, false) == EAGAIN, "and the inode has none any more");
}

int main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	/* The sides open it once more, each for itself. */
	snprintf(path, sizeof(path), "%s/rdmaemu-xrc.XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		die("mkstemp: %s", strerror(errno));
	unlink(path);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	b = argc > 1 && !strcmp(argv[1], "remote") ? vb_fork() : vb_local();
	c = vb_fork();
	a = vb_local();
	vb_open(a);
	vb_open(b);
	vb_open(c);
	test_domains();
	ok(!vb_srq(b, 0, 32, 2, true) && !vb_srq(c, 0, 32, 2, true), "XRC SRQs of two processes");
	connect_up(7);
	test_messages();
	test_rdma(b, "the target's process");
	test_rdma(c, "the other one");
	test_refused();
	test_other_domain();
	test_length();
	test_srq();
	test_rules();
	test_both_ways();
	test_open_qp();
	test_only_opened();
	test_death();
	vb_close(b);
	vb_close(a);
	close(fd);
	return tap_failed != 0;
}
