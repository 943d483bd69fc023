/* SPDX-License-Identifier: MIT */
/** DOC: the memory of clients, and of modules of this process, as the engine names it. */
#ifndef FABRIC_CORE_MEMORY_H
#define FABRIC_CORE_MEMORY_H

#include "emulator/engine.h"
#include "fabric/proto/vmcopy.h"

struct fabric;

/** memory_vm_ctx() - how vm_copy() and vm_atomic() reach clients from here. */
struct vm_ctx memory_vm_ctx(struct fabric *f);
/**
 * memory_needs_helper() - whether only the client's own helper thread can reach bytes
 * [off, off + len) of @mem.
 */
bool memory_needs_helper(struct fabric *f, const struct hca_mem *mem, u64 off, u64 len);
/**
 * memory_lent_span() - where bytes [off, off + len) of @mem are mapped here, if all of them are
 * lent and the client does not keep this process from them. It holds as long as the token is held.
 * @v: has room for @max entries. Return: entries; 0: they are not.
 */
u32 memory_lent_span(struct fabric *f, const struct hca_mem *mem, u64 off, u64 len, struct iovec *v,
		     u32 max);
/** memory_store() - copy within this process, the last bytes last. */
void memory_store(void *dst, const void *src, u64 len);
/** memory_copy() - as engine_ops.copy, where no helper is needed. */
int memory_copy(struct fabric *f, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		u64 soff, u64 len);
#endif
