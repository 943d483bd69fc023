/* SPDX-License-Identifier: MIT */
/** DOC: names of the journal's enums, in its text and in JSON. */
#include "emulator/journal/text.h"

static const char *cm_event_name(u32 event)
{
	switch (event) {
	case CM_EV_CONNECT_REQUEST:
		return "RDMA_CM_EVENT_CONNECT_REQUEST";
	case CM_EV_CONNECT_RESPONSE:
		return "RDMA_CM_EVENT_CONNECT_RESPONSE";
	case CM_EV_ESTABLISHED:
		return "RDMA_CM_EVENT_ESTABLISHED";
	case CM_EV_UNREACHABLE:
		return "RDMA_CM_EVENT_UNREACHABLE";
	case CM_EV_REJECTED:
		return "RDMA_CM_EVENT_REJECTED";
	case CM_EV_DISCONNECTED:
		return "RDMA_CM_EVENT_DISCONNECTED";
	case CM_EV_ADDR_ERROR:
		return "RDMA_CM_EVENT_ADDR_ERROR";
	case CM_EV_ROUTE_ERROR:
		return "RDMA_CM_EVENT_ROUTE_ERROR";
	case CM_EV_MULTICAST_ERROR:
		return "RDMA_CM_EVENT_MULTICAST_ERROR";
	default:
		return "?";
	}
}

static const char *nak_name(u32 syndrome)
{
	switch (syndrome) {
	case AETH_NAK_PSN_SEQ:
		return "NAK sent: PSN sequence error";
	case AETH_NAK_INV_REQ:
		return "NAK sent: invalid request";
	case AETH_NAK_REM_ACCESS:
		return "NAK sent: remote access error";
	case AETH_NAK_REM_OP:
		return "NAK sent: remote operational error";
	default:
		return "RNR NAK sent";
	}
}

static const char *err_name(u32 err)
{
	const char *name = strerrorname_np((int)err);

	return name ? name : "?";
}

const char *journal_status_name(const struct journal_entry *j)
{
	switch (j->kind) {
	case JRN_COMPLETION:
		return ib_wc_status_name(j->status);
	case JRN_EVENT:
		return ib_event_name(j->status);
	case JRN_CM:
		return cm_event_name(j->status);
	case JRN_CALL:
		return err_name(j->status);
	case JRN_DROP:
		return "dropped";
	case JRN_NAK:
		return nak_name(j->status);
	case JRN_RETRY:
		return j->cause == CAUSE_RNR ? "waits to send again" : "sends again";
	case JRN_FLUSH:
		return "flushed";
	case JRN_UNSEEN:
		return "data path not seen";
	case JRN_AMBIGUOUS:
		return "real device used";
	default:
		return "client gone";
	}
}

const char *journal_kind_name(const struct journal_entry *j)
{
	static const char *const names[JRN_KINDS] = {
		[JRN_COMPLETION] = "completion",
		[JRN_EVENT] = "event",
		[JRN_CM] = "cm",
		[JRN_CALL] = "call",
		[JRN_DROP] = "drop",
		[JRN_NAK] = "nak",
		[JRN_RETRY] = "retry",
		[JRN_FLUSH] = "flush",
		[JRN_GONE] = "gone",
		[JRN_UNSEEN] = "unseen",
		[JRN_AMBIGUOUS] = "ambiguous",
	};

	return j->kind < JRN_KINDS ? names[j->kind] : "?";
}

