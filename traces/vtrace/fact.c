/* SPDX-License-Identifier: MIT */
#include "traces/vtrace/read.h"

#include <string.h>

bool vt_rec_fact(const struct vt_program *p, const struct vt_rec *rec, bool out, const char *name,
		 uint64_t *v)
{
	const struct vt_call *call = VT_BODY(vt_call, rec);
	size_t len, name_len = strlen(name);
	const char *at = vt_rec_line(p, rec, &len);
	bool quoted = false, behind = false, wanted = false;
	uint32_t i = 0;

	for (; *at; at++) {
		if (*at == '"')
			quoted = !quoted;
		if (quoted)
			continue;
		if (!strncmp(at, " = ", 3))
			behind = true;
		if (*at == ' ')
			wanted = behind == out && !strncmp(at + 1, name, name_len) &&
				 at[1 + name_len] == '=';
		if (*at != '~')
			continue;
		if (i >= call->n_facts)
			return false;
		if (wanted) {
			*v = call->fact[i];
			return true;
		}
		i++;
	}
	return false;
}
