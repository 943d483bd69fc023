/* SPDX-License-Identifier: MIT */
/**
 * DOC: what RDMAEMU_LEND asks for.
 *
 * With `auto`, the default, memory is lent as far as it takes little time (cost.c), with `1`
 * whatever time it takes.
 */
#include "libshim/lend/region.h"
#include "libshim/lend/threads.h"

#include "fabric/proto/env.h"
#include "libshim/interpose/interpose.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>

/**
 * enum lend_mode - what RDMAEMU_LEND requests, and what can be done, as bits.
 * @LEND_KNOWN: the others are right
 * @LEND_ON: memory may be lent
 * @LEND_ASKED: as much as possible, whatever it costs
 * @LEND_STOPS: threads can be stopped
 */
enum lend_mode { LEND_KNOWN = 1, LEND_ON = 2, LEND_ASKED = 4, LEND_STOPS = 8 };

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

static u32 mode_find(void)
{
	const char *text = shim_setting(PROTO_LEND_ENV);
	bool asked = text && !strcmp(text, "1");

	if (!asked && text && *text && strcmp(text, "auto") != 0)
		return LEND_KNOWN;
	return LEND_KNOWN | LEND_ON | (asked ? LEND_ASKED : 0) |
	       (libc_lets_stop() ? LEND_STOPS : 0);
}

static u32 mode_get(void)
{
	static u32 known;

	if (!load_relaxed(&known))
		store_relaxed(&known, mode_find());
	return load_relaxed(&known);
}

bool lend_is_on(void)
{
	return mode_get() & LEND_ON;
}

bool lend_is_asked(void)
{
	return mode_get() & LEND_ASKED;
}

bool lend_can_stop(void)
{
	return mode_get() & LEND_STOPS;
}
