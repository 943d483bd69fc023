// SPDX-License-Identifier: MIT
/* The structs of libibverbs and librdmacm, field by field, as far as calls take or give them. */
#include "traces/calldesc.h"

#define FIELD(m, k, d)                                                                             \
	.name = #m, .off = offsetof(T, m), .size = sizeof(((T *)0)->m), .kind = (k), .dir = (d)
#define F(m, k, d)                                                                                 \
	{                                                                                          \
		FIELD(m, k, d), .count_off = VCOUNT_NONE                                           \
	}
#define FW(m, k, d, w)                                                                             \
	{                                                                                          \
		FIELD(m, k, d), .count_off = VCOUNT_NONE, .when = (uint64_t)(w)                    \
	}
#define FN(m, k, d, names)                                                                         \
	{                                                                                          \
		FIELD(m, k, d), .count_off = VCOUNT_NONE, .aux = &vnames_##names                   \
	}
#define FNW(m, k, d, names, w)                                                                     \
	{                                                                                          \
		FIELD(m, k, d), .count_off = VCOUNT_NONE, .aux = &vnames_##names,                  \
				.when = (uint64_t)(w)                                              \
	}
#define FO(m, o, d)                                                                                \
	{                                                                                          \
		FIELD(m, VK_OBJ, d), .count_off = VCOUNT_NONE, .obj = VOBJ_##o                     \
	}
#define FOW(m, o, d, w)                                                                            \
	{                                                                                          \
		FIELD(m, VK_OBJ, d), .count_off = VCOUNT_NONE, .obj = VOBJ_##o,                    \
				     .when = (uint64_t)(w)                                         \
	}
#define FS(m, s, d)                                                                                \
	{                                                                                          \
		FIELD(m, VK_STRUCT, d), .count_off = VCOUNT_NONE, .aux = &vstruct_##s              \
	}
#define FSW(m, s, d, w)                                                                            \
	{                                                                                          \
		FIELD(m, VK_STRUCT, d), .count_off = VCOUNT_NONE, .aux = &vstruct_##s,             \
					.when = (uint64_t)(w)                                      \
	}
#define FV(m, d, f)                                                                                \
	{                                                                                          \
		FIELD(m, VK_HEX, d), .count_off = VCOUNT_NONE, .fact = VFACT_##f                   \
	}
#define FVW(m, d, f, w)                                                                            \
	{                                                                                          \
		FIELD(m, VK_HEX, d), .count_off = VCOUNT_NONE, .fact = VFACT_##f,                  \
				     .when = (uint64_t)(w)                                         \
	}
/* As many as the field @c says. */
#define FC(m, k, d, c)                                                                             \
	{                                                                                          \
		FIELD(m, k, d), .count_off = offsetof(T, c), .count_size = sizeof(((T *)0)->c)     \
	}
#define FCS(m, k, d, c, s)                                                                         \
	{                                                                                          \
		FIELD(m, k, d), .count_off = offsetof(T, c), .count_size = sizeof(((T *)0)->c),    \
				.aux = &vstruct_##s                                                \
	}

#define STRUCT(x)                                                                                  \
	const struct vstruct vstruct_##x = { .size = sizeof(T),                                    \
					     .n = VDESC_COUNT(fields_##x),                         \
					     .fields = fields_##x,                                 \
					     .mask_off = VCOUNT_NONE }
#define STRUCT_MASK(x, m, bits)                                                                    \
	const struct vstruct vstruct_##x = { .size = sizeof(T),                                    \
					     .n = VDESC_COUNT(fields_##x),                         \
					     .fields = fields_##x,                                 \
					     .mask_off = offsetof(T, m),                           \
					     .mask_size = sizeof(((T *)0)->m),                     \
					     .known = (uint64_t)(bits) }
/* Described, but not in VSTRUCTS. */
#define LOCAL(x) static const struct vstruct vstruct_##x

#define IN    VDIR_IN
#define OUT   VDIR_OUT
#define BOTH  VDIR_BOTH
#define UINT  VK_UINT
#define INT   VK_INT
#define HEX   VK_HEX
#define BE    VK_BE
#define ENUM  VK_ENUM
#define FLAGS VK_FLAGS

/* clang-format off */

