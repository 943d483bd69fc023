/* SPDX-License-Identifier: MIT */
/**
 * DOC: texts that go from one process to another: memfds.
 */
#ifndef FABRIC_COMMON_TEXT_OUT_H
#define FABRIC_COMMON_TEXT_OUT_H

#include <stddef.h>
#include <stdio.h>

/** text_memfd() - a memfd with that text. Return: descriptor or -errno. */
int text_memfd(const char *text, size_t len);

/** struct text_out - a text that is printed to @f and becomes a memfd. */
struct text_out {
	FILE *f;
	char *buf;
	size_t len;
};

/** text_begin() - Return: where to print, NULL: no memory. */
FILE *text_begin(struct text_out *t);
/** text_end() - what was printed since. Return: as text_memfd(). */
int text_end(struct text_out *t);

#endif
