/* SPDX-License-Identifier: MIT */
/* Regions and windows of a side. See tests/lib/c/vb.h. */
#include "tests/lib/c/vb.h"

#include <errno.h>

struct reg {
	int i;
	uint64_t addr, len;
	unsigned int access;
	uint32_t lkey, rkey;
};

static int do_reg(struct vb_side *s, void *arg)
{
	struct reg *r = arg;
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(s->pd, (void *)(uintptr_t)r->addr, r->len, r->access);
	if (!mr)
		return errno ? errno : -1;
	s->mrs[r->i] = mr;
	r->lkey = mr->lkey;
	r->rkey = mr->rkey;
	return 0;
}

int vb_reg(struct vb_side *s, int i, void *addr, size_t len, unsigned int access, uint32_t *lkey,
	   uint32_t *rkey)
{
	struct reg r = { .i = i, .addr = (uintptr_t)addr, .len = len, .access = access };
	int ret = vb_call(s, do_reg, &r, sizeof(r));

	*lkey = r.lkey;
	*rkey = r.rkey;
	return ret;
}

static int do_dereg(struct vb_side *s, void *arg)
{
	int i = *(int *)arg;
	int ret = s->mrs[i] ? ibv_dereg_mr(s->mrs[i]) : 0;

	if (!ret)
		s->mrs[i] = NULL;
	return ret;
}

int vb_dereg(struct vb_side *s, int i)
{
	return vb_call(s, do_dereg, &i, sizeof(i));
}

struct mw {
	int i;
	enum ibv_mw_type type;
	uint32_t rkey;
};

static int do_mw(struct vb_side *s, void *arg)
{
	struct mw *m = arg;

	errno = 0;
	s->mw[m->i] = ibv_alloc_mw(s->pd, m->type);
	if (!s->mw[m->i])
		return errno ? errno : -1;
	m->rkey = s->mw[m->i]->rkey;
	return 0;
}

int vb_mw(struct vb_side *s, int i, enum ibv_mw_type type, uint32_t *rkey)
{
	struct mw m = { .i = i, .type = type };
	int ret = vb_call(s, do_mw, &m, sizeof(m));

	*rkey = m.rkey;
	return ret;
}

static int do_mw_dealloc(struct vb_side *s, void *arg)
{
	int i = *(int *)arg;
	int ret = s->mw[i] ? ibv_dealloc_mw(s->mw[i]) : 0;

	if (!ret)
		s->mw[i] = NULL;
	return ret;
}

int vb_mw_dealloc(struct vb_side *s, int i)
{
	return vb_call(s, do_mw_dealloc, &i, sizeof(i));
}
