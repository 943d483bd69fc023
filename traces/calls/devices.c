/* SPDX-License-Identifier: MIT */
#include "traces/calls/devices.h"
#include "traces/vtrace/devices.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const vt_link_names[VT_LINK_COUNT] = { "other", "InfiniBand", "Ethernet" };
const char *const vt_gid_names[VT_GID_TYPES] = { "IB", "RoCEv1", "RoCEv2" };

static __attribute__((format(printf, 2, 3))) void vdev_append(struct vdev_text *t, const char *fmt,
							      ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->text + t->len, t->cap - t->len, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < t->cap - t->len)
		t->len += (size_t)n;
	else if (t->len < t->cap)
		t->text[t->len] = '\0';
}

/* Makes a word for the line: not empty, and without spaces or control characters. */
static const char *vdev_word(char to[VT_DEV_NAME], const char *from, size_t max)
{
	size_t i;

	for (i = 0; i < max && i < VT_DEV_NAME - 1 && from[i]; i++) {
		to[i] = from[i];
		if (to[i] <= ' ' || to[i] > '~')
			to[i] = '_';
	}
	if (!i)
		to[i++] = '-';
	to[i] = '\0';
	return to;
}

void vdev_put_list(struct vdev_text *t, const struct vdev_api *api, struct ibv_device **list)
{
	char name[VT_DEV_NAME];
	uint32_t i;

	for (i = 0; i < VT_MAX_DEVS && list[i]; i++)
		vdev_append(t, "device %u %s %016llx\n", i,
			    vdev_word(name, list[i]->name, sizeof(list[i]->name)),
			    (unsigned long long)be64toh(api->guid(list[i])));
}

static uint32_t vdev_link_type(uint8_t link_layer, enum ibv_transport_type transport)
{
	switch (link_layer) {
	case IBV_LINK_LAYER_INFINIBAND:
		return VT_LINK_INFINIBAND;
	case IBV_LINK_LAYER_ETHERNET:
		return VT_LINK_ETHERNET;
	default:
		return transport == IBV_TRANSPORT_IB ? VT_LINK_INFINIBAND : VT_LINK_OTHER;
	}
}

static uint32_t vdev_gid_type(uint32_t gid_type)
{
	switch (gid_type) {
	case IBV_GID_TYPE_ROCE_V1:
		return VT_GID_ROCE_V1;
	case IBV_GID_TYPE_ROCE_V2:
		return VT_GID_ROCE_V2;
	default:
		return VT_GID_IB;
	}
}

static void vdev_append_gid(struct vdev_text *t, uint32_t nr, uint32_t port, uint32_t index,
			    const struct ibv_gid_entry *e)
{
	char text[2 * sizeof(e->gid.raw) + 1];
	size_t i;

	for (i = 0; i < sizeof(e->gid.raw); i++)
		snprintf(text + 2 * i, 3, "%02x", e->gid.raw[i]);
	vdev_append(t, "gid %u %u %u %s %s %u\n", nr, port, index, text,
		    vt_gid_names[vdev_gid_type(e->gid_type)], e->ndev_ifindex);
}

static void vdev_append_port(struct vdev_text *t, const struct vdev_api *api,
			     struct ibv_context *ctx, uint32_t nr, uint8_t port)
{
	static const uint8_t none[sizeof(union ibv_gid)];
	struct ibv_port_attr a = { .state = 0 };
	struct ibv_gid_entry e;
	uint32_t i, n;

	/* ibv_query_port(), the function, fills the old, shorter struct; the rest stays 0. */
	if (api->port(ctx, port, (struct _compat_ibv_port_attr *)&a))
		return;
	vdev_append(t, "port %u %u %s %u %u %u\n", nr, port,
		    vt_link_names[vdev_link_type(a.link_layer, ctx->device->transport_type)], a.lid,
		    a.lmc <= 7 ? a.lmc : 0u, a.sm_lid);
	n = a.gid_tbl_len < 0			    ? 0
	    : (uint32_t)a.gid_tbl_len > VT_MAX_GIDS ? VT_MAX_GIDS
						    : (uint32_t)a.gid_tbl_len;
	for (i = 0; api->gid && i < n; i++)
		if (!api->gid(ctx, port, i, &e, 0, sizeof(e)) &&
		    memcmp(e.gid.raw, none, sizeof(none)) != 0)
			vdev_append_gid(t, nr, port, i, &e);
}

void vdev_put_context(struct vdev_text *t, const struct vdev_api *api, struct ibv_context *ctx,
		      uint32_t nr)
{
	struct ibv_device_attr a = { .phys_port_cnt = 0 };
	char fw[VT_DEV_NAME];
	uint8_t port;

	if (api->device(ctx, &a))
		return;
	vdev_append(t, "kind %u %016llx %#x %u %u %s\n", nr,
		    (unsigned long long)be64toh(a.sys_image_guid), a.vendor_id, a.vendor_part_id,
		    a.hw_ver, vdev_word(fw, a.fw_ver, sizeof(a.fw_ver)));
	for (port = 1; port <= a.phys_port_cnt && port <= VT_MAX_PORTS; port++)
		vdev_append_port(t, api, ctx, nr, port);
}

bool vdev_put_address(struct vdev_text *t, uint32_t nr, uint32_t port, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;
	char text[INET6_ADDRSTRLEN];

	if (sa->sa_family == AF_INET && in->sin_addr.s_addr &&
	    ntohl(in->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	else if (sa->sa_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) &&
		 !IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
	else
		return false;
	vdev_append(t, "address %u %u %s\n", nr, port, text);
	return true;
}
