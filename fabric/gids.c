/* SPDX-License-Identifier: MIT */
/**
 * DOC: the fabric's device, made from the host's network interfaces.
 *
 * Programs look their GIDs up among the addresses of real interfaces, and resolve routes to them.
 * So the port has the host's addresses: entry 0 is the link-local GID of the device itself, the
 * others are the addresses of interfaces that are up, IPv4 as IPv4-mapped IPv6. Loopback addresses
 * are taken when there is nothing else (a network namespace of its own).
 */
#include "fabric/fabric.h"
#include "fabric/version.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEV_NAME "rdmaemu0"
#define ROCE_V2	 2
#define MTU_MAX	 5 /* IBV_MTU_4096 */
/* What Ethernet frames of RoCE v2 carry beside payload: IPv6, UDP and the longest IBTA headers. */
#define HEADERS 80

/* FNV-1a: stable, and spreads names well. */
static u64 hash(u64 h, const void *data, size_t n)
{
	const u8 *p = data;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return h;
}

/* A locally administered EUI-64, the same for this user's fabric of that name every time. */
static u64 make_guid(const char *fabric)
{
	const u32 uid = (u32)geteuid();
	u64 h = hash(hash(0xcbf29ce484222325ULL, &uid, sizeof(uid)), fabric, strlen(fabric));

	return (h & ~(0x03ULL << 56)) | 0x02ULL << 56;
}

static u32 mtu_code(u32 netdev_mtu)
{
	u32 code = MTU_MAX;

	while (code > 1 && ib_mtu_bytes(code) + HEADERS > netdev_mtu)
		code--;
	return code;
}

static u32 netdev_mtu(const char *name)
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

/* Return: whether it is an address that GIDs are made of. */
static bool gid_of(const struct ifaddrs *a, u8 raw[16])
{
	const struct sockaddr_in *in = (const void *)a->ifa_addr;
	const struct sockaddr_in6 *in6 = (const void *)a->ifa_addr;

	if (!a->ifa_addr || !(a->ifa_flags & IFF_UP))
		return false;
	if (a->ifa_addr->sa_family == AF_INET) {
		memset(raw, 0, 10);
		memset(raw + 10, 0xff, 2);
		memcpy(raw + 12, &in->sin_addr, 4);
		return true;
	}
	if (a->ifa_addr->sa_family != AF_INET6)
		return false;
	memcpy(raw, &in6->sin6_addr, 16);
	return true;
}

static void add_gid(struct hca_port *p, u32 *n, const u8 raw[16], const char *ndev)
{
	struct hca_gid *g;
	u32 i;

	for (i = 1; i < *n; i++)
		if (!memcmp(p->gid[i].raw, raw, 16))
			return;
	if (*n >= HCA_GIDS)
		return;
	g = &p->gid[(*n)++];
	memcpy(g->raw, raw, 16);
	g->type = ROCE_V2;
	g->valid = 1;
	g->ifindex = if_nametoindex(ndev);
	snprintf(g->ndev, sizeof(g->ndev), "%s", ndev);
}

/* Adds the addresses of one family; loopback interfaces only, or all others. */
static void add_family(struct hca_port *p, u32 *n, const struct ifaddrs *list, int family,
		       bool loopback)
{
	const struct ifaddrs *a;
	u8 raw[16];

	for (a = list; a; a = a->ifa_next)
		if (gid_of(a, raw) && a->ifa_addr->sa_family == family &&
		    !!(a->ifa_flags & IFF_LOOPBACK) == loopback)
			add_gid(p, n, raw, a->ifa_name);
}

static void set_gids(struct hca_port *p, u64 guid)
{
	struct hca_gid *self = &p->gid[0];
	struct ifaddrs *list = NULL;
	u32 n = 1;
	int i;

	self->raw[0] = 0xfe;
	self->raw[1] = 0x80;
	for (i = 0; i < 8; i++)
		self->raw[8 + i] = (u8)(guid >> (56 - 8 * i));
	self->type = ROCE_V2;
	self->valid = 1;
	if (getifaddrs(&list))
		list = NULL;
	add_family(p, &n, list, AF_INET, false);
	add_family(p, &n, list, AF_INET6, false);
	if (n == 1) {
		add_family(p, &n, list, AF_INET, true);
		add_family(p, &n, list, AF_INET6, true);
	}
	if (list)
		freeifaddrs(list);
	/* The device sits on the interface of its first address. */
	snprintf(self->ndev, sizeof(self->ndev), "%s", n > 1 ? p->gid[1].ndev : "lo");
	self->ifindex = if_nametoindex(self->ndev);
}

void devices_make(struct hca *hca, const char *fabric)
{
	struct hca_dev *d = &hca->dev[0];
	struct hca_port *p = &d->port[1];

	snprintf(d->name, sizeof(d->name), DEV_NAME);
	d->guid = make_guid(fabric);
	d->index = 0;
	d->n_ports = 1;
	d->link_layer = LINK_ETHERNET;
	hca_default_limits(&d->lim);
	d->lim.vendor_id = IDENT_VENDOR;
	d->lim.part_id = IDENT_PART;
	d->lim.hw_ver = IDENT_HW_REV;
	p->state = PORT_ACTIVE;
	p->max_mtu = MTU_MAX;
	p->pkey[0] = IB_DEFAULT_PKEY;
	set_gids(p, d->guid);
	p->active_mtu = mtu_code(netdev_mtu(p->gid[0].ndev));
	d->valid = 1;
	hca->n_devs = 1;
}
