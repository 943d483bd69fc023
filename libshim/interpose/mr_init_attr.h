/* SPDX-License-Identifier: MIT */
/**
 * DOC: the attributes of ibv_reg_mr_ex(3). The function is newer than rdma-core 44, so installed
 * headers may or may not declare them: shim and tap use names of their own.
 */
#ifndef LIBSHIM_INTERPOSE_MR_INIT_ATTR_H
#define LIBSHIM_INTERPOSE_MR_INIT_ATTR_H

#include "emulator/types.h"

#include <stddef.h>

/**
 * struct mr_init_attr - struct ibv_mr_init_attr of verbs.h.
 * @length: bytes of the region; @access: enum ibv_access_flags
 * @comp_mask: which of the members after it are valid, enum mr_init_attr_mask
 * @iova: address of the region for the device; @addr: address in the program
 * @fd, @fd_offset: a dma-buf, and the region's offset in it
 * @dmah: struct ibv_dmah; @buf: struct ibv_buf. Both are opaque.
 */
struct mr_init_attr {
	size_t length;
	int access;
	u64 comp_mask;
	u64 iova;
	void *addr;
	int fd;
	u64 fd_offset;
	void *dmah;
	void *buf;
};

_Static_assert(sizeof(struct mr_init_attr) == 72, "struct ibv_mr_init_attr of verbs.h");

/** enum mr_init_attr_mask - enum ibv_mr_init_attr_mask of verbs.h. */
enum mr_init_attr_mask {
	MR_INIT_IOVA = 1 << 0,
	MR_INIT_ADDR = 1 << 1,
	MR_INIT_FD = 1 << 2,
	MR_INIT_FD_OFFSET = 1 << 3,
	MR_INIT_DMAH = 1 << 4,
	MR_INIT_BUF = 1 << 5,
};

#endif
