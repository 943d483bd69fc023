/* SPDX-License-Identifier: MIT */
/** DOC: numbers in frames: little-endian, at any address. */
#ifndef FABRIC_JOIN_BYTES_H
#define FABRIC_JOIN_BYTES_H

#include "emulator/types.h"

#include <endian.h>

/** codec_put16(), codec_put32(), codec_get16(), codec_get32() - write or read a number. */
static inline void codec_put16(u8 *p, u16 v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void codec_put32(u8 *p, u32 v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline u16 codec_get16(const u8 *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline u32 codec_get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

#endif
