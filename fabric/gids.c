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

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROCE_V2	      2
#define LINK_LOCAL    0xfe80000000000000ULL
#define GUIDS_PER_DEV 16
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

static u32 mtu_code(u32 netdev_mtu, u32 max)
{
	u32 code = max;

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

/**
 * struct deal - the addresses of interfaces, dealt out to @n ports in turn; this is the @nth.
 * @any: some interface has an address
 */
struct deal {
	struct ndev_order *order;
	struct hca_gid *gid;
	u32 used;
	u32 nth, n;
	bool any;
};

/* An interface belongs to one port, for good. They take their turns as they come. */
static bool is_ours(struct deal *d, const char *ndev)
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

static void add_gid(struct deal *d, const u8 raw[16], const char *ndev)
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

/* Adds the addresses of one family; loopback interfaces only, or all others. */
static void add_family(struct deal *d, const struct ifaddrs *list, int family, bool loopback)
{
	const struct ifaddrs *a;
	u8 raw[16];

	for (a = list; a; a = a->ifa_next)
		if (gid_of(a, raw) && a->ifa_addr->sa_family == family &&
		    !!(a->ifa_flags & IFF_LOOPBACK) == loopback && is_ours(d, a->ifa_name))
			add_gid(d, raw, a->ifa_name);
}

static void put_u64(u8 *to, u64 v)
{
	int i;

	for (i = 0; i < 8; i++)
		to[i] = (u8)(v >> (56 - 8 * i));
}

void gids_now(struct fabric *f, u32 dev, u32 port, struct hca_gid gid[HCA_GIDS])
{
	const struct hca_dev *hd = &f->hca->dev[dev];
	struct deal d = { .order = &f->ndevs, .gid = gid, .used = 1 };
	struct ifaddrs *list = NULL;

	d.n = f->profile.n_devs * f->profile.n_ports;
	d.nth = dev * f->profile.n_ports + port - 1;
	memset(gid, 0, HCA_GIDS * sizeof(*gid));
	put_u64(gid[0].raw, LINK_LOCAL);
	put_u64(gid[0].raw + 8, hd->port[port].guid);
	gid[0].type = ROCE_V2;
	gid[0].valid = 1;
	if (getifaddrs(&list))
		list = NULL;
	add_family(&d, list, AF_INET, false);
	add_family(&d, list, AF_INET6, false);
	if (!d.any) {
		add_family(&d, list, AF_INET, true);
		add_family(&d, list, AF_INET6, true);
	}
	if (list)
		freeifaddrs(list);
	/* The port sits on the interface of its first address. */
	snprintf(gid[0].ndev, sizeof(gid[0].ndev), "%s", d.used > 1 ? gid[1].ndev : "lo");
	gid[0].ifindex = if_nametoindex(gid[0].ndev);
}

void ips_now(struct fabric *f, u32 dev, u32 port, struct hca_gid ip[HCA_GIDS])
{
	u32 i;

	gids_now(f, dev, port, ip);
	/* The link-local addresses of IPoIB interfaces are made of their own ports' GUIDs. */
	for (i = 0; i < HCA_GIDS; i++)
		if (ip[i].raw[0] == 0xfe && (ip[i].raw[1] & 0xc0) == 0x80)
			memset(&ip[i], 0, sizeof(ip[i]));
}

/* Subnet managers number ports from 1; here the manager itself has that. */
#define SM_LID	  1
#define FIRST_LID 2

static void set_ib_port(struct hca_port *p, u64 prefix, u32 ordinal)
{
	struct hca_gid *g = &p->gid[0];

	put_u64(g->raw, prefix);
	put_u64(g->raw + 8, p->guid);
	g->valid = 1;
	p->lid = FIRST_LID + ordinal;
	p->sm_lid = SM_LID;
}

static void make_port(struct fabric *f, struct hca_dev *d, u32 number, u32 ordinal)
{
	const struct profile *pr = &f->profile;
	struct hca_port *p = &d->port[number];

	p->state = PORT_ACTIVE;
	p->guid = d->guid + number - 1;
	p->max_mtu = pr->max_mtu;
	p->active_mtu = pr->active_mtu;
	memcpy(p->pkey, pr->pkey, sizeof(p->pkey));
	if (d->link_layer == LINK_INFINIBAND)
		set_ib_port(p, pr->prefix, ordinal);
	else
		gids_now(f, d->index, number, p->gid);
	if (d->link_layer == LINK_INFINIBAND)
		ips_now(f, d->index, number, p->ip);
	if (!p->active_mtu)
		p->active_mtu = d->link_layer == LINK_INFINIBAND
					? p->max_mtu
					: mtu_code(netdev_mtu(p->gid[0].ndev), p->max_mtu);
}

void devices_make(struct fabric *f)
{
	const struct profile *pr = &f->profile;
	u64 guid = make_guid(f->name);
	struct hca_dev *d;
	u32 i, n;

	for (i = 0; i < pr->n_devs; i++) {
		d = &f->hca->dev[i];
		snprintf(d->name, sizeof(d->name), "%s%u", pr->dev_name, i);
		memcpy(d->fw, pr->fw, sizeof(d->fw));
		memcpy(d->board, pr->board, sizeof(d->board));
		d->pci_vendor = pr->pci_vendor ? pr->pci_vendor : pr->lim.vendor_id & 0xffff;
		d->guid = guid + (u64)i * GUIDS_PER_DEV;
		d->index = i;
		d->n_ports = pr->n_ports;
		d->link_layer = pr->link_layer;
		d->speed = pr->speed;
		d->width = pr->width;
		d->lim = pr->lim;
		/* Raw packets are Ethernet frames. */
		if (d->link_layer == LINK_INFINIBAND)
			d->lim.qp_types &= ~(1u << QPT_RAW_PACKET);
		for (n = 1; n <= d->n_ports; n++)
			make_port(f, d, n, i * pr->n_ports + n - 1);
		d->valid = 1;
	}
	f->hca->n_devs = pr->n_devs;
	hca_count_down(f->hca);
}
