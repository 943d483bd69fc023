/* SPDX-License-Identifier: MIT */
/** DOC: start and end of the recording in a process. */
#ifndef TRACES_RECORD_START_H
#define TRACES_RECORD_START_H

#include "traces/record/session.h"

/**
 * rec_start() - start recording, at the first call of the program. Return: whether calls are
 * recorded.
 */
bool rec_start(void);

/**
 * rec_enter() - whether to record the call that this thread begins: the program makes it, and there
 * is a trace. If so, the wrapper calls rec_leave() at its end.
 */
static inline bool rec_enter(void)
{
	if (rec_thread.depth)
		return false;
	if (unlikely(load_acquire(&rec.state) != REC_ON) && !rec_start())
		return false;
	if (unlikely(!rec_thread.ord || rec_thread.epoch != rec.epoch) && !rec_thread_init())
		return false;
	rec_thread.depth++;
	return true;
}

static inline void rec_leave(void)
{
	rec_thread.depth--;
}

#endif
