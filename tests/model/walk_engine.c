/* SPDX-License-Identifier: MIT */
/* The walk's steps and checks. See tests/model/walk.h. */
#include "tests/model/walk.h"

#include "emulator/audit/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MSEC   1000000ULL
#define SETTLE 2048 /* steps between two settlements */

void fail(const struct walk *w, const char *fmt, ...)
{
	va_list ap;

	printf("not ok random walk of the engine\n# step %llu of WALK_SEED=%#llx: ",
	       (unsigned long long)w->step, (unsigned long long)w->seed);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(1);
}

u32 pick(struct walk *w, u32 n)
{
	return (u32)((emu_rnd(&w->rnd) >> 32) * n >> 32);
}

bool chance(struct walk *w, u32 n)
{
	return !pick(w, n);
}

void *seg_at(struct walk *w, u32 client, u64 off)
{
	return (u8 *)w->m->c[client].seg + off;
}

struct obj *any(struct walk *w, u32 client, enum kind kind)
{
	struct obj *all = w->obj[client][kind];
	u32 from = pick(w, KIND_MAX);

	for (u32 i = 0; i < KIND_MAX; i++)
		if (all[(from + i) % KIND_MAX].live)
			return &all[(from + i) % KIND_MAX];
	return NULL;
}

static bool owns(const struct walk *w, u32 client, enum kind kind, u32 handle)
{
	const struct emu_client *c = &w->m->c[client];

	/* What tests/lib/engine/emu.c made for the client. */
	if ((kind == K_PD && (handle == c->pd || imp_owns(w, client, handle))) ||
	    (kind == K_MR && handle == c->key >> 8))
		return true;
	for (u32 i = 0; i < KIND_MAX; i++) {
		const struct obj *o = &w->obj[client][K_OPEN][i];

		if (w->obj[client][kind][i].live && w->obj[client][kind][i].handle == handle)
			return true;
		/* A target that it has inherited. */
		if (kind == K_QP && o->live && o->open.owned &&
		    (o->open.qpn & (HCA_MAX_QP - 1)) == handle)
			return true;
	}
	return false;
}

u32 bad_handle(struct walk *w, u32 client, enum kind kind)
{
	struct obj *other = any(w, (client + 1 + pick(w, WALKERS - 1)) % WALKERS, kind);
	u32 handle;

	if (other && !owns(w, client, kind, other->handle) && chance(w, 2))
		return other->handle;
	do
		handle = chance(w, 2) ? pick(w, 2048) : (u32)emu_rnd(&w->rnd);
	while (owns(w, client, kind, handle));
	return handle;
}

int command(struct walk *w, u32 client, struct hca_cmd *cmd, int want, const char *what)
{
	int ret = emu_cmd(w->m, client, cmd);

	w->commands++;
	w->refused += ret != 0;
	if (want != WANT_ANY && ret != want)
		fail(w, "client %u: %s (op %u, handle %u): %d instead of %d", client, what, cmd->op,
		     cmd->handle, ret, want);
	if (ret > 0 || ret != cmd->ret)
		fail(w, "client %u: %s: %d, and %d in the command", client, what, ret, cmd->ret);
	return ret;
}

void use(struct obj *o, u32 i, struct obj *other)
{
	if (o->live) {
		o->uses[i]->refs--;
		other->refs++;
	}
	o->uses[i] = other;
}

static void come_alive(struct obj *o, u32 handle)
{
	o->live = true;
	o->handle = handle;
	o->refs = 0;
	for (u32 i = 0; i < USES_MAX; i++)
		if (o->uses[i])
			o->uses[i]->refs++;
}

void forget(struct obj *o)
{
	for (u32 i = 0; i < USES_MAX; i++) {
		if (o->uses[i])
			o->uses[i]->refs--;
		o->uses[i] = NULL;
	}
	o->live = false;
}

/* --- steps */

static enum kind some_kind(struct walk *w)
{
	u32 sum = 0, r;

	for (u32 k = 0; k < K_COUNT; k++)
		sum += kinds[k].weight;
	r = pick(w, sum);
	for (u32 k = 0; k < K_COUNT; k++) {
		if (r < kinds[k].weight)
			return k;
		r -= kinds[k].weight;
	}
	return 0;
}

