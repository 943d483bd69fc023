/* SPDX-License-Identifier: MIT */
/** DOC: the arguments of a call as text, for the journal. */
#ifndef LIBTAP_USERS_CALL_ARGS_H
#define LIBTAP_USERS_CALL_ARGS_H

#include "traces/calls/calls.h"

/**
 * call_args_text() - write the arguments that a call's line has, with the values that differ from
 * run to run. Text that does not fit ends in dots.
 * @line: NULL: the call has none, and the text is empty
 */
void call_args_text(const struct vcall_text *line, char *out, size_t size);

#endif
