/* SPDX-License-Identifier: MIT */
/* Maps the recorded devices of a program to those of its process. */
#include "traces/replay/identity.h"
#include "traces/replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rp_map_own(struct rp_prog *g, const struct vt_devices *here)
{
	enum cmp_kind kind = CMP_KIND_BY_DEVICE;

	if (g->w->capabilities)
		kind = CMP_KIND_SAME;
	else if (vt_dir_is_real(&g->w->dir) != g->w->on_devices)
		kind = CMP_KIND_OTHER;
	g->map = cmp_map_new(&g->p->devices, here, kind);
	return g->map ? 0 : -ENOMEM;
}

/* Parses what a program's process has published; nothing, if the program is not played. */
static int identity_parse_local(struct vt_devices *here, const struct rp_prog *g, uint32_t prog)
{
	char *copy = strndup(g->w->seen[prog].text, sizeof(g->w->seen[prog].text));
	struct vt_error err;
	int ret;

	memset(here, 0, sizeof(*here));
	if (!copy)
		return -ENOMEM;
	ret = vt_devices_parse(here, "devices here", copy, &err);
	free(copy);
	return ret;
}

static int identity_add_program(struct rp_prog *g, uint32_t prog)
{
	struct vt_devices here;
	int ret = identity_parse_local(&here, g, prog);

	if (!ret)
		ret = prog == g->nth ? rp_map_own(g, &here)
				     : cmp_map_add(g->map, &g->w->dir.prog[prog].devices, &here);
	vt_devices_free(&here);
	return ret;
}

int rp_map_make(struct rp_prog *g)
{
	bool differs = false;
	uint32_t i;
	int ret;

	for (i = 0; i < g->w->dir.n_progs && !g->w->live; i++)
		differs |= g->w->seen[i].differs;
	if (!differs)
		return 0;
	/* A program may name devices of others without opening one. */
	ret = identity_add_program(g, g->nth);
	for (i = 0; i < g->w->dir.n_progs && !ret; i++)
		if (i != g->nth)
			ret = identity_add_program(g, i);
	return ret;
}
