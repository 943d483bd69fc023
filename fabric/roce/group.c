/* SPDX-License-Identifier: MIT */
/** DOC: multicast groups of wires: see wire.h. The host's IP stack joins them, by IGMP or MLD. */
#include "fabric/roce/wire.h"

#include "emulator/qp.h"

#include <linux/udp.h>
#include <unistd.h>

_Static_assert(ROCE_GROUPS == 32, "in a message");

#define GROUP_ROOM 8u /* datagrams in one system call */

bool roce_groups_changed(const struct fabric *f)
{
	const struct hca_tab *t = &f->hca->tab[TAB_MCAST];

	return load_relaxed(&t->n) != f->roce->members ||
	       load_relaxed(&t->cursor) != f->roce->cursor ||
	       load_relaxed(&f->hca->mcast_moves) != f->roce->moves;
}

bool roce_has_groups_to_join(const struct fabric *f)
{
	return f->roce && roce_groups_changed(f);
}

/*
 * A socket gets what its group receives on any interface that some socket of the host has joined it
 * at, unless IP_MULTICAST_ALL is off.
 */
static bool group_bind4(int fd, const struct roce_wire *w, const u8 gid[16])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) };
	struct ip_mreq join;
	const int none = 0;

	memcpy(&at.sin_addr, gid + 12, 4);
	join.imr_multiaddr = at.sin_addr;
	memcpy(&join.imr_interface, w->box.gid + 12, 4);
	return !setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &none, sizeof(none)) &&
	       !bind(fd, (const struct sockaddr *)&at, sizeof(at)) &&
	       !setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join));
}

static bool group_bind6(int fd, const struct roce_wire *w, const u8 gid[16])
{
	const unsigned int iface = w->iface;
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_port = htons(ROCE_UDP_PORT),
				   .sin6_scope_id = iface };
	struct ipv6_mreq join = { .ipv6mr_interface = iface };
	const int one = 1, index = (int)iface;

	memcpy(&at.sin6_addr, gid, 16);
	join.ipv6mr_multiaddr = at.sin6_addr;
	/* The same. Linux before 5.7 wants a privilege to bind to an interface. */
	(void)setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &index, sizeof(index));
	return !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) &&
	       !bind(fd, (const struct sockaddr *)&at, sizeof(at)) &&
	       !setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &join, sizeof(join));
}

/* Return: a socket that receives what the group gets on the wire's interface, or -errno. */
static int group_open_socket(const struct roce_wire *w, const u8 gid[16])
{
	const bool v4 = gid_is_v4(gid);
	const int one = 1;
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ret;

	if (fd < 0)
		return -errno;
	roce_socket_set_room(fd);
	ret = egress_socket_receives(fd, v4);
	/* Another fabric of this host may be in the group, too. */
	if (!ret && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
		     !(v4 ? group_bind4(fd, w, gid) : group_bind6(fd, w, gid))))
		ret = -errno;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/*
 * The group as a wire gets it. One of the fabric's wires at an interface joins it for all of them:
 * each socket would receive a copy, and the switch delivers to all members.
 */
static struct roce_group *group_find(struct roce *r, const struct roce_wire *w, const u8 gid[16])
{
	struct roce_group *g;

	for (g = r->group; g < r->group + ROCE_GROUPS; g++)
		if (g->box.wire && !memcmp(g->box.gid, gid, 16) &&
		    (g->box.wire == w || (w->iface && g->box.wire->iface == w->iface)))
			return g;
	return NULL;
}

/*
 * A free place for a group that a client joins. In an isolated fabric each leaves as many places as
 * it has (tab_has_share()). Return: 0, -ENOBUFS: none is free, -EDQUOT: the others are for others.
 */
static int group_find_place(struct fabric *f, u32 client, struct roce_group **place)
{
	struct roce_group *g;
	u32 free_places = 0, own = 0;

	*place = NULL;
	for (g = f->roce->group; g < f->roce->group + ROCE_GROUPS; g++) {
		if (!g->box.wire && !*place)
			*place = g;
		free_places += !g->box.wire;
		own += g->box.wire && g->client == client;
	}
	if (!*place)
		return -ENOBUFS;
	return f->hca->isolated && own >= free_places ? -EDQUOT : 0;
}

