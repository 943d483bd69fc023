/* SPDX-License-Identifier: MIT */
/**
 * DOC: values that users write: numbers, sizes, yes or no.
 */
#ifndef FABRIC_COMMON_PARSE_H
#define FABRIC_COMMON_PARSE_H

#include "emulator/types.h"

#include <stdbool.h>

#define PARSE_SCALE_EXPECTED "a number from 0.001 to 1000, with up to 6 decimals"

/* Each returns whether the text is such a value. */

/** parse_number() - a decimal, 0x or 0 octal number up to @max. */
bool parse_number(const char *s, u64 max, u64 *out);
/**
 * parse_size() - a number of bytes up to @max, which may end in K, M or G for 1024, 1024^2, 1024^3.
 */
bool parse_size(const char *s, u64 max, u64 *out);
/** parse_bool() - 1, yes, true, on; or 0, no, false, off, "". */
bool parse_bool(const char *s, bool *out);
/** parse_scale() - a decimal number from 0.001 to 1000, in millionths. */
bool parse_scale(const char *s, u32 *ppm);

#endif
