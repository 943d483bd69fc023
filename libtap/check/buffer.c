/* SPDX-License-Identifier: MIT */
/*
 * Buffers of outstanding work requests, which belong to the device until the program polls their
 * completion (--check=buffers).
 *
 * The first 64 KiB of what a send reads, but for guarded pages (guard.h), are hashed when it is
 * posted and when its completion is polled. A difference is the program's doing unless the device
 * may have written there: as the target of a receive, READ or atomic, or through a region with
 * remote rights. Memory is read by process_vm_readv(2), because the program may have unmapped it.
 */
#include "libtap/check/checks.h"
#include "libtap/check/guard.h"

#include <sys/uio.h>
#include <unistd.h>

#define BUFFER_HASHED (64u << 10)
#define BUFFER_CHUNK  4096u

static u64 buffer_mix(u64 hash, const u8 *data, size_t len)
{
	u64 word;
	size_t i;

	for (i = 0; i < len; i += sizeof(word)) {
		word = 0;
		memcpy(&word, data + i, min_u64(sizeof(word), len - i));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

/* Return: false: it cannot be read. */
static bool buffer_hash_range(u64 addr, u64 len, u64 *hash)
{
	u8 chunk[BUFFER_CHUNK];
	u64 at, n;

	for (at = 0; at < len; at += n) {
		struct iovec to = { chunk, 0 }, from;

		n = min_u64(len - at, sizeof(chunk));
		to.iov_len = n;
		from = (struct iovec){ (void *)(uintptr_t)(addr + at), n };
		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)n)
			return false;
		*hash = buffer_mix(*hash, chunk, n);
	}
	return true;
}

/* Guarded private pages cannot change unnoticed: a word of them says that they are still mapped. */
static bool buffer_hash_segment(const struct check_wr *wr, u32 i, u64 len, u64 *hash)
{
	u64 from = wr->sge[i].addr, to = from + wr->sge[i].length, first, last;

	if (!wr->guard[i] || wr->guardable[i] != CHECK_GUARDS_ALL)
		return buffer_hash_range(from, len, hash);
	check_guard_pages(&wr->sge[i], &first, &last);
	return buffer_hash_range(from, first - from, hash) &&
	       buffer_hash_range(first, sizeof(u64), hash) &&
	       buffer_hash_range(last, to - last, hash);
}

static bool buffer_hash(const struct check_wr *wr, u64 *hash)
{
	u64 left = BUFFER_HASHED, len;
	u32 i;

	*hash = 0;
	for (i = 0; i < wr->n_sge && left; i++, left -= len) {
		len = min_u64(wr->sge[i].length, left);
		if (!buffer_hash_segment(wr, i, len, hash))
			return false;
	}
	return true;
}

static bool buffer_is_watched(void)
{
	return check_report_is_on(FINDING_WR_BUFFER_WRITTEN) ||
	       check_report_is_on(FINDING_WR_BUFFER_UNMAPPED);
}

void check_buffer_owned(struct check_wr *wr)
{
	int saved = errno;
	u32 i;

	if (!buffer_is_watched() || !check_request_reads_memory(wr->opcode) || !wr->n_sge)
		return;
	for (i = 0; i < wr->n_sge; i++)
		if (!wr->mr[i])
			return;
	wr->hashed = buffer_hash(wr, &wr->hash);
	errno = saved;
}

/* --- who has written --- */

struct buffer_range {
	u64 addr;
	u64 len;
};

static bool buffer_meets(const struct buffer_range *r, u64 from, u64 to)
{
	return r->addr < to && from < r->addr + r->len;
}

/* Whether the device may write to a range through a region. */
static bool buffer_region_is_target(struct check_obj *c, void *arg)
{
	const struct buffer_range *r = arg;
	const struct check_mr *mr = &c->mr;

	if (!buffer_meets(r, mr->addr, mr->addr + mr->len))
		return false;
	return !mr->has_access || mr->iova != mr->addr ||
	       (mr->access &
		(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)) ||
	       buffer_meets(r, mr->target_from, mr->target_to);
}

static bool buffer_is_target(const struct check_wr *wr)
{
	struct buffer_range r;
	u32 i;

	for (i = 0; i < wr->n_sge; i++) {
		r = (struct buffer_range){ wr->sge[i].addr, wr->sge[i].length };
		if (check_obj_for_each(VOBJ_MR, buffer_region_is_target, &r))
			return true;
	}
	return false;
}

void check_buffer_spare_targets(struct check_wr *wr)
{
	u32 i;

	for (i = 0; i < wr->n_sge; i++)
		if (wr->guardable[i] == CHECK_GUARDS_SENDS && buffer_is_target(wr))
			wr->guardable[i] = CHECK_UNGUARDED;
}

void check_buffer_returned(const struct check_obj *qp, const struct check_wr *wr)
{
	struct check_other other = { "completion polled", 0 };
	int saved = errno;
	bool readable;
	u64 hash, to;

	if (!wr->hashed || check_guard_was_used(wr))
		return;
	readable = buffer_hash(wr, &hash);
	errno = saved;
	if ((readable && hash == wr->hash) || buffer_is_target(wr))
		return;
	other.stack = check_stack_here();
	to = wr->sge[0].addr + wr->sge[0].length;
	check_report_at(readable ? FINDING_WR_BUFFER_WRITTEN : FINDING_WR_BUFFER_UNMAPPED,
			wr->stack, other,
			"qp%u, wr_id 0x%llx: its buffer [0x%llx, 0x%llx) was %s before its "
			"completion was polled",
			qp->ord, (unsigned long long)wr->wr_id, (unsigned long long)wr->sge[0].addr,
			(unsigned long long)to, readable ? "written" : "unmapped");
}

/* --- targets --- */

void check_buffer_target(const struct tap_obj *ctx, const struct ibv_sge *sge, size_t n)
{
	struct check_obj *mr;
	size_t i;

	if (!buffer_is_watched())
		return;
	for (i = 0; i < n; i++) {
		mr = check_obj_of(tap_obj_find_mr(ctx, sge[i].lkey));
		if (mr)
			check_mr_add_target(mr, sge[i].addr, sge[i].addr + sge[i].length);
	}
}

/* Receives into the same memory: which message stays there is luck. */
void check_buffer_receive(const struct check_obj *qp, const struct check_wr *wr)
{
	const struct check_wr *other;

	if (!check_report_is_on(FINDING_WR_RECEIVE_OVERLAP))
		return;
	other = check_request_find_overlap(&qp->qp.rq, wr, false);
	if (other)
		check_report(FINDING_WR_RECEIVE_OVERLAP,
			     (struct check_other){ "posted before", other->stack },
			     "qp%u: receive wr_id 0x%llx has memory of wr_id 0x%llx, which is "
			     "outstanding",
			     qp->ord, (unsigned long long)wr->wr_id,
			     (unsigned long long)other->wr_id);
}
