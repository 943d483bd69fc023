/* SPDX-License-Identifier: MIT */
/** DOC: see rlimit.h. */
#include "fabric/proto/rlimit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#define KIB 1024u

/* Rounded up, as the shell's ulimit counts. */
static unsigned long long kib_of(u64 bytes)
{
	return bytes / KIB + !!(bytes % KIB);
}

const char *rlimit_explain(int err, u64 bytes, char *buf, size_t size)
{
	char wanted[48] = "";
	struct rlimit r;

	*buf = '\0';
	if (bytes)
		snprintf(wanted, sizeof(wanted), ", %llu KiB were wanted", kib_of(bytes));
	if (err == -ENOMEM && !getrlimit(RLIMIT_AS, &r) && r.rlim_cur != RLIM_INFINITY)
		snprintf(buf, size, "; the address space is limited to %llu KiB (ulimit -v)%s",
			 kib_of(r.rlim_cur), wanted);
	else if (err == -EFBIG && !getrlimit(RLIMIT_FSIZE, &r) && r.rlim_cur != RLIM_INFINITY)
		snprintf(buf, size, "; files are limited to %llu KiB (ulimit -f)%s",
			 kib_of(r.rlim_cur), wanted);
	else if (err == -EMFILE && !getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur != RLIM_INFINITY)
		snprintf(buf, size, "; open files are limited to %llu (ulimit -n)",
			 (unsigned long long)r.rlim_cur);
	return buf;
}
