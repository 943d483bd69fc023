/* SPDX-License-Identifier: MIT */
/*
 * A device has the limits and capabilities that it reports, with any profile: the test uses each
 * limit up, and exceeds it by one. If a limit is too high to be reached, it only tries to exceed
 * it.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REACHABLE 64 /* objects made to use up a limit */

static struct ibv_context *ctx;
static struct ibv_device_attr dev;
static struct ibv_device_attr_ex ex;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static uint8_t buf[4096];

static void *new_pd(void)
{
	return ibv_alloc_pd(ctx);
}

static int end_pd(void *p)
{
	return ibv_dealloc_pd(p);
}

static void *new_cq(void)
{
	return ibv_create_cq(ctx, 1, NULL, NULL, 0);
}

static int end_cq(void *p)
{
	return ibv_destroy_cq(p);
}

static void *new_mr(void)
{
	return ibv_reg_mr(pd, buf, sizeof(buf), 0);
}

static int end_mr(void *p)
{
	return ibv_dereg_mr(p);
}

static struct ibv_qp_init_attr qp_init(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){
		.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
}

static void *new_qp(void)
{
	struct ibv_qp_init_attr init = qp_init(IBV_QPT_RC);

	return ibv_create_qp(pd, &init);
}

static int end_qp(void *p)
{
	return ibv_destroy_qp(p);
}

static void *new_ah(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	if (ibv_query_gid(ctx, 1, 0, &attr.grh.dgid))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

static int end_ah(void *p)
{
	return ibv_destroy_ah(p);
}

static void *new_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ibv_create_srq(pd, &init);
}

static int end_srq(void *p)
{
	return ibv_destroy_srq(p);
}

static void *new_mw(void)
{
	return ibv_alloc_mw(pd, IBV_MW_TYPE_1);
}

static int end_mw(void *p)
{
	return ibv_dealloc_mw(p);
}

/* @has: how many of @max there are already. */
static void use_up(const char *what, int max, int has, void *(*make)(void), int (*end)(void *))
{
	void *obj[REACHABLE + 1];
	int n = 0, bad = 0, err;

	errno = 0;
	while (n <= REACHABLE && (obj[n] = make()))
		n++;
	err = errno;
	if (max > REACHABLE)
		ok(n == REACHABLE + 1, "%s %d: more than %d can be had", what, max, REACHABLE);
	else if (!max)
		ok(!n && err == EOPNOTSUPP, "%s 0: EOPNOTSUPP (%d)", what, err);
	else
		ok(n == max - has && err == ENOMEM, "%s %d: ENOMEM after that many (%d, %d)", what,
		   max, n + has, err);
	while (n)
		bad |= end(obj[--n]);
	ok(!bad, "%s: and all are destroyed", what);
}

static void qp_cap(const char *what, const struct ibv_qp_cap *cap, bool fits)
{
	struct ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
	struct ibv_qp *qp;

	init.cap = *cap;
	errno = 0;
	qp = ibv_create_qp(pd, &init);
	if (fits)
		ok(qp != NULL, "a QP with all of %s", what);
	else
		ok(!qp && errno == EINVAL, "one more than %s: EINVAL (%d)", what, errno);
	if (qp)
		ibv_destroy_qp(qp);
}

static void test_qp_caps(void)
{
	const struct ibv_qp_cap one = { 1, 1, 1, 1, 0 };
	struct ibv_qp_cap cap = one;

	cap.max_send_wr = (uint32_t)dev.max_qp_wr;
	qp_cap("max_qp_wr", &cap, true);
	cap.max_send_wr++;
	qp_cap("max_qp_wr sends", &cap, false);
	cap = one;
	cap.max_recv_wr = (uint32_t)dev.max_qp_wr + 1;
	qp_cap("max_qp_wr receives", &cap, false);
	cap = one;
	cap.max_send_sge = cap.max_recv_sge = (uint32_t)dev.max_sge;
	qp_cap("max_sge", &cap, true);
	cap.max_send_sge++;
	qp_cap("max_sge of sends", &cap, false);
	cap = one;
	cap.max_recv_sge = (uint32_t)dev.max_sge + 1;
	qp_cap("max_sge of receives", &cap, false);
	cap = one;
	cap.max_inline_data = 1025;
	qp_cap("any inline data", &cap, false);
}

