/* SPDX-License-Identifier: MIT */
/** DOC: hosts outside of the fabric: see peer.h. */
#include "emulator/hca.h"

/* While a client may have fewer more than these, the fabric process looks for idle ones. */
#define TIGHT 16u

bool hca_dev_is_peer(const struct hca *hca, u32 dev)
{
	return dev - hca->wires.first_peer < hca->wires.n_peers;
}

bool hca_wire_port_is_taken(const struct hca_wires *w, u16 port)
{
	u32 i;

	for (i = 0; i < w->n_taken && i < HCA_WIRE_PORTS_TAKEN; i++)
		if (w->taken[i] == port)
			return true;
	return false;
}

bool hca_peer_has_address(const struct hca *hca, u32 dev)
{
	return !hca_dev_is_peer(hca, dev) || hca->dev[dev].port[1].gid[0].valid;
}

static struct hca_gid *peer_gid(struct hca *hca, u32 i)
{
	return &hca->dev[hca->wires.first_peer + i].port[1].gid[0];
}

void hca_peer_use(struct hca *hca, u32 dev)
{
	struct hca_wires *w = &hca->wires;

	if (hca_dev_is_peer(hca, dev))
		w->used[(dev - w->first_peer) % HCA_PEERS] = ++w->n_uses;
}

int hca_peer_add(struct hca *hca, const u8 gid[16])
{
	struct hca_wires *w = &hca->wires;
	u32 n = min_u32(w->n_peers, HCA_PEERS), i, at = n, used = 0;
	struct hca_gid g = { .valid = 1 };

	/* A holder that died on the way has not counted its peer. */
	for (i = 0; i < n; i++) {
		if (peer_gid(hca, i)->valid)
			used++;
		else if (at == n)
			at = i;
	}
	store_relaxed(&w->n_used, used);
	if (at == n)
		return -1;
	memcpy(g.raw, gid, sizeof(g.raw));
	g.type = hca->dev[0].port[1].gid[0].type;
	hca_port_set_gid(hca, w->first_peer + at, 1, false, 0, &g);
	store_relaxed(&w->n_used, used + 1);
	hca_peer_use(hca, w->first_peer + at);
	return (int)(w->first_peer + at);
}

/* How many peers more may belong to a client: it has no more than belong to no client. */
static u32 peer_count_share(const struct hca *hca, u32 client)
{
	const struct hca_wires *w = &hca->wires;
	u32 n = min_u32(w->n_peers, HCA_PEERS), i, owned = 0, own = 0;

	for (i = 0; i < n; i++) {
		owned += w->owner[i] != 0;
		own += w->owner[i] == client + 1;
	}
	return own < n - owned ? n - owned - own : 0;
}

/* Whether a client may have one peer more. The fabric process shows who could not. */
static bool peer_has_share(struct hca *hca, u32 client)
{
	u32 left = likely(!hca->isolated) ? HCA_PEERS : peer_count_share(hca, client);

	if (left < TIGHT)
		store_relaxed(&hca->wires.tight, 1);
	return left;
}

static void peer_refuse(struct hca *hca, u32 client)
{
	hca->wires.refused = client + 1;
	store_relaxed(&hca->wires.tight, 1);
	store_relaxed(&hca->wires.n_refused, hca->wires.n_refused + 1);
}

bool hca_peer_claim(struct hca *hca, u32 client, u32 dev)
{
	struct hca_wires *w = &hca->wires;
	u32 i = (dev - w->first_peer) % HCA_PEERS;

	if (likely(!hca->isolated) || !hca_dev_is_peer(hca, dev) || w->owner[i])
		return true;
	if (!peer_has_share(hca, client)) {
		peer_refuse(hca, client);
		return false;
	}
	w->owner[i] = client + 1;
	return true;
}

u32 hca_peers_count_unowned(const struct hca *hca)
{
	u32 i, n = 0;

	for (i = 0; i < hca->wires.n_peers && i < HCA_PEERS; i++)
		n += !hca->wires.owner[i] && hca_peer_has_address(hca, hca->wires.first_peer + i);
	return n;
}

void hca_peers_disown(struct hca *hca, u32 client)
{
	u32 i;

	for (i = 0; i < HCA_PEERS; i++)
		if (hca->wires.owner[i] == client + 1)
			hca->wires.owner[i] = 0;
}

void hca_peer_refer(const struct hca *hca, struct hca_peer_refs *refs, u32 dev, u32 client)
{
	u32 i = (dev - hca->wires.first_peer) % HCA_PEERS;

	if (!hca_dev_is_peer(hca, dev))
		return;
	refs->bits[i / 64] |= 1ull << i % 64;
	if (!refs->owner[i] || client == hca->wires.owner[i])
		refs->owner[i] = client;
}

void hca_peers_refer_all(const struct hca *hca, struct hca_peer_refs *refs)
{
	const struct hca_tab *t = hca->tab;
	u64 n = min_u64(hca->cm_sent - hca->cm_left, HCA_CM_MADS);
	u32 i;

	for (i = 0; i < t[TAB_QP].high; i++)
		if (hca->qp[i].client)
			hca_peer_refer(hca, refs, hca->qp[i].attr.av.dst_dev, hca->qp[i].client);
	for (i = 0; i < t[TAB_AH].high; i++)
		if (hca->ah[i].client)
			hca_peer_refer(hca, refs, hca->ah[i].av.dst_dev, hca->ah[i].client);
	for (i = 0; i < t[TAB_CMID].high; i++)
		if (hca->cmid[i].client)
			hca_peer_refer(hca, refs, hca->cmid[i].av.dst_dev, hca->cmid[i].client);
	for (; n; n--)
		hca_peer_refer(hca, refs, hca->cm_mad[(hca->cm_sent - n) % HCA_CM_MADS].av.dst_dev,
			       0);
}

/* Return: the peer to release next; HCA_PEERS: there is none. */
static u32 peer_find_idle(struct hca *hca, const struct hca_peer_refs *refs)
{
	const struct hca_wires *w = &hca->wires;
	u32 i, oldest = HCA_PEERS;

	for (i = 0; i < w->n_peers && i < HCA_PEERS; i++)
		if (peer_gid(hca, i)->valid && !(refs->bits[i / 64] >> i % 64 & 1) &&
		    (oldest == HCA_PEERS || w->used[i] < w->used[oldest]))
			oldest = i;
	return oldest;
}

u32 hca_peers_release(struct hca *hca, const struct hca_peer_refs *refs, u32 n)
{
	static const struct hca_gid none;
	struct hca_wires *w = &hca->wires;
	u32 done, i;

	if (hca->isolated)
		memcpy(w->owner, refs->owner, sizeof(w->owner));
	for (done = 0; done < n; done++) {
		i = peer_find_idle(hca, refs);
		if (i == HCA_PEERS)
			break;
		hca_port_set_gid(hca, w->first_peer + i, 1, false, 0, &none);
		store_relaxed(&w->n_used, w->n_used - min_u32(w->n_used, 1));
	}
	return done;
}

int hca_peer_route(struct hca *hca, u32 client, const u8 sgid[16], const u8 dgid[16], u8 *port)
{
	int dev = -1;
	u32 i;

	for (i = 0; i < hca->wires.n && i < HCA_WIRES; i++)
		if (!memcmp(hca->wires.gid[i], sgid, 16))
			break;
	if (i == hca->wires.n || i == HCA_WIRES)
		return -1;
	*port = 1;
	if (peer_has_share(hca, client))
		dev = hca_peer_add(hca, dgid);
	if (dev < 0)
		peer_refuse(hca, client);
	return dev;
}
