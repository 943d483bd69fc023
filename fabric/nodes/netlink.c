/* SPDX-License-Identifier: MIT */
/**
 * DOC: the addresses of the host's network interfaces, which are those of node 0.
 *
 * Programs look their GIDs up among the addresses of real interfaces, and resolve routes to them. A
 * port therefore has the host's addresses: entry 0 is the link-local GID of the device itself, the
 * others are addresses of interfaces that are up, IPv4 as IPv4-mapped IPv6. Loopback addresses are
 * used only if there are no others, as in a network namespace of its own.
 */
#include "fabric/nodes/netlink.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROCE_V2	   2
#define LINK_LOCAL 0xfe80000000000000ULL
/* Headers of RoCE v2 frames next to the payload: IPv6, UDP and the longest IBTA headers. */
#define HEADERS 80

static u32 netlink_mtu_code_fit(u32 netdev_mtu, u32 max)
{
	u32 code = max;

	while (code > 1 && ib_mtu_bytes(code) + HEADERS > netdev_mtu)
		code--;
	return code;
}

static u32 netlink_ndev_mtu(const char *name)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { 0 };
	u32 mtu = 1500;

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (fd >= 0 && !ioctl(fd, SIOCGIFMTU, &r))
		mtu = (u32)r.ifr_mtu;
	if (fd >= 0)
		close(fd);
	return mtu;
}

u32 netlink_mtu_code(const char *ndev, u32 max)
{
	return netlink_mtu_code_fit(netlink_ndev_mtu(ndev), max);
}

/* Return: whether a GID can be made of the address. */
static bool netlink_gid_from_addr(const struct ifaddrs *a, u8 raw[16])
{
	const struct sockaddr_in *in = (const void *)a->ifa_addr;
	const struct sockaddr_in6 *in6 = (const void *)a->ifa_addr;

	if (!a->ifa_addr || !(a->ifa_flags & IFF_UP))
		return false;
	if (a->ifa_addr->sa_family == AF_INET) {
		gid_map_v4(raw, &in->sin_addr);
		return true;
	}
	if (a->ifa_addr->sa_family != AF_INET6)
		return false;
	memcpy(raw, &in6->sin6_addr, 16);
	return true;
}

/**
 * struct deal - addresses of interfaces are dealt out to @n ports in turn; this is the @nth.
 * @any: some interface has an address
 */
struct deal {
	struct ndev_order *order;
	struct hca_gid *gid;
	u32 used;
	u32 nth, n;
	bool any;
};

/* An interface belongs to one port permanently. Ports take turns in the order of the interfaces. */
static bool netlink_is_port_ndev(struct deal *d, const char *ndev)
{
	struct ndev_order *o = d->order;
	u32 i;

	d->any = true;
	for (i = 0; i < o->n && strcmp(o->name[i], ndev) != 0; i++)
		;
	if (i == o->n && i < MAX_NDEVS)
		snprintf(o->name[o->n++], sizeof(o->name[0]), "%s", ndev);
	return i % d->n == d->nth;
}

static void netlink_add_gid(struct deal *d, const u8 raw[16], const char *ndev)
{
	struct hca_gid *g;
	u32 i;

	for (i = 1; i < d->used; i++)
		if (!memcmp(d->gid[i].raw, raw, 16))
			return;
	if (d->used >= HCA_GIDS)
		return;
	g = &d->gid[d->used++];
	memcpy(g->raw, raw, 16);
	g->type = ROCE_V2;
	g->valid = 1;
	g->ifindex = if_nametoindex(ndev);
	snprintf(g->ndev, sizeof(g->ndev), "%s", ndev);
}

/* Add the addresses of one family, of loopback interfaces only or of all others. */
static void netlink_add_family(struct deal *d, const struct ifaddrs *list, int family,
			       bool loopback)
{
	const struct ifaddrs *a;
	u8 raw[16];

	for (a = list; a; a = a->ifa_next)
		if (netlink_gid_from_addr(a, raw) && a->ifa_addr->sa_family == family &&
		    !!(a->ifa_flags & IFF_LOOPBACK) == loopback &&
		    netlink_is_port_ndev(d, a->ifa_name))
			netlink_add_gid(d, raw, a->ifa_name);
}

static void netlink_put_be64(u8 *to, u64 v)
{
	int i;

	for (i = 0; i < 8; i++)
		to[i] = (u8)(v >> (56 - 8 * i));
}

void netlink_gid_make(struct hca_gid *g, u64 prefix, u64 guid)
{
	netlink_put_be64(g->raw, prefix);
	netlink_put_be64(g->raw + 8, guid);
	g->type = ROCE_V2;
	g->valid = 1;
}

void netlink_node_gid(struct fabric *f, u64 guid, struct hca_gid *g)
{
	const struct hca_dev *host = &f->hca->dev[0];
	const struct hca_gid *at = host->port[1].gid;

	/* The addresses of an InfiniBand host are not GIDs. */
	if (host->link_layer == LINK_INFINIBAND)
		at = &host->port[1].ip[1];
	*g = (struct hca_gid){ 0 };
	netlink_gid_make(g, LINK_LOCAL, guid);
	memcpy(g->ndev, at->ndev, sizeof(g->ndev));
	g->ifindex = at->ifindex;
}

void netlink_port_gids(struct fabric *f, u32 dev, u32 port, struct hca_gid gid[HCA_GIDS])
{
	const struct hca_dev *hd = &f->hca->dev[dev];
	struct deal d = { .order = &f->nodes->ndevs, .gid = gid, .used = 1 };
	struct ifaddrs *list = NULL;

	d.n = f->profile.n_devs * f->profile.n_ports;
	d.nth = dev * f->profile.n_ports + port - 1;
	memset(gid, 0, HCA_GIDS * sizeof(*gid));
	netlink_gid_make(&gid[0], LINK_LOCAL, hd->port[port].guid);
	if (getifaddrs(&list))
		list = NULL;
	netlink_add_family(&d, list, AF_INET, false);
	netlink_add_family(&d, list, AF_INET6, false);
	if (!d.any) {
		netlink_add_family(&d, list, AF_INET, true);
		netlink_add_family(&d, list, AF_INET6, true);
	}
	if (list)
		freeifaddrs(list);
	/* The port belongs to the interface of its first address. */
	snprintf(gid[0].ndev, sizeof(gid[0].ndev), "%s", d.used > 1 ? gid[1].ndev : "lo");
	gid[0].ifindex = if_nametoindex(gid[0].ndev);
}

void netlink_port_ips(struct fabric *f, u32 dev, u32 port, struct hca_gid ip[HCA_GIDS])
{
	u32 i;

	netlink_port_gids(f, dev, port, ip);
	/* Link-local addresses of IPoIB interfaces are made of their own ports' GUIDs. */
	for (i = 0; i < HCA_GIDS; i++)
		if (ip[i].raw[0] == 0xfe && (ip[i].raw[1] & 0xc0) == 0x80)
			memset(&ip[i], 0, sizeof(ip[i]));
}
