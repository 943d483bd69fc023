/* SPDX-License-Identifier: MIT */
/**
 * DOC: the values that rdmaemu-profile(5) accepts.
 *
 * The recorder writes a profile of the device that it has met, and knows nothing of the emulator.
 * The profile reader of the fabric uses the same bounds, and checks that the emulator supports
 * them.
 */
#ifndef TRACES_VTRACE_PROFILE_BOUNDS_H
#define TRACES_VTRACE_PROFILE_BOUNDS_H

/* X(key, smallest, largest value) */
#define VT_BOUNDS(X)                                                                               \
	X(devices, 1, 8)                                                                           \
	X(ports, 1, 2)                                                                             \
	X(vendor_id, 0, 0xffffff)                                                                  \
	X(part_id, 0, 0xffffffff)                                                                  \
	X(hw_ver, 0, 0xffffffff)                                                                   \
	X(max_pkeys, 1, 8)                                                                         \
	X(max_mr_size, 4096, 0xffffffffffffffff)                                                   \
	X(max_dm, 0, 1 << 30)                                                                      \
	X(max_qp, 1, 65504)                                                                        \
	X(max_qp_wr, 1, 32768)                                                                     \
	X(max_sge, 1, 32)                                                                          \
	X(max_sge_rd, 1, 32)                                                                       \
	X(max_inline, 0, 1024)                                                                     \
	X(max_cq, 1, 65504)                                                                        \
	X(max_cqe, 1, 4194303)                                                                     \
	X(max_mr, 1, 1048544)                                                                      \
	X(max_pd, 1, 65504)                                                                        \
	X(max_mw, 0, 1048544)                                                                      \
	X(max_ah, 1, 262112)                                                                       \
	X(max_srq, 0, 65504)                                                                       \
	X(max_srq_wr, 0, 32768)                                                                    \
	X(max_srq_sge, 0, 32)                                                                      \
	X(max_rd_atom, 0, 16)                                                                      \
	X(max_res_rd_atom, 0, 0x7fffffff)                                                          \
	X(ack_delay, 0, 31)                                                                        \
	X(max_msg, 4096, 1 << 30)                                                                  \
	X(max_mcast_grp, 0, 32768)                                                                 \
	X(max_mcast_attach, 0, 65535)                                                              \
	X(max_xrcd, 0, 4064)                                                                       \
	X(max_wq, 0, 16352)                                                                        \
	X(max_ind, 0, 4064)                                                                        \
	X(max_ind_size, 0, 128)                                                                    \
	X(max_flow, 0, 16352)                                                                      \
	X(max_tags, 0, 65535)                                                                      \
	X(max_tso, 0, 262144)                                                                      \
	X(rate_limit_min, 0, 0xffffffff)                                                           \
	X(rate_limit_max, 0, 0xffffffff)                                                           \
	X(comp_vectors, 1, 64)

#define VT_NAME_BYTES 19u /* of the keys name and fw_ver */
#define VT_FW_BYTES   31u

#endif
