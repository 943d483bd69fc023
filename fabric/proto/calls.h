/* SPDX-License-Identifier: MIT */
/**
 * DOC: the calls of libibverbs and librdmacm that can be made to fail, and with which errors. How
 * each reports failure is in the table of calls, traces/calls/table.h.
 *
 * One list serves both sides: the shim numbers its calls by it (enum call_id,
 * libshim/client/call_fault.c), the fabric process finds calls and their errors by name in it
 * (calls.c).
 *
 * The errors are those of the call's man page. Most of those pages name none ("errno will be set");
 * then they are those of the kernel's uverbs and rdma_ucm commands that implement the call
 * (CALL_E_*). The list leaves out ibv_*() calls that verbs.h makes of others: a program that calls
 * ibv_create_qp_ex() with only a PD calls ibv_create_qp(), rdma_post_send() is ibv_post_send(),
 * rdma_reg_msgs() is ibv_reg_mr().
 */
#ifndef FABRIC_PROTO_CALLS_H
#define FABRIC_PROTO_CALLS_H

#include "emulator/seg.h"

#include <errno.h>

/* Calls that create, destroy, modify and query objects. */
#define CALL_E_MAKE                                                                                \
	EINVAL, ENOMEM, EFAULT, EPERM, EAGAIN, EBUSY, ENOSPC, EIO, ENODEV, EOPNOTSUPP, ENOSYS
#define CALL_E_END    EINVAL, EBUSY, EFAULT, EIO, ENODEV
#define CALL_E_CHANGE EINVAL, ENOMEM, EFAULT, EPERM, EBUSY, EIO, ENODEV, EOPNOTSUPP, ENOSYS
#define CALL_E_ASK    EINVAL, ENOMEM, EFAULT, EIO, ENODEV, EOPNOTSUPP, ENOSYS
#define CALL_E_POST   EINVAL, ENOMEM, EFAULT, EIO
/* Calls on identifiers and channels of rdma_cm. */
#define CALL_E_CM EINVAL, ENOMEM, EFAULT, EBADF, EBUSY, ENODEV, ENOSYS, EPERM

