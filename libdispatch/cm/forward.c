/* SPDX-License-Identifier: MIT */
/*
 * The functions of librdmacm that are about one identifier, which has chosen its library: the call
 * gets the library's identifier, with what the program has written into its own, and the program's
 * gets the public fields. One signature forwards
 * them all, as in libdispatch/forward.c.
 */
#include "libdispatch/cm/cm.h"

#define FAIL_NULL   0
#define FAIL_MINUS1 ((u64)-1)

/* X(name, failure): the result, with errno ENOSYS, if the library does not have the function. */
/* clang-format off */
#define ID_FUNCTIONS(X)                                                                            \
	X(rdma_resolve_route, FAIL_MINUS1)                                                         \
	X(rdma_create_qp, FAIL_MINUS1)                                                             \
	X(rdma_create_qp_ex, FAIL_MINUS1)                                                          \
	X(rdma_destroy_qp, FAIL_NULL)                                                              \
	X(rdma_create_srq, FAIL_MINUS1)                                                            \
	X(rdma_create_srq_ex, FAIL_MINUS1)                                                         \
	X(rdma_destroy_srq, FAIL_NULL)                                                             \
	X(rdma_connect, FAIL_MINUS1)                                                               \
	X(rdma_establish, FAIL_MINUS1)                                                             \
	X(rdma_accept, FAIL_MINUS1)                                                                \
	X(rdma_reject, FAIL_MINUS1)                                                                \
	X(rdma_reject_ece, FAIL_MINUS1)                                                            \
	X(rdma_notify, FAIL_MINUS1)                                                                \
	X(rdma_disconnect, FAIL_MINUS1)                                                            \
	X(rdma_join_multicast, FAIL_MINUS1)                                                        \
	X(rdma_join_multicast_ex, FAIL_MINUS1)                                                     \
	X(rdma_leave_multicast, FAIL_MINUS1)                                                       \
	X(rdma_get_src_port, FAIL_NULL)                                                            \
	X(rdma_get_dst_port, FAIL_NULL)                                                            \
	X(rdma_init_qp_attr, FAIL_MINUS1)                                                          \
	X(rdma_set_local_ece, FAIL_MINUS1)                                                         \
	X(rdma_get_remote_ece, FAIL_MINUS1)                                                        \
	X(rdma_resolve_addrinfo, FAIL_MINUS1)                                                      \
	X(rdma_query_addrinfo, FAIL_MINUS1)                                                        \
	X(rdma_write_cm_event, FAIL_MINUS1)
/* clang-format on */

#define FORWARD(name, failure)                                                                     \
	SHIM_EXPORT u64 cm_fwd_##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) __asm__(#name);    \
	u64 cm_fwd_##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)                                \
	{                                                                                          \
		static void *slot[SIDES];                                                          \
		enum cm_side within = cm_side_of((void *)(uintptr_t)a), side = within, outer;      \
		struct cm_both_id *id = NULL;                                                      \
		cm_function fn;                                                                    \
		u64 ret;                                                                           \
                                                                                                   \
		if (within == SIDE_NONE) {                                                         \
			id = (struct cm_both_id *)(uintptr_t)a;                                    \
			cm_both_id_push(id);                                                       \
			side = cm_both_id_side(id);                                                \
			a = (uintptr_t)id->side[side];                                             \
		}                                                                                  \
		fn = (cm_function)cm_side_function(slot, side, #name);                             \
		if (!fn)                                                                           \
			return (failure);                                                          \
		outer = cm_side_enter(side);                                                       \
		ret = fn(a, b, c, d, e, f);                                                        \
		cm_side_leave(outer);                                                              \
		if (id)                                                                            \
			cm_both_id_pull(id);                                                       \
		return ret;                                                                        \
	}

ID_FUNCTIONS(FORWARD)

SHIM_EXPORT u64 cm_event_str(u64 event) __asm__("rdma_event_str");

/* About no device. */
u64 cm_event_str(u64 event)
{
	static void *slot[SIDES];
	cm_function fn = (cm_function)cm_side_function(slot, SIDE_REAL, "rdma_event_str");

	if (!fn)
		fn = (cm_function)cm_side_function(slot, SIDE_EMULATED, "rdma_event_str");
	return fn ? fn(event, 0, 0, 0, 0, 0) : 0;
}