static void test_cq(void)
{
	struct ibv_cq *c = ibv_create_cq(ctx, dev.max_cqe, NULL, NULL, ctx->num_comp_vectors - 1);

	ok(c && c->cqe == dev.max_cqe, "a CQ of max_cqe %d entries on the last vector",
	   dev.max_cqe);
	if (c)
		ibv_destroy_cq(c);
	errno = 0;
	ok(!ibv_create_cq(ctx, dev.max_cqe + 1, NULL, NULL, 0) && errno == EINVAL,
	   "one more than max_cqe: EINVAL");
	errno = 0;
	ok(!ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors) && errno == EINVAL,
	   "completion vector %d: EINVAL", ctx->num_comp_vectors);
}

static void test_mr(void)
{
	size_t max = (size_t)dev.max_mr_size;
	struct ibv_mr *mr;
	void *p;

	errno = 0;
	if (!(ex.odp_caps.general_caps & IBV_ODP_SUPPORT))
		ok(!ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_ON_DEMAND) && errno == EOPNOTSUPP,
		   "no on-demand paging: EOPNOTSUPP");
	if (max > 1u << 30)
		return;
	p = malloc(max + 1);
	mr = p ? ibv_reg_mr(pd, p, max, 0) : NULL;
	ok(mr != NULL, "a region of max_mr_size");
	if (mr)
		ibv_dereg_mr(mr);
	errno = 0;
	ok(!ibv_reg_mr(pd, p, max + 1, 0) && errno == EINVAL, "one byte more: EINVAL");
	free(p);
}

static void test_types(unsigned int types)
{
	static const struct {
		enum ibv_qp_type type;
		const char *name;
	} all[] = { { IBV_QPT_RC, "RC" },
		    { IBV_QPT_UC, "UC" },
		    { IBV_QPT_UD, "UD" },
		    { IBV_QPT_RAW_PACKET, "RAW_PACKET" } };
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		init = qp_init(all[i].type);
		errno = 0;
		qp = ibv_create_qp(pd, &init);
		if (types >> all[i].type & 1)
			ok(qp != NULL, "%s QPs", all[i].name);
		else
			ok(!qp && errno == EOPNOTSUPP, "no %s QPs: EOPNOTSUPP", all[i].name);
		if (qp)
			ibv_destroy_qp(qp);
	}
}

static void test_xrc(void)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;

	errno = 0;
	xrcd = ibv_open_xrcd(ctx, &init);
	if (dev.device_cap_flags & IBV_DEVICE_XRC)
		ok(xrcd != NULL, "an XRC domain");
	else
		ok(!xrcd && errno == EOPNOTSUPP, "no XRC: EOPNOTSUPP");
	if (xrcd)
		ibv_close_xrcd(xrcd);
}

