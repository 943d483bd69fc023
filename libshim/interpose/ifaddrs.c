/* SPDX-License-Identifier: MIT */
/*
 * getifaddrs(3) on a node: the addresses of the node's ports precede those of the kernel. Their
 * interface is the one that sysfs names for the port's GIDs. Programs that search the machine's
 * addresses for a device (libfabric does) would not find it otherwise. The kernel's addresses stay
 * in the list: sockets to other machines need them.
 *
 * The list begins with a block of ours and continues with libc's. freeifaddrs() recognises our
 * block by the address of the first name.
 */
#include "emulator/hca_port.h"
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/node.h"
#include "emulator/obj.h"
#include "emulator/seg.h"
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/rpc_signal.h"
#include "libshim/interpose/syscall.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>

HOOK(int, getifaddrs, struct ifaddrs **list);
HOOK(void, freeifaddrs, struct ifaddrs *list);

union if_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct entry {
	struct ifaddrs ifa;
	union if_addr addr;
	union if_addr mask;
	union if_addr broad;
};

/* Each port has one address of either family, and those that a program added. */
#define MAX_ENTRIES 64u

/* struct block - the result of getifaddrs() is &entry[0].ifa, whose name lies at a fixed offset. */
struct block {
	struct entry entry[MAX_ENTRIES];
	char name[MAX_ENTRIES][IFNAMSIZ];
	u32 n;
};

static void entry_fill_ipv4(struct entry *e, const u8 raw[16], u32 bits)
{
	u32 mask = htonl(~0u << (32 - bits));

	e->addr.in = (struct sockaddr_in){ .sin_family = AF_INET };
	memcpy(&e->addr.in.sin_addr, raw + 12, 4);
	e->mask.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = mask };
	e->broad.in = e->addr.in;
	e->broad.in.sin_addr.s_addr |= ~mask;
	e->ifa.ifa_flags |= IFF_BROADCAST;
	e->ifa.ifa_broadaddr = &e->broad.sa;
}

static void entry_fill_ipv6(struct entry *e, const u8 raw[16], u32 bits)
{
	u32 i;

	e->addr.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	memcpy(&e->addr.in6.sin6_addr, raw, 16);
	e->mask.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	for (i = 0; i < bits; i++)
		e->mask.in6.sin6_addr.s6_addr[i / 8] |= (u8)(0x80 >> i % 8);
}

static void entry_add(struct block *b, const struct hca_gid *g, const struct hca_node *node)
{
	struct entry *e = &b->entry[b->n];
	bool v4 = gid_is_v4(g->raw);

	if (!g->valid || !g->ndev[0] || b->n == MAX_ENTRIES || (!v4 && g->raw[0] == 0xfe))
		return;
	memcpy(b->name[b->n], g->ndev, min_u32(sizeof(g->ndev), IFNAMSIZ - 1));
	e->ifa = (struct ifaddrs){
		.ifa_name = b->name[b->n],
		.ifa_flags = IFF_UP | IFF_RUNNING | IFF_MULTICAST,
		.ifa_addr = &e->addr.sa,
		.ifa_netmask = &e->mask.sa,
	};
	if (v4)
		entry_fill_ipv4(e, g->raw, node->bits4);
	else
		entry_fill_ipv6(e, g->raw, node->bits6);
	if (b->n++)
		e[-1].ifa.ifa_next = &e->ifa;
}

static void entries_add_dev(struct block *b, const struct hca_dev *d, const struct hca_node *node)
{
	const struct hca_gid *g;
	u32 p, i;

	for (p = 1; p <= min_u32(d->n_ports, HCA_MAX_PORTS); p++) {
		g = d->link_layer == LINK_ETHERNET ? d->port[p].gid : d->port[p].ip;
		for (i = 0; i < HCA_GIDS; i++)
			entry_add(b, &g[i], node);
	}
}

/* The node's addresses, if the fabric process answers. */
static void entries_add_node(struct block *b)
{
	struct proto_msg m = { .op = PROTO_NODE };
	struct hca_node node;
	int fd = rpc_signal_open();
	u32 i;

	if (fd < 0)
		return;
	rpc_signal_set_node(&m);
	/* If the node is the host itself, libc's list has its addresses. */
	if (rpc_signal_call(fd, &m) && m.node.bits4) {
		node = m.node;
		for (i = 0; i < PROTO_MAX_DEVS && rpc_signal_get_dev(fd, i, &m); i++)
			entries_add_dev(b, &m.dev, &node);
	}
	sys_close(fd);
}

int hook_getifaddrs(struct ifaddrs **list)
{
	const char *node = secure_getenv(PROTO_NODE_ENV);
	int ret = libc_next(getifaddrs)(list), saved = errno;
	struct block *b;

	if (ret || !node || !node[0])
		return ret;
	b = calloc(1, sizeof(*b));
	if (!b) {
		libc_next(freeifaddrs)(*list);
		errno = ENOMEM;
		return -1;
	}
	entries_add_node(b);
	if (b->n) {
		b->entry[b->n - 1].ifa.ifa_next = *list;
		*list = &b->entry[0].ifa;
	} else {
		free(b);
	}
	errno = saved;
	return 0;
}

void hook_freeifaddrs(struct ifaddrs *list)
{
	struct block *b = (struct block *)list;
	struct ifaddrs *behind;

	if (!list || list->ifa_name != (char *)list + offsetof(struct block, name)) {
		libc_next(freeifaddrs)(list);
		return;
	}
	behind = b->entry[b->n - 1].ifa.ifa_next;
	free(b);
	libc_next(freeifaddrs)(behind);
}
