/* SPDX-License-Identifier: MIT */
/** DOC: a command as a line of text, with quotes where sh(1) needs them. */
#ifndef TRACES_VTRACE_COMMAND_LINE_H
#define TRACES_VTRACE_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define WORDS_CUT                                                                                  \
	"..." /* last word of a command that was too long; one that is really that has quotes */

/**
 * vt_command_add_word() - add a word to a line, with a space before it if it is not the first. Bytes below ' ' become spaces.
 * @cap: of @line
 *
 * Returns false: it does not fit; the line then ends with WORDS_CUT.
 */
bool vt_command_add_word(char *line, size_t cap, const char *word);

/** vt_command_is_whole() - whether the line is a command, and was not cut. */
bool vt_command_is_whole(const char *line);

#endif