static int to_init(struct ibv_qp *qp, uint16_t pkey_index, uint8_t port)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = pkey_index,
		.port_num = port,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static void test_ports(void)
{
	struct ibv_qp *qp = new_qp();
	struct ibv_port_attr port;
	__be16 pkey;

	if (!ok(qp != NULL, "a QP"))
		return;
	ok(!ibv_query_port(ctx, dev.phys_port_cnt, &port) && port.pkey_tbl_len == dev.max_pkeys &&
		   port.active_mtu <= port.max_mtu && port.max_msg_sz >= 4096,
	   "the last port, %u", dev.phys_port_cnt);
	ok(ibv_query_port(ctx, dev.phys_port_cnt + 1, &port) == EINVAL, "the next: EINVAL");
	ok(ibv_query_port(ctx, 0, &port) == EINVAL, "port 0: EINVAL");
	ok(!ibv_query_pkey(ctx, 1, dev.max_pkeys - 1, &pkey), "the last P_Key");
	ok(ibv_query_pkey(ctx, 1, dev.max_pkeys, &pkey) == -1 && errno == EINVAL,
	   "the next: EINVAL");
	ok(to_init(qp, dev.max_pkeys, 1) == EINVAL, "a QP with it: EINVAL");
	ok(to_init(qp, 0, (uint8_t)(dev.phys_port_cnt + 1)) == EINVAL, "or on that port: EINVAL");
	ok(!to_init(qp, (uint16_t)(dev.max_pkeys - 1), dev.phys_port_cnt), "on the last of both");
	ibv_destroy_qp(qp);
}

/* On the QP's own wire: it is connected to itself. */
static void test_ops(void)
{
	struct rc_opts o = rc_defaults;
	struct end *a = end_local(), *b = end_local();
	struct rc_wr wr;
	struct ibv_wc wc;
	int ret;

	o.send_wr = o.recv_wr = 4;
	o.send_sge = o.recv_sge = 1;
	o.inl = 0;
	o.scqe = o.rcqe = 8;
	o.rd_atomic = o.dest_rd_atomic = 1;
	o.mtu = IBV_MTU_256;
	end_open(a);
	end_open(b);
	pair_up(a, b, &o, &o);
	wr = wr_make(IBV_WR_RDMA_WRITE, 1, a, a->buf, 4096, b, b->buf);
	fill(a->buf, 4096, 7);
	ok(!end_send(a, &wr) && end_poll(a, 0, 20000, &wc) && wc.status == IBV_WC_SUCCESS &&
		   filled(b->buf, 4096, 7),
	   "a WRITE");
	wr = wr_make(IBV_WR_RDMA_READ, 2, a, a->buf, 4096, b, b->buf);
	ok(!end_send(a, &wr) && end_poll(a, 0, 20000, &wc) && wc.status == IBV_WC_SUCCESS,
	   "a READ");
	wr = wr_make(IBV_WR_ATOMIC_FETCH_AND_ADD, 3, a, a->buf, 8, b, b->buf);
	ret = end_send(a, &wr);
	if (dev.atomic_cap == IBV_ATOMIC_NONE)
		ok(ret || (end_poll(a, 0, 20000, &wc) && wc.status == IBV_WC_LOC_QP_OP_ERR),
		   "an atomic, which the device has not");
	else
		ok(!ret && end_poll(a, 0, 20000, &wc) && wc.status == IBV_WC_SUCCESS, "an atomic");
	end_close(a);
	end_close(b);
}

/* @argv: the expected QP types, a bit each, and whether to try operations. */
int main(int argc, char **argv)
{
	unsigned int types = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 0) : 0;

	ctx = rc_open_first();
	if (ibv_query_device(ctx, &dev) || ibv_query_device_ex(ctx, NULL, &ex))
		die("ibv_query_device");
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	if (!pd || !cq)
		die("PD or CQ");
	use_up("max_pd", dev.max_pd, 1, new_pd, end_pd);
	use_up("max_cq", dev.max_cq, 1, new_cq, end_cq);
	use_up("max_mr", dev.max_mr, 0, new_mr, end_mr);
	use_up("max_qp", dev.max_qp, 0, new_qp, end_qp);
	use_up("max_ah", dev.max_ah, 0, new_ah, end_ah);
	use_up("max_srq", dev.max_srq, 0, new_srq, end_srq);
	use_up("max_mw", dev.max_mw, 0, new_mw, end_mw);
	test_qp_caps();
	test_cq();
	test_mr();
	test_types(types);
	test_xrc();
	test_ports();
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	if (argc > 2)
		test_ops();
	return tap_failed != 0;
}
