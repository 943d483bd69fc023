/* SPDX-License-Identifier: MIT */
/* Names in fault rules: opcodes, CM messages, events, errors. */

#include "fabric/fault/parse.h"

#include "emulator/mad.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define O(op)	      BIT64(OP_##op)
#define SENDS_IMM     (O(SEND_LAST_IMM) | O(SEND_ONLY_IMM))
#define SENDS_INV     (O(SEND_LAST_INV) | O(SEND_ONLY_INV))
#define SENDS	      (O(SEND_FIRST) | O(SEND_MIDDLE) | O(SEND_LAST) | O(SEND_ONLY))
#define WRITES_IMM    (O(WRITE_LAST_IMM) | O(WRITE_ONLY_IMM))
#define WRITES	      (O(WRITE_FIRST) | O(WRITE_MIDDLE) | O(WRITE_LAST) | O(WRITE_ONLY))
#define RESPONSES     (O(READ_RESP_FIRST) | O(READ_RESP_MIDDLE) | O(READ_RESP_LAST) | O(READ_RESP_ONLY))
#define NAKS	      (O(NAK_SEQ) | O(NAK_INV_REQ) | O(NAK_ACCESS) | O(NAK_OP))
#define RDMA_REQUESTS (O(READ_REQ) | O(CMP_SWAP) | O(FETCH_ADD) | O(FLUSH) | O(ATOMIC_WRITE))
#define REQUESTS      (SENDS | SENDS_IMM | SENDS_INV | WRITES | WRITES_IMM | RDMA_REQUESTS)
#define ANSWERS	      (O(ACK) | NAKS | O(NAK_RNR) | O(ATOMIC_ACK) | RESPONSES)

#define ANSWERS_SRD (O(ACK) | (NAKS & ~O(NAK_SEQ)) | O(NAK_RNR) | RESPONSES)

#define W(op) (1u << WR_##op)

/**
 * struct op_name - a name of packets, of work requests, or of both.
 * Names of work requests are those of enum ibv_wr_opcode; names of packets are those of the BTH.
 */
static const struct op_name {
	const char *name;
	u64 ops;
	u32 wr_ops;
} op_names[] = {
	{ "SEND_FIRST", O(SEND_FIRST), 0 },
	{ "SEND_MIDDLE", O(SEND_MIDDLE), 0 },
	{ "SEND_LAST", O(SEND_LAST), 0 },
	{ "SEND_LAST_WITH_IMMEDIATE", O(SEND_LAST_IMM), 0 },
	{ "SEND_LAST_WITH_INVALIDATE", O(SEND_LAST_INV), 0 },
	{ "SEND_ONLY", O(SEND_ONLY), 0 },
	{ "SEND_ONLY_WITH_IMMEDIATE", O(SEND_ONLY_IMM), 0 },
	{ "SEND_ONLY_WITH_INVALIDATE", O(SEND_ONLY_INV), 0 },
	{ "RDMA_WRITE_FIRST", O(WRITE_FIRST), 0 },
	{ "RDMA_WRITE_MIDDLE", O(WRITE_MIDDLE), 0 },
	{ "RDMA_WRITE_LAST", O(WRITE_LAST), 0 },
	{ "RDMA_WRITE_LAST_WITH_IMMEDIATE", O(WRITE_LAST_IMM), 0 },
	{ "RDMA_WRITE_ONLY", O(WRITE_ONLY), 0 },
	{ "RDMA_WRITE_ONLY_WITH_IMMEDIATE", O(WRITE_ONLY_IMM), 0 },
	{ "RDMA_READ_REQUEST", O(READ_REQ), 0 },
	{ "RDMA_READ_RESPONSE_FIRST", O(READ_RESP_FIRST), 0 },
	{ "RDMA_READ_RESPONSE_MIDDLE", O(READ_RESP_MIDDLE), 0 },
	{ "RDMA_READ_RESPONSE_LAST", O(READ_RESP_LAST), 0 },
	{ "RDMA_READ_RESPONSE_ONLY", O(READ_RESP_ONLY), 0 },
	{ "ATOMIC_ACKNOWLEDGE", O(ATOMIC_ACK), 0 },
	{ "CMP_SWAP", O(CMP_SWAP), 0 },
	{ "FETCH_ADD", O(FETCH_ADD), 0 },
	{ "ACK", O(ACK), 0 },
	{ "RNR_NAK", O(NAK_RNR), 0 },
	{ "NAK_PSN_SEQ_ERR", O(NAK_SEQ), 0 },
	{ "NAK_INV_REQ_ERR", O(NAK_INV_REQ), 0 },
	{ "NAK_REM_ACCESS_ERR", O(NAK_ACCESS), 0 },
	{ "NAK_REM_OP_ERR", O(NAK_OP), 0 },
	{ "MAD", O(MAD), 0 },
	/* classes */
	{ "REQUEST", REQUESTS, 0 },
	{ "RESPONSE", ANSWERS, 0 },
	{ "ACKNOWLEDGE", O(ACK) | NAKS | O(NAK_RNR), 0 },
	{ "NAK", NAKS, 0 },
	{ "RDMA_READ_RESPONSE", RESPONSES, 0 },
	/* verbs */
	{ "SEND", SENDS, W(SEND) },
	{ "SEND_WITH_IMM", SENDS_IMM, W(SEND_WITH_IMM) },
	{ "SEND_WITH_INV", SENDS_INV, W(SEND_WITH_INV) },
	{ "RDMA_WRITE", WRITES, W(RDMA_WRITE) },
	{ "RDMA_WRITE_WITH_IMM", WRITES_IMM, W(RDMA_WRITE_WITH_IMM) },
	{ "RDMA_READ", O(READ_REQ), W(RDMA_READ) },
	{ "ATOMIC_CMP_AND_SWP", O(CMP_SWAP), W(ATOMIC_CMP_AND_SWP) },
	{ "ATOMIC_FETCH_AND_ADD", O(FETCH_ADD), W(ATOMIC_FETCH_AND_ADD) },
	{ "FLUSH", O(FLUSH), W(FLUSH) },
	{ "ATOMIC_WRITE", O(ATOMIC_WRITE), W(ATOMIC_WRITE) },
	{ "LOCAL_INV", 0, W(LOCAL_INV) },
	{ "BIND_MW", 0, W(BIND_MW) },
	{ "TSO", 0, W(TSO) },
	{ "RECV", 0, 1u << WR_RECV },
};

