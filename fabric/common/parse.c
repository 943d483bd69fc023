/* SPDX-License-Identifier: MIT */
/**
 * DOC: values that users write, see parse.h.
 */
#include "fabric/common/parse.h"
#include "emulator/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool parse_number(const char *s, u64 max, u64 *out)
{
	char *end;
	unsigned long long v;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtoull(s, &end, 0);
	if (errno || *end || v > max)
		return false;
	*out = v;
	return true;
}

bool parse_scale(const char *s, u32 *ppm)
{
	u64 v = 0, unit = CLOCK_PPM;
	bool point = false;

	if (!isdigit((unsigned char)*s))
		return false;
	for (; *s; s++) {
		if (*s == '.' && !point) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)*s) || (point && unit == 1))
			return false;
		v = v * 10 + (u64)(*s - '0');
		if (point)
			unit /= 10;
		if (v > CLOCK_PPM_MAX)
			return false;
	}
	v *= unit;
	if (v < CLOCK_PPM_MIN || v > CLOCK_PPM_MAX)
		return false;
	*ppm = (u32)v;
	return true;
}

bool parse_bool(const char *s, bool *out)
{
	static const char *const yes[] = { "1", "yes", "true", "on" };
	static const char *const no[] = { "", "0", "no", "false", "off" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(yes); i++)
		if (!strcmp(s, yes[i]))
			return *out = true;
	for (i = 0; i < ARRAY_SIZE(no); i++)
		if (!strcmp(s, no[i])) {
			*out = false;
			return true;
		}
	return false;
}

bool parse_size(const char *s, u64 max, u64 *out)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;
	unsigned long long v;
	u32 shift = 0;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtoull(s, &end, 10);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (u32)(unit - units + 1);
		end++;
	}
	if (errno || *end || v > max >> shift)
		return false;
	*out = v << shift;
	return true;
}
