/* SPDX-License-Identifier: MIT */
/**
 * DOC: edit distance between a mistyped word and a known one.
 *
 * It is the optimal string alignment distance: the number of letters to add, remove or replace, a
 * swap of two neighbours counting as one. Three rows of its table are kept, since a swap looks two
 * rows back.
 */
#include "fabric/common/suggest.h"

#include <string.h>

#define SUGGEST_MAX 32u /* letters of a word that may be suggested */

static unsigned suggest_min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned suggest_distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[3][SUGGEST_MAX + 1];
	unsigned *old = row[0], *above = row[1], *here = row[2], *free_row, best;
	size_t i, j;

	for (j = 0; j <= m; j++)
		above[j] = (unsigned)j;
	for (i = 1; i <= n; i++) {
		here[0] = (unsigned)i;
		for (j = 1; j <= m; j++) {
			best = above[j - 1] + (a[i - 1] != b[j - 1]);
			best = suggest_min(best, above[j] + 1);
			best = suggest_min(best, here[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = suggest_min(best, old[j - 2] + 1);
			here[j] = best;
		}
		free_row = old;
		old = above;
		above = here;
		here = free_row;
	}
	return above[m];
}

void suggest_compare(struct suggestion *s, const char *typed, size_t n, const char *known,
		     size_t len)
{
	unsigned distance;

	if (!n || n > SUGGEST_MAX || len > SUGGEST_MAX)
		return;
	distance = suggest_distance(typed, n, known, len);
	if (distance > (n + 1) / 3) {
		if (n < 2 || n > len || memcmp(typed, known, n) != 0)
			return;
		/* A beginning is a worse match than a typing error. */
		distance = SUGGEST_MAX;
	}
	if (!s->word || distance < s->distance)
		*s = (struct suggestion){ .word = known, .len = len, .distance = distance };
}
