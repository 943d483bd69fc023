/* SPDX-License-Identifier: MIT */
/**
 * DOC: copies between the memories of client processes, part of the fabric's client library.
 *
 * Theory of operation
 * -------------------
 * Whoever holds the engine token moves the payload: a program (libshim) or the fabric process. Both
 * see each side of a copy in one of two ways: as plain memory of their own (their own program's
 * memory, or a mapped client segment), or as another process's memory that process_vm_readv(2) and
 * process_vm_writev(2) reach. The four combinations:
 *
 *	source	destination	how
 *	local	local		memcpy
 *	local	remote		process_vm_writev
 *	remote	local		process_vm_readv
 *	remote	remote		both, through a buffer in this process
 *
 * The last bytes land last. Programs poll the end of a buffer that is being written, so what they
 * poll must not appear before the rest. No copy routine promises an order (memcpy and the kernel's
 * copy start where they like), so the tail, the last naturally aligned word of at most 8 bytes, is
 * kept apart: locally it is stored on its own with release semantics, remotely it is an iovec entry
 * of its own, and the kernel works entry by entry. What lies in one cache line needs no such care.
 *
 * Entries of null MRs read as zeros and swallow what is written to them.
 *
 * Addresses come from work requests and are not trusted: the kernel checks remote ones, segment
 * offsets are checked here. Only the own program's registered memory is accessed directly, so
 * it must stay mapped while registered, as with an HCA that does not pin.
 */
#ifndef FABRIC_PROTO_VMCOPY_H
#define FABRIC_PROTO_VMCOPY_H

#include "emulator/engine.h"

/** Answers of vm_ctx.pid() other than a pid. */
#define VM_OWN	 0 /* it is this process: plain pointers */
#define VM_NOWAY (-1) /* alive, but this process may not touch its memory */
#define VM_GONE	 (-2) /* its process has exited */

/**
 * struct vm_ctx - how this process sees clients.
 * @ctx: handed to the callbacks
 * @seg: where the client's whole segment (SEG_SIZE bytes) is mapped here, or NULL
 * @pid: VM_OWN, VM_NOWAY, VM_GONE, or the client's pid as this process sees it, known to be right
 */
struct vm_ctx {
	void *ctx;
	void *(*seg)(void *ctx, u32 client);
	s32 (*pid)(void *ctx, u32 client);
};

/**
 * vm_copy() - copy @len bytes from @src at byte @soff to @dst at byte @doff, the last ones last.
 * Token held: the buffer for remote-to-remote copies is one per process.
 * Return: 0; -EFAULT_SRC or -EFAULT_DST when that side is not there (unmapped, out of its segment);
 * -ESRCH when its process is dead; -EAGAIN when this process cannot reach it. A failed copy may have
 * written a part of the destination.
 */
int vm_copy(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
	    u64 soff, u64 len);

/**
 * vm_atomic() - compare-and-swap or fetch-and-add of the 8-byte aligned word @addr of a client.
 * @op: WR_ATOMIC_CMP_AND_SWP or WR_ATOMIC_FETCH_AND_ADD
 * @res: receives the value before and the one to come, before memory is changed
 * In the own process it is a CPU atomic. In another it is a read and a write under the token:
 * atomic among the operations of this HCA (IBV_ATOMIC_HCA), which is what devices report.
 * Return: 0, -EFAULT_DST, -ESRCH or -EAGAIN, as vm_copy().
 */
int vm_atomic(const struct vm_ctx *vm, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
	      struct atomic_res *res);

/**
 * vm_probe() - whether process @pid holds the word @cookie at @cookie_addr.
 * Proves that a pid is the client it is thought to be and that its memory can be reached.
 * Return: 0; -ESRCH when there is no such process; -EPERM when the kernel refuses; -ENOENT when
 * the word is another.
 */
int vm_probe(s32 pid, u64 cookie_addr, u64 cookie);

#endif
