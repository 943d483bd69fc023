/* SPDX-License-Identifier: MIT */
/** DOC: multicast groups of wires: see wire.h. The host's IP stack joins them by IGMP. */
#include "fabric/roce/wire.h"

#include "emulator/qp.h"

#include <unistd.h>

_Static_assert(ROCE_GROUPS == 32, "in a message");

#define GROUP_ROOM 8u /* datagrams in one system call */

bool roce_groups_changed(const struct fabric *f)
{
	const struct hca_tab *t = &f->hca->tab[TAB_MCAST];

	return load_relaxed(&t->n) != f->roce->members ||
	       load_relaxed(&t->cursor) != f->roce->cursor;
}

/* Return: a socket that receives what the group gets on the wire's interface, or -errno. */
static int group_open_socket(const struct roce_wire *w, const u8 gid[16])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) };
	struct ip_mreq join;
	const int one = 1;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	memcpy(&at.sin_addr, gid + 12, 4);
	join.imr_multiaddr = at.sin_addr;
	memcpy(&join.imr_interface, w->box.gid + 12, 4);
	/* Another fabric of this host may be in the group, too. */
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	    !bind(fd, (const struct sockaddr *)&at, sizeof(at)) &&
	    !setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join)))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

/* @g: NULL: all are in use. Return: 0 or -errno. */
static int group_join(struct fabric *f, struct roce_wire *w, const u8 gid[16], struct roce_group *g)
{
	int ret;

	if (!g)
		return -ENOBUFS;
	ret = group_open_socket(w, gid);
	if (ret < 0)
		return ret;
	g->box.wire = w;
	memcpy(g->box.gid, gid, 16);
	g->wanted = true;
	ret = roce_inbox_open(f, &g->box, ret, GROUP_ROOM);
	if (ret)
		g->box.wire = NULL;
	return ret;
}

/* The wire's port has a member of the group. Return: 0, or -errno of joining it. */
static int group_want(struct fabric *f, struct roce_wire *w, const u8 gid[16])
{
	struct roce_group *g, *unused = NULL;

	for (g = f->roce->group; g < f->roce->group + ROCE_GROUPS; g++) {
		if (g->box.wire == w && !memcmp(g->box.gid, gid, 16)) {
			g->wanted = true;
			return 0;
		}
		if (!g->box.wire && !unused)
			unused = g;
	}
	return group_join(f, w, gid, unused);
}

static int group_want_member(struct fabric *f, const struct hca_mcast *m)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, m->qpn);
	int ret = 0;
	u32 i;

	for (i = 0; qp && i < f->roce->n && !ret; i++)
		if (f->roce->wire[i].dev == m->dev && f->roce->wire[i].port == qp->attr.port_num)
			ret = group_want(f, &f->roce->wire[i], m->gid);
	return ret;
}

/* One line, however many groups there are. */
static void group_note_failure(struct fabric *f, const struct hca_mcast *m, int ret)
{
	char text[INET6_ADDRSTRLEN];

	fabric_note(f, "roce: cannot join the group %s: %s", roce_gid_text(m->gid, text),
		    ret == -ENOBUFS ? "at most 32 are joined" : strerror(-ret));
}

void roce_groups_update(struct fabric *f)
{
	const struct hca_tab *t = &f->hca->tab[TAB_MCAST];
	struct roce_group *g;
	int ret, failed = 0;
	u32 i;

	f->roce->members = t->n;
	f->roce->cursor = t->cursor;
	for (g = f->roce->group; g < f->roce->group + ROCE_GROUPS; g++)
		g->wanted = false;
	for (i = 0; i < t->high && i < HCA_MAX_MCAST; i++) {
		if (!f->hca->mcast[i].client || !gid_is_v4(f->hca->mcast[i].gid))
			continue;
		ret = group_want_member(f, &f->hca->mcast[i]);
		if (ret && !failed)
			group_note_failure(f, &f->hca->mcast[i], ret);
		failed = ret ? ret : failed;
	}
	for (g = f->roce->group; g < f->roce->group + ROCE_GROUPS; g++)
		if (g->box.wire && !g->wanted) {
			roce_inbox_close(&g->box);
			g->box.wire = NULL;
		}
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
