/* SPDX-License-Identifier: MIT */
/**
 * DOC: flows of SRD. See srd_flow.c.
 */
#ifndef EMULATOR_QUEUE_SRD_FLOW_H
#define EMULATOR_QUEUE_SRD_FLOW_H

#include "emulator/hca.h"

/* --- srd_flow.c --- */

/**
 * srd_flow_get() - the flow from QP @src of @src_dev to QP @dst of @dst_dev, made if it is new.
 * @src: with the sender's epoch, srd_source()
 * Return: its index + 1; 0: there is no room for another one.
 */
u32 srd_flow_get(struct hca *hca, u32 src_dev, u32 src, u32 dst_dev, u32 dst);
/** srd_flow_has() - whether packet @psn of the flow has arrived. @flow: index + 1 */
bool srd_flow_has(const struct hca *hca, u32 flow, u32 psn);
/** srd_flow_mark() - packet @psn of the flow has arrived. May be repeated. */
void srd_flow_mark(struct hca *hca, u32 flow, u32 psn);
/** srd_window_get() - a window for a new QP. Return: its index + 1; 0: there is none. */
u32 srd_window_get(struct hca *hca, const struct hca_qp *qp);
/** srd_forget() - the QP is reset or destroyed: forget what it sent, and what it alone knows. */
void srd_forget(struct hca *hca, const struct hca_qp *qp);

#endif
