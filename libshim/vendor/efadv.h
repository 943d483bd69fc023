/* SPDX-License-Identifier: MIT */
/**
 * DOC: what libefa's functions are passed: efadv.c. The layouts of efadv(7), as of rdma-core 65.
 */
#ifndef LIBSHIM_VENDOR_EFADV_H
#define LIBSHIM_VENDOR_EFADV_H

#include "libshim/verbs/efadv_cq.h"

struct efadv_device_attr {
	u64 comp_mask;
	u32 max_sq_wr;
	u32 max_rq_wr;
	u16 max_sq_sge;
	u16 max_rq_sge;
	u16 inline_buf_size;
	u16 inline_buf_size_ex;
	u32 device_caps;
	u32 max_rdma_size;
};

struct efadv_ah_attr {
	u64 comp_mask;
	u16 ahn;
	u8 reserved[6];
};

enum {
	EFADV_QP_DRIVER_TYPE_SRD = 0,
};

struct efadv_qp_init_attr {
	u64 comp_mask;
	u32 driver_qp_type;
	u16 flags;
	u8 sl;
	u8 reserved;
	u64 wr_flags;
};

enum {
	EFADV_WC_EX_WITH_SGID = 1 << 0,
};

struct efadv_cq_init_attr {
	u64 comp_mask;
	u64 wc_flags;
	u64 flags;
	struct {
		u8 *buffer;
		u64 length;
		u64 offset;
		s32 fd;
		u8 reserved[4];
	} ext_mem_dmabuf;
};

struct efadv_mr_attr {
	u64 comp_mask;
	u16 ic_id_validity;
	u16 recv_ic_id;
	u16 rdma_read_ic_id;
	u16 rdma_recv_ic_id;
};

#endif
