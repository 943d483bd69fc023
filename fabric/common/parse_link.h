/* SPDX-License-Identifier: MIT */
/**
 * DOC: a link in words, as in `rdmaemu port link` and topology files:
 *
 *	delay TIME	one way; ns, us, ms, s
 *	jitter TIME	up to so much more
 *	rate RATE	bit, kbit, Mbit, Gbit a second, headers included
 *	mtu N		256, 512, 1024, 2048 or 4096
 *	none		none of these
 *
 * in any order. A value that is left out is not limited.
 */
#ifndef FABRIC_COMMON_PARSE_LINK_H
#define FABRIC_COMMON_PARSE_LINK_H

#include "emulator/hca.h"

#define LINK_TIME_MAX 10000000000ULL /* ns */
#define LINK_RATE_MIN 1000ULL /* bit/s */
#define LINK_RATE_MAX 1000000000000ULL

#define RATE_EXPECTED "a rate from 1kbit to 1000Gbit, with its unit: bit, kbit, Mbit or Gbit"

/**
 * link_parse() - read @n words.
 * Return: 0, or -EINVAL with *what set to what was expected, and *at to the index of the wrong word
 * (@n: a word is missing).
 */
int link_parse(char *const *word, int n, struct hca_uplink *link, int *at, const char **what);
/** time_parse() - read a whole number of ns, us, ms or s, of up to @max ns; 0 needs no unit. */
bool time_parse(const char *s, u64 max, u64 *ns);
/** rate_parse() - likewise, of bit, kbit, Mbit or Gbit a second, within the limits of a link. */
bool rate_parse(const char *s, u64 *bps);
/** link_text() - write a link in the same words to @buf. Return: as snprintf(). */
int link_text(const struct hca_uplink *link, char *buf, size_t size);

#endif
