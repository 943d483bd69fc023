/* SPDX-License-Identifier: MIT */
/* The table of calls, generated from VCALLS() by the kinds of its arguments and results. */
#include "traces/calls/desc.h"

#include <string.h>

/* Each kind of argument as initializers of struct vfield. */
#define VD_OBJ(o)	.kind = VK_OBJ, .dir = VDIR_IN, .obj = VOBJ_##o
#define VD_END(o)	.kind = VK_OBJ, .dir = VDIR_IN | VDIR_ENDS, .obj = VOBJ_##o
#define VD_OUTOBJ(o, d) .kind = VK_OUTOBJ, .dir = VDIR_OUT | (d), .obj = VOBJ_##o
#define VD_NAMES(k, n)	.kind = (k), .dir = VDIR_IN, .aux = &vnames_##n
#define VD_FACT(f)	.kind = VK_HEX, .dir = VDIR_IN, .fact = VFACT_##f
#define VD_PTR(s)	.kind = VK_PTR, .dir = VDIR_BOTH, .aux = &vstruct_##s
#define VD_OUTINT(n)	.kind = VK_OUT, .dir = VDIR_BOTH, .size = n

#define VD_dev	    VD_NAMES(VK_DEV, node_type)
#define VD_ctx	    VD_OBJ(CTX)
#define VD_end_ctx  VD_END(CTX)
#define VD_pd	    VD_OBJ(PD)
#define VD_end_pd   VD_END(PD)
#define VD_mr	    VD_OBJ(MR)
#define VD_end_mr   VD_END(MR)
#define VD_mw	    VD_OBJ(MW)
#define VD_end_mw   VD_END(MW)
#define VD_cq	    VD_OBJ(CQ)
#define VD_end_cq   VD_END(CQ)
#define VD_out_cq   VD_OUTOBJ(CQ, 0)
#define VD_srq	    VD_OBJ(SRQ)
#define VD_end_srq  VD_END(SRQ)
#define VD_qp	    VD_OBJ(QP)
#define VD_end_qp   VD_END(QP)
#define VD_end_ah   VD_END(AH)
#define VD_ch	    VD_OBJ(CH)
#define VD_end_ch   VD_END(CH)
#define VD_end_xrcd VD_END(XRCD)
#define VD_end_td   VD_END(TD)
#define VD_dm	    VD_OBJ(DM)
#define VD_end_dm   VD_END(DM)
#define VD_wq	    VD_OBJ(WQ)
#define VD_end_wq   VD_END(WQ)
#define VD_end_ind  VD_END(IND)
#define VD_flow	    VD_OBJ(FLOW)
#define VD_end_flow VD_END(FLOW)
#define VD_cnt	    VD_OBJ(CNT)
#define VD_end_cnt  VD_END(CNT)
#define VD_id	    .kind = VK_OBJ, .dir = VDIR_BOTH, .obj = VOBJ_ID, .aux = &vstruct_id
#define VD_end_id   VD_END(ID)
#define VD_out_id   VD_OUTOBJ(ID, VDIR_FRESH), .aux = &vstruct_id
#define VD_evch	    VD_OBJ(EVCH)
#define VD_end_evch VD_END(EVCH)
#define VD_out_ev   VD_OUTOBJ(EV, VDIR_FRESH), .aux = &vstruct_cm_event
#define VD_end_ev   VD_END(EV)

