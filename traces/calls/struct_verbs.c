/* SPDX-License-Identifier: MIT */
/* Descriptions of the structs of libibverbs: devices, domains, memory, CQs and SRQs. */
#include "traces/calls/struct.h"

/* clang-format off */

/* --- asynchronous events, devices and ports --- */

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

/* --- domains --- */

#define T struct ibv_td_init_attr
static const struct vfield fields_td_attr[] = { F(comp_mask, HEX, IN) };
STRUCT_MASK(td_attr, comp_mask, 0);
#undef T

/* Allocators are functions of the program and cannot be replayed. */
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

/* --- memory --- */

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

/* --- completion queues --- */

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

/* --- shared receive queues --- */

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

/* clang-format on */
