/* SPDX-License-Identifier: MIT */
/**
 * DOC: the requester: from posted WQEs to bursts. See requester.c.
 */
#ifndef EMULATOR_TRANSPORT_REQUESTER_H
#define EMULATOR_TRANSPORT_REQUESTER_H

#include "emulator/engine.h"

/* --- requester.c --- */

/** req_run_qp() - run the QP's send side as far as it goes now. Token held. */
void req_run_qp(struct engine *e, u32 slot);
/** req_rewind() - go back to the oldest unacknowledged packet. */
void req_rewind(struct req_state *s, u32 mtu);
/** req_fail() - the oldest incomplete WQE ends with @status, the QP goes to ERR. */
void req_fail(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 status, u32 cause,
	      u32 info);
/** req_timeout() - the QP's deadline has passed. */
void req_timeout(struct engine *e, struct hca_qp *qp);

#endif
