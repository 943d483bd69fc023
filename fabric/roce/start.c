/* SPDX-License-Identifier: MIT */
/** DOC: the start of wires: from --roce to sockets, and the devices of peers. */
#include "fabric/roce/wire.h"

#include "emulator/transport/path.h"
#include "fabric/common/opts.h"
#include "fabric/core/memory.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEER_NODE    "roce-peers"
#define LEFT_NS	     (300 * NSEC_PER_MSEC)
#define LEFT_LOOK_US 10000
static char refusal[256];

/* Whether it is an address that a wire of its interface can have. */
static bool wire_take_address(const struct sockaddr *sa, int family, u8 gid[16])
{
	return roce_sockaddr_gid(sa, gid) && sa->sa_family == family && gid[0] != 0xfe;
}

/*
 * The address that a word means: itself, or the first one of the interface of that name, of IPv4 if
 * there is one. Addresses of one link only (fe80::/10) need their interface, which paths do not
 * have.
 */
static bool wire_find_address(const char *word, u8 gid[16])
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct ifaddrs *all, *i;
	struct in_addr ip4;
	bool found = false;
	u32 k;

	if (inet_pton(AF_INET, word, &ip4) == 1) {
		gid_map_v4(gid, &ip4);
		return true;
	}
	if (inet_pton(AF_INET6, word, gid) == 1)
		return gid[0] != 0xfe;
	if (getifaddrs(&all))
		return false;
	for (k = 0; k < ARRAY_SIZE(families) && !found; k++)
		for (i = all; i && !found; i = i->ifa_next)
			found = !strcmp(i->ifa_name, word) &&
				wire_take_address(i->ifa_addr, families[k], gid);
	freeifaddrs(all);
	return found;
}

/* Find the RoCE port of this fabric that has the address. */
static bool wire_find_port(const struct hca *hca, struct roce_wire *w)
{
	u32 at = 0, index;
	bool ip;

	while (hca_addr_next(hca, w->box.gid, &at, &w->dev, &w->port, &index, &ip))
		if (!ip && hca->dev[w->dev].link_layer == LINK_ETHERNET)
			return true;
	return false;
}

static const char *wire_bind_failed(const struct roce_wire *w, int err)
{
	if (err == EADDRINUSE)
		snprintf(refusal, sizeof(refusal),
			 "--roce: UDP port 4791 of %s is in use, by rdma_rxe, another fabric, or a "
			 "stopped program of one: name another address, or start in a network "
			 "namespace of its own",
			 w->text);
	else
		snprintf(refusal, sizeof(refusal), "--roce: UDP port 4791 of %s: %s", w->text,
			 strerror(err));
	return refusal;
}

/*
 * The programs of a fabric that has just ended may still have its socket (roce_share()): they close
 * it when they notice. Return: as roce_socket_open().
 */
static int wire_bind(const u8 gid[16])
{
	u64 until = real_ns() + LEFT_NS;
	int fd;

	while ((fd = roce_socket_open(gid, ROCE_UDP_PORT)) == -EADDRINUSE && real_ns() < until)
		usleep(LEFT_LOOK_US);
	return fd;
}

static const char *wire_start(struct fabric *f, struct roce_wire *w, const char *word)
{
	int ret;
	u32 i;

	if (!wire_find_address(word, w->box.gid)) {
		snprintf(refusal, sizeof(refusal),
			 "--roce: %s is no IP address, and no interface with one", word);
		return refusal;
	}
	roce_gid_text(w->box.gid, w->text);
	for (i = 0; i < f->roce->n; i++)
		if (!memcmp(f->roce->wire[i].box.gid, w->box.gid, 16)) {
			snprintf(refusal, sizeof(refusal),
				 "--roce: %s is the address %s, which is there already", word,
				 w->text);
			return refusal;
		}
	w->iface = roce_socket_iface(w->box.gid);
	w->box.wire = w;
	if (!wire_find_port(f->hca, w)) {
		snprintf(refusal, sizeof(refusal),
			 "--roce: no RoCE port of this fabric has the address %s", w->text);
		return refusal;
	}
	ret = wire_bind(w->box.gid);
	w->out.fd = ret;
	if (ret >= 0)
		ret = roce_inbox_open(f, &w->box, ret, EGRESS_BATCH);
	return ret ? wire_bind_failed(w, -ret) : NULL;
}

/* The devices of hosts outside: they have limits, since checks of paths look at them. */
static const char *roce_make_peers(struct fabric *f)
{
	struct hca *hca = f->hca;
	int node = hca_node_begin(hca, PEER_NODE, HCA_PEERS);
	struct hca_dev *d;
	u32 i;

	if (node < 0)
		return "--roce: too many nodes";
	for (i = 0; i < HCA_PEERS; i++) {
		d = &hca->dev[hca->node[node].first_dev + i];
		snprintf(d->name, sizeof(d->name), "peer%u", i);
		d->link_layer = LINK_ETHERNET;
		d->lim = hca->dev[0].lim;
		d->member = HCA_MEMBER_WIRE;
		d->n_ports = 1;
		d->port[1].state = PORT_ACTIVE;
		d->port[1].max_mtu = d->port[1].active_mtu = 5; /* 4096 bytes */
		d->port[1].pkey[0] = 0xffff;
		d->valid = 1;
	}
	hca->node[node].member = HCA_MEMBER_WIRE;
	hca->wires.first_peer = hca->node[node].first_dev;
	hca->wires.n_peers = HCA_PEERS;
	hca_node_publish(hca, (u32)node);
	relay_update_paths(hca);
	return NULL;
}

