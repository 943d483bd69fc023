/* SPDX-License-Identifier: MIT */
/**
 * DOC: the table of members, and the routes to them.
 *
 * A member is proven once its own handshake has shown that it has the token. Others are only told
 * of: a proven neighbour says in PEERS that it is connected with them, and carries their frames. A
 * neighbour may tell of members that do not exist, so those have no right to their place:
 *
 * - A proven member takes the place of one that is only told of.
 * - A neighbour that tells of many gives places up to one that tells of fewer.
 * - A member of which no neighbour tells any more is forgotten, unless it has been seen.
 */
#include "fabric/join/mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Give the member's slot away. Its devices and nodes stay, but do not become the next member's. */
static void member_forget(struct fabric *f, struct member **slot)
{
	struct member *m = *slot;
	struct hca *hca = f->hca;
	struct jlane *l;
	u32 i;

	for (i = 0; i < hca->n_devs; i++)
		if (hca->dev[i].member == m->number) {
			hca->dev[i].member = JOIN_FORGOTTEN;
			f->join->far_index[i] = JOIN_NOWHERE;
		}
	for (i = 0; i < hca->n_nodes; i++)
		if (hca->node[i].member == m->number)
			hca->node[i].member = JOIN_FORGOTTEN;
	for (l = m->lane; l < m->lane + LANES; l++)
		if (l->mem)
			munmap(l->mem, JOIN_LANE_SIZE);
	text_answer_close(&m->answer);
	free(m);
	*slot = NULL;
}

struct member *mesh_member(struct fabric *f, u64 id)
{
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (f->join->member[i] && f->join->member[i]->id == id)
			return f->join->member[i];
	return NULL;
}

/*
 * Whether other members may have the slot: the member is dead, nothing brings it back, and nothing
 * of it waits for others here. One of which a neighbour has just told has no route yet.
 */
static bool member_is_over(struct fabric *f, struct member *m)
{
	return m->dead && !m->via && m->next_try == NEVER && !mesh_peer_is_told(f, m) &&
	       !forward_has_left(f, m);
}

static bool member_is_displaceable(const struct member *m, bool for_proven)
{
	return !m->proven && !m->conn && (for_proven || !m->met);
}

/* How many displaceable members a teller has told of. */
static u32 member_count_told(const struct join *j, u64 teller, bool for_proven)
{
	u32 i, n = 0;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		n += j->member[i] && j->member[i]->teller == teller &&
		     member_is_displaceable(j->member[i], for_proven);
	return n;
}

/*
 * The slot of a member that is only told of, by the neighbour that tells of the most. @teller: for
 * a member that this one tells of; 0: for a proven one. Return: NULL: there is none.
 */
static struct member **member_weakest(struct join *j, u64 teller)
{
	u32 i, n, most = teller ? member_count_told(j, teller, false) + 1 : 0;
	struct member **slot = NULL;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		if (!j->member[i] || !member_is_displaceable(j->member[i], !teller))
			continue;
		n = member_count_told(j, j->member[i]->teller, !teller);
		if (n > most) {
			most = n;
			slot = &j->member[i];
		}
	}
	return slot;
}

static struct member *member_make(struct fabric *f, u64 id, u64 teller)
{
	struct join *j = f->join;
	struct member *m, **slot = NULL;
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS && !slot; i++)
		if (!j->member[i] || member_is_over(f, j->member[i]))
			slot = &j->member[i];
	if (!slot)
		slot = member_weakest(j, teller);
	m = slot ? calloc(1, sizeof(*m)) : NULL;
	if (!m)
		return NULL;
	if (*slot)
		member_forget(f, slot);
	*slot = m;
	m->id = id;
	m->number = (u32)(slot - j->member) + 1;
	m->teller = teller;
	m->next_try = NEVER;
	m->dead = true;
	m->answer.fd = -1;
	snprintf(m->name, sizeof(m->name), "?");
	return m;
}

struct member *mesh_member_prove(struct fabric *f, u64 id)
{
	struct member *m = mesh_member(f, id);

	if (!m)
		m = member_make(f, id, 0);
	if (m)
		m->proven = true;
	return m;
}

struct member *mesh_member_tell(struct fabric *f, u64 id, u64 teller)
{
	struct member *m = mesh_member(f, id);

	return m ? m : member_make(f, id, teller);
}

void mesh_members_sweep(struct fabric *f)
{
	struct member *m;
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		m = f->join->member[i];
		if (m && !m->proven && !m->met && member_is_over(f, m))
			member_forget(f, &f->join->member[i]);
	}
}

/* --- routes --- */

static void member_set_route(struct fabric *f, struct member *m, struct jconn *via)
{
	m->via = via;
	m->told = false;
	if (!via) {
		m->lost_at = real_ns();
		/* Bursts that wait for credit continue, and are lost. */
		wait_ring_all(f);
		return;
	}
	session_route(f, m);
}

bool jconn_has_route_to(const struct jconn *c, u64 id)
{
	u32 i;

	for (i = 0; i < c->n_behind; i++)
		if (c->behind[i].id == id)
			return true;
	return false;
}

/*
 * The route to a member: its own connection, or the neighbour with the lowest id that is connected
 * with it. Both sides choose the same neighbour, which is connected with both.
 */
static struct jconn *member_best_route(struct fabric *f, const struct member *m)
{
	struct jconn *best = m->conn, *c;
	u32 i;

	for (i = 0; !m->conn && i < f->join->n_conns; i++) {
		c = &f->join->conn[i];
		if (c->state == JC_UP && c->member && c->member->conn == c &&
		    (!best || c->peer < best->peer) && jconn_has_route_to(c, m->id))
			best = c;
	}
	return best;
}

void mesh_reroute(struct fabric *f)
{
	struct jconn *way;
	struct member *m;
	u32 i;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		m = f->join->member[i];
		way = m ? member_best_route(f, m) : NULL;
		if (m && m->via != way)
			member_set_route(f, m, way);
	}
}
