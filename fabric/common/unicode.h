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

#endif
