/* SPDX-License-Identifier: MIT */
/*
 * Memory windows: binding, what they let through, invalidation.
 *	app_mw [local|remote]: where the target, whose windows they are, lives
 */
#include "tests/vb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LW IBV_ACCESS_LOCAL_WRITE
#define RW IBV_ACCESS_REMOTE_WRITE
#define RR IBV_ACCESS_REMOTE_READ
#define RA IBV_ACCESS_REMOTE_ATOMIC
#define MB IBV_ACCESS_MW_BIND
#define ZB IBV_ACCESS_ZERO_BASED

#define AREA   65536 /* offset of the windowed memory in the target's buffer */
#define LEN    4096
#define POSTED (-2)

static struct vb_side *a, *b;
static struct vb_pair p;

static void fresh(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	int ret;

	if (p.a)
		vb_pair_down(&p);
	while (vb_event(b, 0) >= 0)
		;
	ret = vb_pair_up(&p, a, b, &spec);
	if (ret)
		die("queue pairs: %s", strerror(ret));
}

/* --- What the target does on its side. Region 0 is that of the whole buffer. */

static struct ibv_mr *regions[4];
static struct ibv_pd *pd2;

struct reg {
	int i;
	unsigned int access;
	bool other_pd;
};

static int do_reg(struct vb_side *s, void *arg)
{
	struct reg *r = arg;

	if (!pd2)
		pd2 = ibv_alloc_pd(s->ctx);
	regions[r->i] = ibv_reg_mr(r->other_pd ? pd2 : s->pd, s->buf + AREA, LEN, r->access);
	return regions[r->i] ? 0 : errno;
}

static void reg(int i, unsigned int access, bool other_pd)
{
	struct reg r = { i, access, other_pd };
	int ret = vb_call(b, do_reg, &r, sizeof(r));

	if (ret)
		die("ibv_reg_mr: %s", strerror(ret));
}

static int do_dereg(struct vb_side *s, void *arg)
{
	int i = *(int *)arg;
	int ret = ibv_dereg_mr(regions[i]);

	(void)s;
	if (!ret)
		regions[i] = NULL;
	return ret;
}

static int dereg(int i)
{
	return vb_call(b, do_dereg, &i, sizeof(i));
}

/* ibv_rereg_mr(3) with these flags. Return: its value, or errno's when that is ERR_CMD. */
static int do_rereg(struct vb_side *s, void *arg)
{
	int *v = arg;
	struct ibv_mr *mr = regions[v[0]];
	int ret = ibv_rereg_mr(mr, v[1], s->pd,
			       v[1] & IBV_REREG_MR_CHANGE_TRANSLATION ? s->buf : NULL,
			       v[1] & IBV_REREG_MR_CHANGE_TRANSLATION ? LEN : 0,
			       v[1] & IBV_REREG_MR_CHANGE_ACCESS ? LW : 0);

	return ret == IBV_REREG_MR_ERR_CMD ? errno : ret;
}

static int rereg(int i, int flags)
{
	int v[2] = { i, flags };

	return vb_call(b, do_rereg, v, sizeof(v));
}

/**
 * struct bind - a bind and its outcome.
 * @type1: by ibv_bind_mw()
 * @key: type 2: the key to be; out: the window's key
 * @status: the completion's, or POSTED when it was refused with @err
 */
struct bind {
	int mw, region, qp;
	bool type1;
	uint32_t key;
	int64_t off; /* from AREA */
	uint64_t len;
	unsigned int access;
	int err;
	int status;
};

