/* SPDX-License-Identifier: MIT */
/**
 * DOC: what RDMAEMU_LEND asks for.
 *
 * With `auto`, the default, memory changes its place only while the program has one thread, and as
 * far as it takes little time (cost.c). No thread is stopped, so this needs no signal, and works
 * with every libc. With `1` the program lends all that can be lent, and stops the program's other
 * threads.
 */
#include "libshim/lend/region.h"
#include "libshim/lend/threads.h"

#include "fabric/proto/env.h"
#include "libshim/interpose/interpose.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>

enum lend_mode { LEND_UNKNOWN, LEND_OFF, LEND_AUTO, LEND_ASKED, LEND_STOPS };

#ifdef __x86_64__

/*
 * Since glibc 2.41 one function makes all calls that are cancellation points, and gets their number
 * in a register: where a signal finds the thread nothing tells which call it has made, and one that
 * returns EINTR cannot begin again.
 */
static bool libc_lets_stop(void)
{
	const char *version = gnu_get_libc_version();
	char *end;
	unsigned long major = strtoul(version, &end, 10);

	return major == 2 && *end == '.' && strtoul(end + 1, NULL, 10) < 41;
}

#else

static bool libc_lets_stop(void)
{
	return false;
}

#endif

static enum lend_mode mode_find(void)
{
	const char *text = shim_setting(PROTO_LEND_ENV);

	if (!text || !*text || !strcmp(text, "auto"))
		return LEND_AUTO;
	if (strcmp(text, "1") != 0)
		return LEND_OFF;
	return libc_lets_stop() ? LEND_STOPS : LEND_ASKED;
}

static enum lend_mode mode_get(void)
{
	static enum lend_mode known;

	if (load_relaxed(&known) == LEND_UNKNOWN)
		store_relaxed(&known, mode_find());
	return load_relaxed(&known);
}

bool lend_is_on(void)
{
	return mode_get() != LEND_OFF;
}

bool lend_is_asked(void)
{
	return mode_get() >= LEND_ASKED;
}

bool lend_can_stop(void)
{
	return mode_get() == LEND_STOPS;
}