/* @name without a prefix that is optional. */
static const char *name_without_prefix(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncasecmp(name, prefix, n) ? name + n : name;
}

bool fault_op_parse(const char *name, u64 *ops, u32 *wr_ops)
{
	size_t i;

	name = name_without_prefix(name, "IBV_WR_");
	for (i = 0; i < ARRAY_SIZE(op_names); i++)
		if (!strcasecmp(op_names[i].name, name)) {
			*ops |= op_names[i].ops;
			*wr_ops |= op_names[i].wr_ops;
			return true;
		}
	return false;
}

const char *fault_op_name(u32 op)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(op_names); i++)
		if (op < 64 && op_names[i].ops == BIT64(op))
			return op_names[i].name;
	return "?";
}

u64 fault_type_ops(u32 types)
{
	const u32 reliable = 1u << QPT_RC | 1u << QPT_XRC_SEND | 1u << QPT_XRC_RECV;
	u64 ops = 0;

	if (types & reliable)
		ops |= REQUESTS | ANSWERS;
	if (types & 1u << QPT_UC)
		ops |= SENDS | SENDS_IMM | SENDS_INV | WRITES | WRITES_IMM;
	if (types & 1u << QPT_UD)
		ops |= O(SEND_ONLY) | O(SEND_ONLY_IMM) | O(MAD);
	if (types & 1u << QPT_SRD)
		ops |= O(SEND_ONLY) | O(SEND_ONLY_IMM) | WRITES | WRITES_IMM | O(READ_REQ) |
		       ANSWERS_SRD;
	if (types & 1u << QPT_RAW_PACKET)
		ops |= O(SEND_ONLY);
	return ops;
}

static const char *const mad_names[] = { "REQ",	 "MRA",	     "REJ",	 "REP", "RTU", "DREQ",
					 "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR" };

const char *fault_mad_name(u32 attr)
{
	u32 i = attr - MAD_REQ;

	return i < ARRAY_SIZE(mad_names) ? mad_names[i] : "?";
}

bool fault_mad_parse(const char *name, u32 *bits)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mad_names); i++)
		if (!strcasecmp(mad_names[i], name)) {
			*bits |= 1u << i;
			return true;
		}
	return false;
}