static int do_bind(struct vb_side *s, void *arg)
{
	struct bind *v = arg;
	struct ibv_mw_bind_info info = {
		.mr = v->region ? regions[v->region] : s->mr,
		.addr = (uintptr_t)s->buf + AREA + (uint64_t)v->off,
		.length = v->len,
		.mw_access_flags = v->access,
	};
	struct ibv_mw_bind bind = { .wr_id = 7,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = info };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 7,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = s->mw[v->mw], .rkey = v->key, .bind_info = info },
	};
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	v->status = POSTED;
	if (v->type1) {
		v->err = ibv_bind_mw(s->qp[v->qp].qp, s->mw[v->mw], &bind);
		v->key = s->mw[v->mw]->rkey;
	} else {
		v->err = ibv_post_send(s->qp[v->qp].qp, &wr, &bad);
	}
	if (v->err)
		return 0;
	vb_poll(s, v->qp, VB_SCQ, VB_WAIT, &wc);
	v->status = (int)wc.status;
	if (wc.status == IBV_WC_SUCCESS && (wc.opcode != IBV_WC_BIND_MW || wc.wr_id != 7))
		v->status = IBV_WC_GENERAL_ERR;
	return 0;
}

static int bind_it(struct bind *v)
{
	vb_call(b, do_bind, v, sizeof(*v));
	if (v->status == POSTED && !v->err)
		v->err = -1;
	return v->status;
}

/* A window with all rights over the region @i, of type 2 under the key after *key. */
static bool window(int mw, enum ibv_mw_type type, int region, unsigned int access, uint32_t *key)
{
	struct bind v = { .mw = mw,
			  .region = region,
			  .qp = 1,
			  .type1 = type == IBV_MW_TYPE_1,
			  .len = LEN,
			  .access = access };

	if (vb_mw(b, mw, type, key))
		return false;
	v.key = ibv_inc_rkey(*key);
	if (bind_it(&v) || v.key != ibv_inc_rkey(*key))
		return false;
	*key = v.key;
	return true;
}

/* --- What the requester does with a key */

static int request_at(enum ibv_wr_opcode op, uint32_t key, uint64_t raddr, uint32_t len)
{
	struct vb_wr wr = vb_wr(op, 9, a, a->buf, len);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	wr.rkey = key;
	wr.raddr = raddr;
	if (vb_send(a, 0, false, &wr))
		return -1;
	return vb_poll(a, 0, VB_SCQ, VB_WAIT, &wc) ? (int)wc.status : -1;
}

static int request(enum ibv_wr_opcode op, uint32_t key, uint64_t off, uint32_t len)
{
	return request_at(op, key, (uintptr_t)b->buf + AREA + off, len);
}

/* WRITE of 200 bytes at @off; whether they got there. */
static bool writes(uint32_t key, uint64_t off)
{
	fill(a->buf, 200, key + off);
	memset(b->buf + AREA + off, 0, 200);
	return request(IBV_WR_RDMA_WRITE, key, off, 200) == IBV_WC_SUCCESS &&
	       filled(b->buf + AREA + off, 200, key + off);
}

/* The key does not do. The pair is made anew, which type 1 windows survive. */
static bool refused(uint32_t key, enum ibv_wr_opcode op, uint64_t off, uint32_t len)
{
	bool good = request(op, key, off, len) == IBV_WC_REM_ACCESS_ERR &&
		    vb_event(b, VB_WAIT) == IBV_EVENT_QP_ACCESS_ERR &&
		    vb_state(b, 1) == IBV_QPS_ERR;

	fresh();
	return good;
}

static void test_alloc(void)
{
	uint32_t key;

	ok(vb_mw(b, 0, 0, &key) == EINVAL && vb_mw(b, 0, 3, &key) == EINVAL,
	   "windows of no type: EINVAL");
	ok(!vb_mw(b, 0, IBV_MW_TYPE_1, &key) && refused(key, IBV_WR_RDMA_WRITE, 0, 8),
	   "an unbound window's key is refused");
	ok(!vb_mw_dealloc(b, 0), "dealloc");
}