#define VD_int	    .kind = VK_INT, .dir = VDIR_IN
#define VD_u8	    .kind = VK_UINT, .dir = VDIR_IN
#define VD_u16	    VD_u8
#define VD_u32	    VD_u8
#define VD_u64	    VD_u8
#define VD_uint	    VD_u8
#define VD_size	    VD_u8
#define VD_handle   VD_FACT(HANDLE)
#define VD_fd	    VD_FACT(FD)
#define VD_addr	    VD_FACT(ADDR)
#define VD_iova	    VD_FACT(ADDR)
#define VD_context  .kind = VK_CONTEXT, .dir = 0
#define VD_access   VD_NAMES(VK_FLAGS, access)
#define VD_uaccess  VD_access
#define VD_rereg    VD_NAMES(VK_FLAGS, rereg)
#define VD_qpmask   VD_NAMES(VK_FLAGS, qp_mask)
#define VD_srqmask  VD_NAMES(VK_FLAGS, srq_mask)
#define VD_ps	    VD_NAMES(VK_ENUM, port_space)
#define VD_event    VD_NAMES(VK_ENUM, event)
#define VD_mwtype   VD_NAMES(VK_ENUM, mw_type)
#define VD_advice   VD_NAMES(VK_ENUM, advice)
#define VD_wropcode VD_NAMES(VK_ENUM, wr_opcode)
#define VD_str	    .kind = VK_STR, .dir = VDIR_IN
#define VD_out_int  VD_OUTINT(4)
#define VD_out_u32  VD_OUTINT(4)
#define VD_out_qpn  VD_OUTINT(4), .fact = VFACT_QPN
#define VD_out_be16 VD_OUTINT(2), .aux = &vnames_node_type
#define VD_be16	    .kind = VK_BE, .dir = VDIR_IN, .size = 2
#define VD_gid	    .kind = VK_PGID, .dir = VDIR_IN
#define VD_out_gid  .kind = VK_PGID, .dir = VDIR_OUT
#define VD_sockaddr .kind = VK_PSOCKADDR, .dir = VDIR_IN
#define VD_bytes    .kind = VK_BYTES, .dir = VDIR_IN, .count_off = VCOUNT_NEXT
#define VD_optval   VD_bytes
#define VD_out_u64s .kind = VK_U64S, .dir = VDIR_OUT, .fact = VFACT_OTHER, .count_off = VCOUNT_NEXT
#define VD_sges	    .kind = VK_ARRAY, .dir = VDIR_IN, .aux = &vstruct_sge, .count_off = VCOUNT_NEXT
#define VD_out_gids                                                                                \
	.kind = VK_ARRAY, .dir = VDIR_OUT, .aux = &vstruct_gid_entry, .count_off = VCOUNT_RET

#define VD_event_get	  VD_PTR(event_get)
#define VD_event_ack	  VD_PTR(event_ack)
#define VD_device_attr	  VD_PTR(device_attr)
#define VD_query_input	  VD_PTR(query_input)
#define VD_device_attr_ex VD_PTR(device_attr_ex)
#define VD_port_attr	  VD_PTR(port_attr)
#define VD_gid_entry	  VD_PTR(gid_entry)
#define VD_values	  VD_PTR(values)
#define VD_td_attr	  VD_PTR(td_attr)
#define VD_domain_attr	  VD_PTR(domain_attr)
#define VD_xrcd_attr	  VD_PTR(xrcd_attr)
#define VD_mw_bind	  VD_PTR(mw_bind)
#define VD_dm_attr	  VD_PTR(dm_attr)
#define VD_cq_attr_ex	  VD_PTR(cq_attr_ex)
#define VD_cq_mod	  VD_PTR(cq_mod)
#define VD_srq_init	  VD_PTR(srq_init)
#define VD_srq_init_ex	  VD_PTR(srq_init_ex)
#define VD_srq_set	  VD_PTR(srq_set), .count_off = VCOUNT_NEXT
#define VD_srq_get	  VD_PTR(srq_get)
#define VD_qp_init	  VD_PTR(qp_init)
#define VD_qp_init_ex	  VD_PTR(qp_init_ex)
#define VD_qp_init_get	  VD_PTR(qp_init_get)
#define VD_qp_open	  VD_PTR(qp_open)
#define VD_qp_set	  VD_PTR(qp_set), .count_off = VCOUNT_NEXT
#define VD_qp_get	  VD_PTR(qp_get), .count_off = VCOUNT_NEXT
#define VD_qp_cm	  .kind = VK_PMASK, .dir = VDIR_BOTH, .aux = &vstruct_qp_cm, .count_off = VCOUNT_NEXT
#define VD_out_qpmask	  VD_OUTINT(4), .aux = &vnames_qp_mask
#define VD_rate_limit	  VD_PTR(rate_limit)
#define VD_ece_set	  VD_PTR(ece_set)
#define VD_ece_get	  VD_PTR(ece_get)
#define VD_ah_attr	  VD_PTR(ah_attr)
#define VD_ah_get	  VD_PTR(ah_get)
#define VD_wc		  VD_PTR(wc)
#define VD_grh		  VD_PTR(grh)
#define VD_wq_init	  VD_PTR(wq_init)
#define VD_wq_set	  VD_PTR(wq_set)
#define VD_ind_init	  VD_PTR(ind_init)
#define VD_flow_attr	  VD_PTR(flow_attr)
#define VD_cnt_attr	  VD_PTR(cnt_attr)
#define VD_cnt_attach	  VD_PTR(cnt_attach)
#define VD_hints	  VD_PTR(addrinfo)
#define VD_addrinfo	  VD_PTR(addrinfo)
#define VD_out_addrinfo	  .kind = VK_OUTPTR, .dir = VDIR_OUT, .aux = &vstruct_addrinfo_out
#define VD_conn_param	  .kind = VK_PTR, .dir = VDIR_IN, .aux = &vstruct_conn_param
#define VD_mc_attr	  VD_PTR(mc_attr)

