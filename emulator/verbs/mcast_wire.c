/* SPDX-License-Identifier: MIT */
/**
 * DOC: multicast groups that wires join: whether there is a place for one more.
 *
 * A group takes a place at each wire of its family, IPv4 or IPv6, whose port has a member: of the
 * client of its first membership. The fabric process joins the groups later (fabric/roce/group.c),
 * when the program can no longer be told, so the places are counted before a queue pair becomes a
 * member.
 */
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/verbs/verbs.h"

/*
 * Whether a queue pair is at the port of a wire that joins groups as @group. One in RESET can still
 * be given any port of its device, when no error would tell the program of a missing place.
 */
static bool wire_has_qp(const struct hca *hca, u32 wire, const struct hca_qp *qp,
			const u8 group[16])
{
	const u8 *gid = hca->wires.gid[wire];
	u8 port;

	return gid_is_v4(gid) == gid_is_v4(group) &&
	       hca_find_gid(hca, gid, &port) == (int)qp->dev &&
	       (qp->state == QPS_RESET || port == qp->attr.port_num);
}

/**
 * struct wire_places - the places that groups take.
 * @n: how many; @gid: the group of each; @wire: its wire
 * @own: how many of them the client has
 */
struct wire_places {
	u32 n, own;
	const u8 *gid[HCA_WIRE_GROUPS];
	u32 wire[HCA_WIRE_GROUPS];
};

static bool wire_places_have(const struct wire_places *p, u32 wire, const u8 gid[16])
{
	u32 i;

	for (i = 0; i < p->n; i++)
		if (p->wire[i] == wire && !memcmp(p->gid[i], gid, 16))
			return true;
	return false;
}

/* @own: the group is the client's. */
static void wire_places_add(struct wire_places *p, u32 wire, const u8 gid[16], bool own)
{
	if (p->n == HCA_WIRE_GROUPS || wire_places_have(p, wire, gid))
		return;
	p->gid[p->n] = gid;
	p->wire[p->n++] = wire;
	p->own += own;
}

static void wire_places_count(struct hca *hca, u32 client, struct wire_places *p)
{
	u32 n = min_u32(hca->tab[TAB_MCAST].high, HCA_MAX_MCAST), i, k;
	const struct hca_mcast *m;
	const struct hca_qp *qp;

	for (i = 0; i < n && p->n < HCA_WIRE_GROUPS; i++) {
		m = &hca->mcast[i];
		qp = m->client ? hca_qp_by_num(hca, m->qpn) : NULL;
		for (k = 0; qp && k < hca->wires.n && k < HCA_WIRES; k++)
			if (wire_has_qp(hca, k, qp, m->gid))
				wire_places_add(p, k, m->gid, m->client == client + 1);
	}
}

bool mcast_has_wire_room(struct hca *hca, u32 client, const struct hca_qp *qp, const u8 gid[16])
{
	struct wire_places p = { 0 };
	u32 wires = min_u32(hca->wires.n, HCA_WIRES), want = 0, i;

	if (!wires)
		return true;
	wire_places_count(hca, client, &p);
	for (i = 0; i < wires; i++)
		want += wire_has_qp(hca, i, qp, gid) && !wire_places_have(&p, i, gid);
	if (!want)
		return true;
	if (p.n + want > HCA_WIRE_GROUPS)
		return false;
	/* In an isolated fabric each leaves as many as it has (tab_has_share()). */
	return !hca->isolated || p.own + want <= HCA_WIRE_GROUPS - p.n - want + 1;
}
