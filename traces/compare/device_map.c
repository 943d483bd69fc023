/* SPDX-License-Identifier: MIT */
/* Makes pairs of the values of one run and those of another. */
#include "traces/compare/compare.h"
#include "emulator/gid.h"
#include "traces/vtrace/array.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- GIDs --- */

/* GIDs of Ethernet ports are IP addresses: their sort is address family and type. */
static uint32_t map_gid_sort(const struct vt_gid *g)
{
	uint32_t family;

	if (g->type == VT_GID_IB)
		return VT_GID_IB;
	family = gid_is_v4(g->raw) ? 1 : g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80 ? 2 : 3;
	return family << 8 | g->type;
}

const struct vt_gid *cmp_gid_find_local(const struct vt_port *was, const struct vt_gid *gid,
					const struct vt_port *here)
{
	const struct vt_gid *first = NULL;
	uint32_t i, nth = 0, sort = map_gid_sort(gid);

	for (i = 0; i < here->n_gids; i++)
		if (here->gid[i].index == gid->index && map_gid_sort(&here->gid[i]) == sort)
			return &here->gid[i];
	/* Otherwise the nth entry of its sort, or the first. */
	for (i = 0; &was->gid[i] < gid; i++)
		nth += map_gid_sort(&was->gid[i]) == sort;
	for (i = 0; i < here->n_gids; i++) {
		if (map_gid_sort(&here->gid[i]) != sort)
			continue;
		if (!first)
			first = &here->gid[i];
		if (!nth--)
			return &here->gid[i];
	}
	return first;
}

const char *cmp_gid_name(const struct vt_gid *gid, char *text, size_t cap)
{
	char address[INET6_ADDRSTRLEN];

	snprintf(text, cap, "%s %s", inet_ntop(AF_INET6, gid->raw, address, sizeof(address)),
		 vt_gid_names[gid->type]);
	return text;
}

/* --- pairs --- */

static int map_add_pair(struct cmp_map *m, const struct cmp_pair *p)
{
	struct cmp_pair *more;
	uint32_t i;

	if (p->none || memcmp(p->from, p->to, sizeof(p->from)) != 0)
		m->differs = true;
	for (i = 0; i < m->n_pairs; i++)
		if (m->pair[i].kind == p->kind && !memcmp(m->pair[i].from, p->from, 16))
			return 0;
	more = vt_array_room(m->pair, m->n_pairs, sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->pair = more;
	m->pair[m->n_pairs++] = *p;
	return 0;
}

static int map_add_number(struct cmp_map *m, enum cmp_pair_kind kind, uint64_t from, uint64_t to)
{
	struct cmp_pair p = { .kind = kind };

	if (!from)
		return 0;
	memcpy(p.from, &from, sizeof(from));
	memcpy(p.to, &to, sizeof(to));
	return map_add_pair(m, &p);
}

/*
 * An index that maps to different entries at different ports maps to none. A replay
 * checks that the program does not need it.
 */
static void map_set_index(struct cmp_map *m, uint32_t from, uint32_t to)
{
	if (!m->has_index[from])
		m->index[from] = to;
	else if (m->index[from] != to && to != CMP_NO_INDEX)
		m->index[from] = m->index[from] == CMP_NO_INDEX ? to : CMP_NO_INDEX;
	m->has_index[from] = true;
}

/* @own: the indexes are those of the program */
static int map_add_gid(struct cmp_map *m, const struct vt_port *was, const struct vt_gid *gid,
		       const struct vt_port *here, bool own)
{
	const struct vt_gid *now = cmp_gid_find_local(was, gid, here);
	struct cmp_pair p = { .kind = CMP_PAIR_GID, .none = !now };

	memcpy(p.from, gid->raw, sizeof(p.from));
	p.from_if = gid->ifindex;
	if (now) {
		memcpy(p.to, now->raw, sizeof(p.to));
		p.to_if = now->ifindex;
	}
	m->uneven |= !now || now->index != gid->index;
	if (own)
		map_set_index(m, gid->index, now ? now->index : CMP_NO_INDEX);
	return map_add_pair(m, &p);
}

/*
 * For addresses that are not GIDs: the same address, or the nth of its family in the order of the
 * trace, or the first.
 */
static const uint8_t *map_addr_find_local(const struct vt_port *was, uint32_t i,
					  const struct vt_port *here)
{
	bool v4 = gid_is_v4(was->addr[i]);
	const uint8_t *first = NULL;
	uint32_t k, nth = 0;

	for (k = 0; k < here->n_addrs; k++)
		if (!memcmp(here->addr[k], was->addr[i], 16))
			return here->addr[k];
	for (k = 0; k < i; k++)
		nth += gid_is_v4(was->addr[k]) == v4;
	for (k = 0; k < here->n_addrs; k++) {
		if (gid_is_v4(here->addr[k]) != v4)
			continue;
		if (!first)
			first = here->addr[k];
		if (!nth--)
			return here->addr[k];
	}
	return first;
}

static int map_add_addresses(struct cmp_map *m, const struct vt_port *was,
			     const struct vt_port *here)
{
	struct cmp_pair p = { .kind = CMP_PAIR_GID };
	const uint8_t *now;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < was->n_addrs && !ret; i++) {
		now = map_addr_find_local(was, i, here);
		if (!now)
			continue;
		memcpy(p.from, was->addr[i], sizeof(p.from));
		memcpy(p.to, now, sizeof(p.to));
		ret = map_add_pair(m, &p);
	}
	return ret;
}

