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
 * struct lend_mode - what RDMAEMU_LEND requests, and what can be done.
 * @known: the rest is set
 * @on: memory may be lent
 * @asked: as much as possible, whatever it costs
 * @stops: threads can be stopped
 */
struct lend_mode {
	bool known;
	bool on;
	bool asked;
	bool stops;
};

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

static void mode_find(struct lend_mode *m)
{
	const char *text = shim_setting(PROTO_LEND_ENV);

	m->asked = text && !strcmp(text, "1");
	m->on = m->asked || !text || !*text || !strcmp(text, "auto");
	m->stops = m->on && libc_lets_stop();
	store_release(&m->known, true);
}

/* Threads that find it at the same time find the same. */
static const struct lend_mode *mode_get(void)
{
	static struct lend_mode mode;

	if (!load_acquire(&mode.known))
		mode_find(&mode);
	return &mode;
}

bool lend_is_on(void)
{
	return mode_get()->on;
}

bool lend_is_asked(void)
{
	return mode_get()->asked;
}

bool lend_can_stop(void)
{
	return mode_get()->stops;
}
