/* SPDX-License-Identifier: MIT */
/* Descriptions of the structs of libibverbs: queue pairs, work queues, flows and counters. */
#include "traces/calls/struct.h"

/* clang-format off */

/* --- queue pairs --- */

#define CAPS(d)                                                                                    \
	F(cap.max_send_wr, UINT, d), F(cap.max_recv_wr, UINT, d), F(cap.max_send_sge, UINT, d),    \
		F(cap.max_recv_sge, UINT, d), F(cap.max_inline_data, UINT, d)
#define QP_INIT(d, dcap)                                                                           \
	FO(send_cq, CQ, d), FO(recv_cq, CQ, d), FO(srq, SRQ, d), CAPS(dcap),                       \
		FN(qp_type, ENUM, d, qp_type), F(sq_sig_all, UINT, d)

#define T struct ibv_qp_init_attr
static const struct vfield fields_qp_init[] = { QP_INIT(IN, BOTH) };
STRUCT(qp_init);
static const struct vfield fields_qp_init_get[] = { QP_INIT(OUT, OUT) };
STRUCT(qp_init_get);
#undef T

#define T struct ibv_qp_init_attr_ex
static const struct vfield fields_qp_init_ex[] = {
	QP_INIT(IN, BOTH),
	FN(comp_mask, FLAGS, IN, qp_init),
	FOW(pd, PD, IN, IBV_QP_INIT_ATTR_PD),
	FOW(xrcd, XRCD, IN, IBV_QP_INIT_ATTR_XRCD),
	FNW(create_flags, FLAGS, IN, qp_create, IBV_QP_INIT_ATTR_CREATE_FLAGS),
	FW(max_tso_header, UINT, IN, IBV_QP_INIT_ATTR_MAX_TSO_HEADER),
	FOW(rwq_ind_tbl, IND, IN, IBV_QP_INIT_ATTR_IND_TABLE),
	FW(rx_hash_conf.rx_hash_function, HEX, IN, IBV_QP_INIT_ATTR_RX_HASH),
	{ .name = "rx_hash_conf.rx_hash_key",
	  .off = offsetof(T, rx_hash_conf.rx_hash_key),
	  .size = sizeof(void *),
	  .kind = VK_BYTES,
	  .dir = IN,
	  .count_off = offsetof(T, rx_hash_conf.rx_hash_key_len),
	  .count_size = 1,
	  .when = IBV_QP_INIT_ATTR_RX_HASH },
	FW(rx_hash_conf.rx_hash_key_len, UINT, IN, IBV_QP_INIT_ATTR_RX_HASH),
	FW(rx_hash_conf.rx_hash_fields_mask, HEX, IN, IBV_QP_INIT_ATTR_RX_HASH),
	FVW(source_qpn, IN, QPN, IBV_QP_INIT_ATTR_CREATE_FLAGS),
	FNW(send_ops_flags, FLAGS, IN, send_ops, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS),
};
STRUCT_MASK(qp_init_ex, comp_mask, (IBV_QP_INIT_ATTR_SEND_OPS_FLAGS << 1) - 1);
#undef T

#define T struct ibv_qp_open_attr
static const struct vfield fields_qp_open[] = {
	FN(comp_mask, FLAGS, IN, qp_open),
	FVW(qp_num, IN, QPN, IBV_QP_OPEN_ATTR_NUM),
	FOW(xrcd, XRCD, IN, IBV_QP_OPEN_ATTR_XRCD),
	FNW(qp_type, ENUM, IN, qp_type, IBV_QP_OPEN_ATTR_TYPE),
};
STRUCT_MASK(qp_open, comp_mask, IBV_QP_OPEN_ATTR_RESERVED - 1);
#undef T

#define AH(d)                                                                                      \
	F(grh.dgid, VK_GID, d), F(grh.flow_label, HEX, d), F(grh.sgid_index, UINT, d),             \
		F(grh.hop_limit, UINT, d), F(grh.traffic_class, UINT, d), F(dlid, UINT, d),        \
		F(sl, UINT, d), F(src_path_bits, UINT, d), F(static_rate, UINT, d),                \
		F(is_global, UINT, d), F(port_num, UINT, d)
#define T struct ibv_ah_attr
static const struct vfield fields_ah_attr[] = { AH(IN) };
STRUCT(ah_attr);
static const struct vfield fields_ah_get[] = { AH(OUT) };
STRUCT(ah_get);
static const struct vfield fields_ah_both[] = { AH(BOTH) };
LOCAL(ah_both) = { .size = sizeof(T),
		   .n = VDESC_COUNT(fields_ah_both),
		   .fields = fields_ah_both,
		   .mask_off = VCOUNT_NONE };
