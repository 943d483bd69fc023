/* SPDX-License-Identifier: MIT */
/*
 * The opcode table of ibv_post_send(3): each opcode on each QP type, by both posting APIs.
 *	app_qp_opcode_table [local|remote]: where the other side lives
 *
 * An opcode that the table allows must arrive, with correct completions. Others are refused: with
 * EINVAL by ibv_post_send(), with EOPNOTSUPP by ibv_create_qp_ex(); neither changes anything.
 */
#include "tests/lib/c/vb.h"
#include "tests/lib/c/vb_window.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define T_UD  (1u << IBV_QPT_UD)
#define T_UC  (1u << IBV_QPT_UC)
#define T_RC  (1u << IBV_QPT_RC)
#define T_XRC (1u << IBV_QPT_XRC_SEND)
#define T_RAW (1u << IBV_QPT_RAW_PACKET)

#define IMM htonl(0x12345678)

struct cell;

struct row {
	const char *name;
	enum ibv_wr_opcode op;
	uint64_t flag;
	unsigned int types;
	bool (*run)(struct cell *c);
};

#define FLUSHABLE (IBV_ACCESS_LOCAL_WRITE | VB_ACCESS_GLOBAL | VB_ACCESS_PERSISTENT)

struct cell {
	const struct row *row;
	struct vb_pair p;
	bool ex;
};

static struct vb_side *a, *b;

static uint32_t largest(const struct cell *c)
{
	switch (c->p.type) {
	case IBV_QPT_UD:
		return 1024;
	case IBV_QPT_RAW_PACKET:
		return 1000;
	default:
		return 100000;
	}
}

/* Post one request and wait for its completion. */
static bool go(struct cell *c, const struct vb_wr *wr, enum ibv_wc_opcode op)
{
	struct ibv_wc wc;
	int ret = vb_send(a, 0, c->ex, wr);

	if (ret) {
		note("post: %s", strerror(ret));
		return false;
	}
	return vb_done(a, 0, VB_SCQ, wr->wr_id, op, &wc);
}

/* A message of @len bytes, from the buffers' start to 1 MiB into that of the other side. */
static bool message(struct cell *c, uint32_t len, uint32_t key, struct ibv_wc *wc)
{
	struct vb_wr wr;
	uint8_t *to = b->buf + (1u << 20);
	unsigned int flags;

	fill(a->buf, len, len + 1);
	memset(to - 1, 0xee, len + c->p.off + 2);
	wr = vb_pair_wr(&c->p, c->row->op, 21, 0, len);
	wr.imm = c->row->op == IBV_WR_SEND_WITH_INV ? key : IMM;
	if (vb_recv1(b, c->p.recv, 22, to, len + c->p.off) || !go(c, &wr, IBV_WC_SEND) ||
	    !vb_done(b, c->p.rq, c->p.rcq, 22, IBV_WC_RECV, wc))
		return false;
	flags = (c->row->op == IBV_WR_SEND_WITH_IMM ? IBV_WC_WITH_IMM : 0) |
		(c->row->op == IBV_WR_SEND_WITH_INV ? IBV_WC_WITH_INV : 0) |
		(c->p.type == IBV_QPT_UD ? IBV_WC_GRH : 0);
	if (wc->byte_len != len + c->p.off || wc->wc_flags != flags ||
	    wc->qp_num != b->addr[1].qpn) {
		note("%u bytes: byte_len %u, wc_flags %#x, qp_num %#x", len, wc->byte_len,
		     wc->wc_flags, wc->qp_num);
		return false;
	}
	return !memcmp(to + c->p.off, a->buf, len) && to[-1] == 0xee && to[len + c->p.off] == 0xee;
}

static bool run_send(struct cell *c)
{
	bool imm = c->row->op == IBV_WR_SEND_WITH_IMM;
	uint32_t sizes[] = { c->p.type == IBV_QPT_RAW_PACKET ? 60 : 0, 64, 73, 300, largest(c) };
	struct ibv_wc wc;

	for (int i = 0; i < 5; i++)
		if (!message(c, sizes[i], 0, &wc) || (imm && wc.imm_data != IMM))
			return false;
	return true;
}

