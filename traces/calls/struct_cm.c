/* SPDX-License-Identifier: MIT */
/* Descriptions of the structs of librdmacm. */
#include "traces/calls/struct.h"

/* clang-format off */

/* --- the rdma_cm --- */

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

/* An event, and the event that a synchronous identifier keeps and never acknowledges. */
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

/* Fields of an identifier that the call may have set; the program reads them there. */
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