const char *journal_cause_name(u32 cause)
{
	static const char *const names[CAUSE_COUNT] = {
		[CAUSE_NONE] = "none",
		[CAUSE_LKEY] = "lkey",
		[CAUSE_LOCAL_LEN] = "local_len",
		[CAUSE_NAK] = "nak",
		[CAUSE_RETRY] = "retry",
		[CAUSE_RETRY_NAK] = "retry_nak",
		[CAUSE_RETRY_RESPONSE] = "retry_response",
		[CAUSE_RNR_RETRY] = "rnr_retry",
		[CAUSE_REQUEST_LEN] = "request_len",
		[CAUSE_RKEY] = "rkey",
		[CAUSE_ACCESS_FLAGS] = "access_flags",
		[CAUSE_RD_ATOMIC] = "rd_atomic",
		[CAUSE_MISALIGNED] = "misaligned",
		[CAUSE_MEM_FAULT] = "mem_fault",
		[CAUSE_CQ_OVERRUN] = "cq_overrun",
		[CAUSE_BAD_WQE] = "bad_wqe",
		[CAUSE_SRQN] = "srqn",
		[CAUSE_AH] = "ah",
		[CAUSE_WINDOW] = "window",
		[CAUSE_TAG] = "tag",
		[CAUSE_CM_TIMEOUT] = "cm_timeout",
		[CAUSE_CM_REJECT] = "cm_reject",
		[CAUSE_CM_SIDR] = "cm_sidr",
		[CAUSE_CM_ERRNO] = "cm_errno",
		[CAUSE_FAULT] = "fault",
		[CAUSE_PORT_DOWN] = "port_down",
		[CAUSE_NO_PORT] = "no_port",
		[CAUSE_NO_QP] = "no_qp",
		[CAUSE_OTHER_PEER] = "other_peer",
		[CAUSE_PKEY] = "pkey",
		[CAUSE_QP_STATE] = "qp_state",
		[CAUSE_QKEY] = "qkey",
		[CAUSE_NO_RECEIVE] = "no_receive",
		[CAUSE_TOO_LONG] = "too_long",
		[CAUSE_OUT_OF_SEQ] = "out_of_seq",
		[CAUSE_REFUSED] = "refused",
		[CAUSE_NO_MAD] = "no_mad",
		[CAUSE_NO_WAY] = "no_way",
		[CAUSE_SENDER_GONE] = "sender_gone",
		[CAUSE_SOCKET] = "socket",
		[CAUSE_PACKET] = "packet",
		[CAUSE_TIMEOUT] = "timeout",
		[CAUSE_SEQ_NAK] = "seq_nak",
		[CAUSE_LOST_RESPONSE] = "lost_response",
		[CAUSE_RNR] = "rnr",
		[CAUSE_PSN] = "psn",
		[CAUSE_ADMIN] = "admin",
		[CAUSE_MODIFIED] = "modified",
		[CAUSE_LIMIT] = "limit",
		[CAUSE_FIRST_PACKET] = "first_packet",
		[CAUSE_DRAINED] = "drained",
		[CAUSE_LAST_WQE] = "last_wqe",
	};

	return cause < CAUSE_COUNT ? names[cause] : "?";
}

const char *journal_key_fault_name(u32 fault)
{
	static const char *const names[] = {
		[KEY_FINE] = "none",	       [KEY_UNKNOWN] = "unknown",
		[KEY_OTHER_PD] = "other_pd",   [KEY_OTHER_QP] = "other_qp",
		[KEY_KIND] = "kind",	       [KEY_RIGHT] = "right",
		[KEY_RANGE] = "range",	       [KEY_OWNER] = "owner",
		[KEY_ALIGNMENT] = "alignment",
	};

	return fault < ARRAY_SIZE(names) ? names[fault] : "?";
}

const char *journal_why_name(u32 why)
{
	static const char *const names[WHY_COUNT] = {
		[WHY_NONE] = "none",
		[WHY_DROPPED] = "dropped",
		[WHY_NO_ADDRESS] = "no_address",
		[WHY_OWN_PORT] = "own_port",
		[WHY_PEER_PORT] = "peer_port",
		[WHY_PEER_ENDED] = "peer_ended",
		[WHY_PEER_GONE] = "peer_gone",
		[WHY_PEER_STATE] = "peer_state",
		[WHY_PEER_OTHER] = "peer_other",
		[WHY_PKEY] = "pkey",
		[WHY_FAR] = "far",
		[WHY_SILENT] = "silent",
		[WHY_RECEIVES] = "receives",
		[WHY_NAK] = "nak",
	};

	return why < WHY_COUNT ? names[why] : "?";
}
