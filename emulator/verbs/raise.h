/* SPDX-License-Identifier: MIT */
/**
 * DOC: events that fault rules raise, with their side effects: a QP with a fatal error is in ERR, a
 * CQ in error accepts no more entries. For the fabric process, with the token held.
 *
 * Each function returns whether it has raised the event: an event that cannot occur in the object's
 * current state is not raised. @rule: the fault rule, for the journal.
 */
#ifndef EMULATOR_VERBS_RAISE_H
#define EMULATOR_VERBS_RAISE_H

#include "emulator/engine.h"

/**
 * raise_qp() - EV_QP_FATAL, EV_QP_REQ_ERR, EV_QP_ACCESS_ERR: the QP goes to ERR. EV_COMM_EST in RTR
 * and RTS, EV_SQ_DRAINED in SQD, EV_PATH_MIG and EV_PATH_MIG_ERR of connected QPs in RTS,
 * EV_QP_LAST_WQE_REACHED of those with an SRQ in ERR: the event alone.
 */
bool raise_qp(struct engine *e, struct hca_qp *qp, u32 event, u32 rule);
/** raise_cq() - EV_CQ_ERR, once, as if the CQ had overrun. */
bool raise_cq(struct engine *e, struct hca_cq *cq, u32 rule);
/** raise_srq() - EV_SRQ_ERR, once; EV_SRQ_LIMIT_REACHED, if a limit is armed. */
bool raise_srq(struct engine *e, struct hca_srq *srq, u32 event, u32 rule);
/** raise_wq() - EV_WQ_FATAL: the WQ goes to ERR. */
bool raise_wq(struct engine *e, struct hca_wq *wq, u32 rule);
/**
 * raise_context() - EV_DEVICE_FATAL on an open context: its owner's QPs on that device go to ERR.
 */
bool raise_context(struct engine *e, const struct hca_ref *ctx, u32 rule);

#endif
