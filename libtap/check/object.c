/* SPDX-License-Identifier: MIT */
/* Entries of objects: their creation's stack, and lists of those that checks search. */
#include "libtap/check/object.h"
#include "traces/calls/desc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static struct check_obj *lists[VOBJ_COUNT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool obj_has_list(enum vobj kind)
{
	return kind == VOBJ_QP || kind == VOBJ_CQ || kind == VOBJ_MR;
}

struct check_obj *check_obj_new(struct tap_obj *o)
{
	struct check_obj *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->tap = o;
	c->ord = o->ord;
	c->stack = check_stack_here();
	o->user[TAP_CHECK] = c;
	if (!obj_has_list(o->kind))
		return c;
	pthread_mutex_lock(&lock);
	c->next = lists[o->kind];
	c->link = &lists[o->kind];
	if (c->next)
		c->next->link = &c->next;
	lists[o->kind] = c;
	pthread_mutex_unlock(&lock);
	return c;
}

void check_obj_gone(struct check_obj *c)
{
	if (c->link) {
		pthread_mutex_lock(&lock);
		*c->link = c->next;
		if (c->next)
			c->next->link = c->link;
		pthread_mutex_unlock(&lock);
	}
	c->tap->user[TAP_CHECK] = NULL;
	free(c);
}

bool check_obj_for_each(enum vobj kind, bool (*fn)(struct check_obj *c, void *arg), void *arg)
{
	struct check_obj *c;
	bool found = false;

	pthread_mutex_lock(&lock);
	for (c = lists[kind]; c && !found; c = c->next)
		found = fn(c, arg);
	pthread_mutex_unlock(&lock);
	return found;
}

const char *check_enum_name(const struct vnames *names, u64 value)
{
	u32 i;

	for (i = 0; i < names->n; i++)
		if (names->name[i].value == value)
			return names->name[i].name;
	return "?";
}

const char *check_flag_names(const struct vnames *names, u32 flags, char *text, size_t size)
{
	u64 left = flags;
	size_t at = 0;
	u32 bit;

	text[0] = '\0';
	for_each_bit64(bit, left)
		if (at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%s", at ? " | " : "",
					       check_enum_name(names, BIT64(bit)));
	return text;
}

/* --- the end --- */

/* librdmacm opens each device once, also for rsockets, and closes none before the program ends. */
static bool obj_is_context_of_librdmacm(const struct tap_obj *o, const struct check_obj *c)
{
	const char *name;
	void *const *frame;
	Dl_info at;

	if (o->kind != VOBJ_CTX || !check_stack_frames(c->stack, &frame) ||
	    !dladdr((const u8 *)frame[0] - 1, &at) || !at.dli_fname)
		return false;
	name = strrchr(at.dli_fname, '/');
	return strstr(name ? name : at.dli_fname, "librdmacm.so");
}

static void obj_report_leak(struct tap_obj *o)
{
	const struct check_obj *c = check_obj_of(o);

	/* What librdmacm has created in passing it destroys itself. */
	if (!c || !o->ord || o->passing || c->kept || obj_is_context_of_librdmacm(o, c))
		return;
	check_report_at(FINDING_OBJECT_LEAK_EXIT, c->stack, (struct check_other){ NULL, 0 },
			"%s%u exists when the program ends", vobj_names[o->kind], o->ord);
}

void check_obj_report_leaks(void)
{
	static const enum vobj kinds[] = { VOBJ_CTX, VOBJ_PD, VOBJ_MR,	 VOBJ_MW,  VOBJ_CQ,
					   VOBJ_SRQ, VOBJ_QP, VOBJ_AH,	 VOBJ_CH,  VOBJ_XRCD,
					   VOBJ_TD,  VOBJ_DM, VOBJ_WQ,	 VOBJ_IND, VOBJ_FLOW,
					   VOBJ_CNT, VOBJ_ID, VOBJ_EVCH, VOBJ_EV };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		tap_obj_for_each(kinds[i], obj_report_leak);
}

const struct check_obj *check_obj_fork(void)
{
	const struct check_obj *mr = lists[VOBJ_MR];

	pthread_mutex_init(&lock, NULL);
	memset(lists, 0, sizeof(lists));
	return mr;
}
