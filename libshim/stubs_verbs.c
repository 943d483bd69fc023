// SPDX-License-Identifier: MIT
/* Verbs of libibverbs without an implementation. See stubs.h. */
#include "libshim/stubs.h"

#include <infiniband/verbs.h>

/* Sharing objects between processes: ibv_import_device(3), ibv_import_pd(3), _mr(3), _dm(3). */
STUB_NULL(struct ibv_context *, ibv_import_device, int cmd_fd)
STUB_NULL(struct ibv_pd *, ibv_import_pd, struct ibv_context *context, uint32_t pd_handle)
STUB_VOID(ibv_unimport_pd, struct ibv_pd *pd)
STUB_NULL(struct ibv_mr *, ibv_import_mr, struct ibv_pd *pd, uint32_t mr_handle)
STUB_VOID(ibv_unimport_mr, struct ibv_mr *mr)
STUB_NULL(struct ibv_dm *, ibv_import_dm, struct ibv_context *context, uint32_t dm_handle)
STUB_VOID(ibv_unimport_dm, struct ibv_dm *dm)

/* ibv_reg_dmabuf_mr(3): NCCL probes it with fd -1, EOPNOTSUPP tells it that there is no support. */
STUB_NULL(struct ibv_mr *, ibv_reg_dmabuf_mr, struct ibv_pd *pd, uint64_t offset, size_t length,
	  uint64_t iova, int fd, int access)

/* Enhanced connection establishment: ibv_query_ece(3), ibv_set_ece(3). */
STUB_ERRNO(ibv_query_ece, struct ibv_qp *qp, struct ibv_ece *ece)
STUB_ERRNO(ibv_set_ece, struct ibv_qp *qp, struct ibv_ece *ece)

/* ibv_query_qp_data_in_order(3): it has no error; 0 promises nothing. */
SHIM_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}