static void test_type1(void)
{
	struct bind v = { .type1 = true, .qp = 1, .off = 1000, .len = 500, .access = RW | RR };
	uint32_t key, old;
	bool good;

	vb_mw(b, 0, IBV_MW_TYPE_1, &key);
	good = !bind_it(&v);
	ok(good && v.key == ibv_inc_rkey(key), "ibv_bind_mw: the next key, on return");
	old = v.key;
	ok(writes(old, 1000) && writes(old, 1300), "WRITE to both ends of the window");
	ok(request(IBV_WR_RDMA_READ, old, 1200, 100) == IBV_WC_SUCCESS, "READ");
	ok(refused(old, IBV_WR_RDMA_WRITE, 999, 8), "WRITE that begins before it");
	ok(refused(old, IBV_WR_RDMA_WRITE, 1493, 8), "WRITE that ends behind it");
	ok(refused(old, IBV_WR_ATOMIC_FETCH_AND_ADD, 1000, 8), "an atomic, which was not bound");
	v.off = 2000;
	ok(!bind_it(&v) && writes(v.key, 2000) && refused(old, IBV_WR_RDMA_WRITE, 1000, 8),
	   "bound elsewhere: the new key does, the old is refused");
	old = v.key;
	v.len = 0;
	v.access = 0;
	ok(!bind_it(&v) && refused(old, IBV_WR_RDMA_WRITE, 2000, 8) &&
		   refused(v.key, IBV_WR_RDMA_WRITE, 2000, 8),
	   "a length of 0 unbinds");
	v.len = 100;
	v.access = RW | ZB;
	good = !bind_it(&v);
	fill(a->buf, 50, 5);
	good = good && !request_at(IBV_WR_RDMA_WRITE, v.key, 50, 50) &&
	       filled(b->buf + AREA + 2050, 50, 5);
	ok(good, "zero-based: addresses are offsets");
	ok(request_at(IBV_WR_RDMA_WRITE, v.key, 51, 50) == IBV_WC_REM_ACCESS_ERR, "and end there");
	fresh();
	v.type1 = false;
	v.key = ibv_inc_rkey(v.key);
	ok(bind_it(&v) == POSTED && v.err == EINVAL, "a posted BIND_MW of a type 1 window: EINVAL");
	v.type1 = true;
	v.access = RW | MB;
	ok(bind_it(&v) == POSTED && v.err == EINVAL, "access flags windows do not have: EINVAL");
	reg(1, LW | MB, true);
	v.access = RW;
	v.region = 1;
	ok(bind_it(&v) == POSTED && v.err == EPERM, "a region of another PD: EPERM");
	ok(!dereg(1) && !vb_mw_dealloc(b, 0), "nothing is left bound");
}

/* Binds that are posted, and fail. */
static const struct {
	const char *name;
	unsigned int mr_access;
	bool other_pd;
	int64_t off;
	uint64_t len;
	unsigned int access;
} bad_binds[] = {
	{ "a region without MW_BIND", LW | RW, false, 0, LEN, RR },
	{ "REMOTE_WRITE, a region without LOCAL_WRITE", RR | MB, false, 0, LEN, RW },
	{ "REMOTE_ATOMIC, a region without LOCAL_WRITE", RR | MB, false, 0, LEN, RA },
	{ "past the region's end", LW | MB, false, 1, LEN, RW },
	{ "before its start", LW | MB, false, -1, LEN, RW },
	{ "a length that wraps", LW | MB, false, 8, ~0ULL, RW },
	{ "a region of another PD", LW | MB, true, 0, LEN, RW },
	{ "a length of 0", LW | MB, false, 0, 0, RW },
};

static void test_bad_binds(void)
{
	for (size_t i = 0; i < sizeof(bad_binds) / sizeof(bad_binds[0]); i++) {
		struct bind v = { .region = 1,
				  .qp = 1,
				  .off = bad_binds[i].off,
				  .len = bad_binds[i].len,
				  .access = bad_binds[i].access };
		uint32_t key;

		reg(1, bad_binds[i].mr_access, bad_binds[i].other_pd);
		vb_mw(b, 0, IBV_MW_TYPE_2, &key);
		v.key = ibv_inc_rkey(key);
		ok(bind_it(&v) == IBV_WC_MW_BIND_ERR && vb_state(b, 1) == IBV_QPS_ERR,
		   "type 2: %s: MW_BIND_ERR", bad_binds[i].name);
		fresh();
		ok(!vb_mw_dealloc(b, 0) && !dereg(1), "and nothing is bound");
	}
}

