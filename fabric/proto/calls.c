/* SPDX-License-Identifier: MIT */
/**
 * DOC: the table of calls that can be made to fail, by name.
 */
#include "fabric/proto/calls.h"

#include <stdio.h>
#include <string.h>

#define ERRNO_MAX 133 /* EHWPOISON, the last one of Linux */

const struct call_desc call_descs[CALL_COUNT] = {
#define CALL_DESC(name, ...) [CALL_##name] = { #name, { __VA_ARGS__ } },
	CALLS(CALL_DESC)
#undef CALL_DESC
};

int call_find(const char *name)
{
	u32 i;

	for (i = 0; i < CALL_COUNT; i++)
		if (!strcmp(call_descs[i].name, name))
			return (int)i;
	return -1;
}

bool call_may_fail(u32 call, int err)
{
	const struct call_desc *d = &call_descs[call];
	u32 i;

	for (i = 0; i < CALL_ERRNOS && d->err[i]; i++)
		if (d->err[i] == err)
			return true;
	return false;
}

const char *call_errors(u32 call, char *buf, size_t size)
{
	const struct call_desc *d = &call_descs[call];
	size_t at = 0;
	u32 i;

	buf[0] = '\0';
	for (i = 0; i < CALL_ERRNOS && d->err[i] && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", " : "",
				       strerrorname_np(d->err[i]));
	return buf;
}

int errno_find(const char *name)
{
	const char *n;
	int i;

	/* libc knows one of the two names of this value. */
	if (!strcmp(name, "ENOTSUP"))
		return ENOTSUP;
	if (!strcmp(name, "EWOULDBLOCK"))
		return EWOULDBLOCK;
	for (i = 1; i <= ERRNO_MAX; i++) {
		n = strerrorname_np(i);
		if (n && !strcmp(n, name))
			return i;
	}
	return 0;
}
