/* SPDX-License-Identifier: MIT */
/**
 * DOC: copies that pass over the CPU's protection of memory.
 *
 * An HCA moves data by the physical addresses of pages that were pinned when they were registered:
 * a program that has taken its own rights away with mprotect(2) meanwhile, as garbage collectors
 * and debugging tools do, still has its completions and its data. process_vm_readv(2) and
 * process_vm_writev(2) respect those rights, so where they fail the bytes pass through
 * /proc/PID/mem, by which the kernel lets those reach a process that may trace it. It needs the
 * same permission as the two calls. Memory that is not mapped stays unreachable, and so does shared
 * memory that must not be written.
 */
#ifndef FABRIC_PROTO_VM_FORCED_H
#define FABRIC_PROTO_VM_FORCED_H

#include "fabric/proto/vm_span.h"

/* --- vm_forced.c --- */

/**
 * vm_forced_copy() - as vm_copy(), after that has failed with @ret.
 * Return: 0, -EFAULT_SRC or -EFAULT_DST; @ret: it cannot be done in this way.
 */
int vm_forced_copy(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff,
		   const struct hca_mem *src, u64 soff, u64 len, int ret);
/** vm_forced_bytes() - read memory at @addr of process @pid, or write it. Return: success */
bool vm_forced_bytes(s32 pid, u64 addr, void *data, u64 len, bool write);

#endif