/* clang-format off: a table */
#define CALLS(X)                                                                                   \
	X(ibv_get_device_list, EPERM, ENOMEM, ENOSYS)                                              \
	X(ibv_open_device, CALL_E_MAKE, EMFILE, ENFILE, EACCES, ENXIO)                             \
	X(ibv_close_device, CALL_E_END)                                                            \
	X(ibv_import_device, CALL_E_MAKE, EBADF, EMFILE)                                           \
	X(ibv_fork_init, EINVAL, ENOMEM, ENOSYS)                                                   \
	X(ibv_get_async_event, EINTR, EAGAIN, EINVAL, EIO, EBADF)                                  \
	X(ibv_query_device, CALL_E_ASK)                                                            \
	X(ibv_query_device_ex, CALL_E_ASK)                                                         \
	X(ibv_query_port, CALL_E_ASK)                                                              \
	X(ibv_query_gid, CALL_E_ASK, ENOENT)                                                       \
	X(ibv_query_gid_ex, ENODATA, CALL_E_ASK)                                                   \
	X(ibv_query_gid_table, CALL_E_ASK)                                                         \
	X(ibv_query_pkey, CALL_E_ASK, ENOENT)                                                      \
	X(ibv_get_pkey_index, CALL_E_ASK, ENOENT)                                                  \
	X(ibv_query_rt_values_ex, CALL_E_ASK)                                                      \
	X(ibv_alloc_pd, CALL_E_MAKE)                                                               \
	X(ibv_dealloc_pd, CALL_E_END)                                                              \
	X(ibv_import_pd, CALL_E_MAKE, ENOENT)                                                      \
	X(ibv_alloc_td, CALL_E_MAKE)                                                               \
	X(ibv_dealloc_td, CALL_E_END)                                                              \
	X(ibv_alloc_parent_domain, CALL_E_MAKE)                                                    \
	X(ibv_open_xrcd, CALL_E_MAKE, EBADF, ENOENT, EEXIST)                                       \
	X(ibv_close_xrcd, CALL_E_END)                                                              \
	X(ibv_reg_mr, CALL_E_MAKE)                                                                 \
	X(ibv_reg_mr_iova, CALL_E_MAKE)                                                            \
	X(ibv_reg_dmabuf_mr, CALL_E_MAKE, EBADF)                                                   \
	X(ibv_reg_dm_mr, CALL_E_MAKE)                                                              \
	X(ibv_alloc_null_mr, CALL_E_MAKE)                                                          \
	X(ibv_import_mr, CALL_E_MAKE, ENOENT)                                                      \
	X(ibv_rereg_mr, CALL_E_CHANGE)                                                             \
	X(ibv_dereg_mr, CALL_E_END, ENOMEM)                                                        \
	X(ibv_advise_mr, EOPNOTSUPP, EFAULT, EINVAL, EPERM, ENOENT, ENOMEM, ENOSYS)                \
	X(ibv_alloc_mw, CALL_E_MAKE)                                                               \
	X(ibv_dealloc_mw, CALL_E_END)                                                              \
	X(ibv_bind_mw, CALL_E_POST, EPERM, EOPNOTSUPP)                                             \
	X(ibv_alloc_dm, CALL_E_MAKE)                                                               \
	X(ibv_free_dm, CALL_E_END)                                                                 \
	X(ibv_import_dm, CALL_E_MAKE, ENOENT)                                                      \
	X(ibv_memcpy_to_dm, EFAULT, EINVAL, EIO, EOPNOTSUPP)                                       \
	X(ibv_memcpy_from_dm, EFAULT, EINVAL, EIO, EOPNOTSUPP)                                     \
	X(ibv_create_comp_channel, CALL_E_MAKE, EMFILE, ENFILE)                                    \
	X(ibv_destroy_comp_channel, CALL_E_END)                                                    \
	X(ibv_get_cq_event, EINTR, EAGAIN, EINVAL, EIO, EBADF)                                     \
	X(ibv_create_cq, CALL_E_MAKE)                                                              \
	X(ibv_create_cq_ex, CALL_E_MAKE)                                                           \
	X(ibv_resize_cq, CALL_E_CHANGE)                                                            \
	X(ibv_modify_cq, CALL_E_CHANGE)                                                            \
	X(ibv_destroy_cq, CALL_E_END)                                                              \
	X(ibv_req_notify_cq, EINVAL, EIO)                                                          \
	X(ibv_poll_cq, EPERM, EINVAL, EIO, EFAULT)                                                 \
	X(ibv_start_poll, EINVAL, EIO, EFAULT)                                                     \
	X(ibv_next_poll, EINVAL, EIO, EFAULT)                                                      \
	X(ibv_create_srq, CALL_E_MAKE)                                                             \
	X(ibv_create_srq_ex, CALL_E_MAKE)                                                          \
	X(ibv_modify_srq, CALL_E_CHANGE)                                                           \
	X(ibv_query_srq, CALL_E_ASK)                                                               \
	X(ibv_get_srq_num, CALL_E_ASK)                                                             \
	X(ibv_destroy_srq, CALL_E_END)                                                             \
	X(ibv_post_srq_recv, CALL_E_POST)                                                          \
	X(ibv_post_srq_ops, CALL_E_POST)                                                           \
	X(ibv_create_qp, CALL_E_MAKE)                                                              \
	X(ibv_create_qp_ex, CALL_E_MAKE)                                                           \
	X(ibv_open_qp, CALL_E_MAKE)                                                                \
	X(ibv_modify_qp, CALL_E_CHANGE, EADDRNOTAVAIL, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT)       \
	X(ibv_modify_qp_rate_limit, EOPNOTSUPP, EINVAL, ENOMEM, EIO, ENOSYS)                       \
	X(ibv_query_qp, CALL_E_ASK)                                                                \
	X(ibv_query_ece, EOPNOTSUPP, EINVAL)                                                       \
	X(ibv_set_ece, EOPNOTSUPP, EINVAL)                                                         \
	X(ibv_destroy_qp, CALL_E_END)                                                              \
	X(ibv_post_send, CALL_E_POST)                                                              \
	X(ibv_post_recv, CALL_E_POST)                                                              \
	X(ibv_wr_complete, CALL_E_POST)                                                            \
	X(ibv_create_ah, CALL_E_MAKE, EADDRNOTAVAIL, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT)         \
	X(ibv_init_ah_from_wc, CALL_E_ASK)                                                         \
	X(ibv_create_ah_from_wc, CALL_E_MAKE)                                                      \
	X(ibv_destroy_ah, CALL_E_END)                                                              \
	X(ibv_attach_mcast, CALL_E_CHANGE)                                                         \
	X(ibv_detach_mcast, CALL_E_CHANGE)                                                         \
	X(ibv_create_wq, CALL_E_MAKE)                                                              \
	X(ibv_modify_wq, CALL_E_CHANGE)                                                            \
	X(ibv_destroy_wq, CALL_E_END)                                                              \
	X(ibv_post_wq_recv, CALL_E_POST)                                                           \
	X(ibv_create_rwq_ind_table, CALL_E_MAKE)                                                   \
	X(ibv_destroy_rwq_ind_table, CALL_E_END)                                                   \
	X(ibv_create_flow, EINVAL, ENOMEM, ENXIO, EPERM, EBUSY, ENOENT, EIO, EOPNOTSUPP)           \
	X(ibv_destroy_flow, CALL_E_END)                                                            \
	X(ibv_create_counters, EOPNOTSUPP, ENOSYS, ENOMEM, EINVAL)                                 \
	X(ibv_destroy_counters, EINVAL, EBUSY)                                                     \
	X(ibv_attach_counters_point_flow, EINVAL, ENOTSUP, EBUSY, ENOMEM)                          \
	X(ibv_read_counters, EINVAL, ENOTSUP, EIO)                                                 \
	X(rdma_create_event_channel, ENODEV, ENOMEM, EMFILE, ENFILE, EACCES, ENOENT)               \
	X(rdma_create_id, CALL_E_CM)                                                               \
	X(rdma_destroy_id, CALL_E_CM)                                                              \
	X(rdma_migrate_id, CALL_E_CM)                                                              \
	X(rdma_get_devices, ENOMEM, ENODEV)                                                        \
	X(rdma_getaddrinfo, ENOMEM, EINVAL, ENODEV, EADDRNOTAVAIL, ENODATA)                        \
	X(rdma_bind_addr, CALL_E_CM, EADDRINUSE, EADDRNOTAVAIL, EACCES, EAFNOSUPPORT)              \
	X(rdma_resolve_addr, CALL_E_CM, EADDRNOTAVAIL, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT,       \
	  EAFNOSUPPORT)                                                                            \
	X(rdma_resolve_route, CALL_E_CM, ETIMEDOUT)                                                \
	X(rdma_resolve_addrinfo, CALL_E_CM, EOPNOTSUPP)                                            \
	X(rdma_query_addrinfo, CALL_E_CM)                                                          \
	X(rdma_create_ep, CALL_E_CM, EADDRINUSE, EADDRNOTAVAIL, ETIMEDOUT, ENETUNREACH,            \
	  EHOSTUNREACH)                                                                            \
	X(rdma_get_request, CALL_E_CM, EAGAIN, EINTR)                                              \
	X(rdma_listen, CALL_E_CM, EADDRINUSE)                                                      \
	X(rdma_connect, CALL_E_CM, ECONNREFUSED, ETIMEDOUT, EISCONN)                               \
	X(rdma_accept, CALL_E_CM, ECONNREFUSED, ETIMEDOUT, ECONNRESET)                             \
	X(rdma_establish, CALL_E_CM)                                                               \
	X(rdma_reject, CALL_E_CM)                                                                  \
	X(rdma_reject_ece, CALL_E_CM)                                                              \
	X(rdma_disconnect, CALL_E_CM, ENOTCONN)                                                    \
	X(rdma_notify, CALL_E_CM, EISCONN)                                                         \
	X(rdma_get_cm_event, EINVAL, EAGAIN, EINTR, EBADF, EIO, ENOMEM, ENODEV)                    \
	X(rdma_ack_cm_event, EINVAL)                                                               \
	X(rdma_create_qp, CALL_E_MAKE)                                                             \
	X(rdma_create_qp_ex, CALL_E_MAKE)                                                          \
	X(rdma_init_qp_attr, CALL_E_CM)                                                            \
	X(rdma_create_srq, CALL_E_MAKE)                                                            \
	X(rdma_create_srq_ex, CALL_E_MAKE)                                                         \
	X(rdma_join_multicast, CALL_E_CM, EADDRNOTAVAIL)                                           \
	X(rdma_join_multicast_ex, CALL_E_CM, EADDRNOTAVAIL, ENOTSUP)                               \
	X(rdma_leave_multicast, CALL_E_CM, EADDRNOTAVAIL)                                          \
	X(rdma_set_option, CALL_E_CM)                                                              \
	X(rdma_set_local_ece, EINVAL, ENOSYS)                                                      \
	X(rdma_get_remote_ece, EINVAL, ENOSYS)                                                     \
	X(rdma_write_cm_event, CALL_E_CM)