static bool run_write(struct cell *c)
{
	bool imm = c->row->op == IBV_WR_RDMA_WRITE_WITH_IMM;
	static const uint32_t sizes[] = { 0, 8, 73, 3000, 100000 };
	struct ibv_wc wc;

	for (int i = 0; i < 5; i++) {
		struct vb_wr wr = vb_pair_wr(&c->p, c->row->op, 31, 64, sizes[i]);

		wr.imm = IMM;
		fill(a->buf + 64, sizes[i], 300 + (uint64_t)i);
		memset(b->buf, 0xee, sizes[i] + 128);
		if (imm && vb_recv1(b, c->p.recv, 32, b->buf, 8))
			return false;
		if (!go(c, &wr, IBV_WC_RDMA_WRITE))
			return false;
		if (imm && (!vb_done(b, c->p.rq, c->p.rcq, 32, IBV_WC_RECV_RDMA_WITH_IMM, &wc) ||
			    wc.byte_len != sizes[i] || wc.imm_data != IMM ||
			    wc.wc_flags != IBV_WC_WITH_IMM || wc.qp_num != b->addr[1].qpn))
			return false;
		if (!arrives(b->buf + 64, sizes[i], 300 + (uint64_t)i) || b->buf[63] != 0xee ||
		    b->buf[64 + sizes[i]] != 0xee)
			return false;
	}
	return imm || vb_nothing(b, c->p.rq, c->p.rcq);
}

static bool run_read(struct cell *c)
{
	static const uint32_t sizes[] = { 0, 8, 73, 3000, 100000 };

	for (int i = 0; i < 5; i++) {
		struct vb_wr wr = vb_pair_wr(&c->p, c->row->op, 41, 64, sizes[i]);

		fill(b->buf + 64, sizes[i], 400 + (uint64_t)i);
		memset(a->buf, 0xee, sizes[i] + 128);
		if (!go(c, &wr, IBV_WC_RDMA_READ) ||
		    !filled(a->buf + 64, sizes[i], 400 + (uint64_t)i) || a->buf[63] != 0xee ||
		    a->buf[64 + sizes[i]] != 0xee)
			return false;
	}
	return vb_nothing(b, c->p.rq, c->p.rcq);
}

static bool run_atomic(struct cell *c)
{
	uint64_t *target = (uint64_t *)(void *)(b->buf + 128);
	uint64_t *result = (uint64_t *)(void *)(a->buf + 128);
	struct vb_wr wr = vb_pair_wr(&c->p, c->row->op, 51, 128, 8);

	*target = 1000;
	if (c->row->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.compare = 0xffffffffffffff00ULL;
		return go(c, &wr, IBV_WC_FETCH_ADD) && *result == 1000 && *target == 1000 - 256;
	}
	wr.compare = 999;
	wr.swap = 0x1122334455667788ULL;
	if (!go(c, &wr, IBV_WC_COMP_SWAP) || *result != 1000 || *target != 1000)
		return false;
	wr.compare = 1000;
	return go(c, &wr, IBV_WC_COMP_SWAP) && *result == 1000 && *target == wr.swap;
}

static bool run_atomic_write(struct cell *c)
{
	uint64_t *target = (uint64_t *)(void *)(b->buf + 256);
	struct vb_wr wr = vb_pair_wr(&c->p, c->row->op, 61, 256, 8);

	fill(a->buf + 256, 8, 61);
	target[-1] = target[0] = target[1] = 5;
	return go(c, &wr, IBV_WC_ATOMIC_WRITE) && filled(target, 8, 61) && target[-1] == 5 &&
	       target[1] == 5;
}

/* A region of the target's own for FLUSH: a range of it, and all of it. */
static bool run_flush(struct cell *c)
{
	struct vb_wr wr = vb_pair_wr(&c->p, c->row->op, 71, 4096, 0);
	uint32_t lkey;
	bool good;

	if (vb_reg(b, 0, b->buf + 4096, 4096, FLUSHABLE, &lkey, &wr.rkey))
		return false;
	wr.compare = 100;
	wr.swap = 3;
	good = go(c, &wr, VB_WC_FLUSH);
	wr.compare = wr.raddr = 0;
	wr.swap = 1 << 4 | 1;
	good = good && go(c, &wr, VB_WC_FLUSH);
	return !vb_dereg(b, 0) && good;
}

/* --- Memory windows */

/* A key that is invalid: an RC peer is told so, a UC peer is not. */
static bool refused(struct cell *c, struct vb_side *from, int qp, const struct vb_side *to,
		    uint32_t key)
{
	enum ibv_wc_status status;

	return !vb_window_write(from, qp, to, key, false, &status) &&
	       status == (c->p.type == IBV_QPT_RC ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS);
}

