/* SPDX-License-Identifier: MIT */
/**
 * DOC: messages of connection management in wire format: IBTA volume 1, 12.6, in MADs (13.4.2) of
 * class CommMgt.
 *
 * A field is a position and a width in bits, both in a table; byte areas are offsets. All offsets
 * are those of the MAD, whose common header takes the first 24 bytes.
 */
#ifndef EMULATOR_MAD_H
#define EMULATOR_MAD_H

#include "emulator/cm/cm.h"

#define MAD_HDR		24u
#define MAD_BASE	1u
#define MAD_CLASS_CM	7u
#define MAD_CM_VERSION	2u
#define MAD_METHOD_SEND 3u

/** enum cm_attr - attribute ids: the types of messages. */
enum cm_attr {
	MAD_REQ = 0x10,
	MAD_MRA,
	MAD_REJ,
	MAD_REP,
	MAD_RTU,
	MAD_DREQ,
	MAD_DREP,
	MAD_SIDR_REQ,
	MAD_SIDR_REP,
	MAD_LAP,
	MAD_APR,
	MAD_ATTR_END,
};

/** enum cm_answered - which message an MRA or REJ is about. */
enum cm_answered {
	ABOUT_REQ,
	ABOUT_REP,
	ABOUT_OTHER,
};

/** enum cm_sidr_status - SIDR_REP's (IBTA 12.11.2.2). */
enum cm_sidr_status {
	SIDR_VALID,
	SIDR_UNSUPPORTED,
	SIDR_REJECT,
};

enum cm_field {
	/* all messages */
	F_BASE_VERSION,
	F_CLASS,
	F_CLASS_VERSION,
	F_METHOD,
	F_TID,
	F_ATTR,
	F_ATTR_MOD,
	F_LOCAL_ID, /* request id in SIDR */
	F_REMOTE_ID, /* not in REQ, SIDR */

	F_REQ_VENDOR_ID,
	F_REQ_SERVICE_ID,
	F_REQ_CA_GUID,
	F_REQ_QKEY,
	F_REQ_QPN,
	F_REQ_RESPONDER_RESOURCES,
	F_REQ_INITIATOR_DEPTH,
	F_REQ_REMOTE_TIMEOUT,
	F_REQ_TRANSPORT,
	F_REQ_FLOW_CONTROL,
	F_REQ_PSN,
	F_REQ_LOCAL_TIMEOUT,
	F_REQ_RETRY_COUNT,
	F_REQ_PKEY,
	F_REQ_MTU,
	F_REQ_RNR_RETRY,
	F_REQ_MAX_RETRIES,
	F_REQ_SRQ,
	F_REQ_EXT_TRANSPORT,
	F_REQ_LOCAL_LID,
	F_REQ_REMOTE_LID,
	F_REQ_FLOW_LABEL,
	F_REQ_RATE,
	F_REQ_TRAFFIC_CLASS,
	F_REQ_HOP_LIMIT,
	F_REQ_SL,
	F_REQ_SUBNET_LOCAL,
	F_REQ_ACK_TIMEOUT,
	F_REQ_ALT_LOCAL_LID,

	F_MRA_ABOUT,
	F_MRA_TIMEOUT,

	F_REJ_ABOUT,
	F_REJ_INFO_LEN,
	F_REJ_REASON,

	F_REP_QKEY,
	F_REP_QPN,
	F_REP_VENDOR_H,
	F_REP_EECN, /* XRC target: the number of its QP */
	F_REP_VENDOR_M,
	F_REP_PSN,
	F_REP_VENDOR_L,
	F_REP_RESPONDER_RESOURCES,
	F_REP_INITIATOR_DEPTH,
	F_REP_ACK_DELAY,
	F_REP_FAILOVER,
	F_REP_FLOW_CONTROL,
	F_REP_RNR_RETRY,
	F_REP_SRQ,
	F_REP_CA_GUID,

	F_DREQ_QPN,

	F_LAP_QPN,
	F_LAP_TIMEOUT,
	F_LAP_LOCAL_LID,
	F_LAP_REMOTE_LID,
	F_APR_INFO_LEN,
	F_APR_STATUS,

	F_SIDR_REQ_PKEY,
	F_SIDR_REQ_SERVICE_ID,

	F_SIDR_REP_STATUS,
	F_SIDR_REP_INFO_LEN,
	F_SIDR_REP_VENDOR_H,
	F_SIDR_REP_QPN,
	F_SIDR_REP_VENDOR_L,
	F_SIDR_REP_SERVICE_ID,
	F_SIDR_REP_QKEY,
	F_COUNT,
};

/* Byte areas. */
#define REQ_LOCAL_GID  (MAD_HDR + 56)
#define REQ_REMOTE_GID (MAD_HDR + 72)
#define REJ_INFO       (MAD_HDR + 12)

/** mad_get(), mad_set() - a field, in host order. Values are truncated to its width. */
u64 mad_get(const u8 mad[MAD_SIZE], enum cm_field f);
void mad_set(u8 mad[MAD_SIZE], enum cm_field f, u64 value);
/** mad_start() - begin an empty message. */
void mad_start(u8 mad[MAD_SIZE], enum cm_attr attr, u64 tid);
/** mad_is_cm() - whether the common header belongs to a message of connection management. */
bool mad_is_cm(const u8 mad[MAD_SIZE]);
/** mad_private_data() - offset of a message's private data, and their maximum length in *len. */
u32 mad_private_data(enum cm_attr attr, u32 *len);

#define CMA_HDR 36u

/** cma_put() - write the header that the rdma_cm puts before private data: the two addresses. */
void cma_put(u8 *p, const struct cm_addr *src, const struct cm_addr *dst);
/**
 * cma_get() - read that header on the receiving side.
 * @port: destination port of the message: *local's
 * Return: 0, -EINVAL (unknown version) or -EAFNOSUPPORT.
 */
int cma_get(const u8 *p, u16 port, struct cm_addr *local, struct cm_addr *peer);

#endif