static int map_add_port(struct cmp_map *m, const struct vt_port *was, const struct vt_port *here,
			bool own)
{
	uint32_t i, same = was->lmc < here->lmc ? was->lmc : here->lmc;
	int ret = map_add_number(m, CMP_PAIR_LID, was->sm_lid, here->sm_lid);

	/* All LIDs that the path bits can select. */
	for (i = 0; i < 1u << same && was->lid && !ret; i++)
		ret = map_add_number(m, CMP_PAIR_LID, was->lid + i, here->lid + i);
	m->uneven |= was->n_gids != here->n_gids;
	for (i = 0; i < was->n_gids && !ret; i++)
		ret = map_add_gid(m, was, &was->gid[i], here, own);
	/* Addresses of Ethernet ports are in the GID table. */
	if (!ret && was->link != VT_LINK_ETHERNET)
		ret = map_add_addresses(m, was, here);
	return ret;
}

static int map_add_device(struct cmp_map *m, const struct vt_device *was,
			  const struct vt_device *here, bool own)
{
	const struct vt_port *port;
	int ret = map_add_number(m, CMP_PAIR_GUID, was->guid, here->guid);
	uint32_t i;

	if (!ret && was->known && here->known)
		ret = map_add_number(m, CMP_PAIR_GUID, was->system, here->system);
	for (i = 0; i < was->n_ports && !ret; i++) {
		port = vt_device_port(here, was->port[i].num);
		if (port)
			ret = map_add_port(m, &was->port[i], port, own);
	}
	return ret;
}

static int map_add_devices(struct cmp_map *m, const struct vt_devices *was,
			   const struct vt_devices *here, bool own)
{
	int ret = 0;
	uint32_t i;

	for (i = 0; i < was->n && i < here->n && !ret; i++)
		ret = map_add_device(m, &was->dev[i], &here->dev[i], own);
	return ret;
}

/* --- the map --- */

static bool map_device_is_same_kind(const struct vt_device *a, const struct vt_device *b)
{
	return !a->known || !b->known ||
	       (a->vendor == b->vendor && a->part == b->part && a->hw == b->hw &&
		!strcmp(a->fw, b->fw));
}

static int map_add_own(struct cmp_map *m, const struct vt_devices *was,
		       const struct vt_devices *here, enum cmp_kind kind)
{
	uint32_t i;

	/* An older trace, or the program opened no device. */
	if (!was->n)
		return 0;
	m->list = was->n != here->n;
	m->differs |= m->list;
	m->n_names = was->n < here->n ? was->n : here->n;
	m->from_name = calloc(m->n_names + 1, sizeof(*m->from_name));
	m->to_name = calloc(m->n_names + 1, sizeof(*m->to_name));
	if (!m->from_name || !m->to_name)
		return -ENOMEM;
	/* The emulator and other devices have different limits, and round differently. */
	m->other = kind == CMP_KIND_OTHER;
	for (i = 0; i < m->n_names; i++) {
		memcpy(m->from_name[i], was->dev[i].name, sizeof(m->from_name[i]));
		memcpy(m->to_name[i], here->dev[i].name, sizeof(m->to_name[i]));
		m->differs |= strcmp(m->from_name[i], m->to_name[i]) != 0;
		m->other |= !map_device_is_same_kind(&was->dev[i], &here->dev[i]);
	}
	m->other &= kind != CMP_KIND_SAME;
	m->differs |= m->other;
	return map_add_devices(m, was, here, true);
}

struct cmp_map *cmp_map_new(const struct vt_devices *was, const struct vt_devices *here,
			    enum cmp_kind kind)
{
	struct cmp_map *m = calloc(1, sizeof(*m));
	uint32_t i;

	for (i = 0; m && i < VT_MAX_GIDS; i++)
		m->index[i] = i;
	if (m && map_add_own(m, was, here, kind)) {
		cmp_map_free(m);
		return NULL;
	}
	return m;
}

int cmp_map_add(struct cmp_map *m, const struct vt_devices *was, const struct vt_devices *here)
{
	return map_add_devices(m, was, here, false);
}

void cmp_map_free(struct cmp_map *m)
{
	if (!m)
		return;
	free(m->pair);
	free(m->from_name);
	free(m->to_name);
	free(m);
}
