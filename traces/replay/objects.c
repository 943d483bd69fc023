/* SPDX-License-Identifier: MIT */
/* Objects by kind and ordinal, and the current values of recorded keys and numbers. */
#include "traces/replay/objects.h"
#include "traces/replay/files.h"
#include "traces/replay/live.h"
#include "traces/replay/memory.h"
#include "traces/replay/replay.h"
#include "traces/replay/trace_index.h"
#include "traces/replay/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A program may poll an extended CQ by ibv_poll_cq(), too. Each CQ is drained by the function with
 * which the record polls it, at first by the one of the first poll.
 */
static void objects_learn_polls(struct rp_prog *g)
{
	const struct vt_poll *poll;
	const struct vt_rec *rec;
	uint64_t off = 0;

	while ((rec = vt_rec_next(g->p, &off))) {
		if (rec->kind != VT_POLL)
			continue;
		poll = VT_BODY(vt_poll, rec);
		if (poll->cq >= g->n_obj[VOBJ_CQ] || g->cq[poll->cq].polled)
			continue;
		g->cq[poll->cq].polled = true;
		g->cq[poll->cq].by_start = poll->ex;
	}
}

int rp_objects_init(struct rp_prog *g)
{
	uint32_t i;

	g->n_obj = g->w->n_obj[g->nth];
	for (i = 1; i < VOBJ_COUNT; i++) {
		g->obj[i] = calloc(g->n_obj[i], sizeof(*g->obj[i]));
		if (!g->obj[i])
			return -ENOMEM;
	}
	g->mr = calloc(g->n_obj[VOBJ_MR], sizeof(*g->mr));
	g->cq = calloc(g->n_obj[VOBJ_CQ], sizeof(*g->cq));
	g->rq = calloc(g->n_obj[VOBJ_QP], sizeof(*g->rq));
	g->srq = calloc(g->n_obj[VOBJ_SRQ], sizeof(*g->srq));
	g->qp_srq = calloc(g->n_obj[VOBJ_QP], sizeof(*g->qp_srq));
	if (!g->mr || !g->cq || !g->rq || !g->srq || !g->qp_srq)
		return -ENOMEM;
	for (i = 0; i < g->n_obj[VOBJ_CQ]; i++)
		g->cq[i].last = &g->cq[i].first;
	for (i = 0; i < g->n_obj[VOBJ_QP]; i++)
		g->rq[i].last = &g->rq[i].first;
	for (i = 0; i < g->n_obj[VOBJ_SRQ]; i++)
		g->srq[i].last = &g->srq[i].first;
	objects_learn_polls(g);
	return 0;
}

void *rp_obj(const struct rp_prog *g, enum vobj kind, uint32_t ord)
{
	return ord < g->n_obj[kind] ? __atomic_load_n(&g->obj[kind][ord], __ATOMIC_ACQUIRE) : NULL;
}

uint32_t rp_obj_find(const struct rp_prog *g, enum vobj kind, const void *obj)
{
	uint32_t i;

	/* The latest one: addresses are reused. */
	for (i = g->n_obj[kind]; i-- > 1;)
		if (rp_obj(g, kind, i) == obj)
			return i;
	return 0;
}

uint32_t rp_qp_find(struct rp_prog *g, uint32_t qpn)
{
	struct rp_made *made = g->w->made[g->nth][RP_QP];
	uint32_t i;

	/* 0: an extended CQ without that field. The search finds the latest QP of a number. */
	for (i = g->n_obj[VOBJ_QP]; qpn && i-- > 1;)
		if (made[i].num == qpn)
			return i;
	return 0;
}

static void *objects_env_find(void *arg, enum vobj kind, uint32_t ord)
{
	return rp_obj(((struct rp_thread *)arg)->prog, kind, ord);
}

static void made_publish(struct rp_prog *g, enum rp_made_kind kind, uint32_t ord, uint32_t num,
			 uint32_t lkey)
{
	g->w->made[g->nth][kind][ord].lkey = lkey;
	__atomic_store_n(&g->w->made[g->nth][kind][ord].num, num, __ATOMIC_RELEASE);
}

static void made_publish_handle(struct rp_prog *g, enum rp_made_kind kind, uint32_t ord,
				uint32_t handle)
{
	__atomic_store_n(&g->w->made[g->nth][kind][ord].handle, handle, __ATOMIC_RELEASE);
}

static void objects_env_bind_cq(struct rp_prog *g, uint32_t ord, struct ibv_cq *cq)
{
	struct rp_cq *c = &g->cq[ord];

	c->cq = cq;
	c->events = 0;
	c->missed = 0;
	c->armed = false;
	c->excused = false;
	c->ex = false;
	c->pending = 0;
	c->first = NULL;
	c->last = &c->first;
}

static void objects_env_bind(void *arg, enum vobj kind, uint32_t ord, void *obj)
{
	struct rp_prog *g = ((struct rp_thread *)arg)->prog;
	struct ibv_qp *qp = obj;
	struct ibv_mr *mr = obj;
	uint32_t i;

	if (!ord || ord >= g->n_obj[kind] || !obj || rp_obj(g, kind, ord) == obj)
		return;
	if (kind == VOBJ_QP) {
		for (i = 1; qp->srq && i < g->n_obj[VOBJ_SRQ]; i++)
			if (rp_obj(g, VOBJ_SRQ, i) == qp->srq)
				g->qp_srq[ord] = i;
		made_publish(g, RP_QP, ord, qp->qp_num, 0);
	} else if (kind == VOBJ_MR) {
		made_publish_handle(g, RP_MR, ord, mr->handle);
		made_publish(g, RP_MR, ord, mr->rkey, mr->lkey);
	} else if (kind == VOBJ_MW) {
		made_publish(g, RP_MW, ord, ((struct ibv_mw *)obj)->rkey, 0);
	} else if (kind == VOBJ_PD) {
		made_publish_handle(g, RP_PD, ord, ((struct ibv_pd *)obj)->handle);
	} else if (kind == VOBJ_DM) {
		made_publish_handle(g, RP_DM, ord, ((struct ibv_dm *)obj)->handle);
	} else if (kind == VOBJ_CTX) {
		made_publish(g, RP_CTX, ord, (uint32_t)((struct ibv_context *)obj)->cmd_fd + 1, 0);
	} else if (kind == VOBJ_CQ) {
		objects_env_bind_cq(g, ord, obj);
	}
	__atomic_store_n(&g->obj[kind][ord], obj, __ATOMIC_RELEASE);
}

