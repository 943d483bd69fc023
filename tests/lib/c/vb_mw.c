/* SPDX-License-Identifier: MIT */
/* Memory windows: their target and their requester. See tests/lib/c/vb_mw.h. */
#include "tests/lib/c/vb_mw.h"

#include <errno.h>
#include <string.h>

struct vb_side *a, *b;
struct vb_pair p;

void mw_fresh(void)
{
	vb_pair_fresh(&p, a, b);
}

/* --- The target's side. Region 0 covers the whole buffer. */

static struct ibv_mr *regions[4];
static struct ibv_pd *pd2;

struct mw_reg {
	int i;
	unsigned int access;
	bool other_pd;
};

static int do_reg(struct vb_side *s, void *arg)
{
	struct mw_reg *r = arg;

	if (!pd2)
		pd2 = ibv_alloc_pd(s->ctx);
	regions[r->i] = ibv_reg_mr(r->other_pd ? pd2 : s->pd, s->buf + AREA, LEN, r->access);
	return regions[r->i] ? 0 : errno;
}

void mw_reg(int i, unsigned int access, bool other_pd)
{
	struct mw_reg r = { i, access, other_pd };
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

int mw_dereg(int i)
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

int mw_rereg(int i, int flags)
{
	int v[2] = { i, flags };

	return vb_call(b, do_rereg, v, sizeof(v));
}

static int do_bind(struct vb_side *s, void *arg)
{
	struct mw_bind *v = arg;
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

int mw_bind(struct mw_bind *v)
{
	vb_call(b, do_bind, v, sizeof(*v));
	if (v->status == POSTED && !v->err)
		v->err = -1;
	return v->status;
}

/* A window with all rights over the region @i, of type 2 under the key after *key. */
bool mw_window(int mw, enum ibv_mw_type type, int region, unsigned int access, uint32_t *key)
{
	struct mw_bind v = { .mw = mw,
			     .region = region,
			     .qp = 1,
			     .type1 = type == IBV_MW_TYPE_1,
			     .len = LEN,
			     .access = access };

	if (vb_mw(b, mw, type, key))
		return false;
	v.key = ibv_inc_rkey(*key);
	if (mw_bind(&v) || v.key != ibv_inc_rkey(*key))
		return false;
	*key = v.key;
	return true;
}

/* --- The requester's side: requests with a key */

int mw_request_at(enum ibv_wr_opcode op, uint32_t key, uint64_t raddr, uint32_t len)
{
	struct vb_wr wr = vb_wr(op, 9, a, a->buf, len);

	wr.rkey = key;
	wr.raddr = raddr;
	return vb_pair_run(&p, &wr);
}

int mw_request(enum ibv_wr_opcode op, uint32_t key, uint64_t off, uint32_t len)
{
	return mw_request_at(op, key, (uintptr_t)b->buf + AREA + off, len);
}

/* WRITE of 200 bytes at @off; whether they got there. */
bool mw_writes(uint32_t key, uint64_t off)
{
	fill(a->buf, 200, key + off);
	memset(b->buf + AREA + off, 0, 200);
	return mw_request(IBV_WR_RDMA_WRITE, key, off, 200) == IBV_WC_SUCCESS &&
	       filled(b->buf + AREA + off, 200, key + off);
}

/* The key does not do. The pair is made anew, which type 1 windows survive. */
bool mw_refused(uint32_t key, enum ibv_wr_opcode op, uint64_t off, uint32_t len)
{
	bool good = mw_request(op, key, off, len) == IBV_WC_REM_ACCESS_ERR &&
		    vb_event(b, VB_WAIT) == IBV_EVENT_QP_ACCESS_ERR &&
		    vb_state(b, 1) == IBV_QPS_ERR;

	mw_fresh();
	return good;
}

void mw_open(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	mw_fresh();
}

void mw_close(void)
{
	vb_pair_down(&p);
	vb_close_two(a, b);
}
