/* SPDX-License-Identifier: MIT */
/**
 * DOC: how arguments and structs of calls are described to the walker (walk.c) and the parser
 * (parse.c).
 *
 * The arguments of a call are the fields of a struct of 64-bit words.
 */
#ifndef TRACES_CALLS_DESC_H
#define TRACES_CALLS_DESC_H

#include "traces/calls/calls.h"

#define VDESC_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/** enum vkind - how a field is written. */
enum vkind {
	VK_UINT,
	VK_INT,
	VK_HEX,
	VK_BE, /* big-endian in memory; written in hexadecimal */
	VK_ENUM, /* aux: names */
	VK_FLAGS, /* aux: names */
	VK_OBJ,
	VK_DEV, /* struct ibv_device *: by its name */
	VK_STRUCT, /* embedded. aux: struct vstruct */
	VK_PTR, /* pointer to a struct. aux: struct vstruct; count_off: its mask, if it has one */
	VK_PMASK, /* the same; count_off: pointer to its mask */
	VK_ARRAY, /* array of structs; count_off: their number */
	VK_OBJS, /* array of pointers to objects; count_off: log2 of their number */
	VK_U64S, /* array of numbers; count_off: their number */
	VK_CHARS, /* text in an array */
	VK_STR, /* pointer to text */
	VK_GID, /* 16 bytes */
	VK_PGID, /* pointer to them */
	VK_BYTES, /* pointer to bytes that are the same in every run; count_off: their number */
	VK_HERE, /* embedded bytes */
	VK_PRIVATE, /* like VK_BYTES, but different in every run */
	VK_SOCKADDR, /* embedded struct sockaddr */
	VK_PSOCKADDR, /* pointer to one */
	VK_OUT, /* pointer to an integer */
	VK_OUTOBJ, /* pointer to where a pointer to an object is stored. aux: its struct */
	VK_OUTPTR, /* pointer to where a pointer to a struct is stored. aux: the struct */
	VK_CONTEXT, /* not recorded */
	VK_ELEMENT, /* ibv_async_event.element */
	VK_EVPARAM, /* rdma_cm_event.param */
	VK_SPECS, /* the specifications after an ibv_flow_attr */
};

#define VDIR_IN	   1u /* read before the call */
#define VDIR_OUT   2u /* read after the call */
#define VDIR_ENDS  4u /* an object that the call ends */
#define VDIR_FRESH 8u /* an object that the call has created */
#define VDIR_MADE                                                                                  \
	16u /* only after calls that may have created it: vcall_made_kinds() has bit @obj */
#define VDIR_BOTH (VDIR_IN | VDIR_OUT)

#define VCOUNT_NONE 0xffffu
#define VCOUNT_RET  0xfffeu /* what the call returned */
#define VCOUNT_NEXT 0xfffdu /* the next argument */

struct vname {
	const char *name;
	uint64_t value;
};

struct vnames {
	const struct vname *name;
	uint32_t n;
};

/**
 * struct vfield - one field.
 * @off: its offset in the struct
 * @size: of an integer, or of embedded bytes
 * @kind: enum vkind; @obj: enum vobj; @fact: enum vfact, if the value differs from run to run
 * @count_off: offset of the integer of @count_size bytes that is the field's count or mask
 * @when: the field is valid if the struct's mask has one of these bits; 0: always
 */
struct vfield {
	const char *name;
	uint16_t off;
	uint16_t size;
	uint8_t kind;
	uint8_t dir;
	uint8_t obj;
	uint8_t fact;
	uint16_t count_off;
	uint8_t count_size;
	uint64_t when;
	const void *aux;
};

/**
 * struct vstruct - a struct.
 * @mask_off: offset of its own mask of @mask_size bytes; VCOUNT_NONE: it has none
 * @known: bits of the mask that this version knows
 */
struct vstruct {
	uint16_t size;
	uint16_t n;
	const struct vfield *fields;
	uint16_t mask_off;
	uint8_t mask_size;
	uint64_t known;
};

/* Names of values: names.c */
/* clang-format off */
#define VNAMES(X)                                                                          \
	X(access) X(qp_type) X(qp_state) X(mtu) X(mig_state) X(qp_mask) X(srq_mask)        \
	X(srq_type) X(srq_init) X(qp_init) X(qp_create) X(send_ops) X(qp_open)             \
	X(wc_flags_ex) X(cq_mask) X(cq_flags) X(mw_type) X(rereg) X(rereg_err)             \
	X(port_space) X(event) X(cm_event) X(wr_opcode) X(send_flags) X(port_state)        \
	X(link_layer) X(wc_status) X(wc_opcode) X(wc_flags) X(gid_type) X(xrcd)            \
	X(wq_state) X(wq_attr) X(wq_flags) X(wq_init) X(flow_type) X(flow_flags)           \
	X(counter) X(rai) X(mc_mask) X(advice) X(atomic_cap) X(fork) X(domain)             \
	X(values) X(cq_attr) X(dev_caps) X(node_type)
/* clang-format on */
#define VNAMES_DECLARE(x) extern const struct vnames vnames_##x;
VNAMES(VNAMES_DECLARE)

/* Structs: struct_verbs.c, struct_qp.c, struct_cm.c */
/* clang-format off */
#define VSTRUCTS(X)                                                                        \
	X(event_get) X(event_ack) X(device_attr) X(query_input) X(device_attr_ex)          \
	X(port_attr) X(gid_entry) X(values) X(td_attr) X(domain_attr) X(xrcd_attr)         \
	X(mw_bind) X(dm_attr) X(cq_attr_ex) X(cq_mod) X(srq_init) X(srq_init_ex)           \
	X(srq_set) X(srq_get) X(qp_init) X(qp_init_ex) X(qp_init_get) X(qp_open)           \
	X(qp_set) X(qp_get) X(qp_cm) X(rate_limit) X(ece_set) X(ece_get) X(ah_attr)        \
	X(ah_get) X(wc) X(grh) X(wq_init) X(wq_set) X(ind_init) X(flow_attr)               \
	X(cnt_attr) X(cnt_attach) X(addrinfo) X(addrinfo_out) X(conn_param) X(ud_param)    \
	X(mc_attr) X(sge) X(id) X(cm_event)
/* clang-format on */
#define VSTRUCTS_DECLARE(x) extern const struct vstruct vstruct_##x;
VSTRUCTS(VSTRUCTS_DECLARE)

/** vfield_read_int() - read the integer of @size bytes at @at. */
uint64_t vfield_read_int(const void *at, uint32_t size);

#endif
