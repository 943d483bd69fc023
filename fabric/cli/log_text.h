/* SPDX-License-Identifier: MIT */
/** DOC: entries of the journal as lines for a reader. */
#ifndef FABRIC_CLI_LOG_TEXT_H
#define FABRIC_CLI_LOG_TEXT_H

#include "fabric/common/opts.h"

#include <stdio.h>

struct json_object;

/**
 * log_text_print() - print an entry, an object of `rdmaemu log --json`:
 * "SEVERITY VERDICT TIME WHO OPCODE: WHY", with -v all that is known of both sides.
 * @out: stdout or stderr
 */
void log_text_print(FILE *out, const struct opts *o, struct json_object *entry);

#endif
