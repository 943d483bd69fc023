/* SPDX-License-Identifier: MIT */
/**
 * DOC: what can be wrong with a packet that anybody may have made. See transport/untrusted.h.
 */
#ifndef EMULATOR_PACKET_FAULT_H
#define EMULATOR_PACKET_FAULT_H

#include "emulator/types.h"

/** enum packet_fault - why a packet is dropped without a word: what CAUSE_PACKET says. */
enum packet_fault {
	PKT_CUT, /* it ends within its headers, or its lengths contradict each other */
	PKT_CSUM, /* IP's or UDP's */
	PKT_CRC, /* ICRC or VCRC */
	PKT_VERSION, /* of the transport, an LRH or a GRH */
	PKT_PAD, /* more than there is payload, or what makes no multiple of 4 */
	PKT_OPCODE, /* none that the QP's transport has */
	PKT_GROUP, /* to a multicast group, but not to the QP number that all members have */
	PKT_LEN, /* payload where there is none, or more than the port's MTU */
	PKT_SYNDROME, /* an AETH's is a reserved one */
	PKT_NOT_WAITED, /* an answer to what is not outstanding */
	PKT_RANGE, /* a READ that came before, but asked for less then */
	PKT_READ, /* a READ of more than is carried in one piece */
	PKT_FAULTS,
};

/* --- enum_str.c --- */

/** packet_fault_text() - in words. */
const char *packet_fault_text(u32 fault);

#endif