/*
 * Windows belong to the QP that bound them: to an XRC one, which nothing can come in by, none can.
 */
static bool run_bind(struct cell *c)
{
	enum ibv_wc_status status;
	bool good;
	uint32_t key;

	good = vb_window_bind(a, 0, c->ex, c->p.type == IBV_QPT_XRC_SEND ? 0x123456 : 0, &key);
	if (good && c->p.type != IBV_QPT_XRC_SEND)
		good = vb_window_reached(b, 1, a, key, &status) && status == IBV_WC_SUCCESS &&
		       refused(c, b, 1, a, ibv_inc_rkey(key));
	return !vb_mw_dealloc(a, 0) && good;
}

static bool run_local_inv(struct cell *c)
{
	struct vb_wr wr = vb_pair_wr(&c->p, IBV_WR_LOCAL_INV, 73, 0, 0);
	enum ibv_wc_status status;
	uint32_t key;
	bool good;

	wr.num_sge = 0;
	good = vb_window_bind(a, 0, false, 0, &key);
	wr.imm = key;
	if (good && c->p.type == IBV_QPT_XRC_SEND) {
		good = go(c, &wr, IBV_WC_LOCAL_INV) && vb_pair_alive(&c->p);
		/* Only a valid key can be invalidated. */
		good = good && !vb_send(a, 0, c->ex, &wr) &&
		       vb_status(a, 0, VB_SCQ, 73, IBV_WC_MW_BIND_ERR);
	} else if (good) {
		good = vb_window_reached(b, 1, a, key, &status) && status == IBV_WC_SUCCESS &&
		       go(c, &wr, IBV_WC_LOCAL_INV) && refused(c, b, 1, a, key);
	}
	return !vb_mw_dealloc(a, 0) && good;
}

