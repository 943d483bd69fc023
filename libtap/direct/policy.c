/* SPDX-License-Identifier: MIT */
/* See policy.h. */
#include "libtap/direct/policy.h"
#include "libtap/call.h"
#include "libtap/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DIRECT_ENV "RDMAEMU_REAL_DIRECT"

static enum {
	DIRECT_ALLOW,
	DIRECT_HIDE,
	DIRECT_REFUSE,
} policy;

/* Before the program loads anything. */
static __attribute__((constructor)) void direct_start(void)
{
	static const char *const sonames[] = { "libmlx5.so", NULL };
	const char *value = getenv(DIRECT_ENV);

	if (!value)
		return;
	if (!strcmp(value, "hide"))
		policy = DIRECT_HIDE;
	else if (!strcmp(value, "refuse"))
		policy = DIRECT_REFUSE;
	if (policy != DIRECT_ALLOW)
		dlopen_also = sonames;
}

bool direct_is_hidden(void)
{
	return policy == DIRECT_HIDE;
}

bool direct_may_pass(const char *call)
{
	if (policy == DIRECT_ALLOW)
		return true;
	if (policy == DIRECT_REFUSE)
		dprintf(STDERR_FILENO,
			"rdmaemu: %s: %s: refused: nobody sees what goes past verbs\n",
			program_invocation_short_name, call);
	errno = EOPNOTSUPP;
	return false;
}

void *direct_next(void **slot, enum real_lib lib, const char *name)
{
	void *fn = next_symbol(slot, name);

	return fn ? fn : real_symbol(slot, lib, name);
}

void direct_queues_opened(const struct ibv_qp *qp, const char *call)
{
	struct tap_obj *o = tap_obj_find(VOBJ_QP, qp);

	if (!tap_enter())
		return;
	if (o) {
		tap_note("qp%u: its data path is not seen: %s()", o->ord, call);
		TAP_EACH(direct, o);
	}
	tap_leave();
}

u64 direct_call_end(struct tap_call *c)
{
	/* The call of verbs has no attributes of the vendor. */
	c->inexact = true;
	tap_call_end(c);
	tap_objects_attach(c);
	tap_leave();
	return c->ret;
}