static void test_type2(void)
{
	struct bind v = { .qp = 1, .len = LEN, .access = RW };
	uint32_t key, other;

	vb_mw(b, 0, IBV_MW_TYPE_2, &key);
	v.key = key + 256;
	ok(bind_it(&v) == POSTED && v.err == EINVAL, "type 2: a key of another index: EINVAL");
	v.type1 = true;
	ok(bind_it(&v) == POSTED && v.err == EINVAL, "ibv_bind_mw of a type 2 window: EINVAL");
	v.type1 = false;
	v.key = (key & ~0xffu) | 0xee;
	ok(!bind_it(&v) && writes(v.key, 8), "any low byte will do for a key");
	ok(refused(key, IBV_WR_RDMA_WRITE, 0, 8), "the key from before is refused");
	vb_mw_dealloc(b, 0);

	/* The window's own rights count, not the region's. */
	reg(1, LW | MB, false);
	ok(window(0, IBV_MW_TYPE_2, 1, LW | RW, &key) && writes(key, 0) &&
		   refused(key, IBV_WR_RDMA_READ, 0, 8),
	   "a window to write, over a region without remote rights");
	vb_mw_dealloc(b, 0);
	ok(window(0, IBV_MW_TYPE_2, 1, RR, &key) && !request(IBV_WR_RDMA_READ, key, 0, 100) &&
		   refused(key, IBV_WR_RDMA_WRITE, 0, 8),
	   "a window to read");
	vb_mw_dealloc(b, 0);
	ok(window(0, IBV_MW_TYPE_2, 1, RA, &key) &&
		   !request(IBV_WR_ATOMIC_FETCH_AND_ADD, key, 8, 8) &&
		   refused(key, IBV_WR_RDMA_READ, 0, 8),
	   "a window for atomics");
	vb_mw_dealloc(b, 0);

	ok(window(0, IBV_MW_TYPE_2, 0, RW | ZB, &key) &&
		   !request_at(IBV_WR_RDMA_WRITE, key, LEN - 8, 8) &&
		   request_at(IBV_WR_RDMA_WRITE, key, LEN - 7, 8) == IBV_WC_REM_ACCESS_ERR,
	   "a zero-based one");
	fresh();
	vb_mw_dealloc(b, 0);

	ok(window(0, IBV_MW_TYPE_2, 0, RW, &key), "a window");
	v.key = ibv_inc_rkey(key);
	ok(bind_it(&v) == IBV_WC_MW_BIND_ERR, "bound again without an invalidation: MW_BIND_ERR");
	fresh();
	ok(refused(key, IBV_WR_RDMA_WRITE, 0, 8), "a window goes with the QP that bound it");
	ok(!bind_it(&v) && writes(v.key, 0), "and can be bound by the next");
	ok(!vb_mw_dealloc(b, 0) && refused(v.key, IBV_WR_RDMA_WRITE, 0, 8), "dealloc unbinds");
	ok(window(0, IBV_MW_TYPE_2, 0, RW, &key) && window(1, IBV_MW_TYPE_2, 0, RW, &other) &&
		   writes(key, 0) && writes(other, 300) && key >> 8 != other >> 8,
	   "two windows over the same memory");
	ok(!vb_mw_dealloc(b, 0) && !vb_mw_dealloc(b, 1) && !dereg(1), "dealloc");
}

