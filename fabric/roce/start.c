/* SPDX-License-Identifier: MIT */
/** DOC: the start of wires: from --roce to sockets, and the devices of peers. */
#include "fabric/roce/wire.h"

#include "emulator/transport/path.h"
#include "fabric/common/opts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PEER_NODE      "roce-peers"
#define SOCKET_BUFFER  (8 << 20) /* the kernel allows less: net.core.rmem_max, wmem_max */
#define IP_TTL_DEFAULT 64 /* what the engine writes into address vectors */

static char refusal[256];

/* The IPv4 address of a word: itself, or the first one of the interface of that name. */
static bool wire_find_address(const char *word, struct in_addr *to)
{
	struct ifaddrs *all, *i;
	bool found = inet_pton(AF_INET, word, to) == 1;

	if (found || getifaddrs(&all))
		return found;
	for (i = all; i && !found; i = i->ifa_next) {
		found = i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
			!strcmp(i->ifa_name, word);
		if (found)
			*to = ((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr;
	}
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
			 "--roce: UDP port 4791 of %s is in use, by rdma_rxe or another fabric: "
			 "name "
			 "another address, or start in a network namespace of its own",
			 w->text);
	else
		snprintf(refusal, sizeof(refusal), "--roce: UDP port 4791 of %s: %s", w->text,
			 strerror(err));
	return refusal;
}

static const char *wire_open_socket(struct fabric *f, struct roce_wire *w, struct in_addr ip)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(ROCE_UDP_PORT),
					.sin_addr = ip };
	const int one = 1, size = SOCKET_BUFFER, pmtu = IP_PMTUDISC_DO, ttl = IP_TTL_DEFAULT;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return wire_bind_failed(w, errno);
	/* As rdma_rxe and HCAs send: no UDP checksum, since the ICRC is stronger. */
	err = setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one)) ||
	      setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu)) ||
	      setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl)) ||
	      bind(fd, (const struct sockaddr *)&at, sizeof(at));
	if (err) {
		err = errno;
		close(fd);
		return wire_bind_failed(w, err);
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &ip, sizeof(ip));
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof(ttl));
	err = roce_inbox_open(f, &w->box, fd, ROCE_BATCH);
	return err ? wire_bind_failed(w, -err) : NULL;
}

static const char *wire_start(struct fabric *f, struct roce_wire *w, const char *word)
{
	struct in_addr ip;

	if (!wire_find_address(word, &ip)) {
		snprintf(refusal, sizeof(refusal),
			 "--roce: %s is no IPv4 address, and no interface with one", word);
		return refusal;
	}
	inet_ntop(AF_INET, &ip, w->text, sizeof(w->text));
	w->box.wire = w;
	gid_map_v4(w->box.gid, &ip.s_addr);
	if (!wire_find_port(f->hca, w)) {
		snprintf(refusal, sizeof(refusal),
			 "--roce: no RoCE port of this fabric has the address %s", w->text);
		return refusal;
	}
	return wire_open_socket(f, w, ip);
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

static bool roce_alloc(struct fabric *f)
{
	struct roce *r = calloc(1, sizeof(*r));
	u32 i;

	if (!r)
		return false;
	f->roce = r;
	r->retry_at = NEVER;
	for (i = 0; i < HCA_WIRES; i++)
		r->wire[i].box.w.fd = -1;
	r->payload = malloc(ROCE_DATA_MAX);
	r->stage.mem = malloc(ROCE_DATA_MAX);
	r->frames = malloc((size_t)ROCE_BATCH * (ROCE_ETH + ROCE_IP_UDP + ROCE_DATAGRAM));
	return r->payload && r->stage.mem && r->frames;
}

u64 roce_guid_salt(const struct opts *o)
{
	struct wire_list list;
	u64 h = FNV1A_BASIS;
	struct in_addr ip;
	u32 i;

	if (!o->roce[0] || !wire_list_parse(&list, o->roce))
		return 0;
	for (i = 0; i < list.n; i++)
		if (wire_find_address(list.name[i], &ip))
			h = fnv1a(h, &ip, sizeof(ip));
	return h;
}

const char *roce_start(struct fabric *f, const struct opts *o)
{
	struct wire_list list;
	const char *why;
	u32 i;

	if (!o->roce[0] || !wire_list_parse(&list, o->roce))
		return NULL;
	if (o->listen[0] || o->join[0])
		return "--roce cannot be combined with --listen or --join";
	if (o->manual)
		return "--clock manual cannot be combined with --roce";
	if (!roce_alloc(f))
		return strerror(ENOMEM);
	f->roce->filters = o->roce_peers[0] && wire_peers_parse(&f->roce->peers, o->roce_peers);
	for (i = 0; i < list.n; i++) {
		why = wire_start(f, &f->roce->wire[i], list.name[i]);
		if (why)
			return why;
		memcpy(f->hca->wires.gid[i], f->roce->wire[i].box.gid, 16);
		f->hca->wires.n = f->roce->n = i + 1;
		fabric_note(f, "roce: RoCE v2 at %s, UDP port 4791", f->roce->wire[i].text);
	}
	link_add_carrier(f, &roce_carrier);
	return roce_make_peers(f);
}

void roce_end(struct fabric *f)
{
	u32 i;

	/* `fabric stop` returns before this process has ended. */
	for (i = 0; f->roce && i < f->roce->n; i++)
		loop_watch_close(&f->roce->wire[i].box.w);
}

const struct roce_counts *roce_wire_counts(const struct fabric *f, u32 i, const char **address)
{
	if (!f->roce || i >= f->roce->n)
		return NULL;
	*address = f->roce->wire[i].text;
	return &f->roce->wire[i].n;
}
