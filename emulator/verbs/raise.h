/* SPDX-License-Identifier: MIT */
/**
 * DOC: events that are raised on purpose, with what goes with them: a QP that has a fatal error is in
 * ERR, a CQ in error takes nothing more. For the fabric process, with the token held.
 *
 * Each returns whether there was anything to do: an event that cannot come in the state that its object
 * is in does not. @rule: who wants it, for the journal.
 */
#ifndef EMULATOR_VERBS_RAISE_H
#define EMULATOR_VERBS_RAISE_H

#include "emulator/model.h"

/**
 * raise_qp() - EV_QP_FATAL, EV_QP_REQ_ERR, EV_QP_ACCESS_ERR: the QP goes to ERR. EV_COMM_EST in RTR and
 * RTS, EV_SQ_DRAINED in SQD, EV_PATH_MIG and EV_PATH_MIG_ERR of connected QPs in RTS,
 * EV_QP_LAST_WQE_REACHED of those with an SRQ in ERR: nothing but the event.
 */
bool raise_qp(struct engine *e, struct hca_qp *qp, u32 event, u32 rule);
/** raise_cq() - EV_CQ_ERR: as if it had overrun. Once. */
bool raise_cq(struct engine *e, struct hca_cq *cq, u32 rule);
/** raise_srq() - EV_SRQ_ERR, once; EV_SRQ_LIMIT_REACHED, where a limit is armed. */
bool raise_srq(struct engine *e, struct hca_srq *srq, u32 event, u32 rule);
/** raise_wq() - EV_WQ_FATAL: the WQ goes to ERR. */
bool raise_wq(struct engine *e, struct hca_wq *wq, u32 rule);
/** raise_context() - EV_DEVICE_FATAL on an open context. Its owner's QPs on that device go to ERR. */
bool raise_context(struct engine *e, const struct hca_ref *ctx, u32 rule);
/**
 * raise_cm() - an event of an identifier: CM_EV_DEVICE_REMOVAL, CM_EV_ADDR_CHANGE of one that is bound to
 * a device; CM_EV_UNREACHABLE of one that waits for an answer; CM_EV_TIMEWAIT_EXIT of one in TIMEWAIT.
 */
bool raise_cm(struct engine *e, struct hca_cmid *id, u32 event);

#endif
