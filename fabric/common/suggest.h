/* SPDX-License-Identifier: MIT */
/**
 * DOC: suggestions for a mistyped word.
 */
#ifndef FABRIC_COMMON_SUGGEST_H
#define FABRIC_COMMON_SUGGEST_H

#include <stddef.h>

/**
 * struct suggestion - the known word that is nearest to what was typed. @word: NULL: none so far
 */
struct suggestion {
	const char *word;
	size_t len;
	unsigned distance;
};

/**
 * suggest_compare() - remember a known word if it is nearer to @typed than those before it.
 * @n: length of @typed
 * @len: length of @known
 *
 * A word is near when few letters have to be added, removed, replaced or swapped with their
 * neighbour, or when @typed is its beginning.
 */
void suggest_compare(struct suggestion *s, const char *typed, size_t n, const char *known,
		     size_t len);

#endif
