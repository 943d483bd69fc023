// SPDX-License-Identifier: MIT
/*
 * The connection manager's calls, none of which is implemented. See stubs.h. All of them return
 * 0 or -1 with errno, or a pointer or NULL with errno (the rdma_*(3) pages). Left to the real
 * librdmacm they would look for /dev/infiniband/rdma_cm, and hand out contexts that are not ours.
 */
#include "libshim/stubs.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/* Channels and events. */
STUB_NULL(struct rdma_event_channel *, rdma_create_event_channel, void)
STUB_VOID(rdma_destroy_event_channel, struct rdma_event_channel *channel)
STUB_MINUS1(rdma_get_cm_event, struct rdma_event_channel *channel, struct rdma_cm_event **event)
STUB_MINUS1(rdma_ack_cm_event, struct rdma_cm_event *event)

/* Identifiers. */
STUB_MINUS1(rdma_create_id, struct rdma_event_channel *channel, struct rdma_cm_id **id,
	    void *context, enum rdma_port_space ps)
STUB_MINUS1(rdma_destroy_id, struct rdma_cm_id *id)
STUB_MINUS1(rdma_migrate_id, struct rdma_cm_id *id, struct rdma_event_channel *channel)
STUB_MINUS1(rdma_set_option, struct rdma_cm_id *id, int level, int optname, void *optval,
	    size_t optlen)

/* Addresses. */
STUB_MINUS1(rdma_bind_addr, struct rdma_cm_id *id, struct sockaddr *addr)
STUB_MINUS1(rdma_resolve_addr, struct rdma_cm_id *id, struct sockaddr *src_addr,
	    struct sockaddr *dst_addr, int timeout_ms)
STUB_MINUS1(rdma_resolve_route, struct rdma_cm_id *id, int timeout_ms)

/* Connections. */
STUB_MINUS1(rdma_connect, struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
STUB_MINUS1(rdma_establish, struct rdma_cm_id *id)
STUB_MINUS1(rdma_listen, struct rdma_cm_id *id, int backlog)
STUB_MINUS1(rdma_accept, struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
STUB_MINUS1(rdma_reject, struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
STUB_MINUS1(rdma_notify, struct rdma_cm_id *id, enum ibv_event_type event)
STUB_MINUS1(rdma_disconnect, struct rdma_cm_id *id)

STUB_VOID(rdma_free_devices, struct ibv_context **list)

/** rdma_get_devices() - the array is NULL on failure; callers look at the count as well. */
SHIM_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	if (num_devices)
		*num_devices = 0;
	errno = EOPNOTSUPP;
	return NULL;
}

/** rdma_get_src_port() - 0: not bound to a port. */
SHIM_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return 0;
}

/** rdma_get_dst_port() - 0: not connected. */
SHIM_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return 0;
}