/* Returns the ordinal that objects_env_bind() gave to an object. */
static uint32_t objects_env_name(void *arg, enum vobj kind, const void *obj, bool fresh)
{
	(void)fresh;
	return rp_obj_find(((struct rp_thread *)arg)->prog, kind, obj);
}

static struct ibv_device *objects_env_device(void *arg, const char *text)
{
	struct rp_prog *g = ((struct rp_thread *)arg)->prog;
	uint32_t i;

	for (i = 0; g->devs && g->devs[i]; i++)
		if (!strcmp(ibv_get_device_name(g->devs[i]), text))
			return g->devs[i];
	return NULL;
}

/* Converts a recorded fact to this run. */
static uint64_t objects_env_fact(void *arg, uint32_t kind, uint64_t value)
{
	struct rp_thread *t = arg;
	int64_t delta;

	switch (kind) {
	case VFACT_ADDR:
		return rp_addr_map(t->prog, value);
	case VFACT_KEY:
		return rp_key_map(t->prog, (uint32_t)value, t->when, &delta);
	case VFACT_QPN:
		return rp_qpn_map(t->prog, (uint32_t)value, t->when);
	case VFACT_HANDLE:
		return rp_handle_map(t->prog,
				     t->parsed.call == VCALL_ibv_import_pd   ? RP_PD
				     : t->parsed.call == VCALL_ibv_import_mr ? RP_MR
									     : RP_DM,
				     (uint32_t)value, t->when);
	case VFACT_FD:
		return rp_file_fd(t->prog, value, t->when);
	default:
		return value;
	}
}

uint16_t rp_port_map(const struct rp_thread *t, uint16_t value)
{
	const struct rp_world *w = t->prog->w;
	const struct rp_num *n = rp_num_find(w->port, w->n_port, value, ~0u, t->when);
	uint32_t now = 0;

	if (n)
		now = __atomic_load_n(&w->made[n->prog][RP_PORT][n->ord].num, __ATOMIC_ACQUIRE);
	return now ? (uint16_t)now : value;
}

static uint16_t objects_env_port(void *arg, uint16_t value)
{
	return rp_port_map(arg, value);
}

void rp_port_publish(struct rp_prog *g, uint32_t id)
{
	struct rdma_cm_id *obj = rp_obj(g, VOBJ_ID, id);

	if (obj)
		made_publish(g, RP_PORT, id, ntohs(rdma_get_src_port(obj)), 0);
}

struct vcall_env rp_env(struct rp_thread *t)
{
	return (struct vcall_env){ .arg = t,
				   .name = objects_env_name,
				   .find = objects_env_find,
				   .bind = objects_env_bind,
				   .device = objects_env_device,
				   .fact = objects_env_fact,
				   .port = objects_env_port };
}

/*
 * Returns the key or number of an object in this run. It finds those of a live program when
 * they are first needed.
 */
static uint32_t made_current(const struct rp_prog *g, const struct rp_num *n)
{
	uint32_t now = __atomic_load_n(&g->w->made[n->prog][n->kind][n->ord].num, __ATOMIC_ACQUIRE);

	return now || !g->w->live || n->prog == g->nth ? now : rp_live_find_num(g, n);
}

uint32_t rp_key_map(const struct rp_prog *g, uint32_t key, uint64_t when, int64_t *delta)
{
	const struct rp_num *n = rp_num_find(g->w->key, g->w->n_key, key, ~0u, when);
	const struct rp_made *made;
	uint32_t now;

	*delta = 0;
	/* Consumers choose the low byte of some keys. */
	if (!n)
		n = rp_num_find(g->w->key, g->w->n_key, key, ~0xffu, when);
	if (!n)
		return key;
	made = &g->w->made[n->prog][n->kind][n->ord];
	now = made_current(g, n);
	*delta = made->delta;
	if (n->lkey)
		return made->lkey;
	return (now & ~0xffu) | ((now + key - n->num) & 0xffu);
}

uint32_t rp_qpn_map(const struct rp_prog *g, uint32_t qpn, uint64_t when)
{
	const struct rp_num *n = rp_num_find(g->w->qpn, g->w->n_qpn, qpn, ~0u, when);

	return n ? made_current(g, n) : qpn;
}

uint32_t rp_handle_map(const struct rp_prog *g, enum rp_made_kind kind, uint32_t handle,
		       uint64_t when)
{
	const struct rp_num *best = NULL;
	size_t i;

	for (i = 0; i < g->w->n_handle; i++)
		if (g->w->handle[i].num == handle && g->w->handle[i].kind == kind &&
		    g->w->handle[i].from <= when && (!best || g->w->handle[i].from > best->from))
			best = &g->w->handle[i];
	return best ? __atomic_load_n(&g->w->made[best->prog][kind][best->ord].handle,
				      __ATOMIC_ACQUIRE)
		    : handle;
}
