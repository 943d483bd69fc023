/* SPDX-License-Identifier: MIT */
/** DOC: the names of port counters. */
#include "fabric/proto/port_counters.h"

#include "emulator/hca.h"

static const char *const names[CNT_COUNT] = {
	[CNT_XMIT_PKTS] = "xmit_packets",
	[CNT_XMIT_BYTES] = "xmit_bytes",
	[CNT_RCV_PKTS] = "rcv_packets",
	[CNT_RCV_BYTES] = "rcv_bytes",
	[CNT_RDMA_SENDS] = "rdma_sends",
	[CNT_RDMA_RECVS] = "rdma_recvs",
	[CNT_MCAST_XMIT] = "multicast_xmit_packets",
	[CNT_MCAST_RCV] = "multicast_rcv_packets",
	[CNT_DUP_REQUEST] = "duplicate_request",
	[CNT_OUT_OF_SEQ] = "out_of_seq_request",
	[CNT_SEQ_ERR] = "rcvd_seq_err",
	[CNT_RNR_SENT] = "send_rnr_err",
	[CNT_RNR_RCVD] = "rcvd_rnr_err",
	[CNT_RETRY_EXC] = "retry_exceeded_err",
	[CNT_RNR_RETRY_EXC] = "retry_rnr_exceeded_err",
	[CNT_TIMEOUT] = "timeouts",
	[CNT_RETRY] = "completer_retry_err",
	[CNT_DROPPED] = "dropped",
	[CNT_RCV_ERRORS] = "rcv_errors",
	[CNT_NAK_SENT] = "nak_sent",
	[CNT_BAD_QKEY] = "bad_qkey",
	[CNT_SEND_ERR] = "send_err",
	[CNT_DEFERRED] = "ack_deferred",
	[CNT_LINK_DOWNED] = "link_downed",
};

const char *counter_name(u32 counter)
{
	return counter < CNT_COUNT ? names[counter] : NULL;
}
