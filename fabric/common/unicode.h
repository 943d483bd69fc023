/* SPDX-License-Identifier: MIT */
/** DOC: names of programs and files are bytes; formats that others read want UTF-8. */
#ifndef FABRIC_COMMON_UNICODE_H
#define FABRIC_COMMON_UNICODE_H

#include <stddef.h>

/**
 * utf8_length() - bytes of the character at @s, which a NUL ends.
 * Return: 1 to 4; 0: these bytes are no UTF-8 (RFC 3629), or the text ends here
 */
size_t utf8_length(const char *s);
/**
 * utf8_make_printable() - put '?' in the place of bytes that are no UTF-8 and of control
 * characters: a text of a file ends no line, and a terminal does nothing because of it.
 */
void utf8_make_printable(char *s);

#endif
