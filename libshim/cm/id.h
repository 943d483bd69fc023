/* SPDX-License-Identifier: MIT */
/**
 * DOC: devices, channels, identifiers and their multicast groups.
 */
#ifndef LIBSHIM_CM_ID_H
#define LIBSHIM_CM_ID_H

#include "libshim/cm/cm.h"

/* --- devices.c --- */

/** ucma_init() - as librdmacm's: is there a fabric with devices? Return: 0, or -1 with errno. */
int ucma_init(void);
/** ucma_dev_get() - the device with that index in the HCA, with its PD. NULL with errno. */
struct ucma_dev *ucma_dev_get(u32 index);
void ucma_dev_put(struct ucma_dev *dev);
/**
 * ucma_dev_xrcd() - the XRC domain of rdma_create_srq_ex(3), rdma_create_qp(3). NULL with errno.
 */
struct ibv_xrcd *ucma_dev_xrcd(struct ucma_dev *dev);

/* --- chan.c --- */

/**
 * ucma_chan_drop_cmd() - execute a command on the identifier that takes away unread events of its
 * channel, and take back their counts.
 * @mc: the events are those of one group: events of rdma_write_cm_event(3) stay
 * @to: events of rdma_write_cm_event(3) go to this channel; NULL: they are freed
 * Return: as shim_cmd_exec().
 */
int ucma_chan_drop_cmd(struct ucma_id *id, struct hca_cmd *cmd, bool mc, struct ucma_chan *to);

/* --- id.c --- */

/**
 * ucma_id_create() - rdma_create_id(3) with a QP type, for rdma_create_ep(3).
 * Return: 0, or -1 with errno.
 */
int ucma_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps, enum ibv_qp_type qp_type);
/**
 * ucma_id_alloc() - an identifier that the HCA does not know yet.
 * @channel: NULL: it is synchronous and gets a channel of its own
 * Return: NULL with errno.
 */
struct ucma_id *ucma_id_alloc(struct rdma_event_channel *channel, void *context,
			      enum rdma_port_space ps, enum ibv_qp_type qp_type);
void ucma_id_free(struct ucma_id *id);

/* --- mcast.c --- */

void ucma_mcast_link(struct ucma_id *id, struct ucma_mcast *mc);
void ucma_mcast_unlink(struct ucma_id *id, struct ucma_mcast *mc);
/** ucma_mcast_take() - unlink the group at that address that was joined last. NULL: none. */
struct ucma_mcast *ucma_mcast_take(struct ucma_id *id, const struct sockaddr *addr, socklen_t len);
/**
 * ucma_mcast_joined() - CM_EV_MULTICAST_JOIN: note group address and LID, attach the QP if it
 * exists.
 * @ev: event.param.ud is complete but for the private data
 * Return: 0, or -1 with errno.
 */
int ucma_mcast_joined(struct ucma_mcast *mc, struct ucma_event *ev);
void ucma_mcast_free(struct ucma_mcast *mc);
/** ucma_mcast_free_all() - the identifier is being destroyed. */
void ucma_mcast_free_all(struct ucma_id *id);

#endif
