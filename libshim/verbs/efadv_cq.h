/* SPDX-License-Identifier: MIT */
/** DOC: struct efadv_cq, a part of each CQ: efadv_create_cq(3). */
#ifndef LIBSHIM_VERBS_EFADV_CQ_H
#define LIBSHIM_VERBS_EFADV_CQ_H

#include "emulator/types.h"

#include <infiniband/verbs.h>
#include <stdbool.h>

/** struct efadv_cq - read by the inline functions of efadv.h. */
struct efadv_cq {
	u64 comp_mask;
	int (*wc_read_sgid)(struct efadv_cq *efa, union ibv_gid *sgid);
	bool (*wc_is_unsolicited)(struct efadv_cq *efa);
};

#endif
