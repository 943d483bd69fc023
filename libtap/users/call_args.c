/* SPDX-License-Identifier: MIT */
/* The arguments of a call as text. See call_args.h. */
#include "libtap/users/call_args.h"

#include <stdio.h>
#include <string.h>

/* How a value is written that a line has as '~'. */
static int fact_print(const struct vcall_fact *fact, char *out, size_t size)
{
	switch (fact->kind) {
	case VFACT_ADDR:
	case VFACT_KEY:
	case VFACT_QPN:
	case VFACT_BYTES:
	case VFACT_WRID:
		return snprintf(out, size, "0x%llx", (unsigned long long)fact->value);
	case VFACT_FD: /* known by its file */
		return snprintf(out, size, "~");
	default:
		return snprintf(out, size, "%llu", (unsigned long long)fact->value);
	}
}

/* The arguments in a call's line, which begins with its name and ends with its result. */
void call_args_text(const struct vcall_text *line, char *out, size_t size)
{
	const char *at = line ? strchr(line->text, ' ') : NULL;
	const size_t room = size - 4; /* for the dots */
	size_t n = 0;
	uint32_t fact = 0;

	*out = '\0';
	if (!at)
		return;
	for (at++; *at && strncmp(at, " = ", 3) != 0 && n < room; at++) {
		if (*at == '~' && fact < line->n_facts)
			n += (size_t)fact_print(&line->facts[fact++], out + n, room - n + 1);
		else
			out[n++] = *at;
	}
	if (n >= room)
		n = room;
	memcpy(out + n, n == room ? "..." : "", n == room ? sizeof("...") : 1);
}
