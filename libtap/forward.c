/* SPDX-License-Identifier: MIT */
/*
 * Functions that users do not see: they read or free what another call has returned, or are newer
 * than the table of calls. They are exported for programs that look symbols up in a dlopen()
 * handle.
 *
 * All of them take at most six integers or pointers and return one. The supported machines pass
 * these in the same way whatever their types, so that one signature forwards them all.
 */
#include "libtap/next_symbol.h"
#include "libtap/process.h"

#define FORWARD(name)                                                                              \
	SHIM_EXPORT u64 fwd_##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) __asm__(#name);       \
	u64 fwd_##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)                                   \
	{                                                                                          \
		static void *slot;                                                                 \
		__typeof__(&fwd_##name) lower =                                                    \
			(__typeof__(&fwd_##name))tap_next_symbol(&slot, #name);                    \
                                                                                                   \
		if (lower)                                                                         \
			return lower(a, b, c, d, e, f);                                            \
		errno = ENOSYS;                                                                    \
		return 0;                                                                          \
	}

/* Nobody sees their effects on objects. A note says so, once. */
#define FORWARD_NEWER(name)                                                                        \
	SHIM_EXPORT u64 fwd_##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) __asm__(#name);       \
	u64 fwd_##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)                                   \
	{                                                                                          \
		static void *slot;                                                                 \
		static bool noted;                                                                 \
		__typeof__(&fwd_##name) lower =                                                    \
			(__typeof__(&fwd_##name))tap_next_symbol(&slot, #name);                    \
                                                                                                   \
		if (!exchange(&noted, true) && tap_enter()) {                                      \
			tap_note("%s: its calls are not recorded", #name);                         \
			tap_leave();                                                               \
		}                                                                                  \
		if (lower)                                                                         \
			return lower(a, b, c, d, e, f);                                            \
		errno = ENOSYS;                                                                    \
		return 0;                                                                          \
	}

/* clang-format off */
#define FUNCTIONS(X)                                                                       \
	X(ibv_get_device_name) X(ibv_get_device_index)             \
	X(ibv_get_device_guid) X(ibv_node_type_str) X(ibv_port_state_str)                  \
	X(ibv_event_type_str) X(ibv_wc_status_str) X(ibv_rate_to_mult)                     \
	X(mult_to_ibv_rate) X(ibv_rate_to_mbps) X(mbps_to_ibv_rate)                        \
	X(ibv_get_sysfs_path) X(ibv_read_sysfs_file) X(ibv_dontfork_range)                 \
	X(ibv_dofork_range) X(ibv_copy_ah_attr_from_kern) X(ibv_copy_qp_attr_from_kern)    \
	X(ibv_copy_path_rec_from_kern) X(ibv_copy_path_rec_to_kern)                        \
	X(ibv_resolve_eth_l2_from_gid) X(ibv_qp_to_qp_ex) X(ibv_query_port_speed)          \
	X(ibv_alloc_buf) X(ibv_free_buf)                                                   \
	X(_ibv_query_comp_cntr_caps) X(rdma_event_str) X(rdma_free_devices)                \
	X(rdma_freeaddrinfo) X(rdma_get_src_port) X(rdma_get_dst_port) X(rsocket)          \
	X(rbind) X(rlisten) X(raccept) X(rconnect) X(rshutdown) X(rclose) X(rrecv)         \
	X(rrecvfrom) X(rrecvmsg) X(rsend) X(rsendto) X(rsendmsg) X(rread) X(rreadv)        \
	X(rwrite) X(rwritev) X(rpoll) X(rselect) X(rgetpeername) X(rgetsockname)           \
	X(rsetsockopt) X(rgetsockopt) X(rfcntl) X(riomap) X(riounmap) X(riowrite)
#define NEWER(X)                                                                           \
	X(ibv_alloc_dmah) X(ibv_dealloc_dmah) X(ibv_dm_export_dmabuf_fd)                   \
	X(ibv_export_buf_dmabuf_fd) X(ibv_create_comp_cntr) X(ibv_destroy_comp_cntr)       \
	X(ibv_qp_attach_comp_cntr) X(ibv_inc_comp_cntr) X(ibv_inc_err_comp_cntr)           \
	X(ibv_read_comp_cntr) X(ibv_read_err_comp_cntr) X(ibv_set_comp_cntr)               \
	X(ibv_set_err_comp_cntr) X(rdma_resolve_addrinfo) X(rdma_query_addrinfo)           \
	X(rdma_write_cm_event)
/* clang-format on */

FUNCTIONS(FORWARD)
NEWER(FORWARD_NEWER)
