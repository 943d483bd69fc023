/* SPDX-License-Identifier: MIT */
/**
 * DOC: the functions of libibverbs, by what says whose device a call is about.
 *
 * X(name, failure): the second is the result if the library does not have the function, with errno
 * ENOSYS: FAIL_NULL (also for functions without a result), FAIL_MINUS1, FAIL_ERRNO, FAIL_NEGATIVE.
 */
#ifndef LIBDISPATCH_FUNCTIONS_H
#define LIBDISPATCH_FUNCTIONS_H

/* clang-format off */
/* The first argument is a device. */
#define DEVICE_FUNCTIONS(X)                                                                        \
	X(ibv_open_device, FAIL_NULL)                                                              \
	X(ibv_get_device_name, FAIL_NULL)                                                          \
	X(ibv_get_device_guid, FAIL_NULL)                                                          \
	X(ibv_get_device_index, FAIL_MINUS1)

/* The first argument is a context. */
#define CONTEXT_FUNCTIONS(X)                                                                       \
	X(ibv_close_device, FAIL_MINUS1)                                                           \
	X(ibv_get_async_event, FAIL_MINUS1)                                                        \
	X(ibv_query_device, FAIL_ERRNO)                                                            \
	X(ibv_query_port, FAIL_ERRNO)                                                              \
	X(ibv_query_gid, FAIL_MINUS1)                                                              \
	X(_ibv_query_gid_ex, FAIL_ERRNO)                                                           \
	X(_ibv_query_gid_table, FAIL_NEGATIVE)                                                     \
	X(ibv_query_gid_type, FAIL_MINUS1)                                                         \
	X(ibv_query_pkey, FAIL_MINUS1)                                                             \
	X(ibv_get_pkey_index, FAIL_MINUS1)                                                         \
	X(ibv_query_port_speed, FAIL_ERRNO)                                                        \
	X(_ibv_query_comp_cntr_caps, FAIL_ERRNO)                                                   \
	X(ibv_resolve_eth_l2_from_gid, FAIL_NEGATIVE)                                              \
	X(ibv_init_ah_from_wc, FAIL_MINUS1)                                                        \
	X(ibv_alloc_pd, FAIL_NULL)                                                                 \
	X(ibv_import_pd, FAIL_NULL)                                                                \
	X(ibv_import_dm, FAIL_NULL)                                                                \
	X(ibv_alloc_dmah, FAIL_NULL)                                                               \
	X(ibv_create_comp_channel, FAIL_NULL)                                                      \
	X(ibv_create_comp_cntr, FAIL_NULL)                                                         \
	X(ibv_create_cq, FAIL_NULL)

