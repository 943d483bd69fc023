/* SPDX-License-Identifier: MIT */
#include "tests/lib/c/tap_stub.h"
#include "libshim/interpose/interpose.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

struct stub_user stub_a, stub_b;

static char text[2][4096];
static u32 page;

void stub_log(const char *fmt, ...)
{
	size_t len = strlen(text[page]);
	va_list ap;

	va_start(ap, fmt);
	if (len)
		text[page][len++] = ' ';
	vsnprintf(text[page] + len, sizeof(text[page]) - len, fmt, ap);
	va_end(ap);
}

const char *stub_logged(void)
{
	page = !page;
	text[page][0] = '\0';
	return text[!page];
}

void stub_restart(bool a_is_on, bool b_is_on)
{
	tap.state = 0;
	tap.live = TAP_NOT_LIVE;
	tap.n = 0;
	tap.epoch++;
	stub_a = (struct stub_user){ .on = a_is_on };
	stub_b = (struct stub_user){ .on = b_is_on };
	stub_logged();
}

/* --- how the tap finds the library below --- */

void *next_symbol_resolve(void **slot, const char *name)
{
	const struct stub_fn *f;

	for (f = stub_fns; f->name; f++)
		if (!strcmp(f->name, name))
			return *slot = f->fn;
	/* Those of libc. */
	return name[0] == '_' && name[1] != 'i' ? *slot = dlsym(RTLD_NEXT, name) : NULL;
}

void *real_symbol(void **slot, enum real_lib lib, const char *name)
{
	(void)slot;
	(void)lib;
	(void)name;
	return NULL;
}

/* --- the users --- */

static enum tap_verdict stub_begin(char who, const struct stub_user *u, const char *what, int *ret)
{
	stub_log("%c.%s>", who, what);
	if (!u->answers || strcmp(u->answers, what) != 0)
		return TAP_PASS;
	*ret = u->ret;
	return TAP_ANSWER;
}

static enum tap_verdict stub_call_begin(char who, const struct stub_user *u, struct tap_call *c)
{
	int err = 0;
	enum tap_verdict v = stub_begin(who, u, "call", &err);

	if (v == TAP_ANSWER)
		tap_call_fail(c, err);
	return v;
}

static const char *const wr_words[] = {
	[TAP_WR_STARTING] = "starting",
	[TAP_WR_START] = "start",
	[TAP_WR_OP] = "op",
	[TAP_WR_UD_ADDR] = "ud_addr",
	[TAP_WR_XRC_SRQN] = "xrc_srqn",
	[TAP_WR_SGE] = "sge",
	[TAP_WR_SGE_LIST] = "sge_list",
	[TAP_WR_INLINE] = "inline",
	[TAP_WR_INLINE_LIST] = "inline_list",
};

/* A user's hooks: @x is its name, and stub_@x what it does. */
#define STUB_END(x, hook, type, word, then)                                                        \
	static void x##_##hook(__typeof__(type) *p)                                                \
	{                                                                                          \
		(void)p;                                                                           \
		stub_log(#x "." word);                                                             \
		(then);                                                                            \
	}
#define STUB_BEGIN(x, hook, type, word)                                                            \
	static enum tap_verdict x##_##hook(__typeof__(type) *p)                                    \
	{                                                                                          \
		return stub_begin(#x[0], &stub_##x, word, &p->ret);                                \
	}
#define STUB_MAY(x, fn) (stub_##x.fn ? stub_##x.fn(p) : (void)0)
#define STUB_USER(x, slot_)                                                                        \
	static bool x##_start(void)                                                                \
	{                                                                                          \
		return stub_##x.on;                                                                \
	}                                                                                          \
	static enum tap_verdict x##_call_begin(struct tap_call *c)                                 \
	{                                                                                          \
		return stub_call_begin(#x[0], &stub_##x, c);                                       \
	}                                                                                          \
	static bool x##_poll_quiet(void)                                                           \
	{                                                                                          \
		return stub_##x.quiet;                                                             \
	}                                                                                          \
	static bool x##_post_quiet(enum tap_queue queue, struct tap_obj *o, const void *chain)     \
	{                                                                                          \
		(void)queue;                                                                       \
		return o && chain && stub_##x.quiet;                                               \
	}                                                                                          \
	static void x##_note(const char *note)                                                     \
	{                                                                                          \
		stub_log(#x ".note(%s)", note);                                                    \
	}                                                                                          \
	static void x##_wr(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op)    \
	{                                                                                          \
		(void)ex;                                                                          \
		stub_log(#x ".%s(qp%u)", wr_words[op->what], o->ord);                              \
	}                                                                                          \
	STUB_END(x, call_returned, struct tap_call, "returned", STUB_MAY(x, call_returned))        \
	STUB_END(x, call_end, struct tap_call, "call<", (void)0)                                   \
	STUB_END(x, object_new, struct tap_obj, "new", (void)0)                                    \
	STUB_END(x, object_gone, struct tap_obj, "gone", (void)0)                                  \
	STUB_BEGIN(x, post_begin, struct tap_post, "post")                                         \
	STUB_END(x, post_end, struct tap_post, "post<", (void)0)                                   \
	STUB_BEGIN(x, wr_batch_begin, struct tap_batch, "batch")                                   \
	STUB_END(x, wr_batch_end, struct tap_batch, "batch<", (void)0)                             \
	STUB_BEGIN(x, poll_begin, struct tap_poll, "poll")                                         \
	STUB_END(x, poll_end, struct tap_poll, "poll<", STUB_MAY(x, poll_end))                     \
	STUB_BEGIN(x, cqex_begin, struct tap_cqex, "cqex")                                         \
	STUB_END(x, cqex_end, struct tap_cqex, "cqex<", STUB_MAY(x, cqex_end))                     \
	STUB_BEGIN(x, cq_begin, struct tap_cqop, "cq")                                             \
	STUB_END(x, cq_end, struct tap_cqop, "cq<", STUB_MAY(x, cq_end))                           \
	STUB_BEGIN(x, dm_begin, struct tap_dm, "dm")                                               \
	STUB_END(x, dm_end, struct tap_dm, "dm<", (void)0)                                         \
	static const struct tap_user user_##x = {                                                  \
		.slot = (slot_),                                                                   \
		.objects = true,                                                                   \
		.start = x##_start,                                                                \
		.note = x##_note,                                                                  \
		.call_begin = x##_call_begin,                                                      \
		.call_returned = x##_call_returned,                                                \
		.call_end = x##_call_end,                                                          \
		.object_new = x##_object_new,                                                      \
		.object_gone = x##_object_gone,                                                    \
		.post_quiet = x##_post_quiet,                                                      \
		.poll_quiet = x##_poll_quiet,                                                      \
		.post_begin = x##_post_begin,                                                      \
		.post_end = x##_post_end,                                                          \
		.wr = x##_wr,                                                                      \
		.wr_batch_begin = x##_wr_batch_begin,                                              \
		.wr_batch_end = x##_wr_batch_end,                                                  \
		.poll_begin = x##_poll_begin,                                                      \
		.poll_end = x##_poll_end,                                                          \
		.cqex_begin = x##_cqex_begin,                                                      \
		.cqex_end = x##_cqex_end,                                                          \
		.cq_begin = x##_cq_begin,                                                          \
		.cq_end = x##_cq_end,                                                              \
		.dm_begin = x##_dm_begin,                                                          \
		.dm_end = x##_dm_end,                                                              \
	};                                                                                         \
	TAP_USER(user_##x)

STUB_USER(a, TAP_RECORD);
STUB_USER(b, TAP_MASK);