#undef T

#define T struct ibv_qp_cap
static const struct vfield fields_cap_both[] = {
	F(max_send_wr, UINT, BOTH),  F(max_recv_wr, UINT, BOTH),     F(max_send_sge, UINT, BOTH),
	F(max_recv_sge, UINT, BOTH), F(max_inline_data, UINT, BOTH),
};
LOCAL(cap_both) = { .size = sizeof(T),
		    .n = VDESC_COUNT(fields_cap_both),
		    .fields = fields_cap_both,
		    .mask_off = VCOUNT_NONE };
#undef T

#define T struct ibv_qp_attr
#define QP_ATTR(d)                                                                                 \
	FNW(qp_state, ENUM, d, qp_state, IBV_QP_STATE),                                            \
		FNW(cur_qp_state, ENUM, d, qp_state, IBV_QP_CUR_STATE),                            \
		FNW(path_mtu, ENUM, d, mtu, IBV_QP_PATH_MTU),                                      \
		FNW(path_mig_state, ENUM, d, mig_state, IBV_QP_PATH_MIG_STATE),                    \
		FW(qkey, HEX, d, IBV_QP_QKEY), FVW(rq_psn, d, PSN, IBV_QP_RQ_PSN),                 \
		FVW(sq_psn, d, PSN, IBV_QP_SQ_PSN), FVW(dest_qp_num, d, QPN, IBV_QP_DEST_QPN),     \
		FNW(qp_access_flags, FLAGS, d, access, IBV_QP_ACCESS_FLAGS),                       \
		FSW(cap, cap_both, d, IBV_QP_CAP), FSW(ah_attr, ah_both, d, IBV_QP_AV),            \
		FSW(alt_ah_attr, ah_both, d, IBV_QP_ALT_PATH),                                     \
		FW(pkey_index, UINT, d, IBV_QP_PKEY_INDEX),                                        \
		FW(alt_pkey_index, UINT, d, IBV_QP_ALT_PATH),                                      \
		FW(en_sqd_async_notify, UINT, d, IBV_QP_EN_SQD_ASYNC_NOTIFY),                      \
		FW(max_rd_atomic, UINT, d, IBV_QP_MAX_QP_RD_ATOMIC),                               \
		FW(max_dest_rd_atomic, UINT, d, IBV_QP_MAX_DEST_RD_ATOMIC),                        \
		FW(min_rnr_timer, UINT, d, IBV_QP_MIN_RNR_TIMER),                                  \
		FW(port_num, UINT, d, IBV_QP_PORT), FW(timeout, UINT, d, IBV_QP_TIMEOUT),          \
		FW(retry_cnt, UINT, d, IBV_QP_RETRY_CNT),                                          \
		FW(rnr_retry, UINT, d, IBV_QP_RNR_RETRY),                                          \
		FW(alt_port_num, UINT, d, IBV_QP_ALT_PATH),                                        \
		FW(alt_timeout, UINT, d, IBV_QP_ALT_PATH),                                         \
		FW(rate_limit, UINT, d, IBV_QP_RATE_LIMIT)
static const struct vfield fields_qp_set[] = { QP_ATTR(IN) };
STRUCT(qp_set);
static const struct vfield fields_qp_get[] = { QP_ATTR(OUT) };
STRUCT(qp_get);
/* rdma_init_qp_attr() takes the target state in qp_state and fills the other fields. */
static const struct vfield fields_qp_cm[] = {
	{ .name = "for_state",
	  .off = offsetof(T, qp_state),
	  .size = 4,
	  .kind = VK_ENUM,
	  .dir = IN,
	  .count_off = VCOUNT_NONE,
	  .aux = &vnames_qp_state },
	QP_ATTR(OUT),
};
STRUCT(qp_cm);
#undef T

#define T struct ibv_qp_rate_limit_attr
static const struct vfield fields_rate_limit[] = {
	F(rate_limit, UINT, IN),
	F(max_burst_sz, UINT, IN),
	F(typical_pkt_sz, UINT, IN),
	F(comp_mask, HEX, IN),
};
STRUCT_MASK(rate_limit, comp_mask, 0);
#undef T