static void test_region(void)
{
	uint32_t key;
	int flags;
	bool good = true;

	reg(1, LW | MB, false);
	ok(window(0, IBV_MW_TYPE_1, 1, RW, &key) && dereg(1) == EBUSY,
	   "dereg_mr under a window: EBUSY");
	for (flags = 1; flags < 8; flags++)
		good = good && rereg(1, flags) == EBUSY;
	ok(good, "rereg_mr under a window, each kind: EBUSY");
	ok(writes(key, 0), "and the window is as it was");
	ok(!vb_mw_dealloc(b, 0) && !rereg(1, IBV_REREG_MR_CHANGE_ACCESS) && !dereg(1),
	   "both, when the window has gone");
}

/* --- Invalidation */

static int local_inv(uint32_t key, int qp)
{
	struct vb_wr wr = vb_wr(IBV_WR_LOCAL_INV, 8, b, NULL, 0);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	wr.imm = key;
	if (vb_send(b, qp, false, &wr) || !vb_poll(b, qp, VB_SCQ, VB_WAIT, &wc))
		return -1;
	return !wc.status && (wc.opcode != IBV_WC_LOCAL_INV || wc.wr_id != 8) ? -1 : (int)wc.status;
}

static void test_local_inv(void)
{
	uint32_t key;

	ok(window(0, IBV_MW_TYPE_2, 0, RW, &key) && writes(key, 0) && !local_inv(key, 1) &&
		   refused(key, IBV_WR_RDMA_WRITE, 0, 8),
	   "LOCAL_INV");
	ok(local_inv(key, 1) == IBV_WC_MW_BIND_ERR && vb_state(b, 1) == IBV_QPS_ERR,
	   "LOCAL_INV of an invalid key: MW_BIND_ERR");
	fresh();
	vb_mw_dealloc(b, 0);
	ok(window(0, IBV_MW_TYPE_1, 0, RW, &key) && local_inv(key, 1) == IBV_WC_MW_BIND_ERR,
	   "of a type 1 window: MW_BIND_ERR");
	fresh();
	ok(writes(key, 0), "which stays bound");
	vb_mw_dealloc(b, 0);
	ok(local_inv(b->info.rkey, 1) == IBV_WC_MW_BIND_ERR, "of a region: MW_BIND_ERR");
	fresh();
	ok(vb_pair_alive(&p), "which stays");
}

/* SEND_WITH_INV of @key; the requester's status, and the receive's in *wc. */
static int send_inv(uint32_t key, struct ibv_wc *wc)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_SEND_WITH_INV, 11, 0, 100);
	struct ibv_wc swc;

	wr.imm = key;
	fill(a->buf, 100, key);
	wc->status = IBV_WC_GENERAL_ERR;
	if (vb_recv1(b, 1, 12, b->buf, 200) || vb_send(a, 0, false, &wr) ||
	    !vb_poll(a, 0, VB_SCQ, VB_WAIT, &swc) || !vb_poll(b, 1, VB_RCQ, VB_WAIT, wc))
		return -1;
	return (int)swc.status;
}

static bool inv_refused(uint32_t key)
{
	struct ibv_wc wc;
	bool good = send_inv(key, &wc) == IBV_WC_REM_ACCESS_ERR &&
		    wc.status == IBV_WC_WR_FLUSH_ERR &&
		    vb_event(b, VB_WAIT) == IBV_EVENT_QP_ACCESS_ERR;

	fresh();
	return good;
}

static void test_send_inv(void)
{
	struct bind v = { .qp = 1, .len = LEN, .access = RW };
	struct ibv_wc wc;
	uint32_t key;

	ok(window(0, IBV_MW_TYPE_2, 0, RW, &key) && writes(key, 0) && !send_inv(key, &wc) &&
		   wc.status == IBV_WC_SUCCESS && wc.wc_flags == IBV_WC_WITH_INV &&
		   wc.invalidated_rkey == key && wc.byte_len == 100 && filled(b->buf, 100, key),
	   "SEND_WITH_INV");
	v.key = ibv_inc_rkey(key);
	ok(!bind_it(&v) && writes(v.key, 0), "the window is free to be bound again");
	ok(refused(key, IBV_WR_RDMA_WRITE, 0, 8), "the invalidated key is refused");
	ok(inv_refused(v.key), "SEND_WITH_INV of an invalid key: refused");
	vb_mw_dealloc(b, 0);
	ok(window(0, IBV_MW_TYPE_1, 0, RW, &key) && inv_refused(key) && writes(key, 0),
	   "of a type 1 window: refused, and it stays");
	vb_mw_dealloc(b, 0);
	ok(inv_refused(b->info.rkey) && vb_pair_alive(&p), "of a region: refused, and it stays");
}

