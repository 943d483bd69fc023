/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory keys: from a scatter list or a remote key to memory. See mem.c.
 *
 * Every message needs one or two keys, so the checks of a single key are inline.
 */
#ifndef EMULATOR_MEM_H
#define EMULATOR_MEM_H

#include "emulator/hca.h"

/** hca_mr_by_key() - the live MR with that key, or NULL. */
static inline struct hca_mr *hca_mr_by_key(struct hca *hca, u32 key)
{
	struct hca_mr *mr = &hca->mr[(key >> 8) & (HCA_MAX_MR - 1)];

	return key && mr->client && mr->key == key ? mr : NULL;
}

/** mr_translate() - translate [va, va + len) of a region into its owner's memory. */
static inline bool mr_translate(const struct hca_mr *mr, u64 va, u64 len, struct hca_iov *iov)
{
	if (va < mr->iova || len > mr->len || va - mr->iova > mr->len - len)
		return false;
	iov->addr = mr->kind == MR_NULL ? IOV_NULL : mr->addr + (va - mr->iova);
	iov->len = len;
	return true;
}

/** mr_owner() - the client that owns the memory of a region or window. */
static inline u32 mr_owner(const struct hca *hca, const struct hca_mr *mr)
{
	return (likely(mr->kind < MW_1) ? mr : &hca->mr[mr->mr - 1])->client - 1;
}

/** mr_remote() - the region or window of a remote key, with all of @need; NULL: it is refused. */
static inline const struct hca_mr *mr_remote(struct hca *hca, const struct hca_qp *qp, u32 pd,
					     u32 rkey, u32 need)
{
	const struct hca_mr *mr = hca_mr_by_key(hca, rkey);

	if (!mr || mr->pd != pd || mr->kind == MR_NULL || (mr->access & need) != need)
		return NULL;
	return unlikely(mr->kind == MW_2) && mr->qpn != qp->qpn ? NULL : mr;
}

/** mr_local() - the region of a local key, with all of @need; NULL: it is refused. */
static inline const struct hca_mr *mr_local(struct hca *hca, u32 pd, u32 lkey, u32 need)
{
	const struct hca_mr *mr = hca_mr_by_key(hca, lkey);

	return !mr || mr->pd != pd || mr->kind > MR_NULL || (mr->access & need) != need ? NULL : mr;
}

/**
 * mem_local_one() - as mem_local() of one entry, of which the message takes @len bytes, not 0: the
 * memory goes to *iov, its client to *owner. Return: false: it is refused, or shorter; the journal
 * does not learn why.
 */
static inline __attribute__((always_inline)) bool mem_local_one(struct hca *hca, u32 pd,
								const struct wq_sge *sge, u32 need,
								u64 len, u32 *owner,
								struct hca_iov *iov)
{
	u64 addr = load_relaxed(&sge->addr);
	u32 have = load_relaxed(&sge->len);
	const struct hca_mr *mr = mr_local(hca, pd, load_relaxed(&sge->lkey), need);

	if (unlikely(!mr || len > have || !mr_translate(mr, addr, len, iov)))
		return false;
	*owner = (likely(mr->kind != MR_NULL) ? mr->client : hca->pd[pd].client) - 1;
	return true;
}

/* --- mem.c --- */

/**
 * mem_key_refuse() - note for the journal why a key is refused. @qpn: the QP that a remote key is
 * used on; 0: the key is used locally
 */
__cold void mem_key_refuse(struct hca *hca, u32 pd, u32 qpn, u32 key, u64 va, u64 len, u32 need);
/** mem_local_list() - mem_local() of a list of any length. */
int mem_local_list(struct hca *hca, u32 pd, const struct wq_sge *sge, u32 n, u32 need, u64 used,
		   struct hca_mem *mem, u64 *total, u32 *bad);

/**
 * mem_local() - check a scatter/gather list against the protection domain and turn it into memory.
 * @need: ACC_LOCAL_WRITE when it is written to, else 0
 * @used: bytes that the message takes of it. As in rxe's copy_data() (rxe_mr.c), only these must
 *	lie in their regions: @mem ends with them, and entries after them are counted, not checked
 * Return: 0, or -EACCES with the refused key in *bad. *total gets the sum of lengths.
 */
static inline __attribute__((always_inline)) int mem_local(struct hca *hca, u32 pd,
							   const struct wq_sge *sge, u32 n,
							   u32 need, u64 used, struct hca_mem *mem,
							   u64 *total, u32 *bad)
{
	const struct hca_mr *mr;
	struct wq_sge s;
	u64 len;

	if (n != 1)
		return mem_local_list(hca, pd, sge, n, need, used, mem, total, bad);
	/* The entry is read once: the client can still write to the ring. */
	s.addr = load_relaxed(&sge->addr);
	s.len = load_relaxed(&sge->len);
	s.lkey = load_relaxed(&sge->lkey);
	*total = s.len;
	len = min_u64(s.len, used);
	mem->kind = MEM_VM;
	mem->n = len ? 1 : 0;
	if (unlikely(!len)) {
		mem->client = hca->pd[pd].client - 1;
		return 0;
	}
	mr = mr_local(hca, pd, s.lkey, need);
	if (unlikely(!mr || !mr_translate(mr, s.addr, len, &mem->iov[0]))) {
		*bad = s.lkey;
		mem_key_refuse(hca, pd, 0, s.lkey, s.addr, len, need);
		return -EACCES;
	}
	mem->client = (likely(mr->kind != MR_NULL) ? mr->client : hca->pd[pd].client) - 1;
	return 0;
}

/**
 * mem_remote() - check a remote key for [va, va + len) and @need; the memory goes to *mem.
 * @pd: the QP's, or for XRC that of the SRQ which the request names
 */
static inline int mem_remote(struct hca *hca, const struct hca_qp *qp, u32 pd, u32 rkey, u64 va,
			     u64 len, u32 need, struct hca_mem *mem)
{
	const struct hca_mr *mr;

	mem->client = qp->client - 1;
	mem->kind = MEM_VM;
	mem->n = 0;
	if (!len)
		return 0;
	mr = mr_remote(hca, qp, pd, rkey, need);
	if (unlikely(!mr || !mr_translate(mr, va, len, &mem->iov[0]))) {
		mem_key_refuse(hca, pd, qp->qpn, rkey, va, len, need);
		return -EACCES;
	}
	mem->client = mr_owner(hca, mr);
	mem->n = 1;
	return 0;
}

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
