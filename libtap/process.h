/* SPDX-License-Identifier: MIT */
/** DOC: the tap in a process and its threads; running the hooks of its users. */
#ifndef LIBTAP_PROCESS_H
#define LIBTAP_PROCESS_H

#include "libtap/tap.h"

#include <sys/types.h>

/**
 * struct tap_thread - a thread of the program.
 * @epoch: of the process in which it was prepared, 0: not yet
 * @depth: operations that it is in
 * @caller, @frame: where the program, or a wrapper, has begun the current operation: together they
 *	tell call sites apart
 * @makes: kinds of objects (bits of enum vobj) that the current call may have created
 * @fresh: objects that the current call has created, newest first
 * @text: the line of the current call
 */
struct tap_thread {
	u32 epoch;
	u32 depth;
	const void *caller;
	const void *frame;
	u32 makes;
	struct tap_obj *fresh;
	struct vcall_text *text;
};

extern __thread struct tap_thread tap_thread __attribute__((tls_model("initial-exec")));

#define TAP_ON	1u /* a user sees objects */
#define TAP_OFF 2u

#define TAP_NOT_LIVE UINT32_MAX

/* The hooks around operations. */
#define TAP_HOOKS(X)                                                                               \
	X(call_begin)                                                                              \
	X(call_returned)                                                                           \
	X(call_end)                                                                                \
	X(post_begin)                                                                              \
	X(post_end)                                                                                \
	X(wr_batch_begin)                                                                          \
	X(wr_batch_end)                                                                            \
	X(poll_begin)                                                                              \
	X(poll_end)                                                                                \
	X(cqex_begin)                                                                              \
	X(cqex_end)                                                                                \
	X(cq_begin)                                                                                \
	X(cq_end)                                                                                  \
	X(dm_begin)                                                                                \
	X(dm_end)

/* The functions of one hook, @n of them, outermost first; @at: whose, as an index of tap.on. */
/* NOLINTBEGIN(bugprone-macro-parentheses): the name of a member */
#define TAP_HOOK_LIST(hook)                                                                        \
	struct {                                                                                   \
		u32 n;                                                                             \
		u32 at[TAP_USERS];                                                                 \
		__typeof__(((struct tap_user *)NULL)->hook) fn[TAP_USERS];                         \
	} hook;
/* NOLINTEND(bugprone-macro-parentheses) */

/**
 * struct tap_process - the tap in this process.
 * @state: 0 before the first call, then TAP_ON or TAP_OFF
 * @epoch: number of forks that led to this process, plus 1
 * @live: @epoch while a user sees objects, otherwise TAP_NOT_LIVE
 * @on: the users that are on, @n of them, outermost first
 * @hooks: their hooks, so that an operation that no user looks at costs a branch
 * @post_quiet, @poll_quiet: of the only user that sees posts, or polls; NULL: there is no such
 */
struct tap_process {
	u32 state;
	u32 epoch;
	u32 live;
	pid_t pid;
	u32 n;
	const struct tap_user *on[TAP_USERS];
	struct {
		TAP_HOOKS(TAP_HOOK_LIST)
	} hooks;
	__typeof__(((struct tap_user *)NULL)->post_quiet) post_quiet;
	bool (*poll_quiet)(void);
};

extern struct tap_process tap;

/* --- process.c --- */

/** tap_start() - start the users, at the first call of the program. Return: whether one is on. */
bool tap_start(void);
/** tap_enter_first() - for tap_enter(): the first call of a process or thread, or no user is on. */
bool tap_enter_first(void);

/**
 * tap_enter() - whether users see the operation that this thread begins: the program makes it, and
 * there is a user. If so, the wrapper calls tap_leave() at its end.
 */
static inline __attribute__((always_inline)) bool tap_enter(void)
{
	if (tap_thread.depth)
		return false;
	if (unlikely(tap_thread.epoch != load_acquire(&tap.live)) && !tap_enter_first())
		return false;
	tap_thread.depth++;
	tap_thread.caller = __builtin_return_address(0);
	tap_thread.frame = __builtin_frame_address(0);
	return true;
}

/**
 * tap_may_be_quiet() - whether tap.post_quiet and tap.poll_quiet may be asked: the program makes
 * the call, not in the first one of its thread. The library below calls nothing of the API then.
 */
static inline bool tap_may_be_quiet(void)
{
	return !tap_thread.depth && tap_thread.epoch == load_acquire(&tap.live);
}

static inline void tap_leave(void)
{
	tap_thread.depth--;
}

/** TAP_BEGIN() - run a hook that is called before an operation. Value: whether to carry it out. */
#define TAP_BEGIN(hook, p)                                                                         \
	({                                                                                         \
		const u32 n_ = tap.hooks.hook.n; /* it stays, while a user is on */                \
		u32 i_;                                                                            \
                                                                                                   \
		(p)->op.answered = false;                                                          \
		for (i_ = 0; i_ < n_; i_++)                                                        \
			if (unlikely(tap.hooks.hook.fn[i_](p) != TAP_PASS)) {                      \
				(p)->op.answered = true;                                           \
				(p)->op.seen = tap.hooks.hook.at[i_];                              \
				break;                                                             \
			}                                                                          \
		!(p)->op.answered;                                                                 \
	})

/** TAP_END() - run a hook that is called after it, of the users that have passed it on. */
#define TAP_END(hook, p)                                                                           \
	do {                                                                                       \
		u32 i_ = tap.hooks.hook.n;                                                         \
                                                                                                   \
		while (i_--)                                                                       \
			if (likely(!(p)->op.answered) || tap.hooks.hook.at[i_] < (p)->op.seen)     \
				tap.hooks.hook.fn[i_](p);                                          \
	} while (0)

/** TAP_EACH() - run a hook of all users. */
#define TAP_EACH(hook, ...)                                                                        \
	do {                                                                                       \
		u32 i_;                                                                            \
                                                                                                   \
		for (i_ = 0; i_ < tap.n; i_++)                                                     \
			if (tap.on[i_]->hook)                                                      \
				tap.on[i_]->hook(__VA_ARGS__);                                     \
	} while (0)

/**
 * tap_start_thread() - start a thread of the tap, which lives as long as the process and gets no
 * signals. Return: whether there is one.
 */
bool tap_start_thread(void *(*run)(void *));

#endif
