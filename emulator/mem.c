/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory keys: from a scatter list or a remote key to the memory of its owner.
 *
 * A key is the slot's index << 8 with a low byte that moves on, so a stale key is refused until 256
 * keys later.
 */
#include "emulator/mem.h"

/* --- what is wrong with a key, for the journal ------------------------------------------------ */

#define NEAREST_MAX 65536u /* regions that are compared at most */

static u64 mr_distance(const struct hca_mr *mr, u64 va)
{
	if (va < mr->iova)
		return mr->iova - va;
	return va - mr->iova < mr->len ? 0 : va - mr->iova - mr->len;
}

static const struct hca_mr *mr_find_nearest(const struct hca *hca, u32 pd, u64 va)
{
	u32 i, high = min_u32(min_u32(hca->tab[TAB_MR].high, HCA_MAX_MR), NEAREST_MAX);
	const struct hca_mr *mr, *found = NULL;

	for (i = 0; i < high; i++) {
		mr = &hca->mr[i];
		if (mr->client && mr->pd == pd && mr->kind < MR_NULL &&
		    (!found || mr_distance(mr, va) < mr_distance(found, va)))
			found = mr;
	}
	return found;
}

/* @qpn: the QP that a remote key is used on; 0: the key is used locally */
static enum key_fault key_find_fault(const struct hca_mr *mr, u32 pd, u32 qpn,
				     const struct journal_key *k)
{
	struct hca_iov iov;

	if (!mr)
		return KEY_UNKNOWN;
	if (mr->pd != pd)
		return KEY_OTHER_PD;
	if (qpn ? mr->kind == MR_NULL : mr->kind > MR_NULL)
		return KEY_KIND;
	if ((mr->access & k->need) != k->need)
		return KEY_RIGHT;
	if (qpn && mr->kind == MW_2 && mr->qpn != qpn)
		return KEY_OTHER_QP;
	return mr_translate(mr, k->va, k->len, &iov) ? KEY_OWNER : KEY_RANGE;
}

__cold void mem_key_refuse(struct hca *hca, u32 pd, u32 qpn, u32 key, u64 va, u64 len, u32 need)
{
	struct journal_key *k = &hca->key_fault;
	const struct hca_mr *mr = hca_mr_by_key(hca, key);

	*k = (struct journal_key){ .va = va, .len = len, .key = key, .need = (u16)need };
	k->fault = (u8)key_find_fault(mr, pd, qpn, k);
	if (!mr)
		mr = mr_find_nearest(hca, pd, va);
	if (mr) {
		k->near_key = mr->key;
		k->near_addr = mr->iova;
		k->near_len = mr->len;
		k->access = mr->access;
	}
}

__cold void mem_note_alignment(struct hca *hca, u64 va, u64 len, u32 bits)
{
	hca->key_fault =
		(struct journal_key){ .va = va, .len = len, .key = bits, .fault = KEY_ALIGNMENT };
}

/* --- checks ----------------------------------------------------------------------------------- */

int mem_local_list(struct hca *hca, u32 pd, const struct wq_sge *sge, u32 n, u32 need, u64 used,
		   struct hca_mem *mem, u64 *total, u32 *bad)
{
	u32 owner = 0, i;

	mem->kind = MEM_VM;
	mem->n = 0;
	*total = 0;
	for (i = 0; i < n && i < LIM_SGE; i++) {
		/* Each entry is read once: the client can still write to the ring. */
		struct wq_sge s = *(const volatile struct wq_sge *)&sge[i];
		const struct hca_mr *mr;
		u64 len;

		if (!s.len)
			continue;
		if (*total >= used) {
			*total += s.len;
			continue;
		}
		len = min_u64(s.len, used - *total);
		mr = mr_local(hca, pd, s.lkey, need);
		if (!mr || !mr_translate(mr, s.addr, len, &mem->iov[mem->n]) ||
		    (owner && owner != mr->client && mr->kind != MR_NULL)) {
			*bad = s.lkey;
			mem_key_refuse(hca, pd, 0, s.lkey, s.addr, len, need);
			return -EACCES;
		}
		if (likely(mr->kind != MR_NULL))
			owner = mr->client;
		*total += s.len;
		mem->n++;
	}
	mem->client = (likely(owner) ? owner : hca->pd[pd].client) - 1;
	return 0;
}

int mem_remote_flush(struct hca *hca, const struct hca_qp *qp, u32 pd, u32 rkey, u64 va, u64 len,
		     bool whole, u32 need)
{
	const struct hca_mr *mr = mr_remote(hca, qp, pd, rkey, need);
	struct hca_iov iov;

	if (!mr || (!whole && !mr_translate(mr, va, len, &iov))) {
		mem_key_refuse(hca, pd, qp->qpn, rkey, va, len, need);
		return -EACCES;
	}
	return 0;
}