/* clang-format on */

/** enum call_id - CALL_ibv_reg_mr and so on. */
enum call_id {
#define CALL_ID(name, ...) CALL_##name,
	CALLS(CALL_ID)
#undef CALL_ID
		CALL_COUNT,
};

/* Also a bit in seg_hdr.fail_calls: rules are about work requests of programs on real devices. */
#define CALLS_WORK ((u32)CALL_COUNT)
/* Likewise: about the messages of their connection management. */
#define CALLS_CM (CALLS_WORK + 1)
/* About completions that arrive before a CQ is armed, of all programs: cq_hold.h. */
#define CALLS_HOLD (CALLS_CM + 1)
/* About one of CALLS_HOLD and CALL_ibv_poll_cq: polls of emulated CQs look at this bit only. */
#define CALLS_POLL (CALLS_HOLD + 1)
/* Limits of real devices are lowered. */
#define CALLS_LIMIT (CALLS_POLL + 1)
/* A rule raises asynchronous events. */
#define CALLS_EVENT (CALLS_LIMIT + 1)
/* About work requests, or makes a call fail that posts some: of programs on real devices. */
#define CALLS_POST (CALLS_EVENT + 1)

_Static_assert(CALLS_POST < 64 * SEG_CALL_WORDS, "a bit each");

#define CALL_ERRNOS 20u

/** struct call_desc - a call. @err: errors it may fail with, 0 after the last */
struct call_desc {
	const char *name;
	u8 err[CALL_ERRNOS];
};

extern const struct call_desc call_descs[CALL_COUNT];

/** call_find() - a call by its name. Return: enum call_id or -1. */
int call_find(const char *name);
/** call_may_fail() - whether @err is one of the call's errors. */
bool call_may_fail(u32 call, int err);
/** call_errors() - the names of its errors, "ENOMEM, EINVAL". Return: @buf */
const char *call_errors(u32 call, char *buf, size_t size);
/** errno_find() - the value of errno with that name, as in errno(3). Return: 0: there is none. */
int errno_find(const char *name);

#endif
