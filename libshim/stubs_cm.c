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
STUB_MINUS1(rdma_create_ep, struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
	    struct ibv_qp_init_attr *qp_init_attr)
STUB_VOID(rdma_destroy_ep, struct rdma_cm_id *id)
STUB_MINUS1(rdma_migrate_id, struct rdma_cm_id *id, struct rdma_event_channel *channel)
STUB_MINUS1(rdma_set_option, struct rdma_cm_id *id, int level, int optname, void *optval,
	    size_t optlen)

/* Addresses. */
STUB_MINUS1(rdma_getaddrinfo, const char *node, const char *service,
	    const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
STUB_VOID(rdma_freeaddrinfo, struct rdma_addrinfo *res)
STUB_MINUS1(rdma_bind_addr, struct rdma_cm_id *id, struct sockaddr *addr)
STUB_MINUS1(rdma_resolve_addr, struct rdma_cm_id *id, struct sockaddr *src_addr,
	    struct sockaddr *dst_addr, int timeout_ms)
STUB_MINUS1(rdma_resolve_route, struct rdma_cm_id *id, int timeout_ms)

/* QPs and SRQs. */
STUB_MINUS1(rdma_create_qp, struct rdma_cm_id *id, struct ibv_pd *pd,
	    struct ibv_qp_init_attr *qp_init_attr)
STUB_MINUS1(rdma_create_qp_ex, struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr)
STUB_VOID(rdma_destroy_qp, struct rdma_cm_id *id)
STUB_MINUS1(rdma_init_qp_attr, struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr,
	    int *qp_attr_mask)
STUB_MINUS1(rdma_create_srq, struct rdma_cm_id *id, struct ibv_pd *pd,
	    struct ibv_srq_init_attr *attr)
STUB_MINUS1(rdma_create_srq_ex, struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
STUB_VOID(rdma_destroy_srq, struct rdma_cm_id *id)

/* Connections. */
STUB_MINUS1(rdma_connect, struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
STUB_MINUS1(rdma_establish, struct rdma_cm_id *id)
STUB_MINUS1(rdma_listen, struct rdma_cm_id *id, int backlog)
STUB_MINUS1(rdma_get_request, struct rdma_cm_id *listen, struct rdma_cm_id **id)
STUB_MINUS1(rdma_accept, struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
STUB_MINUS1(rdma_reject, struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
STUB_MINUS1(rdma_reject_ece, struct rdma_cm_id *id, const void *private_data,
	    uint8_t private_data_len)
STUB_MINUS1(rdma_notify, struct rdma_cm_id *id, enum ibv_event_type event)
STUB_MINUS1(rdma_disconnect, struct rdma_cm_id *id)
STUB_MINUS1(rdma_set_local_ece, struct rdma_cm_id *id, struct ibv_ece *ece)
STUB_MINUS1(rdma_get_remote_ece, struct rdma_cm_id *id, struct ibv_ece *ece)

/* Multicast. */
STUB_MINUS1(rdma_join_multicast, struct rdma_cm_id *id, struct sockaddr *addr, void *context)
STUB_MINUS1(rdma_join_multicast_ex, struct rdma_cm_id *id,
	    struct rdma_cm_join_mc_attr_ex *mc_join_attr, void *context)
STUB_MINUS1(rdma_leave_multicast, struct rdma_cm_id *id, struct sockaddr *addr)

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
