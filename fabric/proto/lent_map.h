/* SPDX-License-Identifier: MIT */
/**
 * DOC: the memory file of another process, as mapped here (docs/design/lent-memory.md).
 *
 * The file and the table of what lies in it are another process's, which may be hostile. A mapped
 * file never becomes shorter, or a copy would end this process by SIGBUS: seals promise it, and
 * only memory files have them. Offsets are checked against the mapping. What else the table says
 * harms nobody but its owner: the file has no memory but its own.
 */
#ifndef FABRIC_PROTO_LENT_MAP_H
#define FABRIC_PROTO_LENT_MAP_H

#include "fabric/proto/seg_map.h"

/**
 * struct lent_map - the mappings of a client's memory file. All 0: there is none.
 * @refused: bytes that could not be mapped, which are not asked for again; 0: none
 */
struct lent_map {
	struct seg_map map;
	u64 refused;
};

/**
 * typedef lent_map_fn - map @size bytes of a client's memory file. Return: where, or NULL.
 */
typedef void *(*lent_map_fn)(void *ctx, u32 client, u64 size);

/* --- lent_map.c --- */

/** lent_file_check() - whether @fd is a memory file that cannot shrink. Return: 0 or -EINVAL. */
int lent_file_check(int fd);
/**
 * lent_find() - the lent range that has @addr.
 * @len: bytes from @addr on; cut down to those that are in the same range, or in none, as the first
 * Return: whether there is one. @off: receives the place of @addr in the file
 */
bool lent_find(const struct seg_lent_table *t, u64 addr, u64 *len, u64 *off);
/** lent_map_at() - as vm_ctx.lent, for a client with the table @t. @more: maps more of its file */
u8 *lent_map_at(struct lent_map *m, const struct seg_lent_table *t, u64 addr, u64 *len,
		lent_map_fn more, void *ctx, u32 client);
/** lent_map_drop() - unmap all of it. */
void lent_map_drop(struct lent_map *m);

#endif
