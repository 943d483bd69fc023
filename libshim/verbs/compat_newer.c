/* SPDX-License-Identifier: MIT */
/*
 * Verbs newer than rdma-core 44, up to 65, that the emulator does not support: they answer as
 * libibverbs does for a provider without these operations. Buffers (buf.c) it does support.
 *
 * The headers that we build with may or may not declare them. So the definitions have names of
 * their own and take no arguments, which does no harm to callers. Their results follow the man
 * pages in rdma-core (ibv_alloc_dmah(3), ibv_query_port_speed(3),
 * ibv_create_comp_cntr(3), ...).
 */
#include "emulator/types.h"
#include "libshim/interpose/export.h"

#define NEWER(type, name, result)                                                                  \
	SHIM_EXPORT type newer_##name(void) __asm__(#name);                                        \
	type newer_##name(void)                                                                    \
	{                                                                                          \
		errno = EOPNOTSUPP;                                                                \
		return result;                                                                     \
	}

#define NEWER_NULL(name)   NEWER(void *, name, NULL)
#define NEWER_ERRNO(name)  NEWER(int, name, EOPNOTSUPP)
#define NEWER_MINUS1(name) NEWER(int, name, -1)

/* IBVERBS_1.15 */
NEWER_NULL(ibv_alloc_dmah)
NEWER_ERRNO(ibv_dealloc_dmah)

/* IBVERBS_1.16 */
NEWER_MINUS1(ibv_dm_export_dmabuf_fd)
NEWER_ERRNO(ibv_query_port_speed)

/* IBVERBS_1.18 */
NEWER_ERRNO(_ibv_query_comp_cntr_caps)
NEWER_NULL(ibv_create_comp_cntr)
NEWER_ERRNO(ibv_destroy_comp_cntr)
NEWER_ERRNO(ibv_inc_comp_cntr)
NEWER_ERRNO(ibv_inc_err_comp_cntr)
NEWER_ERRNO(ibv_qp_attach_comp_cntr)
NEWER_ERRNO(ibv_read_comp_cntr)
NEWER_ERRNO(ibv_read_err_comp_cntr)
NEWER_ERRNO(ibv_set_comp_cntr)
NEWER_ERRNO(ibv_set_err_comp_cntr)