/* --- asynchronous events, devices and ports ------------------------------------------------- */

#define T struct ibv_async_event
static const struct vfield fields_event_get[] = {
	FN(event_type, ENUM, OUT, event),
	F(element, VK_ELEMENT, OUT),
};
STRUCT(event_get);
static const struct vfield fields_event_ack[] = {
	FN(event_type, ENUM, IN, event),
	F(element, VK_ELEMENT, IN),
};
STRUCT(event_ack);
#undef T

#define T    struct ibv_device_attr
#define U(m) F(m, UINT, OUT)
static const struct vfield fields_device_attr[] = {
	F(fw_ver, VK_CHARS, OUT),
	F(node_guid, BE, OUT),
	F(sys_image_guid, BE, OUT),
	F(max_mr_size, HEX, OUT),
	F(page_size_cap, HEX, OUT),
	F(vendor_id, HEX, OUT),
	U(vendor_part_id),
	U(hw_ver),
	U(max_qp),
	U(max_qp_wr),
	FN(device_cap_flags, FLAGS, OUT, dev_caps),
	U(max_sge),
	U(max_sge_rd),
	U(max_cq),
	U(max_cqe),
	U(max_mr),
	U(max_pd),
	U(max_qp_rd_atom),
	U(max_ee_rd_atom),
	U(max_res_rd_atom),
	U(max_qp_init_rd_atom),
	U(max_ee_init_rd_atom),
	FN(atomic_cap, ENUM, OUT, atomic_cap),
	U(max_ee),
	U(max_rdd),
	U(max_mw),
	U(max_raw_ipv6_qp),
	U(max_raw_ethy_qp),
	U(max_mcast_grp),
	U(max_mcast_qp_attach),
	U(max_total_mcast_qp_attach),
	U(max_ah),
	U(max_fmr),
	U(max_map_per_fmr),
	U(max_srq),
	U(max_srq_wr),
	U(max_srq_sge),
	U(max_pkeys),
	U(local_ca_ack_delay),
	U(phys_port_cnt),
};
STRUCT(device_attr);
#undef T

#define T struct ibv_query_device_ex_input
static const struct vfield fields_query_input[] = { F(comp_mask, HEX, IN) };
STRUCT(query_input);
#undef T

#define T struct ibv_device_attr_ex
static const struct vfield fields_device_attr_ex[] = {
	FS(orig_attr, device_attr, OUT),
	F(comp_mask, HEX, OUT),
	F(odp_caps.general_caps, HEX, OUT),
	F(odp_caps.per_transport_caps.rc_odp_caps, HEX, OUT),
	F(odp_caps.per_transport_caps.uc_odp_caps, HEX, OUT),
	F(odp_caps.per_transport_caps.ud_odp_caps, HEX, OUT),
	F(completion_timestamp_mask, HEX, OUT),
	U(hca_core_clock),
	FN(device_cap_flags_ex, FLAGS, OUT, dev_caps),
	U(tso_caps.max_tso),
	F(tso_caps.supported_qpts, HEX, OUT),
	F(rss_caps.supported_qpts, HEX, OUT),
	U(rss_caps.max_rwq_indirection_tables),
	U(rss_caps.max_rwq_indirection_table_size),
	F(rss_caps.rx_hash_fields_mask, HEX, OUT),
	F(rss_caps.rx_hash_function, HEX, OUT),
	U(max_wq_type_rq),
	U(packet_pacing_caps.qp_rate_limit_min),
	U(packet_pacing_caps.qp_rate_limit_max),
	F(packet_pacing_caps.supported_qpts, HEX, OUT),
	F(raw_packet_caps, HEX, OUT),
	U(tm_caps.max_rndv_hdr_size),
	U(tm_caps.max_num_tags),
	F(tm_caps.flags, HEX, OUT),
	U(tm_caps.max_ops),
	U(tm_caps.max_sge),
	U(cq_mod_caps.max_cq_count),
	U(cq_mod_caps.max_cq_period),
	U(max_dm_size),
	F(pci_atomic_caps.fetch_add, HEX, OUT),
	F(pci_atomic_caps.swap, HEX, OUT),
	F(pci_atomic_caps.compare_swap, HEX, OUT),
	F(xrc_odp_caps, HEX, OUT),
	U(phys_port_cnt_ex),
};
STRUCT(device_attr_ex);
#undef T

