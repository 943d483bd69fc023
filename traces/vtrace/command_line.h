/* SPDX-License-Identifier: MIT */
/** DOC: a command as a line of text, quoted where sh(1) needs it. */
#ifndef TRACES_VTRACE_COMMAND_LINE_H
#define TRACES_VTRACE_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define WORDS_CUT "..." /* last word of a command that was cut; a real word "..." is quoted */

/**
 * vt_command_add_word() - add a word to a line, after a space unless it is the first. Bytes below '
 * ' become spaces.
 * @cap: size of @line
 *
 * Returns false: the word does not fit; the line then ends with WORDS_CUT.
 */
bool vt_command_add_word(char *line, size_t cap, const char *word);

/** vt_command_is_whole() - whether the line is a command that was not cut. */
bool vt_command_is_whole(const char *line);

#endif
