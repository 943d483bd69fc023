// SPDX-License-Identifier: MIT
#include "traces/vtrace_read.h"

#include <string.h>

bool vt_fact(const struct vt_program *p, const struct vt_rec *rec, bool out, const char *name,
	     uint64_t *v)
{
	const struct vt_call *call = VT_BODY(vt_call, rec);
	size_t len, name_len = strlen(name);
	const char *at = vt_rec_line(p, rec, &len);
	bool quoted = false, behind = false;
	uint32_t i = 0;

	for (; *at; at++) {
		if (*at == '"')
			quoted = !quoted;
		if (quoted)
			continue;
		if (!strncmp(at, " = ", 3))
			behind = true;
		if (*at == '~' && i++ >= call->n_facts)
			return false;
		if (behind == out && *at == ' ' && !strncmp(at + 1, name, name_len) &&
		    !strncmp(at + 1 + name_len, "=~", 2)) {
			if (i >= call->n_facts)
				return false;
			*v = call->fact[i];
			return true;
		}
	}
	return false;
}
