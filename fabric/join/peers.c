/* SPDX-License-Identifier: MIT */
/**
 * DOC: PEERS: with which members a neighbour is connected, and where those listen.
 *
 * Only a proven member, on its own connection, is believed, and only for as long as that connection
 * lasts: the addresses that it tells are kept with the connection. Several neighbours may tell
 * different addresses for one member; attempts go through all of them in turn, so a wrong one
 * delays a connection and does not prevent it.
 *
 * To believe PEERS means to choose all routes again. A neighbour sends it when a connection comes
 * or goes; from one that sends more, only the last one counts, a few times a second.
 */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#define TELLS_PER_S 10u
#define TELLS_BURST 64u
#define TELL_NS	    (100 * NSEC_PER_MSEC)

void mesh_peers_send(struct fabric *f)
{
	struct join *j = f->join;
	struct join_peer peer[JOIN_MAX_PEERS];
	u8 body[JOIN_MAX_PEERS * JOIN_PEER];
	u32 i, n = 0;

	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i] && j->member[i]->conn) {
			peer[n] = j->member[i]->addr;
			peer[n++].id = j->member[i]->id;
		}
	n = join_peers_put(body, peer, n);
	for (i = 0; i < JOIN_MAX_MEMBERS; i++)
		if (j->member[i] && j->member[i]->conn)
			(void)jconn_send(f, j->member[i]->conn, JT_PEERS, j->id, j->member[i]->id,
					 body, n);
}

/*
 * Whether an address may be a fabric's. Loopback means this host, so only a neighbour on this host
 * can mean the same by it.
 */
static bool peer_is_dialable(const struct jconn *c, const struct join_peer *p)
{
	u8 us[16], peer[16];
	u32 scope;

	if (!p->port || !gid_is_unicast(p->ip))
		return false;
	if (!gid_is_loopback(p->ip))
		return true;
	return jconn_address(c->w.fd, false, us, &scope) &&
	       jconn_address(c->w.fd, true, peer, &scope) &&
	       (gid_is_loopback(peer) || !memcmp(us, peer, sizeof(us)));
}

/* Whether each member is named once: mesh_peer_address() relies on that. */
static bool peers_are_distinct(const struct join_peer *peer, u32 n)
{
	u32 i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < i; k++)
			if (peer[i].id == peer[k].id)
				return false;
	return true;
}

int mesh_peers_input(struct fabric *f, struct jconn *c, const u8 *body, u32 len)
{
	int n = join_peers_get(body, len, c->told);

	c->n_told = n < 0 ? 0 : (u32)n;
	c->news = n >= 0 && peers_are_distinct(c->told, c->n_told);
	if (!c->news)
		return -EPROTO;
	mesh_peers_apply(f, c);
	return 0;
}

void mesh_peers_apply(struct fabric *f, struct jconn *c)
{
	struct join_peer *p;
	struct member *m;

	if (!c->news)
		return;
	if (!admission_allows(&c->tells, TELLS_PER_S, TELLS_BURST)) {
		f->join->retry_at = min_u64(f->join->retry_at, real_ns() + TELL_NS);
		return;
	}
	c->news = false;
	for (p = c->told, c->n_behind = 0; p < c->told + c->n_told; p++) {
		if (p->id == f->join->id)
			continue;
		if (!peer_is_dialable(c, p))
			p->port = 0;
		c->behind[c->n_behind++] = *p;
	}
	/* Those that are not told of any more make room for those that are. */
	mesh_peers_forget(f, NULL);
	mesh_reroute(f);
	for (p = c->behind; p < c->behind + c->n_behind; p++) {
		m = mesh_member_tell(f, p->id, c->peer);
		if (m && !m->conn && p->port && m->next_try == NEVER)
			m->next_try = real_ns();
	}
	mesh_reroute(f);
}

bool mesh_peer_is_coming(const struct jconn *c, u64 id)
{
	u32 i;

	for (i = 0; c->news && i < c->n_told; i++)
		if (c->told[i].id == id)
			return true;
	return false;
}

bool mesh_peer_is_told(const struct fabric *f, const struct member *m)
{
	const struct jconn *c;

	for (c = f->join->conn; c < f->join->conn + f->join->n_conns; c++)
		if (c->state == JC_UP && jconn_has_route_to(c, m->id))
			return true;
	return false;
}

void mesh_peers_forget(struct fabric *f, struct jconn *gone)
{
	struct join *j = f->join;
	struct member *m;
	struct jconn *c;
	u32 i;

	if (gone)
		gone->n_behind = 0;
	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		m = j->member[i];
		if (m && !m->proven && !mesh_peer_is_told(f, m))
			m->next_try = NEVER;
	}
	for (c = j->conn; c < j->conn + j->n_conns; c++) {
		/* cppcheck-suppress nullPointerRedundantCheck ; only @gone may be NULL */
		if (c->state == JC_FREE || c->state == JC_UP || !c->wanted || c == gone)
			continue;
		m = mesh_member(f, c->wanted);
		if (!m || (!m->proven && !mesh_peer_is_told(f, m)))
			jconn_close(f, c, NULL);
	}
}

bool mesh_peer_address(struct fabric *f, struct member *m, struct join_peer *addr)
{
	struct join *j = f->join;
	const struct join_peer *all[1 + JOIN_MAX_CONNS];
	const struct jconn *c;
	u32 i, n = 0;

	if (m->addr.port)
		all[n++] = &m->addr;
	/* A connection names a member once, so there is room. */
	for (c = j->conn; c < j->conn + j->n_conns; c++)
		for (i = 0; c->state == JC_UP && i < c->n_behind; i++)
			if (c->behind[i].id == m->id && c->behind[i].port)
				all[n++] = &c->behind[i];
	if (!n)
		return false;
	*addr = *all[m->n_dials++ % n];
	return true;
}