#define T struct ibv_port_attr
static const struct vfield fields_port_attr[] = {
	FN(state, ENUM, OUT, port_state),
	FN(max_mtu, ENUM, OUT, mtu),
	FN(active_mtu, ENUM, OUT, mtu),
	U(gid_tbl_len),
	F(port_cap_flags, HEX, OUT),
	U(max_msg_sz),
	FV(bad_pkey_cntr, OUT, OTHER),
	FV(qkey_viol_cntr, OUT, OTHER),
	U(pkey_tbl_len),
	U(lid),
	U(sm_lid),
	U(lmc),
	U(max_vl_num),
	U(sm_sl),
	U(subnet_timeout),
	U(init_type_reply),
	U(active_width),
	U(active_speed),
	U(phys_state),
	FN(link_layer, ENUM, OUT, link_layer),
	F(flags, HEX, OUT),
	F(port_cap_flags2, HEX, OUT),
};
STRUCT(port_attr);
#undef T

#define T struct ibv_gid_entry
static const struct vfield fields_gid_entry[] = {
	F(gid, VK_GID, OUT),	      U(gid_index), U(port_num), FN(gid_type, ENUM, OUT, gid_type),
	FV(ndev_ifindex, OUT, OTHER),
};
STRUCT(gid_entry);
#undef T