static void step_create(struct walk *w, u32 client, bool spoil)
{
	enum kind kind = some_kind(w);
	const struct kind_ops *k = &kinds[kind];
	struct hca_cmd cmd = { .op = k->create };
	struct obj *o = NULL;
	int want = 0;

	for (u32 i = 0; i < k->max && !o; i++)
		if (!w->obj[client][kind][i].live)
			o = &w->obj[client][kind][i];
	if (!o)
		return;
	memset(o->uses, 0, sizeof(o->uses));
	if (!k->fill(w, o, &cmd))
		return;
	if (spoil)
		want = k->spoil(w, o, &cmd);
	if (command(w, client, &cmd, want, k->name))
		return;
	if (owns(w, client, kind, cmd.handle))
		fail(w, "%s %u was given out twice", k->name, cmd.handle);
	come_alive(o, cmd.handle);
	if (k->created)
		k->created(w, o, &cmd);
}

/*
 * Windows come and go with posted work, so that only the HCA knows; the audit has found as many
 * bound ones as it says.
 */
static bool in_use(const struct walk *w, const struct obj *o)
{
	return o->refs || (o->kind == K_MR && w->m->hca->mr[o->handle].windows);
}

static void leave_groups(struct walk *w, struct obj *o)
{
	for (u32 n = 0; n < 32; n++) {
		struct hca_cmd cmd = { .op = CMD_DETACH_MCAST, .handle = o->handle };

		if (!(o->qp.groups & 1u << n))
			continue;
		cmd.mcast.gid[0] = 0xff;
		cmd.mcast.gid[15] = (u8)n;
		command(w, o->client, &cmd, 0, "leave a group");
		o->qp.groups &= ~(1u << n);
		o->refs--;
	}
}

static void destroy(struct walk *w, struct obj *o)
{
	const struct kind_ops *k = &kinds[o->kind];
	struct hca_cmd cmd = { .op = k->destroy, .handle = o->handle };
	u32 qpn = o->kind == K_QP ? o->qp.qpn : o->open.qpn;
	bool leaves = o->kind == K_QP || (o->kind == K_OPEN && o->open.owned);

	cmd.qp.xrcd = o->kind == K_OPEN;
	if (o->kind == K_QP && o->qp.groups && chance(w, 2))
		leave_groups(w, o);
	if (!in_use(w, o) && k->destroyed)
		k->destroyed(w, o);
	if (command(w, o->client, &cmd, in_use(w, o) ? -EBUSY : 0, k->name))
		return;
	forget(o);
	if (leaves)
		inherit(w, qpn);
}

static void step_destroy(struct walk *w, u32 client)
{
	struct obj *o = any(w, client, some_kind(w));

	if (o && (o->kind != K_MR || chance(w, 4)))
		destroy(w, o);
}

static void step_destroy_bad(struct walk *w, u32 client)
{
	enum kind kind = some_kind(w);
	struct hca_cmd cmd = { .op = kinds[kind].destroy };

	cmd.handle = bad_handle(w, client, kind);
	cmd.qp.xrcd = kind == K_OPEN;
	command(w, client, &cmd, kinds[kind].unknown, "destruction of what it has not");
	if (chance(w, 10)) {
		cmd.op = 1000 + pick(w, 1 << 30);
		command(w, client, &cmd, -EOPNOTSUPP, "no command");
	}
}

static void step_use(struct walk *w, u32 client)
{
	static const enum kind busy[] = { K_QP, K_QP, K_QP, K_QP, K_SRQ, K_CQ };
	enum kind kind = chance(w, 20) ? some_kind(w) : busy[pick(w, ARRAY_SIZE(busy))];
	struct obj *o = any(w, client, kind);

	if (o && kinds[kind].use)
		kinds[kind].use(w, o);
}

