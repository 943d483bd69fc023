/* SPDX-License-Identifier: MIT */
/*
 * Sharing contexts by their descriptor: devices, PDs, MRs and device memory imported.
 *	app_device_import local: by the process that exports
 *	app_device_import remote: by another process, to which the descriptor goes over a socket
 *	app_device_import death: the exporter is another process, and dies
 *	app_device_import foreign RDMAEMU FLAG VALUE: a program of another fabric or node imports,
 *		started with rdmaemu run FLAG VALUE
 *	app_device_import refused FD: what that one does
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* @a exports. @b imports, and is a requester in a's PD. @c is their peer, in a's process. */
static struct vb_side *a, *b, *c;
static int sock[2];

static void send_fd(int to, int fd)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} u = { .buf = { 0 } };
	char byte = 1;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = u.buf,
		.msg_controllen = sizeof(u.buf),
	};

	u.hdr = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&u.hdr), &fd, sizeof(int));
	if (sendmsg(to, &msg, 0) != 1)
		die("sendmsg: %s", strerror(errno));
}

static int receive_fd(int from)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} u;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = u.buf,
		.msg_controllen = sizeof(u.buf),
	};
	int fd;

	if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC) != 1 ||
	    msg.msg_controllen < CMSG_LEN(sizeof(int)))
		die("recvmsg: %s", strerror(errno));
	memcpy(&fd, CMSG_DATA(&u.hdr), sizeof(int));
	return fd;
}

/* --- The importer's side */

static struct ibv_context *own_ctx;
static struct ibv_pd *own_pd;
static struct ibv_mr *own_mr, *imp_mr;
static struct ibv_dm *imp_dm;

/** struct handles - what to import; what came of it. */
struct handles {
	uint32_t pd, mr, dm;
	uint32_t lkey, rkey, own_lkey;
	uint64_t len;
	void *addr;
};

/* From here on the side's context and PD are the imported ones. */
static int do_import(struct vb_side *s, void *arg)
{
	struct handles *h = arg;
	int fd = receive_fd(sock[1]);
	struct ibv_context *ctx = ibv_import_device(fd);
	struct ibv_pd *pd = ctx ? ibv_import_pd(ctx, h->pd) : NULL;

	own_ctx = s->ctx;
	own_pd = s->pd;
	own_mr = s->mr;
	imp_mr = pd ? ibv_import_mr(pd, h->mr) : NULL;
	imp_dm = ctx ? ibv_import_dm(ctx, h->dm) : NULL;
	if (!imp_mr || !imp_dm)
		return errno ? errno : -1;
	s->ctx = ctx;
	s->pd = pd;
	s->mr = ibv_reg_mr(pd, s->buf, VB_BUF, ALL);
	h->own_lkey = s->mr ? s->mr->lkey : 0;
	h->lkey = imp_mr->lkey;
	h->rkey = imp_mr->rkey;
	h->len = imp_mr->length;
	h->addr = imp_mr->addr;
	return s->mr && ctx->cmd_fd == fd && pd->handle == h->pd && imp_mr->handle == h->mr &&
			       imp_mr->pd == pd && imp_dm->handle == h->dm
		       ? 0
		       : EPROTO;
}

/* Wrong handles, as an importer may have them. */
static int do_wrong(struct vb_side *s, void *arg)
{
	struct handles *h = arg;
	int bad = 0;

	errno = 0;
	bad += ibv_import_pd(s->ctx, 0x7fffffff) || errno != ENOENT;
	errno = 0;
	bad += ibv_import_pd(own_ctx, h->pd) || errno != ENOENT;
	errno = 0;
	bad += ibv_import_mr(s->pd, 0x7fffffff) || errno != ENOENT;
	errno = 0;
	bad += ibv_import_dm(s->ctx, h->dm + 1000) || errno != ENOENT;
	errno = 0;
	bad += ibv_import_dm(own_ctx, h->dm) || errno != ENOENT;
	return bad;
}

static int do_dm(struct vb_side *s, void *arg)
{
	uint32_t *word = arg, got = 0;
	struct ibv_mr *mr;
	int ret;

	ret = ibv_memcpy_from_dm(&got, imp_dm, 1024, 4);
	if (ret || got != *word)
		return ret ? ret : EPROTO;
	*word = ~*word;
	ret = ibv_memcpy_to_dm(imp_dm, 2048, word, 4);
	if (ret)
		return ret;
	mr = ibv_reg_dm_mr(s->pd, imp_dm, 0, 4096, ALL | IBV_ACCESS_ZERO_BASED);
	return mr ? ibv_dereg_mr(mr) : errno;
}

