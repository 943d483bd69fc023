/* SPDX-License-Identifier: MIT */
/**
 * DOC: copies between the memories of client processes, part of the fabric's client library.
 *
 * The holder of the engine token moves the payload: a program (libshim) or the fabric process. It
 * sees each side of a copy in one of two ways: as plain memory of its own (its own program's
 * memory, or a mapped client segment), or as another process's memory that process_vm_readv(2) and
 * process_vm_writev(2) reach. Lent memory (docs/design/lent-memory.md) of another process is of the
 * first kind. The four combinations:
 *
 *	source	destination	how
 *	local	local		memcpy
 *	local	remote		process_vm_writev
 *	remote	local		process_vm_readv
 *	remote	remote		both, through a buffer in this process
 *
 * The last bytes land last. Programs poll the end of a buffer that is being written, so that end
 * must not appear before the rest. No copy routine promises an order (memcpy and the kernel's copy
 * start at any byte), so the tail, the last naturally aligned word of at most 8 bytes, is copied
 * separately: locally by a store with release semantics, remotely as an iovec entry of its own,
 * since the kernel works entry by entry, and bytes of one cache line need no such care. On a CPU
 * that reorders stores, neither holds: there the tail is a call of its own, after a fence. A tail
 * of 3, 5, 6 or 7 bytes takes several stores, or calls, the lowest byte first.
 *
 * Entries of null MRs read as zeros and discard what is written to them. Memory of another process
 * that the CPU's protection forbids is reached nevertheless (vm_forced.h).
 *
 * Addresses come from work requests and are not trusted: the kernel checks remote ones, this file
 * checks segment offsets. Only the own program's registered memory is accessed directly, so it must
 * stay mapped while it is registered, as with an HCA that does not pin.
 */
#ifndef FABRIC_PROTO_VMCOPY_H
#define FABRIC_PROTO_VMCOPY_H

#include "emulator/engine.h"

#include <sys/uio.h>

/** Results of vm_ctx.pid() other than a pid. */
#define VM_OWN	 0 /* it is this process: plain pointers */
#define VM_NOWAY (-1) /* alive, but this process may not touch its memory */
#define VM_GONE	 (-2) /* its process has exited */

#define VM_TAIL_MAX 8u /* a tail lies in one naturally aligned word */

/**
 * vm_tail_step() - how many of a tail's @len bytes at @addr one naturally aligned store takes.
 * @len: not 0
 */
static inline u64 vm_tail_step(uintptr_t addr, u64 len)
{
	u64 step = VM_TAIL_MAX;

	while (step > len || addr & (step - 1))
		step >>= 1;
	return step;
}

/**
 * struct vm_ctx - how this process reaches clients.
 * @ctx: argument of the callbacks
 * @seg: where the client's whole segment (SEG_SIZE bytes) is mapped here, or NULL
 * @pid: VM_OWN, VM_NOWAY, VM_GONE, or the client's pid in this process's PID namespace, verified
 * @lent: where the lent memory of another, live client at @addr is mapped here; NULL: it is not.
 *	The answer holds for *len bytes, at most as many as *len was. The callback may be NULL
 */
struct vm_ctx {
	void *ctx;
	void *(*seg)(void *ctx, u32 client);
	s32 (*pid)(void *ctx, u32 client);
	u8 *(*lent)(void *ctx, u32 client, u64 addr, u64 *len);
};

/* --- vm_span.c --- */

/** vm_is_lent() - whether bytes [off, off + len) of @mem are lent memory that is mapped here. */
bool vm_is_lent(const struct vm_ctx *vm, const struct hca_mem *mem, u64 off, u64 len);
/**
 * vm_lent_span() - where these bytes are mapped here, as @v, which has room for @max entries.
 * Return: entries; 0: not all of them are lent and mapped here, or @v has no room.
 */
u32 vm_lent_span(const struct vm_ctx *vm, const struct hca_mem *mem, u64 off, u64 len,
		 struct iovec *v, u32 max);

/* --- vmcopy.c --- */

/**
 * vm_copy() - copy @len bytes from @src at byte @soff to @dst at byte @doff, the last ones last.
 * Token held: the buffer for remote-to-remote copies is one per process.
 * Return: 0; -EFAULT_SRC or -EFAULT_DST: that side does not exist (unmapped, out of its segment);
 * -ESRCH: its process is dead; -EAGAIN: this process cannot reach it. A failed copy may have
 * written a part of the destination.
 */
int vm_copy(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
	    u64 soff, u64 len);

/** vm_store() - copy within this process, the last bytes last. */
void vm_store(void *dst, const void *src, u64 len);
/**
 * vm_write_line() - copy to @addr of process @pid, within one cache line, the last bytes not before
 * the others. Return: success; false: vm_copy() finds out why, or does it.
 */
bool vm_write_line(s32 pid, u64 addr, const void *from, u64 len);

/**
 * vm_atomic() - compare-and-swap or fetch-and-add of the 8-byte aligned word @addr of a client.
 * @op: WR_ATOMIC_CMP_AND_SWP or WR_ATOMIC_FETCH_AND_ADD
 * @res: receives the old value and the new one, before memory is changed
 *
 * In this process's memory, and in lent memory, it is a CPU atomic. In another process it is a read
 * and a write under the token: atomic among the operations of this HCA (IBV_ATOMIC_HCA), which is
 * what devices report.
 * Return: 0, -EFAULT_DST, -ESRCH or -EAGAIN, as vm_copy().
 */
int vm_atomic(const struct vm_ctx *vm, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
	      struct atomic_res *res);

/**
 * vm_probe() - whether process @pid holds the word @cookie at @cookie_addr.
 * This proves that the pid is the client's and that its memory can be reached.
 * Return: 0; -ESRCH: there is no such process; -EPERM: the kernel refuses; -ENOENT: the word is
 * another.
 */
int vm_probe(s32 pid, u64 cookie_addr, u64 cookie);

#endif
