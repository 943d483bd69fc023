/* SPDX-License-Identifier: MIT */
/*
 * Remote rights of regions, and which of them peers use. The board has each rkey that a request of
 * the run has named, with the rights that such requests need.
 */
#include "libtap/check/board.h"
#include "libtap/check/checks.h"
#include "traces/calls/desc.h"

#define RIGHTS_REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static u32 rights_needed(u32 opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_READ:
		return IBV_ACCESS_REMOTE_READ;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_ATOMIC_WRITE:
		return IBV_ACCESS_REMOTE_WRITE;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_ACCESS_REMOTE_ATOMIC;
	default:
		return 0;
	}
}

void check_rights_needed(struct check_obj *qp, const struct check_wr *wr)
{
	u32 right = rights_needed(wr->opcode);
	const struct board_qp *peer;
	struct board_attr attr;

	if (!right || !qp->qp.place || !check_report_is_on(FINDING_MR_RIGHTS_UNUSED))
		return;
	peer = check_board_find_peer(qp, &attr);
	if (peer)
		check_board_use_key(load_relaxed(&peer->owner), wr->rkey, right);
}

static const char *rights_text(u32 rights, char *text, size_t size)
{
	return check_flag_names(&vnames_access, rights & RIGHTS_REMOTE, text, size);
}

void check_rights_judge(const struct check_obj *mr)
{
	char has[128], used[128];
	u32 rights;

	if (!check_report_is_on(FINDING_MR_RIGHTS_UNUSED) || !mr->mr.has_access ||
	    mr->mr.access & IBV_ACCESS_MW_BIND)
		return;
	rights = check_board_used_rights(mr->mr.rkey);
	if (rights && mr->mr.access & RIGHTS_REMOTE & ~rights)
		check_report_at(FINDING_MR_RIGHTS_UNUSED, mr->stack,
				(struct check_other){ NULL, 0 },
				"mr%u [0x%llx, 0x%llx) was registered with %s, and its peers have "
				"used %s",
				mr->ord, (unsigned long long)mr->mr.addr,
				(unsigned long long)mr->mr.addr + mr->mr.len,
				rights_text(mr->mr.access, has, sizeof(has)),
				rights_text(rights, used, sizeof(used)));
	check_board_forget_key(mr->mr.rkey);
}

static bool rights_judge_one(struct check_obj *mr, void *arg)
{
	(void)arg;
	check_rights_judge(mr);
	return false;
}

void check_rights_finish(void)
{
	if (check_report_is_on(FINDING_MR_RIGHTS_UNUSED))
		check_obj_for_each(VOBJ_MR, rights_judge_one, NULL);
}