/* A region is not what a peer may invalidate; RC and XRC peers get no answer. */
static bool region_stays(struct cell *c)
{
	struct vb_wr wr = vb_pair_wr(&c->p, IBV_WR_SEND_WITH_INV, 74, 0, 100);
	bool acked = c->p.type != IBV_QPT_UC, good;
	uint32_t lkey, rkey;
	struct ibv_sge sge;

	good = !vb_reg(b, 0, b->buf + VB_WINDOW, 100, IBV_ACCESS_LOCAL_WRITE, &lkey, &rkey);
	sge = (struct ibv_sge){ (uintptr_t)b->buf + VB_WINDOW, 100, lkey };
	wr.imm = rkey;
	good = good && !vb_recv(b, c->p.recv, 22, &sge, 1) && !vb_send(a, 0, c->ex, &wr) &&
	       vb_status(a, 0, VB_SCQ, 74, acked ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
	if (good && c->p.type == IBV_QPT_UC) {
		struct ibv_wc wc;

		/* The receive, and the key of it, serve the next one. */
		wr.op = IBV_WR_SEND;
		good = go(c, &wr, IBV_WC_SEND) &&
		       vb_done(b, c->p.rq, c->p.rcq, 22, IBV_WC_RECV, &wc);
	}
	return !vb_dereg(b, 0) && good;
}

/* No window can be bound to an XRC target QP: nothing to invalidate there. */
static bool run_send_inv(struct cell *c)
{
	enum ibv_wc_status status;
	struct ibv_wc wc;
	uint32_t key;
	bool good = true;

	if (c->p.type == IBV_QPT_XRC_SEND)
		return region_stays(c);
	good = vb_window_bind(b, 1, false, 0, &key) && vb_window_reached(a, 0, b, key, &status) &&
	       status == IBV_WC_SUCCESS;
	good = good && message(c, 300, key, &wc) && wc.invalidated_rkey == key &&
	       refused(c, a, 0, b, key);
	return !vb_mw_dealloc(b, 0) && good;
}

/* --- Segmentation */

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool segment(const uint8_t *got, uint32_t byte_len, const uint8_t *data, uint32_t at,
		    uint32_t len)
{
	return byte_len == 54 + len && !memcmp(got, vb_mac, 6) &&
	       (uint32_t)(got[16] << 8 | got[17]) == 40 + len && get32(got + 38) == 1000 + at &&
	       !memcmp(got + 54, data + at, len);
}

static bool run_tso(struct cell *c)
{
	static const uint8_t hdr[54] = {
		0x02, 0, 0,  0, 0,    0x42, 0x02, 0,	0,    0,    0, 0x41, 0x08, 0,
		0x45, 0, 0,  0, 0,    1,    0x40, 0,	64,   6,    0, 0,    10,   0,
		0,    1, 10, 0, 0,    2,    0x12, 0x34, 0x56, 0x78, 0, 0,    3,	   0xe8,
		0,    0, 0,  1, 0x50, 0x18, 1,	  0,	0,    0,    0, 0,
	};
	struct vb_wr wr = vb_wr(IBV_WR_TSO, 81, a, a->buf, 1000);
	bool good = true;

	memcpy(wr.hdr, hdr, sizeof(hdr));
	wr.hdr_sz = sizeof(hdr);
	wr.mss = 300;
	fill(a->buf, 1000, 81);
	for (uint64_t i = 0; i < 4; i++)
		good = good && !vb_recv1(b, c->p.recv, i, b->buf + i * 1024, 1024);
	good = good && go(c, &wr, IBV_WC_TSO);
	for (uint64_t i = 0; good && i < 4; i++) {
		struct ibv_wc wc;

		good = vb_done(b, c->p.rq, c->p.rcq, i, IBV_WC_RECV, &wc) &&
		       segment(b->buf + i * 1024, wc.byte_len, a->buf, (uint32_t)i * 300,
			       i < 3 ? 300 : 100);
	}
	return good;
}

/* --- The table */

static const struct row rows[] = {
	{ "SEND", IBV_WR_SEND, IBV_QP_EX_WITH_SEND, T_UD | T_UC | T_RC | T_XRC | T_RAW, run_send },
	{ "SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM,
	  T_UD | T_UC | T_RC | T_XRC, run_send },
	{ "RDMA_WRITE", IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE, T_UC | T_RC | T_XRC,
	  run_write },
	{ "RDMA_WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
	  T_UC | T_RC | T_XRC, run_write },
	{ "RDMA_READ", IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ, T_RC | T_XRC, run_read },
	{ "ATOMIC_CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
	  T_RC | T_XRC, run_atomic },
	{ "ATOMIC_FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	  T_RC | T_XRC, run_atomic },
	{ "LOCAL_INV", IBV_WR_LOCAL_INV, IBV_QP_EX_WITH_LOCAL_INV, T_UC | T_RC | T_XRC,
	  run_local_inv },
	{ "BIND_MW", IBV_WR_BIND_MW, IBV_QP_EX_WITH_BIND_MW, T_UC | T_RC | T_XRC, run_bind },
	{ "SEND_WITH_INV", IBV_WR_SEND_WITH_INV, IBV_QP_EX_WITH_SEND_WITH_INV, T_UC | T_RC | T_XRC,
	  run_send_inv },
	/* UD: for IPoIB, which a RoCE port does not have. */
	{ "TSO", IBV_WR_TSO, IBV_QP_EX_WITH_TSO, T_RAW, run_tso },
	{ "ATOMIC_WRITE", IBV_WR_ATOMIC_WRITE, IBV_QP_EX_WITH_ATOMIC_WRITE, T_RC | T_XRC,
	  run_atomic_write },
	{ "FLUSH", VB_WR_FLUSH, VB_QP_EX_FLUSH, T_RC | T_XRC, run_flush },
};

static struct vb_spec spec_for(const struct row *row, enum ibv_qp_type type, bool ex)
{
	struct vb_spec spec = vb_spec_of(type);

	if (ex)
		spec.ops = row->flag;
	if (row->op == VB_WR_FLUSH)
		spec.access |= FLUSHABLE;
	if (row->op == IBV_WR_TSO && type == IBV_QPT_RAW_PACKET)
		spec.max_tso = 64;
	return spec;
}

static void works(const struct row *row, enum ibv_qp_type type, bool ex)
{
	struct vb_spec spec = spec_for(row, type, ex);
	struct cell c = { .row = row, .ex = ex };
	bool good;
	int ret;

	/* A BTH has no opcode for it (IBTA table 38). */
	if (rc_by_wire() && row->op == IBV_WR_SEND_WITH_INV && type == IBV_QPT_UC)
		return;
	ret = vb_pair_up(&c.p, a, b, &spec);
	good = !ret;
	if (ret)
		note("set-up: %s", strerror(ret));
	good = good && row->run(&c);
	ok(good, "%s on %s, %s", row->name, vb_type_str(type), ex ? "ibv_wr_*" : "ibv_post_send");
	if (!ret)
		vb_pair_down(&c.p);
	if (row->op != IBV_WR_SEND_WITH_INV || type == IBV_QPT_XRC_SEND || ret)
		return;
	good = !vb_pair_up(&c.p, a, b, &spec);
	ok(good && region_stays(&c), "SEND_WITH_INV of a region's key on %s, %s", vb_type_str(type),
	   ex ? "ibv_wr_*" : "ibv_post_send");
	if (good)
		vb_pair_down(&c.p);
}

/* In the middle of a chain: the requests before it are sent, those after it are not. */
static bool is_refused(struct vb_pair *p, enum ibv_wr_opcode op)
{
	uint32_t len = p->type == IBV_QPT_RAW_PACKET ? 60 : 8;
	struct vb_wr wr[3];
	struct ibv_wc wc;
	int ret, bad;

	for (uint64_t i = 0; i < 3; i++)
		wr[i] = vb_pair_wr(p, i == 1 ? op : IBV_WR_SEND, 90 + i, 0, len);
	ret = vb_sends(a, 0, false, wr + 1, 1, &bad);
	if (ret != EINVAL || bad != 0 || !vb_nothing(a, 0, VB_SCQ)) {
		note("alone: %s, bad_wr %d", strerror(ret), bad);
		return false;
	}
	if (vb_recv1(b, p->recv, 95, b->buf, 1000))
		return false;
	ret = vb_sends(a, 0, false, wr, 3, &bad);
	if (ret != EINVAL || bad != 1) {
		note("in a chain: %s, bad_wr %d", strerror(ret), bad);
		return false;
	}
	return vb_done(a, 0, VB_SCQ, 90, IBV_WC_SEND, &wc) &&
	       vb_done(b, p->rq, p->rcq, 95, IBV_WC_RECV, &wc) && vb_nothing(a, 0, VB_SCQ) &&
	       vb_pair_alive(p);
}

static void refuses(const struct row *row, enum ibv_qp_type type)
{
	struct vb_spec spec = spec_for(row, type, false);
	struct vb_pair p;
	int ret;

	ret = vb_pair_up(&p, a, b, &spec);
	ok(!ret && is_refused(&p, row->op), "%s is refused on %s, ibv_post_send%s%s", row->name,
	   vb_type_str(type), ret ? ": " : "", ret ? strerror(ret) : "");
	if (!ret)
		vb_pair_down(&p);
	spec.ops = IBV_QP_EX_WITH_SEND | row->flag;
	ret = vb_create(a, 0, &spec);
	ok(ret == EOPNOTSUPP, "%s is refused on %s, ibv_create_qp_ex (%s)", row->name,
	   vb_type_str(type), strerror(ret));
	vb_destroy(a, 0);
}

static void unknown_opcodes(enum ibv_qp_type type)
{
	static const uint64_t flags[] = { 1 << 13, 1 << 14, 1ull << 31, 1ull << 32, 1ull << 63 };
	static const int ops[] = { 11, 12, 13, 14, 16, 31, 32, 255, 256, -1 };
	struct vb_spec spec = vb_spec_of(type);
	struct vb_pair p;
	int ret = vb_pair_up(&p, a, b, &spec);
	bool good = !ret;

	for (int i = 0; good && i < 10; i++)
		good = is_refused(&p, (enum ibv_wr_opcode)ops[i]);
	ok(good, "unknown opcodes are refused on %s", vb_type_str(type));
	if (!ret)
		vb_pair_down(&p);
	good = true;
	for (int i = 0; good && i < 5; i++) {
		spec.ops = IBV_QP_EX_WITH_SEND | flags[i];
		good = vb_create(a, 0, &spec) == EOPNOTSUPP;
		vb_destroy(a, 0);
	}
	ok(good, "unknown send_ops_flags are refused on %s", vb_type_str(type));
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	for (int t = 0; t < VB_TYPES; t++) {
		if (!vb_crosses(vb_types[t]))
			continue;
		for (unsigned int r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
			if (rows[r].types >> vb_types[t] & 1) {
				if (rows[r].op != VB_WR_FLUSH) /* it has no ibv_post_send() */
					works(&rows[r], vb_types[t], false);
				works(&rows[r], vb_types[t], true);
			} else {
				refuses(&rows[r], vb_types[t]);
			}
		}
		unknown_opcodes(vb_types[t]);
	}
	vb_close_two(a, b);
	return tap_failed != 0;
}
