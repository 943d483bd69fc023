/* SPDX-License-Identifier: MIT */
/** DOC: start and end of the recording in a process, as hooks of the tap. */
#ifndef TRACES_RECORD_START_H
#define TRACES_RECORD_START_H

#include "traces/record/session.h"

/** rec_start() - start recording, at the first call. Return: whether the program is recorded. */
bool rec_start(void);
/** rec_fork_child() - in a child of fork(): the trace is the parent's. */
void rec_fork_child(void);
/** rec_finish() - complete the trace at the end of the process. */
void rec_finish(void);

#endif
