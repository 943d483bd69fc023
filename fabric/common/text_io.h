/* SPDX-License-Identifier: MIT */
/**
 * DOC: texts as a whole: files that users write, and memfds, in which texts go from the fabric
 * process to the command and back.
 */
#ifndef FABRIC_COMMON_TEXT_IO_H
#define FABRIC_COMMON_TEXT_IO_H

#include "emulator/types.h"

#include <stddef.h>
#include <stdio.h>

/**
 * text_file_read() - read a whole file of text that another process or a later step reads again.
 * Pipes and devices, which have their text once, are refused.
 * @kind: what it is, for the message on stderr
 * @max: bytes that it may have
 * @len: receives its length
 * Return: text to be freed, with a NUL after it, or NULL after one line on stderr.
 */
char *text_file_read(const char *kind, const char *path, size_t max, size_t *len);
/** text_input_read() - as text_file_read(), for text that is read once: from a pipe, too. */
char *text_input_read(const char *kind, const char *path, size_t max, size_t *len);

/** text_memfd() - make a memfd with that text. Return: descriptor or -errno. */
int text_memfd(const char *text, size_t len);
/** memfd_map() - map the text in a memfd. Return: NULL: there is none. */
char *memfd_map(int fd, size_t *len);
/**
 * memfd_print() - print the text in a memfd and close it. Return: exit status, after a line on
 * stderr.
 */
int memfd_print(int fd, FILE *out);

/** text_width() - columns of COLUMNS, or of the terminal that @out is, or 80; 40 to 1000. */
u32 text_width(FILE *out);

/** struct text_out - a text that is printed to @f and becomes a memfd. */
struct text_out {
	FILE *f;
	char *buf;
	size_t len;
};

/** text_begin() - begin to print a text. Return: where to print, NULL: no memory. */
FILE *text_begin(struct text_out *t);
/** text_end() - make a memfd of what was printed since text_begin(). Return: as text_memfd(). */
int text_end(struct text_out *t);

#endif
