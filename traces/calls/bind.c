/* SPDX-License-Identifier: MIT */
/*
 * Binds recorded ordinals to the objects of this run, after a call was carried out again. The
 * walker goes over what came out, next to the recorded line: where it would print an object, it
 * looks up which ordinal the line has there.
 */
#include "traces/calls/walk.h"
#include "traces/calls/word.h"

#include <string.h>

void vcall_bind_objects(struct vcall_parsed *p, const char *line, size_t len, uint64_t ret,
			const struct vcall_env *env)
{
	struct vwalk w = { .env = env,
			   .args = p->args,
			   .dir = VDIR_OUT,
			   .ret = ret,
			   .record = line + p->out,
			   .record_len = (uint32_t)(len - p->out) };
	const struct vcall_desc *d = &vcall_descs[p->call];
	const char *space = memchr(w.record, ' ', w.record_len);
	struct vread_word v = { w.record, space ? (size_t)(space - w.record) : w.record_len };
	uint32_t ord;

	if (d->ret >= VRET_NEW && ret) {
		ord = vread_word_ordinal(&v, d->ret - VRET_NEW);
		if (ord && env->bind)
			env->bind(env->arg, d->ret - VRET_NEW, ord, (void *)(uintptr_t)ret);
	}
	if (vcall_error(p->call, ret, 0))
		return;
	w.makes = vcall_made_kinds(p->call, p->args);
	if (d->ret == VRET_CTXS && ret)
		vwalk_print_contexts(&w, (struct ibv_context **)(uintptr_t)ret);
	vwalk_walk_fields(&w, d->args, d->n_args, (const uint8_t *)p->args, ~0ULL);
}