/* The order in which rdma-core's own tests leave: PD first, then the QP that was made in it. */
static int do_leave(struct vb_side *s, void *arg)
{
	struct ibv_context *ctx = s->ctx;
	int ret;

	(void)arg;
	ret = ibv_dereg_mr(s->mr);
	ibv_unimport_dm(imp_dm);
	ibv_unimport_mr(imp_mr);
	ibv_unimport_pd(s->pd);
	ret = ret ? ret : ibv_destroy_qp(s->qp[0].qp);
	ret = ret ? ret : ibv_destroy_cq(s->qp[0].scq);
	ret = ret ? ret : ibv_destroy_cq(s->qp[0].rcq);
	memset(&s->qp[0], 0, sizeof(s->qp[0]));
	ret = ret ? ret : ibv_close_device(ctx);
	s->ctx = own_ctx;
	s->pd = own_pd;
	s->mr = own_mr;
	return ret;
}

/* The importer ends what the exporter made. */
static int do_end(struct vb_side *s, void *arg)
{
	struct handles *h = arg;
	struct ibv_pd *pd = ibv_import_pd(s->ctx, h->pd);
	struct ibv_mr *mr = pd ? ibv_import_mr(pd, h->mr) : NULL;
	struct ibv_dm *dm = ibv_import_dm(s->ctx, h->dm);
	int ret;

	if (!mr || !dm)
		return errno;
	ret = ibv_dealloc_pd(pd);
	if (ret != EBUSY)
		return ret ? ret : EPROTO;
	ret = ibv_dereg_mr(mr);
	ret = ret ? ret : ibv_dealloc_pd(pd);
	return ret ? ret : ibv_free_dm(dm);
}

/* --- Both sides */

static int run(struct vb_side *s, int qp, const struct vb_wr *wr)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	if (vb_send(s, qp, false, wr) || !vb_poll(s, qp, VB_SCQ, VB_WAIT, &wc))
		return -1;
	return (int)wc.status;
}

/* QP 0 of the importer, in what is its PD now, and QP 1 of the peer. */
static void connect_pair(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	int ret = vb_link(b, 0, &spec, c, 1, &spec);

	if (ret)
		die("a QP in the imported PD: %s", strerror(ret));
}

/* To or from the start of the peer's buffer, with memory of @s under @lkey. */
static struct vb_wr request(enum ibv_wr_opcode op, const struct vb_side *s, uint32_t lkey,
			    uint32_t len)
{
	struct vb_wr wr = vb_wr(op, 1, s, s->buf, len);

	wr.sge[0].lkey = lkey;
	wr.rkey = c->info.rkey;
	wr.raddr = (uintptr_t)c->buf;
	return wr;
}

/* The importer's QP with the exporter's region, whose addresses are the exporter's. */
static bool outwards(uint32_t len)
{
	struct vb_wr wr = request(IBV_WR_RDMA_WRITE, a, a->info.lkey, len);
	uint8_t *at = c->buf + (2 << 20);
	struct ibv_wc wc;

	fill(a->buf, len, len);
	memset(c->buf, 0, len);
	memset(at, 0, len);
	if (run(b, 0, &wr) || !filled(c->buf, len, len))
		return false;
	wr.op = IBV_WR_RDMA_READ;
	memset(a->buf, 0, len);
	if (run(b, 0, &wr) || !filled(a->buf, len, len))
		return false;
	wr.op = IBV_WR_SEND;
	return !vb_recv1(c, 1, 2, at, len) && !run(b, 0, &wr) &&
	       vb_poll(c, 1, VB_RCQ, VB_WAIT, &wc) && !wc.status && filled(at, len, len);
}

static bool inwards(uint32_t len)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 3, c, c->buf, len);
	struct ibv_sge sge = { (uintptr_t)a->buf, len, a->info.lkey };
	struct ibv_wc wc;

	fill(c->buf, len, len);
	memset(a->buf, 0, len);
	memset(a->buf + (1 << 20), 0, len);
	if (vb_recv(b, 0, 4, &sge, 1) || run(c, 1, &wr) || !vb_poll(b, 0, VB_RCQ, VB_WAIT, &wc) ||
	    wc.status || wc.byte_len != len || !filled(a->buf, len, len))
		return false;
	wr.op = IBV_WR_RDMA_WRITE;
	wr.rkey = a->info.rkey;
	wr.raddr = (uintptr_t)a->buf + (1 << 20);
	return !run(c, 1, &wr) && filled(a->buf + (1 << 20), len, len);
}