/* The client is killed; another process takes its place. */
static void step_die(struct walk *w, u32 client)
{
	struct emu_client *c = &w->m->c[client];
	u32 gone[2 * KIND_MAX], n_gone = 0;

	for (u32 i = 0; i < KIND_MAX; i++) {
		if (w->obj[client][K_QP][i].live)
			gone[n_gone++] = w->obj[client][K_QP][i].qp.qpn;
		if (w->obj[client][K_OPEN][i].live && w->obj[client][K_OPEN][i].open.owned)
			gone[n_gone++] = w->obj[client][K_OPEN][i].open.qpn;
	}
	w->deaths++;
	imp_leave(w, client);
	if (engine_enter(&w->m->fabric))
		fail(w, "the fabric process cannot have the token");
	engine_reap(&w->m->fabric, client);
	engine_leave(&w->m->fabric);
	for (u32 i = 0; i < KIND_MAX; i++)
		if (w->obj[client][K_PD][i].live)
			imp_inherit(w, &w->obj[client][K_PD][i]);
	if (madvise(c->seg, EMU_SEG, MADV_DONTNEED))
		fail(w, "madvise: errno %d", errno);
	emu_client_new(w->m, client);
	for (u32 k = 0; k < K_COUNT; k++)
		for (u32 i = 0; i < KIND_MAX; i++) {
			w->obj[client][k][i].live = false;
			memset(w->obj[client][k][i].uses, 0, sizeof(w->obj[client][k][i].uses));
		}
	for (u32 i = 0; i < n_gone; i++)
		inherit(w, gone[i]);
}

static void step_time(struct walk *w)
{
	static const int errors[] = { -EAGAIN, -EAGAIN, -ESRCH, -EFAULT_SRC, -EFAULT_DST };

	emu_run(w->m, w->m->clock + pick(w, chance(w, 20) ? 5 * MSEC : 20000));
	w->m->copy_error = chance(w, 20) ? errors[pick(w, ARRAY_SIZE(errors))] : 0;
}

static void new_wire(struct walk *w)
{
	struct emu_faults f = {
		.loss = chance(w, 2) ? pick(w, 50) : 0,
		.dup = chance(w, 2) ? pick(w, 50) : 0,
		.split = pick(w, 500),
		.late = pick(w, 200),
		.delay = pick(w, 10000),
		.jitter = 1 + pick(w, 20000),
	};

	emu_wire(w->m, chance(w, 2) ? NULL : &f);
}

static void step(struct walk *w)
{
	u32 client = pick(w, WALKERS), r = pick(w, 1000);

	if (r < 60)
		step_create(w, client, false);
	else if (r < 80)
		step_create(w, client, true);
	else if (r < 105)
		step_destroy(w, client);
	else if (r < 120)
		step_destroy_bad(w, client);
	else if (r < 260)
		step_time(w);
	else if (r < 264)
		scribble(w, HOSTILE);
	else if (r < 265 && chance(w, 5))
		step_die(w, client);
	else
		step_use(w, client);
}

/* --- checks */

static void check_obj(struct walk *w, struct obj *o)
{
	const struct kind_ops *k = &kinds[o->kind];

	if (k->refs && k->refs(w->m->hca, o->handle) != o->refs)
		fail(w, "%s %u has %u references instead of %u", k->name, o->handle,
		     k->refs(w->m->hca, o->handle), o->refs);
	if (o->kind == K_QP)
		qp_check(w, o);
	if (o->kind == K_WQ)
		wq_check(w, o);
}

static void check(struct walk *w)
{
	const struct hca *hca = w->m->hca;
	u32 n[TAB_COUNT] = { [TAB_PD] = EMU_CLIENTS, [TAB_MR] = EMU_CLIENTS };
	char why[200];

	n[TAB_REF] = imp_lingering(hca);
	if (hca_audit(hca, why, sizeof(why)))
		fail(w, "audit: %s", why);
	for (u32 c = 0; c < WALKERS; c++)
		for (u32 k = 0; k < K_COUNT; k++)
			for (u32 i = 0; i < KIND_MAX; i++)
				if (w->obj[c][k][i].live) {
					n[kinds[k].table]++;
					n[TAB_QP] += k == K_OPEN && w->obj[c][k][i].open.owned;
					if (k == K_SRQ)
						n[TAB_TAG] +=
							hca->srq[w->obj[c][k][i].handle].n_tags;
					if (k == K_QP)
						n[TAB_MCAST] += (u32)__builtin_popcount(
							w->obj[c][k][i].qp.groups);
					check_obj(w, &w->obj[c][k][i]);
				}
	for (u32 t = 0; t < TAB_COUNT; t++)
		if (t != TAB_XRCD && hca->tab[t].n != n[t])
			fail(w, "table %u has %u objects, there should be %u", t, hca->tab[t].n,
			     n[t]);
	if (hca->token != TOKEN_FREE)
		fail(w, "the token was left with %#llx", (unsigned long long)hca->token);
}

