/* SPDX-License-Identifier: MIT */
/** DOC: reading and writing links in words, see parse_link.h. */
#include "fabric/common/parse_link.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** struct unit - a suffix and its value. */
struct unit {
	const char *name;
	u64 value;
};

static const struct unit time_units[] = {
	{ "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 }, { NULL, 0 }
};
static const struct unit rate_units[] = {
	{ "Gbit", 1000000000 }, { "Mbit", 1000000 }, { "kbit", 1000 }, { "bit", 1 }, { NULL, 0 }
};

/* A whole number with a unit, of up to @max. */
static bool link_quantity_parse(const char *s, const struct unit *units, u64 max, u64 *out)
{
	char *end;
	u64 v;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtoull(s, &end, 10);
	for (; units->name && strcasecmp(units->name, end) != 0; units++)
		;
	if (errno || (!units->name && (*end || v)) || (units->name && v > max / units->value))
		return false;
	*out = units->name ? v * units->value : 0;
	return true;
}

bool time_parse(const char *s, u64 max, u64 *ns)
{
	return link_quantity_parse(s, time_units, max, ns);
}

bool rate_parse(const char *s, u64 *bps)
{
	return link_quantity_parse(s, rate_units, LINK_RATE_MAX, bps) && *bps >= LINK_RATE_MIN;
}

static const char *link_parse_word(struct hca_uplink *l, const char *key, const char *value)
{
	char mtu[8];

	if (!strcmp(key, "delay"))
		return link_quantity_parse(value, time_units, LINK_TIME_MAX, &l->delay_ns)
			       ? NULL
			       : "a time up to 10s, with its unit: ns, us, ms or s";
	if (!strcmp(key, "jitter"))
		return link_quantity_parse(value, time_units, LINK_TIME_MAX, &l->jitter_ns)
			       ? NULL
			       : "a time up to 10s, with its unit: ns, us, ms or s";
	if (!strcmp(key, "rate"))
		return rate_parse(value, &l->rate_bps) ? NULL : RATE_EXPECTED;
	for (l->mtu = 1; l->mtu <= 5; l->mtu++) {
		snprintf(mtu, sizeof(mtu), "%u", ib_mtu_bytes(l->mtu));
		if (!strcmp(mtu, value))
			return NULL;
	}
	return "256, 512, 1024, 2048 or 4096";
}

int link_parse(char *const *word, int n, struct hca_uplink *link, int *at, const char **what)
{
	static const char *const keys[] = { "delay", "jitter", "rate", "mtu" };
	size_t k;
	int i;

	*link = (struct hca_uplink){ 0 };
	*what = "delay, jitter, rate, mtu or none";
	*at = 0;
	if (n == 1 && !strcmp(word[0], "none"))
		return 0;
	for (i = 0; i < n; i += 2) {
		for (k = 0; k < ARRAY_SIZE(keys) && strcmp(keys[k], word[i]) != 0; k++)
			;
		*at = i;
		if (k == ARRAY_SIZE(keys))
			return -EINVAL;
		*at = i + 1;
		*what = link_parse_word(link, word[i], i + 1 < n ? word[i + 1] : "");
		if (*what)
			return -EINVAL;
		*what = "delay, jitter, rate, mtu or none";
	}
	*at = n;
	return n ? 0 : -EINVAL;
}

/* Write " key value", in the largest unit that divides the value. */
static int link_text_put(char *buf, size_t size, const char *key, u64 v, const struct unit *units)
{
	if (!v)
		return 0;
	while (units->value > 1 && v % units->value)
		units++;
	return snprintf(buf, size, " %s %llu%s", key, (unsigned long long)(v / units->value),
			units->name);
}

int link_text(const struct hca_uplink *l, char *buf, size_t size)
{
	char text[160];
	size_t n = 0;

	n += (size_t)link_text_put(text + n, sizeof(text) - n, "delay", l->delay_ns, time_units);
	n += (size_t)link_text_put(text + n, sizeof(text) - n, "jitter", l->jitter_ns, time_units);
	n += (size_t)link_text_put(text + n, sizeof(text) - n, "rate", l->rate_bps, rate_units);
	if (l->mtu)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " mtu %u", ib_mtu_bytes(l->mtu));
	return snprintf(buf, size, "%s", n ? text + 1 : "none");
}