#define T struct ibv_values_ex
static const struct vfield fields_values[] = {
	FN(comp_mask, FLAGS, BOTH, values),
	FV(raw_clock.tv_sec, OUT, TIME),
	FV(raw_clock.tv_nsec, OUT, TIME),
};
STRUCT_MASK(values, comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
#undef T

/* --- domains ---------------------------------------------------------------------------------- */

#define T struct ibv_td_init_attr
static const struct vfield fields_td_attr[] = { F(comp_mask, HEX, IN) };
STRUCT_MASK(td_attr, comp_mask, 0);
#undef T

/* Allocators are functions of the program: they cannot be replayed. */
#define T struct ibv_parent_domain_init_attr
static const struct vfield fields_domain_attr[] = {
	FO(pd, PD, IN),
	FO(td, TD, IN),
	FN(comp_mask, FLAGS, IN, domain),
};
STRUCT_MASK(domain_attr, comp_mask,
	    IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT);
#undef T

#define T struct ibv_xrcd_init_attr
static const struct vfield fields_xrcd_attr[] = {
	FN(comp_mask, FLAGS, IN, xrcd),
	FV(fd, IN, FD),
	F(oflags, HEX, IN),
};
STRUCT_MASK(xrcd_attr, comp_mask, IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS);
#undef T

/* --- memory ----------------------------------------------------------------------------------- */

#define T struct ibv_sge
static const struct vfield fields_sge[] = {
	FV(addr, IN, ADDR),
	F(length, UINT, IN),
	FV(lkey, IN, KEY),
};
STRUCT(sge);
#undef T

#define T struct ibv_mw_bind
static const struct vfield fields_mw_bind[] = {
	FV(wr_id, IN, WRID),	       FN(send_flags, FLAGS, IN, send_flags),
	FO(bind_info.mr, MR, IN),      FV(bind_info.addr, IN, ADDR),
	F(bind_info.length, UINT, IN), FN(bind_info.mw_access_flags, FLAGS, IN, access),
};
STRUCT(mw_bind);
#undef T

#define T struct ibv_alloc_dm_attr
static const struct vfield fields_dm_attr[] = {
	F(length, UINT, IN),
	F(log_align_req, UINT, IN),
	F(comp_mask, HEX, IN),
};
STRUCT_MASK(dm_attr, comp_mask, 0);
#undef T

/* --- completion queues ------------------------------------------------------------------------ */

#define T struct ibv_cq_init_attr_ex
static const struct vfield fields_cq_attr_ex[] = {
	F(cqe, UINT, IN),
	FO(channel, CH, IN),
	F(comp_vector, UINT, IN),
	FN(wc_flags, FLAGS, IN, wc_flags_ex),
	FN(comp_mask, FLAGS, IN, cq_mask),
	FNW(flags, FLAGS, IN, cq_flags, IBV_CQ_INIT_ATTR_MASK_FLAGS),
	FOW(parent_domain, PD, IN, IBV_CQ_INIT_ATTR_MASK_PD),
};
STRUCT_MASK(cq_attr_ex, comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD);
#undef T

#define T struct ibv_modify_cq_attr
static const struct vfield fields_cq_mod[] = {
	FN(attr_mask, FLAGS, IN, cq_attr),
	F(moderate.cq_count, UINT, IN),
	F(moderate.cq_period, UINT, IN),
};
STRUCT_MASK(cq_mod, attr_mask, IBV_CQ_ATTR_MODERATE);
#undef T

/* --- shared receive queues -------------------------------------------------------------------- */

#define T struct ibv_srq_init_attr
static const struct vfield fields_srq_init[] = {
	F(attr.max_wr, UINT, BOTH),
	F(attr.max_sge, UINT, BOTH),
	F(attr.srq_limit, UINT, IN),
};
STRUCT(srq_init);
#undef T

#define T struct ibv_srq_init_attr_ex
static const struct vfield fields_srq_init_ex[] = {
	F(attr.max_wr, UINT, BOTH),
	F(attr.max_sge, UINT, BOTH),
	F(attr.srq_limit, UINT, IN),
	FN(comp_mask, FLAGS, IN, srq_init),
	FNW(srq_type, ENUM, IN, srq_type, IBV_SRQ_INIT_ATTR_TYPE),
	FOW(pd, PD, IN, IBV_SRQ_INIT_ATTR_PD),
	FOW(xrcd, XRCD, IN, IBV_SRQ_INIT_ATTR_XRCD),
	FOW(cq, CQ, IN, IBV_SRQ_INIT_ATTR_CQ),
	FW(tm_cap.max_num_tags, UINT, IN, IBV_SRQ_INIT_ATTR_TM),
	FW(tm_cap.max_ops, UINT, IN, IBV_SRQ_INIT_ATTR_TM),
};
STRUCT_MASK(srq_init_ex, comp_mask, IBV_SRQ_INIT_ATTR_RESERVED - 1);
#undef T

#define T struct ibv_srq_attr
static const struct vfield fields_srq_set[] = {
	FW(max_wr, UINT, IN, IBV_SRQ_MAX_WR),
	F(max_sge, UINT, 0),
	FW(srq_limit, UINT, IN, IBV_SRQ_LIMIT),
};
STRUCT(srq_set);
static const struct vfield fields_srq_get[] = {
	F(max_wr, UINT, OUT),
	F(max_sge, UINT, OUT),
	F(srq_limit, UINT, OUT),
};
STRUCT(srq_get);
#undef T

/* --- queue pairs ------------------------------------------------------------------------------ */

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
/* rdma_init_qp_attr() reads the state that is wanted and says what it takes. */
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

/* --- work queues, flows, counters ------------------------------------------------------------- */

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

/* --- the rdma_cm ------------------------------------------------------------------------------ */

#define T struct rdma_addrinfo
#define ADDRINFO(d)                                                                                \
	FN(ai_flags, FLAGS, d, rai), F(ai_family, UINT, d), FN(ai_qp_type, ENUM, d, qp_type),      \
		FN(ai_port_space, ENUM, d, port_space), F(ai_src_len, UINT, d),                    \
		F(ai_dst_len, UINT, d), FC(ai_src_addr, VK_PSOCKADDR, d, ai_src_len),              \
		FC(ai_dst_addr, VK_PSOCKADDR, d, ai_dst_len), F(ai_src_canonname, VK_STR, d),      \
		F(ai_dst_canonname, VK_STR, d), F(ai_route_len, UINT, d),                          \
		F(ai_connect_len, UINT, d), FC(ai_connect, VK_BYTES, d, ai_connect_len)
static const struct vfield fields_addrinfo[] = { ADDRINFO(IN) };
STRUCT(addrinfo);
static const struct vfield fields_addrinfo_out[] = { ADDRINFO(OUT) };
STRUCT(addrinfo_out);
#undef T

#define T struct rdma_conn_param
static const struct vfield fields_conn_param[] = {
	FC(private_data, VK_PRIVATE, BOTH, private_data_len),
	F(private_data_len, UINT, BOTH),
	F(responder_resources, UINT, BOTH),
	F(initiator_depth, UINT, BOTH),
	F(flow_control, UINT, BOTH),
	F(retry_count, UINT, BOTH),
	F(rnr_retry_count, UINT, BOTH),
	F(srq, UINT, BOTH),
	FV(qp_num, BOTH, QPN),
};
STRUCT(conn_param);
#undef T

#define T struct rdma_ud_param
static const struct vfield fields_ud_param[] = {
	FC(private_data, VK_PRIVATE, OUT, private_data_len),
	F(private_data_len, UINT, OUT),
	FS(ah_attr, ah_get, OUT),
	FV(qp_num, OUT, QPN),
	F(qkey, HEX, OUT),
};
STRUCT(ud_param);
#undef T

#define T struct rdma_cm_join_mc_attr_ex
static const struct vfield fields_mc_attr[] = {
	FN(comp_mask, FLAGS, IN, mc_mask),
	FW(join_flags, UINT, IN, RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS),
	FW(addr, VK_PSOCKADDR, IN, RDMA_CM_JOIN_MC_ATTR_ADDRESS),
};
STRUCT_MASK(mc_attr, comp_mask, RDMA_CM_JOIN_MC_ATTR_RESERVED - 1);
#undef T

/* An event; and one that a synchronous identifier keeps, which nobody acknowledges. */
#define T struct rdma_cm_event
static const struct vfield fields_cm_event[] = {
	FN(event, ENUM, OUT, cm_event),
	F(status, INT, OUT),
	FO(listen_id, ID, OUT),
	{ .name = "id",
	  .off = offsetof(T, id),
	  .size = sizeof(void *),
	  .kind = VK_OBJ,
	  .dir = OUT,
	  .obj = VOBJ_ID,
	  .count_off = VCOUNT_NONE,
	  .aux = &vstruct_id },
	F(param, VK_EVPARAM, OUT),
};
STRUCT(cm_event);
static const struct vfield fields_kept_event[] = {
	FN(event, ENUM, OUT, cm_event),
	F(status, INT, OUT),
	F(param, VK_EVPARAM, OUT),
};
LOCAL(kept_event) = { .size = sizeof(T),
		      .n = VDESC_COUNT(fields_kept_event),
		      .fields = fields_kept_event,
		      .mask_off = VCOUNT_NONE };
#undef T

/* What an identifier has got by the call: the program reads it there. */
#define T    struct rdma_cm_id
#define MADE (OUT | VDIR_MADE)
#define FM(m, k, names, o)                                                                         \
	{                                                                                          \
		FIELD(m, k, MADE), .count_off = VCOUNT_NONE, .aux = &vnames_##names,               \
				   .obj = VOBJ_##o                                                 \
	}
static const struct vfield fields_id[] = {
	FO(channel, EVCH, MADE),
	FO(verbs, CTX, MADE),
	FM(port_num, UINT, values, CTX),
	FM(ps, ENUM, port_space, CTX),
	FM(qp_type, ENUM, qp_type, CTX),
	FO(pd, PD, MADE),
	FO(send_cq_channel, CH, MADE),
	FO(send_cq, CQ, MADE),
	FO(recv_cq_channel, CH, MADE),
	FO(recv_cq, CQ, MADE),
	FO(srq, SRQ, MADE),
	FO(qp, QP, MADE),
	{ .name = "event",
	  .off = offsetof(T, event),
	  .size = sizeof(void *),
	  .kind = VK_PTR,
	  .dir = MADE,
	  .count_off = VCOUNT_NONE,
	  .aux = &vstruct_kept_event,
	  .obj = VOBJ_EV },
	{ .name = "src",
	  .off = offsetof(T, route.addr.src_storage),
	  .kind = VK_SOCKADDR,
	  .dir = MADE,
	  .fact = VFACT_PORT,
	  .count_off = VCOUNT_NONE,
	  .obj = VOBJ_CTX },
	{ .name = "dst",
	  .off = offsetof(T, route.addr.dst_storage),
	  .kind = VK_SOCKADDR,
	  .dir = MADE,
	  .fact = VFACT_PORT,
	  .count_off = VCOUNT_NONE,
	  .obj = VOBJ_CTX },
};
STRUCT(id);
#undef T

/* clang-format on */
