/* SPDX-License-Identifier: MIT */
#ifndef FABRIC_COMMON_TEXT_FILE_H
#define FABRIC_COMMON_TEXT_FILE_H

#include <stddef.h>

/**
 * text_file_read() - a whole file of text.
 * @kind: what it is, for the line that says what is wrong
 * @max: bytes that it may have
 * @len: its length
 * Return: text to be freed, with a NUL behind it, or NULL after one line on stderr.
 */
char *text_file_read(const char *kind, const char *path, size_t max, size_t *len);

#endif