/* Give it time; then what is in ERR must have been flushed. */
static void settle(struct walk *w)
{
	w->m->copy_error = 0;
	emu_run(w->m, w->m->clock + 5 * MSEC);
	for (u32 c = 0; c < HOSTILE; c++) /* who scribbles over its doorbells may lose some */
		for (u32 i = 0; i < KIND_MAX; i++) {
			struct obj *o = &w->obj[c][K_QP][i];
			const struct hca_qp *qp = &w->m->hca->qp[o->handle];

			if (!o->live || o->qp.dirty || qp->state != QPS_ERR)
				continue;
			if (qp->req.una != o->qp.sq_prod || qp->resp.rq_cons != o->qp.rq_prod)
				fail(w, "QP %#x in ERR: flushed %u of %u and %u of %u", o->qp.qpn,
				     qp->req.una, o->qp.sq_prod, qp->resp.rq_cons, o->qp.rq_prod);
		}
	for (u32 c = 0; c < HOSTILE; c++)
		for (u32 i = 0; i < KIND_MAX; i++)
			if (w->obj[c][K_CQ][i].live)
				cq_settled(w, &w->obj[c][K_CQ][i]);
	new_wire(w);
}

/* Everything goes, in any order that is allowed: nothing may be left. */
static void destroy_all(struct walk *w)
{
	bool left = true;

	while (left) {
		left = false;
		for (u32 c = 0; c < WALKERS; c++)
			for (u32 k = 0; k < K_COUNT; k++)
				for (u32 i = 0; i < KIND_MAX; i++) {
					struct obj *o = &w->obj[c][k][i];

					if (o->live)
						destroy(w, o);
					left |= o->live;
				}
		check(w);
	}
}

static u64 env(const char *name, u64 other)
{
	const char *v = getenv(name);

	return v && *v ? strtoull(v, NULL, 0) : other;
}

int main(void)
{
	static struct walk w;
	u64 steps = env("WALK_STEPS", 1000000);

	w.seed = env("WALK_SEED", 1);
	w.rnd = w.seed * 0x9e3779b97f4a7c15ULL | 1;
	w.m = emu_new(w.seed);
	w.m->hca->dev[0].lim.rate_limit_max = 1000;
	w.m->hca->dev[0].lim.pmem = 1;
	for (u32 c = 0; c < WALKERS; c++)
		for (u32 k = 0; k < K_COUNT; k++)
			for (u32 i = 0; i < KIND_MAX; i++)
				w.obj[c][k][i] = (struct obj){ .kind = k, .client = c, .slot = i };
	while (w.step < steps) {
		w.step++;
		step(&w);
		if (!(w.step % SETTLE))
			settle(&w);
		check(&w);
	}
	settle(&w);
	destroy_all(&w);
	printf("# %llu steps, WALK_SEED=%#llx: %llu commands, %llu refused; %llu requests, "
	       "%llu completions, %llu with errors; %llu tags matched, %llu large sends, "
	       "%llu FLUSH, %llu ATOMIC_WRITE; %llu deaths\n",
	       (unsigned long long)w.step, (unsigned long long)w.seed,
	       (unsigned long long)w.commands, (unsigned long long)w.refused,
	       (unsigned long long)w.posted, (unsigned long long)w.polled,
	       (unsigned long long)w.errors, (unsigned long long)w.matched,
	       (unsigned long long)w.segmented, (unsigned long long)w.flushed,
	       (unsigned long long)w.words, (unsigned long long)w.deaths);
	/* A walk that goes nowhere finds nothing. */
	if (w.refused < w.commands / 20 || w.polled - w.errors < w.step / 45 ||
	    w.matched < w.step / 100000 || w.segmented < w.step / 10000 ||
	    w.flushed < w.step / 20000 || w.words < w.step / 20000)
		fail(&w, "too little was done");
	printf("ok random walk of the engine\n");
	emu_free(w.m);
	return 0;
}
