/* SPDX-License-Identifier: MIT */
/**
 * DOC: places for hosts outside: who keeps one, and who gets one.
 *
 * Addresses that datagrams bring may be invented, and there are HCA_PEERS places. A place is busy
 * while a queue pair, an address handle, an identifier or a packet under way refers to it: such a
 * host keeps it. The places of others go to newcomers, of those that were used longest ago first:
 *  - a datagram of a new host gets a place while less than half of them have an address;
 *  - programs can take all; when few are free, the fabric process releases some for the next ones.
 *
 * In an isolated fabric a place belongs to the program that refers to it, and a program leaves as
 * many as it has. Datagrams then count the places that belong to no program, so that one that has
 * its share takes none from them, and leave some free for programs.
 *
 * To find out what is busy takes a walk over the tables of HCA memory. Places are therefore
 * released some at a time, and no more than a sixteenth of the time goes into that.
 */
#include "fabric/roce/wire.h"

#define RELEASE	     32u /* places at a time */
#define TIME_SHARE   16u
#define WAIT_IDLE_NS (10 * NSEC_PER_MSEC) /* nothing could be released: the next try comes later */
#define NOTE_NS	     (60 * NSEC_PER_SEC)

_Static_assert(HCA_PEERS == 256, "in a message");

/** struct refer_ctx - where peers_refer_link() notes a device. */
struct refer_ctx {
	const struct hca *hca;
	struct hca_peer_refs *refs;
};

static void peers_refer_link(void *ctx, u32 dev)
{
	const struct refer_ctx *c = ctx;

	hca_peer_refer(c->hca, c->refs, dev, 0);
}

/* Return: whether places were released. */
static bool peers_release(struct fabric *f)
{
	struct hca_peer_refs refs = { { 0 }, { 0 } };
	struct refer_ctx c = { .hca = f->hca, .refs = &refs };
	u64 now = real_ns(), end;
	u32 n;

	if (now < f->roce->release_at)
		return false;
	hca_peers_refer_all(f->hca, &refs);
	link_each_device(f, peers_refer_link, &c);
	n = hca_peers_release(f->hca, &refs, RELEASE);
	end = real_ns();
	f->roce->release_at = end + TIME_SHARE * (end - now) + (n ? 0 : WAIT_IDLE_NS);
	return n > 0;
}

/* Whether datagrams may give one place more to a host. */
static bool peers_have_room(const struct fabric *f)
{
	const struct hca_wires *w = &f->hca->wires;

	return w->n_used < w->n_peers - RELEASE && hca_peers_count_unowned(f->hca) < w->n_peers / 2;
}

bool roce_peers_introduce(struct fabric *f, const u8 gid[16])
{
	if (!peers_have_room(f) && !peers_release(f))
		return false;
	return peers_have_room(f) && hca_peer_add(f->hca, gid) >= 0;
}

bool roce_peers_are_rare(const struct fabric *f)
{
	const struct hca_wires *w = &f->hca->wires;
	u32 n = load_relaxed(&w->n_used);

	return load_relaxed(&w->tight) || (n > w->n_peers - RELEASE && n != f->roce->peers_seen);
}

/* A line for what programs could not have: not more than one a minute. */
static void peers_note_refusal(struct fabric *f)
{
	const struct hca_wires *w = &f->hca->wires;
	u64 now = real_ns();
	const struct hca_client *c;

	if (w->n_refused == f->roce->refused_seen || now < f->roce->refused_at)
		return;
	f->roce->refused_seen = w->n_refused;
	f->roce->refused_at = now + NOTE_NS;
	c = &f->hca->client[(w->refused - 1) % HCA_MAX_CLIENTS];
	fabric_note(f, "roce: process %d (%s) cannot reach a new host: %s", c->fabric_pid, c->name,
		    f->hca->isolated ? "it has its share of the 256 places for hosts outside"
				     : "all 256 places for hosts outside are in use");
}

void roce_peers_keep_free(struct fabric *f)
{
	peers_note_refusal(f);
	if (roce_peers_are_rare(f))
		peers_release(f);
	f->roce->peers_seen = f->hca->wires.n_used;
	store_relaxed(&f->hca->wires.tight, 0);
}