/* Small WRITEs in a row are carried together where that can be: here out of two processes. */
static bool in_turn(uint32_t b_lkey)
{
	struct vb_wr wr[8];
	struct ibv_wc wc;
	bool good;

	fill(a->buf, 64, 1);
	fill(b->buf, 64, 2);
	memset(c->buf, 0, 1024);
	for (unsigned int i = 0; i < 8; i++) {
		wr[i] = request(IBV_WR_RDMA_WRITE, i & 1 ? b : a, i & 1 ? b_lkey : a->info.lkey,
				32);
		wr[i].raddr += 64 * i;
	}
	good = !vb_sends(b, 0, false, wr, 8, NULL);
	for (int i = 0; good && i < 8; i++)
		good = vb_poll(b, 0, VB_SCQ, VB_WAIT, &wc) && !wc.status &&
		       filled(c->buf + 64 * i, 32, i & 1 ? 2 : 1);
	return good;
}

static void test_import(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 65536 };
	struct ibv_dm *dm = ibv_alloc_dm(a->ctx, &attr);
	struct handles h = { .pd = a->pd->handle, .mr = a->mr->handle };
	uint32_t word = 0x12345678, got = 0;
	int ret;

	if (!dm)
		die("ibv_alloc_dm: %s", strerror(errno));
	h.dm = dm->handle;
	send_fd(sock[0], a->ctx->cmd_fd);
	ret = vb_call(b, do_import, &h, sizeof(h));
	if (!ok(!ret, "import of device, PD, MR and DM"))
		die("%s", strerror(ret));
	ok(h.lkey == a->mr->lkey && h.rkey == a->mr->rkey && h.len == VB_BUF && !h.addr,
	   "the region's keys and length; its address is not applicable");
	ok(!vb_call(b, do_wrong, &h, sizeof(h)), "handles that do not exist there: ENOENT");
	ibv_memcpy_to_dm(dm, 1024, &word, 4);
	ret = vb_call(b, do_dm, &word, sizeof(word));
	ok(!ret && !ibv_memcpy_from_dm(&got, dm, 2048, 4) && got == ~0x12345678u && got == word,
	   "device memory is the same on both sides");
	ok(!ibv_free_dm(dm), "its owner frees it");
	connect_pair();
	for (uint32_t len = 16; len <= 1 << 20; len *= 16) {
		ok(outwards(len), "%u bytes out of the exporter's region", len);
		ok(inwards(len), "%u bytes into it", len);
	}
	ok(in_turn(h.own_lkey), "small WRITEs out of both in turn");
	ok(ibv_dealloc_pd(a->pd) == EBUSY, "dealloc_pd while the importer has a QP in it: EBUSY");
}

/* Any process that shares an object may destroy it; the others then unimport it. */
static void test_end(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_pd *pd = ibv_alloc_pd(a->ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, a->buf, 4096, ALL);
	struct ibv_dm *dm = ibv_alloc_dm(a->ctx, &attr);
	struct handles h = { .pd = pd->handle, .mr = mr->handle, .dm = dm->handle };
	uint64_t max = a->info.dev.max_dm_size;

	ok(!vb_call(b, do_end, &h, sizeof(h)), "the importer ends an MR, a PD and a DM");
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
	ibv_unimport_dm(dm);
	attr.length = max;
	dm = ibv_alloc_dm(a->ctx, &attr);
	ok(dm && !ibv_free_dm(dm), "nothing is left of them");
}

static bool refuses(int fd, int err)
{
	errno = 0;
	return !ibv_import_device(fd) && errno == err;
}

static void test_fds(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), sv[2];
	int other = memfd_create("other", MFD_CLOEXEC);

	ok(fcntl(a->ctx->cmd_fd, F_GETFD) == FD_CLOEXEC, "cmd_fd closes on exec");
	ok(ftruncate(a->ctx->cmd_fd, 0) && errno == EPERM, "and cannot be cut short");
	if (pipe2(sv, O_CLOEXEC) || ftruncate(other, 8192))
		die("%s", strerror(errno));
	ok(refuses(-1, EINVAL) && refuses(null_fd, EINVAL) && refuses(sv[0], EINVAL) &&
		   refuses(other, EINVAL),
	   "ibv_import_device of other descriptors: EINVAL");
	close(null_fd);
	close(other);
	close(sv[0]);
	close(sv[1]);
}

