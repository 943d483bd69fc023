/* SPDX-License-Identifier: MIT */
/* Turns and steps. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct world *wd;
int me;
struct ibv_context *ctx;
struct ibv_comp_channel *chan;

void vfail(const char *fmt, ...)
{
	va_list ap;

	wd->failed = true;
	printf("not ok random walk through the verbs (actor %d)\n# step %lu of seed %#lx: ", me,
	       (unsigned long)wd->step, (unsigned long)wd->seed);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

uint32_t vpick(uint32_t n)
{
	return (uint32_t)((rnd(&wd->rnd) >> 32) * n >> 32);
}

bool vchance(uint32_t n)
{
	return !vpick(n);
}

struct vobj *vany(int actor, enum vkind kind)
{
	uint32_t from = vpick(VMAX);

	for (uint32_t i = 0; i < VMAX; i++)
		if (wd->obj[actor][kind][(from + i) % VMAX].live)
			return &wd->obj[actor][kind][(from + i) % VMAX];
	return NULL;
}

void expect_ret(const char *verb, int ret, int want)
{
	wd->verbs++;
	wd->refused += want != 0;
	if (ret != want)
		vfail("%s: %d (%s) instead of %d (%s)", verb, ret, strerror(abs(ret)), want,
		      strerror(want));
}

bool expect_ptr(const char *verb, const void *p, int want)
{
	int err = p ? 0 : errno;

	wd->verbs++;
	wd->refused += want != 0;
	if (err != want || (!p && !err))
		vfail("%s: %s, errno %d (%s) instead of %d (%s)", verb, p ? "done" : "NULL", err,
		      strerror(err), want, strerror(want));
	return p != NULL;
}

void vborn(struct vobj *o, void *ptr)
{
	o->ptr = ptr;
	o->live = true;
	o->refs = o->busy = 0;
	for (int i = 0; i < VUSES; i++)
		if (o->uses[i])
			o->uses[i]->refs++;
}

static void vdestroy(struct vobj *o)
{
	int want = o->refs ? EBUSY : 0;

	expect_ret(vkinds[o->kind].name, vkinds[o->kind].destroy(o), want);
	if (want)
		return;
	for (int i = 0; i < VUSES; i++) {
		if (o->uses[i])
			o->uses[i]->refs--;
		o->uses[i] = NULL;
	}
	o->live = false;
}

/* --- turns */

static void give_turn(int actor)
{
	wd->turn = (uint32_t)actor;
	syscall(SYS_futex, &wd->turn, FUTEX_WAKE, ACTORS, NULL, NULL, 0);
}

/* Return: false when the walk is over, for everybody. */
static bool wait_turn(void)
{
	struct timespec look = { .tv_sec = 1 };
	uint32_t turn;

	while ((turn = wd->turn) != (uint32_t)me) {
		if (wd->finished || wd->failed)
			return false;
		syscall(SYS_futex, &wd->turn, FUTEX_WAIT, turn, &look, NULL, 0);
	}
	return !wd->finished && !wd->failed;
}

void run_on(int actor, void (*fn)(struct vobj *, struct vobj *), struct vobj *o, struct vobj *other)
{
	if (actor == me) {
		fn(o, other);
		return;
	}
	wd->call = (struct vcall){ fn, o, other, me };
	give_turn(actor);
	if (!wait_turn())
		_exit(1);
}

/* --- steps */

static enum vkind some_kind(void)
{
	uint32_t sum = 0, r;

	for (int k = 0; k < V_KINDS; k++)
		sum += vkinds[k].weight;
	r = vpick(sum);
	for (int k = 0; k < V_KINDS; k++) {
		if (r < vkinds[k].weight)
			return (enum vkind)k;
		r -= vkinds[k].weight;
	}
	return V_PD;
}

static void step(void)
{
	uint32_t r = vpick(100);
	enum vkind kind = some_kind();
	struct vobj *o;

	if (r < 10) {
		for (int i = 0; i < (kind == V_PD ? VPDS : VMAX); i++) {
			o = &wd->obj[me][kind][i];
			if (o->live)
				continue;
			memset(o->uses, 0, sizeof(o->uses));
			vkinds[kind].create(o);
			break;
		}
	} else if (r < 13) {
		o = vany(me, kind);
		if (o && !o->busy)
			vdestroy(o);
	} else {
		o = vany(me, vchance(8) ? kind : V_QP);
		if (o && vkinds[o->kind].use)
			vkinds[o->kind].use(o);
	}
}

/* Everything of this actor's goes; what others still refer to stays for the next round. */
static bool destroy_mine(void)
{
	bool left = false;

	for (int k = V_KINDS - 1; k >= 0; k--)
		for (int i = 0; i < VMAX; i++) {
			struct vobj *o = &wd->obj[me][k][i];

			if (o->live && !o->busy)
				vdestroy(o);
			left |= o->live;
		}
	return left;
}

static void destroy_all(struct vobj *o, struct vobj *other)
{
	(void)o;
	(void)other;
	while (destroy_mine())
		settle();
}

void vwalk(void)
{
	while (wait_turn()) {
		if (wd->call.fn) {
			struct vcall c = wd->call;

			wd->call.fn = NULL;
			c.fn(c.o, c.other);
			give_turn(c.back);
			continue;
		}
		if (wd->step++ < wd->steps) {
			step();
			settle();
			give_turn(wd->first + (int)vpick((uint32_t)wd->actors));
			continue;
		}
		for (int a = 0; a < wd->actors; a++)
			run_on(wd->first + a, destroy_all, NULL, NULL);
		wd->finished = true;
		give_turn(me);
	}
}
