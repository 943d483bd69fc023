/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory keys: from a scatter list or a remote key to memory. See mem.c.
 */
#ifndef EMULATOR_MEM_H
#define EMULATOR_MEM_H

#include "emulator/hca.h"

/* --- mem.c --- */

/** hca_mr_by_key() - the live MR with that key, or NULL. */
struct hca_mr *hca_mr_by_key(struct hca *hca, u32 key);
/**
 * mem_local() - check a scatter/gather list against the protection domain and turn it into memory.
 * @need: ACC_LOCAL_WRITE when it is written to, else 0
 * @used: bytes that the message takes of it. As in rxe's copy_data() (rxe_mr.c), only these must
 *	lie in their regions: @mem ends with them, and entries after them are counted, not checked
 * Return: 0, or -EACCES with the refused key in *bad. *total gets the sum of lengths.
 */
int mem_local(struct hca *hca, u32 pd, const struct wq_sge *sge, u32 n, u32 need, u64 used,
	      struct hca_mem *mem, u64 *total, u32 *bad);
/**
 * mem_remote() - check a remote key for [va, va + len) and @need; the memory goes to *mem.
 * @pd: the QP's, or for XRC that of the SRQ which the request names
 */
int mem_remote(struct hca *hca, const struct hca_qp *qp, u32 pd, u32 rkey, u64 va, u64 len,
	       u32 need, struct hca_mem *mem);
/**
 * mem_remote_flush() - check a remote key for a FLUSH, which names memory and moves none.
 * @whole: all of the region or window; @va and @len mean nothing
 * @need: rights, ACC_FLUSH_*; 0: the key alone is checked
 * Return: 0 or -EACCES.
 */
int mem_remote_flush(struct hca *hca, const struct hca_qp *qp, u32 pd, u32 rkey, u64 va, u64 len,
		     bool whole, u32 need);
/**
 * mem_note_alignment() - an address is refused because of its low bits, @bits: the journal names
 * it.
 */
void mem_note_alignment(struct hca *hca, u64 va, u64 len, u32 bits);

#endif
