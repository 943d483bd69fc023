/* SPDX-License-Identifier: MIT */
/**
 * DOC: macros that describe structs of libibverbs and librdmacm field by field, as far as calls use
 * them.
 *
 * T is the struct that is being described. Only struct_*.c include this.
 */
#ifndef TRACES_CALLS_STRUCT_H
#define TRACES_CALLS_STRUCT_H

#include "traces/calls/desc.h"

#define FIELD(m, k, d)                                                                             \
	.name = #m, .off = offsetof(T, m), .size = sizeof(((T *)0)->m), .kind = (k), .dir = (d)
#define F(m, k, d)                                                                                 \
	{                                                                                          \
		FIELD(m, k, d), .count_off = VCOUNT_NONE                                           \
	}
#define FW(m, k, d, w)                                                                             \
	{                                                                                          \
		FIELD(m, k, d), .count_off = VCOUNT_NONE, .when = (uint64_t)(w)                    \
	}
#define FN(m, k, d, names)                                                                         \
	{                                                                                          \
		FIELD(m, k, d), .count_off = VCOUNT_NONE, .aux = &vnames_##names                   \
	}
#define FNW(m, k, d, names, w)                                                                     \
	{                                                                                          \
		FIELD(m, k, d), .count_off = VCOUNT_NONE, .aux = &vnames_##names,                  \
				.when = (uint64_t)(w)                                              \
	}
#define FO(m, o, d)                                                                                \
	{                                                                                          \
		FIELD(m, VK_OBJ, d), .count_off = VCOUNT_NONE, .obj = VOBJ_##o                     \
	}
#define FOW(m, o, d, w)                                                                            \
	{                                                                                          \
		FIELD(m, VK_OBJ, d), .count_off = VCOUNT_NONE, .obj = VOBJ_##o,                    \
				     .when = (uint64_t)(w)                                         \
	}
#define FS(m, s, d)                                                                                \
	{                                                                                          \
		FIELD(m, VK_STRUCT, d), .count_off = VCOUNT_NONE, .aux = &vstruct_##s              \
	}
#define FSW(m, s, d, w)                                                                            \
	{                                                                                          \
		FIELD(m, VK_STRUCT, d), .count_off = VCOUNT_NONE, .aux = &vstruct_##s,             \
					.when = (uint64_t)(w)                                      \
	}
#define FV(m, d, f)                                                                                \
	{                                                                                          \
		FIELD(m, VK_HEX, d), .count_off = VCOUNT_NONE, .fact = VFACT_##f                   \
	}
#define FVW(m, d, f, w)                                                                            \
	{                                                                                          \
		FIELD(m, VK_HEX, d), .count_off = VCOUNT_NONE, .fact = VFACT_##f,                  \
				     .when = (uint64_t)(w)                                         \
	}
/* Field @c is the count. */
#define FC(m, k, d, c)                                                                             \
	{                                                                                          \
		FIELD(m, k, d), .count_off = offsetof(T, c), .count_size = sizeof(((T *)0)->c)     \
	}
#define FCS(m, k, d, c, s)                                                                         \
	{                                                                                          \
		FIELD(m, k, d), .count_off = offsetof(T, c), .count_size = sizeof(((T *)0)->c),    \
				.aux = &vstruct_##s                                                \
	}

#define STRUCT(x)                                                                                  \
	const struct vstruct vstruct_##x = { .size = sizeof(T),                                    \
					     .n = VDESC_COUNT(fields_##x),                         \
					     .fields = fields_##x,                                 \
					     .mask_off = VCOUNT_NONE }
#define STRUCT_MASK(x, m, bits)                                                                    \
	const struct vstruct vstruct_##x = { .size = sizeof(T),                                    \
					     .n = VDESC_COUNT(fields_##x),                         \
					     .fields = fields_##x,                                 \
					     .mask_off = offsetof(T, m),                           \
					     .mask_size = sizeof(((T *)0)->m),                     \
					     .known = (uint64_t)(bits) }
/* A description that only this file uses, not in VSTRUCTS. */
#define LOCAL(x) static const struct vstruct vstruct_##x

#define IN    VDIR_IN
#define OUT   VDIR_OUT
#define BOTH  VDIR_BOTH
#define UINT  VK_UINT
#define INT   VK_INT
#define HEX   VK_HEX
#define BE    VK_BE
#define ENUM  VK_ENUM
#define FLAGS VK_FLAGS

#endif
