/* SPDX-License-Identifier: MIT */
/*
 * Forks: memory that is registered then, and objects of the parent that the child uses.
 *
 * An object of the parent has no ordinal in the child (libtap/object_table.h); what the checker
 * kept of it is still there, and says where it was created.
 */
#include "libtap/check/object.h"
#include "traces/calls/desc.h"

#include <stdlib.h>

static bool fork_is_prepared;
static bool fork_is_child;

void check_fork_init(void)
{
	fork_is_prepared = true;
}

void check_fork_used(const struct tap_obj *o, const char *how)
{
	const struct check_obj *c;

	if (likely(!o || o->ord))
		return;
	c = o->user[TAP_CHECK];
	check_report(FINDING_OBJECT_FORK_CHILD,
		     (struct check_other){ c ? "created by the parent" : NULL, c ? c->stack : 0 },
		     "the child of a fork %s %s%u of its parent", how, vobj_names[o->kind],
		     c ? c->ord : 0);
}

void check_fork_called(const struct tap_call *c)
{
	static const enum vobj kinds[] = { VOBJ_QP, VOBJ_CQ, VOBJ_MR, VOBJ_PD, VOBJ_SRQ, VOBJ_AH };
	const void *obj = (void *)(uintptr_t)c->args[0];
	u32 i;

	for (i = 0; fork_is_child && i < ARRAY_SIZE(kinds); i++)
		check_fork_used(tap_obj_find(kinds[i], obj), "makes a call about");
}

void check_fork_child(const struct check_obj *mr)
{
	fork_is_child = true;
	if (!mr || fork_is_prepared || getenv("RDMAV_FORK_SAFE") || getenv("IBV_FORK_SAFE"))
		return;
	check_report_at(FINDING_MR_FORK_UNSAFE, mr->stack, (struct check_other){ NULL, 0 },
			"mr%u is registered when the program forks, and ibv_fork_init() was not "
			"called",
			mr->ord);
}