/* --- Death of the exporter */

static int do_export(struct vb_side *s, void *arg)
{
	struct handles *h = arg;

	send_fd(sock[1], s->ctx->cmd_fd);
	h->pd = s->pd->handle;
	h->mr = s->mr->handle;
	h->rkey = s->mr->rkey;
	return 0;
}

static void test_death(void)
{
	struct vb_side *x = vb_fork();
	struct handles h = { 0 };
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct vb_wr wr;
	int fd;

	b = vb_local();
	c = vb_local();
	vb_open(x);
	vb_open(b);
	vb_open(c);
	vb_call(x, do_export, &h, sizeof(h));
	fd = receive_fd(sock[0]);
	ctx = ibv_import_device(fd);
	pd = ctx ? ibv_import_pd(ctx, h.pd) : NULL;
	mr = pd ? ibv_reg_mr(pd, b->buf, VB_BUF, ALL) : NULL;
	ok(!!mr, "a region in the PD of another process");
	if (!mr)
		return;
	b->ctx = ctx;
	b->pd = pd;
	connect_pair();
	wr = request(IBV_WR_RDMA_WRITE, b, mr->lkey, 5000);
	fill(b->buf, 5000, 1);
	ok(!run(b, 0, &wr) && filled(c->buf, 5000, 1), "WRITE out of it");
	kill(x->pid, SIGKILL);
	waitpid(x->pid, NULL, 0);
	/* Until the fabric has seen it: its key is no good then. */
	for (int i = 0; i < 1000; i++) {
		struct ibv_mr *gone = ibv_import_mr(pd, h.mr);

		if (!gone)
			break;
		ibv_unimport_mr(gone);
		usleep(10000);
	}
	ok(!ibv_import_mr(pd, h.mr) && errno == ENOENT, "the exporter dies, its regions with it");
	fill(b->buf, 5000, 2);
	ok(!run(b, 0, &wr) && filled(c->buf, 5000, 2), "the PD lives on");
	wr.sge[0] = (struct ibv_sge){ (uintptr_t)x->buf, 100, h.rkey };
	ok(run(b, 0, &wr) == IBV_WC_LOC_PROT_ERR, "the dead one's key: LOC_PROT_ERR");
	ok(ibv_import_pd(ctx, h.pd) != NULL, "the PD can still be imported");
	ok(ibv_dealloc_pd(pd) == EBUSY, "and is busy as any other");
	ok(!vb_destroy(b, 0) && !vb_destroy(c, 1) && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd),
	   "at last it is destroyed");
	ok(!ibv_close_device(ctx) && fcntl(fd, F_GETFD) < 0, "close_device closes the descriptor");
}

/* --- Another fabric */

static void test_foreign(const char *me, char **argv)
{
	struct ibv_context *ctx = rc_open_first();
	int fd = dup(ctx->cmd_fd), status = -1;
	char arg[16];
	pid_t pid;

	snprintf(arg, sizeof(arg), "%d", fd);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execl(argv[0], argv[0], "run", argv[1], argv[2], "--", me, "refused", arg, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	ok(!status, "a program elsewhere: %s %s", argv[1], argv[2]);
	ok(ibv_import_device(fd) != NULL, "the descriptor is a good one");
}

static int refused(const char *fd)
{
	struct ibv_context *ctx = rc_open_first();

	if (!refuses(atoi(fd), ENODEV))
		return 1;
	return ibv_close_device(ctx);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "local";

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock))
		die("socketpair: %s", strerror(errno));
	if (!strcmp(mode, "refused"))
		return refused(argv[2]);
	if (!strcmp(mode, "death")) {
		test_death();
		return tap_failed != 0;
	}
	if (!strcmp(mode, "foreign") && argc == 5) {
		test_foreign(argv[0], argv + 2);
		return tap_failed != 0;
	}
	b = strcmp(mode, "remote") ? vb_local() : vb_fork();
	a = vb_local();
	c = vb_local();
	vb_open(a);
	vb_open(b);
	vb_open(c);
	test_fds();
	test_import();
	test_end();
	ok(!vb_destroy(c, 1) && !vb_call(b, do_leave, NULL, 0), "the importer leaves");
	ok(!ibv_dereg_mr(a->mr) && !ibv_dealloc_pd(a->pd), "the PD is no longer used");
	vb_close(b);
	vb_close(c);
	vb_close(a);
	return tap_failed != 0;
}
