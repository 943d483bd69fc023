/* SPDX-License-Identifier: MIT */
/** DOC: the tap in a process and its threads; running the hooks of its users. */
#ifndef LIBTAP_PROCESS_H
#define LIBTAP_PROCESS_H

#include "libtap/tap.h"

#include <sys/types.h>

/**
 * struct tap_thread - a thread of the program.
 * @epoch: of the process in which it was prepared
 * @depth: operations that it is in
 * @makes: kinds of objects (bits of enum vobj) that the current call may have created
 * @fresh: objects that the current call has created, newest first
 * @text: the line of the current call; NULL: the thread is not prepared
 */
struct tap_thread {
	u32 epoch;
	u32 depth;
	u32 makes;
	struct tap_obj *fresh;
	struct vcall_text *text;
};

extern __thread struct tap_thread tap_thread __attribute__((tls_model("initial-exec")));

#define TAP_ON	1u /* a user sees objects */
#define TAP_OFF 2u

/**
 * struct tap_process - the tap in this process.
 * @state: 0 before the first call, then TAP_ON or TAP_OFF
 * @epoch: number of forks that led to this process
 * @on: the users that are on, @n of them, outermost first
 */
struct tap_process {
	u32 state;
	u32 epoch;
	pid_t pid;
	u32 n;
	const struct tap_user *on[TAP_USERS];
};

extern struct tap_process tap;

/* --- process.c --- */

/** tap_start() - start the users, at the first call of the program. Return: whether one is on. */
bool tap_start(void);
/** tap_thread_prepare() - prepare the calling thread. Return: false: no memory. */
bool tap_thread_prepare(void);

/**
 * tap_enter() - whether users see the operation that this thread begins: the program makes it, and
 * there is a user. If so, the wrapper calls tap_leave() at its end.
 */
static inline bool tap_enter(void)
{
	if (tap_thread.depth)
		return false;
	if (unlikely(load_acquire(&tap.state) != TAP_ON) &&
	    (load_acquire(&tap.state) == TAP_OFF || !tap_start() || tap.state != TAP_ON))
		return false;
	if (unlikely(!tap_thread.text || tap_thread.epoch != tap.epoch) && !tap_thread_prepare())
		return false;
	tap_thread.depth++;
	return true;
}

static inline void tap_leave(void)
{
	tap_thread.depth--;
}

/** TAP_BEGIN() - run a hook that is called before an operation. Value: whether to carry it out. */
#define TAP_BEGIN(hook, p)                                                                         \
	({                                                                                         \
		u32 i_ = 0;                                                                        \
                                                                                                   \
		while (i_ < tap.n && (!tap.on[i_]->hook || tap.on[i_]->hook(p) == TAP_PASS))       \
			i_++;                                                                      \
		(p)->op.seen = i_;                                                                 \
		(p)->op.answered = i_ < tap.n;                                                     \
		!(p)->op.answered;                                                                 \
	})

/** TAP_END() - run a hook that is called after it, of the users that have passed it on. */
#define TAP_END(hook, p)                                                                           \
	do {                                                                                       \
		u32 i_ = (p)->op.seen;                                                             \
                                                                                                   \
		while (i_--)                                                                       \
			if (tap.on[i_]->hook)                                                      \
				tap.on[i_]->hook(p);                                               \
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

#endif