/* The first argument is an object, which begins with a pointer to its context. */
#define OBJECT_FUNCTIONS(X)                                                                        \
	X(ibv_dealloc_pd, FAIL_ERRNO)                                                              \
	X(ibv_unimport_pd, FAIL_NULL)                                                              \
	X(ibv_reg_mr, FAIL_NULL)                                                                   \
	X(ibv_reg_mr_iova, FAIL_NULL)                                                              \
	X(ibv_reg_mr_iova2, FAIL_NULL)                                                             \
	X(ibv_reg_mr_ex, FAIL_NULL)                                                                \
	X(ibv_reg_buf_mr, FAIL_NULL)                                                               \
	X(ibv_reg_dmabuf_mr, FAIL_NULL)                                                            \
	X(ibv_import_mr, FAIL_NULL)                                                                \
	X(ibv_unimport_mr, FAIL_NULL)                                                              \
	X(ibv_rereg_mr, FAIL_ERRNO)                                                                \
	X(ibv_dereg_mr, FAIL_ERRNO)                                                                \
	X(ibv_unimport_dm, FAIL_NULL)                                                              \
	X(ibv_dealloc_dmah, FAIL_ERRNO)                                                            \
	X(ibv_dm_export_dmabuf_fd, FAIL_MINUS1)                                                    \
	X(ibv_destroy_comp_channel, FAIL_ERRNO)                                                    \
	X(ibv_get_cq_event, FAIL_MINUS1)                                                           \
	X(ibv_ack_cq_events, FAIL_NULL)                                                            \
	X(ibv_resize_cq, FAIL_ERRNO)                                                               \
	X(ibv_destroy_cq, FAIL_ERRNO)                                                              \
	X(ibv_create_srq, FAIL_NULL)                                                               \
	X(ibv_modify_srq, FAIL_ERRNO)                                                              \
	X(ibv_query_srq, FAIL_ERRNO)                                                               \
	X(ibv_destroy_srq, FAIL_ERRNO)                                                             \
	X(ibv_create_qp, FAIL_NULL)                                                                \
	X(ibv_qp_to_qp_ex, FAIL_NULL)                                                              \
	X(ibv_modify_qp, FAIL_ERRNO)                                                               \
	X(ibv_query_qp, FAIL_ERRNO)                                                                \
	X(ibv_query_qp_data_in_order, FAIL_NULL)                                                   \
	X(ibv_query_ece, FAIL_ERRNO)                                                               \
	X(ibv_set_ece, FAIL_ERRNO)                                                                 \
	X(ibv_destroy_qp, FAIL_ERRNO)                                                              \
	X(ibv_attach_mcast, FAIL_ERRNO)                                                            \
	X(ibv_detach_mcast, FAIL_ERRNO)                                                            \
	X(ibv_create_ah, FAIL_NULL)                                                                \
	X(ibv_create_ah_from_wc, FAIL_NULL)                                                        \
	X(ibv_destroy_ah, FAIL_ERRNO)                                                              \
	X(ibv_qp_attach_comp_cntr, FAIL_ERRNO)                                                     \
	X(ibv_destroy_comp_cntr, FAIL_ERRNO)                                                       \
	X(ibv_inc_comp_cntr, FAIL_ERRNO)                                                           \
	X(ibv_inc_err_comp_cntr, FAIL_ERRNO)                                                       \
	X(ibv_read_comp_cntr, FAIL_ERRNO)                                                          \
	X(ibv_read_err_comp_cntr, FAIL_ERRNO)                                                      \
	X(ibv_set_comp_cntr, FAIL_ERRNO)                                                           \
	X(ibv_set_err_comp_cntr, FAIL_ERRNO)

/* About no device: the real library's functions do. A buffer does not say whose it is. */
#define OTHER_FUNCTIONS(X)                                                                         \
	X(ibv_node_type_str, FAIL_NULL)                                                            \
	X(ibv_port_state_str, FAIL_NULL)                                                           \
	X(ibv_event_type_str, FAIL_NULL)                                                           \
	X(ibv_wc_status_str, FAIL_NULL)                                                            \
	X(ibv_rate_to_mult, FAIL_MINUS1)                                                           \
	X(mult_to_ibv_rate, FAIL_NULL)                                                             \
	X(ibv_rate_to_mbps, FAIL_MINUS1)                                                           \
	X(mbps_to_ibv_rate, FAIL_NULL)                                                             \
	X(ibv_get_sysfs_path, FAIL_NULL)                                                           \
	X(ibv_read_sysfs_file, FAIL_MINUS1)                                                        \
	X(ibv_is_fork_initialized, FAIL_NULL)                                                      \
	X(ibv_dontfork_range, FAIL_ERRNO)                                                          \
	X(ibv_dofork_range, FAIL_ERRNO)                                                            \
	X(ibv_copy_ah_attr_from_kern, FAIL_NULL)                                                   \
	X(ibv_copy_qp_attr_from_kern, FAIL_NULL)                                                   \
	X(ibv_copy_path_rec_from_kern, FAIL_NULL)                                                  \
	X(ibv_copy_path_rec_to_kern, FAIL_NULL)                                                    \
	X(ibv_free_buf, FAIL_NULL)                                                                 \
	X(ibv_export_buf_dmabuf_fd, FAIL_MINUS1)
/* clang-format on */

#endif