/* Type 2 windows are 2B: another QP of the same PD may neither use nor invalidate them. */
static void test_2b(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct bind v = { .qp = 2, .len = LEN, .access = RW };
	struct ibv_wc wc;
	uint32_t key;
	int ret;

	ret = vb_create(a, 3, &spec);
	ret = ret ? ret : vb_create(b, 2, &spec);
	ret = ret ? ret : vb_connect(a, 3, b, 2, &spec);
	ret = ret ? ret : vb_connect(b, 2, a, 3, &spec);
	if (ret)
		die("a second pair: %s", strerror(ret));
	vb_mw(b, 0, IBV_MW_TYPE_2, &key);
	v.key = key = ibv_inc_rkey(key);
	ok(!bind_it(&v) && refused(key, IBV_WR_RDMA_WRITE, 0, 8),
	   "a window of another QP: refused");
	ok(inv_refused(key), "SEND_WITH_INV of it: refused");
	ok(local_inv(key, 1) == IBV_WC_MW_BIND_ERR, "LOCAL_INV of it: MW_BIND_ERR");
	fresh();
	ok(!local_inv(key, 2), "its own QP invalidates it");
	v.qp = 1;
	v.key = ibv_inc_rkey(key);
	ok(!bind_it(&v) && writes(v.key, 0), "and then another QP can bind it");
	ok(!send_inv(v.key, &wc), "and invalidate");
	vb_mw_dealloc(b, 0);
	vb_destroy(a, 3);
	vb_destroy(b, 2);
}

/* A window posted, used and invalidated in one go, behind other work. */
static void test_order(void)
{
	struct vb_wr wr[4];
	struct ibv_wc wc;
	uint32_t key;
	bool good;

	vb_mw(a, 0, IBV_MW_TYPE_2, &key);
	key = ibv_inc_rkey(key);
	wr[0] = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 100000);
	wr[1] = vb_wr(IBV_WR_BIND_MW, 2, a, NULL, 0);
	wr[1].mw = 1;
	wr[1].bind_rkey = key;
	wr[1].bind_addr = (uintptr_t)a->buf;
	wr[1].bind_len = LEN;
	wr[1].bind_access = RR;
	wr[2] = vb_pair_wr(&p, IBV_WR_RDMA_READ, 3, 0, 100000);
	wr[3] = vb_wr(IBV_WR_LOCAL_INV, 4, a, NULL, 0);
	wr[3].imm = key;
	good = !vb_sends(a, 0, false, wr, 4, NULL);
	for (uint64_t i = 1; good && i <= 4; i++)
		good = vb_poll(a, 0, VB_SCQ, VB_WAIT, &wc) && wc.wr_id == i && !wc.status;
	ok(good, "WRITE, BIND_MW, READ and LOCAL_INV complete in order");
	vb_mw_dealloc(a, 0);
}

int main(int argc, char **argv)
{
	bool remote = argc > 1 && !strcmp(argv[1], "remote");

	b = remote ? vb_fork() : vb_local();
	a = vb_local();
	vb_open(a);
	vb_open(b);
	fresh();
	test_alloc();
	test_type1();
	test_bad_binds();
	test_type2();
	test_region();
	test_local_inv();
	test_send_inv();
	test_2b();
	test_order();
	vb_pair_down(&p);
	vb_close(b);
	vb_close(a);
	return tap_failed != 0;
}