/* Return: 0 or -errno. */
static int group_join(struct fabric *f, struct roce_wire *w, const struct hca_mcast *m)
{
	struct roce_group *g;
	int ret = group_find_place(f, m->client, &g);

	if (ret)
		return ret;
	ret = group_open_socket(w, m->gid);
	if (ret < 0)
		return ret;
	g->box.wire = w;
	memcpy(g->box.gid, m->gid, 16);
	g->client = m->client;
	ret = roce_inbox_open(f, &g->box, ret, GROUP_ROOM);
	if (ret)
		g->box.wire = NULL;
	return ret;
}

/*
 * The wire's port has a member of the group: the client of the first one has the group's place.
 * Return: 0, or -errno of joining it.
 */
static int group_want(struct fabric *f, struct roce_wire *w, const struct hca_mcast *m, bool join)
{
	struct roce_group *g = group_find(f->roce, w, m->gid);

	if (g && !g->client)
		g->client = m->client;
	return g || !join ? 0 : group_join(f, w, m);
}

/* Whether a wire is one of the port that a queue pair is at, and of the group's family. */
static bool group_is_at_wire(const struct roce_wire *w, const struct hca_mcast *m,
			     const struct hca_qp *qp)
{
	return w->dev == m->dev && w->port == qp->attr.port_num &&
	       gid_is_v4(w->box.gid) == gid_is_v4(m->gid);
}

static int group_want_member(struct fabric *f, const struct hca_mcast *m, bool join)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, m->qpn);
	int ret = 0;
	u32 i;

	for (i = 0; qp && i < f->roce->n && !ret; i++)
		if (group_is_at_wire(&f->roce->wire[i], m, qp))
			ret = group_want(f, &f->roce->wire[i], m, join);
	return ret;
}

/* One line, however many groups there are. */
static void group_note_failure(struct fabric *f, const struct hca_mcast *m, int ret)
{
	char text[INET6_ADDRSTRLEN];

	fabric_note(f, "roce: cannot join the group %s: %s", roce_gid_text(m->gid, text),
		    ret == -ENOBUFS  ? "at most 32 are joined"
		    : ret == -EDQUOT ? "its program has its share of the 32 that are joined"
				     : strerror(-ret));
}

/* @join: join groups that have no place, too. */
static void groups_want_all(struct fabric *f, bool join)
{
	const struct hca_tab *t = &f->hca->tab[TAB_MCAST];
	const struct hca_mcast *m;
	int ret, failed = 0;

	for (m = f->hca->mcast; m < f->hca->mcast + min_u32(t->high, HCA_MAX_MCAST); m++) {
		if (!m->client)
			continue;
		ret = group_want_member(f, m, join);
		if (ret && !failed)
			group_note_failure(f, m, ret);
		failed = ret ? ret : failed;
	}
}

void roce_groups_update(struct fabric *f)
{
	const struct hca_tab *t = &f->hca->tab[TAB_MCAST];
	struct roce_group *g;

	f->roce->members = t->n;
	f->roce->cursor = t->cursor;
	f->roce->moves = f->hca->mcast_moves;
	for (g = f->roce->group; g < f->roce->group + ROCE_GROUPS; g++)
		g->client = 0;
	/* Places that are left can be taken at once, and what each client has is known by then. */
	groups_want_all(f, false);
	for (g = f->roce->group; g < f->roce->group + ROCE_GROUPS; g++)
		if (g->box.wire && !g->client) {
			roce_inbox_close(&g->box);
			g->box.wire = NULL;
		}
	groups_want_all(f, true);
}

const u8 *roce_group_next(const struct fabric *f, u32 wire, u32 *at)
{
	const struct roce_inbox *box;

	while (*at < ROCE_GROUPS) {
		box = &f->roce->group[(*at)++].box;
		if (box->wire == &f->roce->wire[wire])
			return box->gid;
	}
	return NULL;
}