bool fault_type_parse(const char *name, u32 *bits)
{
	static const struct {
		const char *name;
		u32 bits;
	} types[] = {
		{ "RC", 1u << QPT_RC },
		{ "UC", 1u << QPT_UC },
		{ "UD", 1u << QPT_UD },
		{ "SRD", 1u << QPT_SRD },
		{ "RAW_PACKET", 1u << QPT_RAW_PACKET },
		{ "XRC_SEND", 1u << QPT_XRC_SEND },
		{ "XRC_RECV", 1u << QPT_XRC_RECV },
		{ "XRC", 1u << QPT_XRC_SEND | 1u << QPT_XRC_RECV },
	};
	size_t i;

	name = name_without_prefix(name, "IBV_QPT_");
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcasecmp(types[i].name, name)) {
			*bits |= types[i].bits;
			return true;
		}
	return false;
}

bool fault_errno_parse(const char *name, s32 *err)
{
	const char *n;
	s32 i;

	for (i = 1; i < 134; i++) {
		n = strerrorname_np(i);
		if (n && !strcmp(n, name)) {
			*err = i;
			return true;
		}
	}
	return false;
}

bool fault_status_parse(const char *name, u32 *status)
{
	const char *n;
	u32 i;

	name = name_without_prefix(name, "IBV_WC_");
	for (i = 1; *(n = ib_wc_status_name(i)) != '?'; i++)
		if (!strcasecmp(name_without_prefix(n, "IBV_WC_"), name)) {
			*status = i;
			return true;
		}
	return false;
}

static const char *const cm_events[] = {
	"ADDR_RESOLVED",   "ADDR_ERROR",       "ROUTE_RESOLVED", "ROUTE_ERROR",
	"CONNECT_REQUEST", "CONNECT_RESPONSE", "CONNECT_ERROR",	 "UNREACHABLE",
	"REJECTED",	   "ESTABLISHED",      "DISCONNECTED",	 "DEVICE_REMOVAL",
	"MULTICAST_JOIN",  "MULTICAST_ERROR",  "ADDR_CHANGE",	 "TIMEWAIT_EXIT",
};

bool fault_event_parse(const char *name, u32 *event)
{
	const char *n = name_without_prefix(name, "RDMA_CM_EVENT_");
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cm_events); i++)
		if (!strcasecmp(cm_events[i], n)) {
			*event = FAULT_EVENT_CM + i;
			return true;
		}
	name = name_without_prefix(name, "IBV_EVENT_");
	for (i = 0; *(n = ib_event_name(i)) != '?'; i++)
		if (!strcasecmp(name_without_prefix(n, "IBV_EVENT_"), name)) {
			*event = i;
			return true;
		}
	return false;
}

bool fault_is_port_event(u32 event)
{
	return (event >= EV_PORT_ACTIVE && event <= EV_SM_CHANGE) ||
	       event == EV_CLIENT_REREGISTER || event == EV_GID_CHANGE;
}

bool fault_event_is_qp(u32 event)
{
	return event < FAULT_EVENT_CM && !fault_is_port_event(event) && event != EV_CQ_ERR &&
	       event != EV_SRQ_ERR && event != EV_SRQ_LIMIT_REACHED && event != EV_WQ_FATAL &&
	       event != EV_DEVICE_FATAL;
}

const char *fault_event_name(u32 event)
{
	static char name[48];

	if (event < FAULT_EVENT_CM)
		return ib_event_name(event);
	event -= FAULT_EVENT_CM;
	snprintf(name, sizeof(name), "RDMA_CM_EVENT_%s",
		 event < ARRAY_SIZE(cm_events) ? cm_events[event] : "?");
	return name;
}

bool fault_nak_parse(const char *name, u32 *syndrome)
{
	static const struct {
		const char *name;
		u32 syndrome;
	} codes[] = {
		{ "PSN_SEQ_ERR", AETH_NAK_PSN_SEQ }, { "REM_INV_REQ_ERR", AETH_NAK_INV_REQ },
		{ "INV_REQ_ERR", AETH_NAK_INV_REQ }, { "REM_ACCESS_ERR", AETH_NAK_REM_ACCESS },
		{ "REM_OP_ERR", AETH_NAK_REM_OP },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(codes); i++)
		if (!strcasecmp(codes[i].name, name)) {
			*syndrome = codes[i].syndrome;
			return true;
		}
	return false;
}
