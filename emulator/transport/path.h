/* SPDX-License-Identifier: MIT */
/**
 * DOC: paths of QPs, kept true when attributes, ports or links change. See path.c.
 */
#ifndef EMULATOR_TRANSPORT_PATH_H
#define EMULATOR_TRANSPORT_PATH_H

#include "emulator/engine.h"

/* --- path.c --- */

/**
 * qp_path_update() - the QP's P_Key and paths are looked up again: its attributes have changed, or what
 * its port has.
 */
void qp_path_update(struct hca *hca, struct hca_qp *qp);
/** relay_set_chunk() - qp->chunk_shift for the QP's path as its links are now. */
void relay_set_chunk(const struct hca *hca, struct hca_qp *qp);
/** relay_update_paths() - ports came or went, or links have changed: all paths are looked up again. */
void relay_update_paths(struct hca *hca);
/** hca_port_set_link() - the port's link becomes *link. For the fabric process, token held. */
void hca_port_set_link(struct engine *e, u32 dev, u32 port, const struct hca_uplink *link);

#endif
