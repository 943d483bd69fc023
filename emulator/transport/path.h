/* SPDX-License-Identifier: MIT */
/**
 * DOC: paths of QPs, kept true when attributes, ports or links change. See path.c.
 */
#ifndef EMULATOR_TRANSPORT_PATH_H
#define EMULATOR_TRANSPORT_PATH_H

#include "emulator/engine.h"

/* --- path.c --- */

/**
 * qp_path_update() - update the QP's P_Key and paths: its attributes or its port's tables have
 * changed.
 */
void qp_path_update(struct hca *hca, struct hca_qp *qp);
/** relay_set_chunk() - set qp->chunk for the links on the QP's path. */
void relay_set_chunk(const struct hca *hca, struct hca_qp *qp);
/** relay_update_paths() - ports were added or removed, or links have changed: update all paths. */
void relay_update_paths(struct hca *hca);
/** hca_port_set_link() - set the port's link. For the fabric process, token held. */
void hca_port_set_link(struct engine *e, u32 dev, u32 port, const struct hca_uplink *link);

#endif