#define T struct ibv_ece
static const struct vfield fields_ece_set[] = {
	F(vendor_id, HEX, IN),
	F(options, HEX, IN),
	F(comp_mask, HEX, IN),
};
STRUCT(ece_set);
static const struct vfield fields_ece_get[] = {
	F(vendor_id, HEX, OUT),
	F(options, HEX, OUT),
	F(comp_mask, HEX, OUT),
};
STRUCT(ece_get);
#undef T

#define T struct ibv_wc
static const struct vfield fields_wc[] = {
	FV(wr_id, IN, WRID),
	FN(status, ENUM, IN, wc_status),
	FN(opcode, ENUM, IN, wc_opcode),
	F(vendor_err, HEX, IN),
	F(byte_len, UINT, IN),
	F(imm_data, HEX, IN),
	FV(qp_num, IN, QPN),
	FV(src_qp, IN, QPN),
	FN(wc_flags, FLAGS, IN, wc_flags),
	F(pkey_index, UINT, IN),
	F(slid, UINT, IN),
	F(sl, UINT, IN),
	F(dlid_path_bits, UINT, IN),
};
STRUCT(wc);
#undef T

#define T struct ibv_grh
static const struct vfield fields_grh[] = {
	F(version_tclass_flow, BE, IN), F(paylen, BE, IN),   F(next_hdr, UINT, IN),
	F(hop_limit, UINT, IN),		F(sgid, VK_GID, IN), F(dgid, VK_GID, IN),
};
STRUCT(grh);
#undef T

/* --- work queues, flows, counters --- */

#define T struct ibv_wq_init_attr
static const struct vfield fields_wq_init[] = {
	F(wq_type, UINT, IN),
	F(max_wr, UINT, BOTH),
	F(max_sge, UINT, BOTH),
	FO(pd, PD, IN),
	FO(cq, CQ, IN),
	FN(comp_mask, FLAGS, IN, wq_init),
	FNW(create_flags, FLAGS, IN, wq_flags, IBV_WQ_INIT_ATTR_FLAGS),
};
STRUCT_MASK(wq_init, comp_mask, IBV_WQ_INIT_ATTR_FLAGS);
#undef T

#define T struct ibv_wq_attr
static const struct vfield fields_wq_set[] = {
	FN(attr_mask, FLAGS, IN, wq_attr),
	FNW(wq_state, ENUM, IN, wq_state, IBV_WQ_ATTR_STATE),
	FNW(curr_wq_state, ENUM, IN, wq_state, IBV_WQ_ATTR_CURR_STATE),
	FNW(flags, FLAGS, IN, wq_flags, IBV_WQ_ATTR_FLAGS),
	FNW(flags_mask, FLAGS, IN, wq_flags, IBV_WQ_ATTR_FLAGS),
};
STRUCT_MASK(wq_set, attr_mask, IBV_WQ_ATTR_RESERVED - 1);
#undef T

#define T struct ibv_rwq_ind_table_init_attr
static const struct vfield fields_ind_init[] = {
	F(log_ind_tbl_size, UINT, IN),
	{ .name = "ind_tbl",
	  .off = offsetof(T, ind_tbl),
	  .size = sizeof(void *),
	  .kind = VK_OBJS,
	  .dir = IN,
	  .obj = VOBJ_WQ,
	  .count_off = offsetof(T, log_ind_tbl_size),
	  .count_size = 4 },
	F(comp_mask, HEX, IN),
};
STRUCT_MASK(ind_init, comp_mask, 0);
#undef T

#define T struct ibv_flow_attr
static const struct vfield fields_flow_attr[] = {
	F(comp_mask, HEX, IN),
	FN(type, ENUM, IN, flow_type),
	F(size, UINT, IN),
	F(priority, UINT, IN),
	F(num_of_specs, UINT, IN),
	F(port, UINT, IN),
	FN(flags, FLAGS, IN, flow_flags),
	{ .name = "specs",
	  .off = sizeof(T),
	  .kind = VK_SPECS,
	  .dir = IN,
	  .count_off = offsetof(T, num_of_specs),
	  .count_size = 1 },
};
STRUCT_MASK(flow_attr, comp_mask, 0);
#undef T

#define T struct ibv_counters_init_attr
static const struct vfield fields_cnt_attr[] = { F(comp_mask, HEX, IN) };
STRUCT_MASK(cnt_attr, comp_mask, 0);
#undef T

#define T struct ibv_counter_attach_attr
static const struct vfield fields_cnt_attach[] = {
	FN(counter_desc, ENUM, IN, counter),
	F(index, UINT, IN),
	F(comp_mask, HEX, IN),
};
STRUCT_MASK(cnt_attach, comp_mask, 0);
#undef T

/* clang-format on */
