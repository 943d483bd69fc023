// SPDX-License-Identifier: MIT
/* Verbs of libibverbs without an implementation. See stubs.h. */
#include "libshim/stubs.h"

#include <infiniband/verbs.h>

/* Enhanced connection establishment: ibv_query_ece(3), ibv_set_ece(3). */
STUB_ERRNO(ibv_query_ece, struct ibv_qp *qp, struct ibv_ece *ece)
STUB_ERRNO(ibv_set_ece, struct ibv_qp *qp, struct ibv_ece *ece)

/* ibv_query_qp_data_in_order(3): it has no error; 0 promises nothing. */
SHIM_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}
