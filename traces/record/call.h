/* SPDX-License-Identifier: MIT */
/** DOC: records calls of the control path. */
#ifndef TRACES_RECORD_CALL_H
#define TRACES_RECORD_CALL_H

#include "traces/record/poll_record.h"

/**
 * struct rec_call - a recorded call under way.
 * @ending: ordinal of the object that it destroys
 * @failed: its error, 0: none
 */
struct rec_call {
	enum vcall call;
	const u64 *args;
	struct rec_span span;
	u32 ending;
	int failed;
};

/**
 * rec_call_begin(), rec_call_end() - record a call, between rec_enter() and rec_leave(). Keep
 * errno. After rec_call_end(), rec_objects_attach() patches the objects that the call has created.
 */
void rec_call_begin(struct rec_call *c, enum vcall call, const u64 *args);
void rec_call_end(struct rec_call *c, u64 ret);

#endif