#define VRET_void  VRET_VOID
#define VRET_int   VRET_INT
#define VRET_err   VRET_ERR
#define VRET_m1	   VRET_M1
#define VRET_rereg VRET_REREG
#define VRET_count VRET_COUNT
#define VRET_index VRET_INDEX
#define VRET_fork  VRET_INT
#define VRET_devs  VRET_DEVS
#define VRET_ctxs  VRET_CTXS
#define VRET_ctx   (VRET_NEW + VOBJ_CTX)
#define VRET_pd	   (VRET_NEW + VOBJ_PD)
#define VRET_mr	   (VRET_NEW + VOBJ_MR)
#define VRET_mw	   (VRET_NEW + VOBJ_MW)
#define VRET_cq	   (VRET_NEW + VOBJ_CQ)
#define VRET_cq_ex (VRET_NEW + VOBJ_CQ)
#define VRET_srq   (VRET_NEW + VOBJ_SRQ)
#define VRET_qp	   (VRET_NEW + VOBJ_QP)
#define VRET_ah	   (VRET_NEW + VOBJ_AH)
#define VRET_ch	   (VRET_NEW + VOBJ_CH)
#define VRET_xrcd  (VRET_NEW + VOBJ_XRCD)
#define VRET_td	   (VRET_NEW + VOBJ_TD)
#define VRET_dm	   (VRET_NEW + VOBJ_DM)
#define VRET_wq	   (VRET_NEW + VOBJ_WQ)
#define VRET_ind   (VRET_NEW + VOBJ_IND)
#define VRET_flow  (VRET_NEW + VOBJ_FLOW)
#define VRET_cnt   (VRET_NEW + VOBJ_CNT)
#define VRET_evch  (VRET_NEW + VOBJ_EVCH)

#define ARG(i, kind, label)                                                                        \
	{ .name = #label, .off = (i)*8, .size = 8, .count_off = VCOUNT_NONE, VD_##kind },

/* ARG() sets size 8 and no count as defaults; some kinds override them. */
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif

#define ARGS_OF(name, ret, way, ...)                                                               \
	static const struct vfield args_##name[] = { VCALL_MAP(ARG, ##__VA_ARGS__){ 0 } };
VCALLS(ARGS_OF)

#define DESC(name, result, way, ...)                                                               \
	{ #name, VRET_##result, VDESC_COUNT(args_##name) - 1, args_##name },
const struct vcall_desc vcall_descs[VCALL_COUNT] = { VCALLS(DESC) };

const char *const vobj_names[VOBJ_COUNT] = { "",
#define NAME(name, text, type) text,
					     VOBJS(NAME) };

int vcall_find(const char *name, size_t len)
{
	uint32_t i;

	for (i = 0; i < VCALL_COUNT; i++)
		if (strlen(vcall_descs[i].name) == len && !memcmp(vcall_descs[i].name, name, len))
			return (int)i;
	return -1;
}
