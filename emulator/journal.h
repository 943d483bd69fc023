/* SPDX-License-Identifier: MIT */
/**
 * DOC: the journal's entries: why each error completion and error event came.
 */
#ifndef EMULATOR_JOURNAL_H
#define EMULATOR_JOURNAL_H

#include "emulator/types.h"

#define JOURNAL_DEPTH 4096u

/** struct journal_entry - why an error completion or async event came. */
struct journal_entry {
	u64 ts; /* fabric clock, ns */
	u64 seq; /* ordinal + 1, stored last */
	u32 qpn;
	u32 peer_qpn;
	u32 psn;
	u32 client;
	u16 kind; /* enum journal_kind */
	u8 status; /* WC status or event */
	u8 cause; /* enum journal_cause */
	u32 info; /* retries made, syndrome, key ... by cause */
};

enum journal_kind {
	JRN_COMPLETION,
	JRN_EVENT,
	JRN_CM, /* connection management; status: enum cm_event_type */
};

enum journal_cause {
	CAUSE_NONE,
	CAUSE_LKEY, /* info: the key */
	CAUSE_LOCAL_LEN,
	CAUSE_NAK, /* info: syndrome */
	CAUSE_RETRY, /* info: retry_cnt */
	CAUSE_RNR_RETRY, /* info: rnr_retry */
	CAUSE_REQUEST_LEN, /* receive too small; info: its size */
	CAUSE_RKEY, /* info: the key */
	CAUSE_ACCESS_FLAGS, /* QP's access flags; info: them */
	CAUSE_RD_ATOMIC, /* info: the limit */
	CAUSE_MISALIGNED,
	CAUSE_MEM_FAULT,
	CAUSE_CQ_OVERRUN, /* info: the CQ */
	CAUSE_BAD_WQE,
	CAUSE_SRQN, /* info: the SRQ's number */
	CAUSE_AH, /* info: the address handle */
	CAUSE_WINDOW, /* info: the key */
	CAUSE_TAG, /* info: the tag's handle */
	CAUSE_CM_TIMEOUT, /* info: retries made */
	CAUSE_CM_REJECT, /* info: enum cm_reject */
	CAUSE_CM_SIDR, /* info: status */
	CAUSE_FAULT, /* info: the rule's number */
	CAUSE_COUNT,
};

#endif