/* struct egress.lent */
static u32 roce_lent(void *ctx, const struct hca_mem *mem, u64 off, u64 len, struct iovec *v,
		     u32 max)
{
	return memory_lent_span(ctx, mem, off, len, v, max);
}

static bool roce_alloc(struct fabric *f)
{
	struct roce *r = calloc(1, sizeof(*r));
	u32 i;

	if (!r)
		return false;
	f->roce = r;
	r->retry_at = r->defer.check_at = NEVER;
	for (i = 0; i < ROCE_GROUPS; i++)
		r->group[i].box.w.fd = r->group[i].box.mem_fd = -1;
	for (i = 0; i < HCA_WIRES; i++) {
		r->wire[i].box.w.fd = r->wire[i].box.mem_fd = -1;
		roce_flows_init(&r->wire[i]);
	}
	r->stage.mem = aligned_alloc(EGRESS_ALIGN, ROCE_DATA_MAX);
	if (!r->stage.mem || egress_make(&r->egress, f->hca, HCA_PROC, ROCE_DATA_MAX))
		return false;
	r->egress.lent = roce_lent;
	r->egress.ctx = f;
	return true;
}

u64 roce_guid_salt(const struct opts *o)
{
	struct wire_list list;
	u64 h = FNV1A_BASIS;
	u8 gid[16];
	u32 i;

	if (!o->roce[0] || !wire_list_parse(&list, o->roce))
		return 0;
	for (i = 0; i < list.n; i++)
		if (wire_find_address(list.name[i], gid))
			h = fnv1a(h, gid, sizeof(gid));
	return h;
}

const char *roce_start(struct fabric *f, const struct opts *o)
{
	struct wire_list list;
	const char *why;
	struct stat ns;
	bool cuts = true;
	u32 i;

	if (!o->roce[0] || !wire_list_parse(&list, o->roce))
		return NULL;
	if (o->listen[0] || o->join[0])
		return "--roce cannot be combined with --listen or --join";
	if (!roce_alloc(f))
		return strerror(ENOMEM);
	f->roce->filters = o->roce_peers[0] && wire_peers_parse(&f->roce->peers, o->roce_peers);
	for (i = 0; i < list.n; i++) {
		why = wire_start(f, &f->roce->wire[i], list.name[i]);
		if (why)
			return why;
		memcpy(f->hca->wires.gid[i], f->roce->wire[i].box.gid, 16);
		cuts = cuts && roce_socket_cuts(f->roce->wire[i].box.gid);
		f->hca->wires.n = f->roce->n = i + 1;
		fabric_note(f, "roce: RoCE v2 at %s, UDP port 4791", f->roce->wire[i].text);
	}
	f->hca->wires.bursts = f->roce->cuts = cuts;
	f->hca->wires.filters = f->roce->filters;
	f->hca->wires.uid = geteuid();
	if (!stat("/proc/self/ns/net", &ns))
		f->hca->wires.netns = ns.st_ino;
	link_add_carrier(f, &roce_carrier);
	return roce_make_peers(f);
}

void roce_end(struct fabric *f)
{
	u32 i;

	/* `fabric stop` returns before this process has ended. */
	for (i = 0; f->roce && i < f->roce->n; i++) {
		roce_flows_close(&f->roce->wire[i]);
		loop_watch_close(&f->roce->wire[i].box.w);
	}
}

int roce_share(struct fabric *f, u32 i, bool memory, int *fd)
{
	struct roce_inbox *box;

	if (!f->roce || i >= f->roce->n)
		return -ENOENT;
	box = &f->roce->wire[i].box;
	box->shared = true;
	*fd = memory ? box->mem_fd : box->w.fd;
	return 0;
}

const struct roce_counts *roce_wire_counts(const struct fabric *f, u32 i, const char **address)
{
	if (!f->roce || i >= f->roce->n)
		return NULL;
	*address = f->roce->wire[i].text;
	f->roce->wire[i].n.received = load_relaxed(&f->hca->wires.n_received[i]);
	f->roce->wire[i].n.numbered = load_relaxed(&f->hca->wires.n_numbered[i]);
	f->roce->wire[i].n.sent = load_relaxed(&f->hca->wires.n_sent[i]);
	f->roce->wire[i].n.lost_refused = load_relaxed(&f->hca->wires.n_lost[i]);
	return &f->roce->wire[i].n;
}
