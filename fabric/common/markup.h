/* SPDX-License-Identifier: MIT */
/** DOC: text in XML. */
#ifndef FABRIC_COMMON_MARKUP_H
#define FABRIC_COMMON_MARKUP_H

#include <stdio.h>

/**
 * markup_print() - print a text, in an element or in an attribute with double quotes.
 *
 * XML 1.0 has no way to write most control characters: they become U+FFFD, as bytes that are no
 * UTF-8 do.
 */
void markup_print(FILE *out, const char *text);

#endif
