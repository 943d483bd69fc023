/* SPDX-License-Identifier: MIT */
/** DOC: which ports captures watch, and what the engine records for them. See capture.h. */
#include "emulator/port.h"
#include "emulator/transport/path.h"
#include "fabric/capture/control.h"
#include "traces/formats/roce.h"

/* The smallest number of bytes before the payload of a frame. */
#define HDR_ETH 54u
#define HDR_IB	20u

/* Bytes of payload that the first @snap bytes of a frame can contain. */
static u32 capture_payload_kept(const struct hca *hca, u32 snap)
{
	u32 hdr = HDR_ETH, d;

	for (d = 0; d < hca->n_devs; d++)
		if (hca->dev[d].link_layer != LINK_ETHERNET)
			hdr = HDR_IB;
	return snap > hdr ? snap - hdr : 0;
}

bool capture_is_running(const struct capture *c)
{
	return c && c->reads && load_relaxed(&c->state) == CAPTURE_RUNNING;
}

/*
 * Tell the engine what all captures together need. Token held, except for a node that is being
 * made.
 * Return: whether ports begin, or stop, to send through the links' queue.
 */
static bool capture_mark_ports(struct fabric *f)
{
	struct hca *hca = f->hca;
	struct hca_capture *ring = &hca->capture;
	u32 on = 0, lossless = 0, snap = 0, d, p, i, bits;
	struct capture *c;
	bool moved = false;

	for (i = 0; i < CAPTURES; i++) {
		c = f->captures->of[i];
		if (!capture_is_running(c))
			continue;
		on |= 1u << i;
		lossless |= c->ask.lossy ? 0 : 1u << i;
		bits = c->ask.snaplen ? c->ask.snaplen : ROCE_FRAME_MAX;
		snap = snap > bits ? snap : bits;
	}
	store_relaxed(&ring->snap, snap);
	store_relaxed(&ring->keep, capture_payload_kept(hca, snap));
	store_relaxed(&ring->lossless, lossless);
	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++) {
			bits = 0;
			for (i = 0; i < CAPTURES; i++)
				if (on & 1u << i &&
				    capture_has_port(hca, &f->captures->of[i]->ask, d, p))
					bits |= 1u << i;
			store_relaxed(&hca->dev[d].port[p].capture, bits);
			moved |= hca->dev[d].port[p].capture_via != (bits && ring->far);
			store_relaxed(&hca->dev[d].port[p].capture_via, bits && ring->far);
		}
	store_relaxed(&ring->on, on);
	hca_update_watched(hca);
	return moved;
}

/* Whether the memory of any program is reachable only by its helper. */
static u32 capture_any_remote_memory(const struct fabric *f)
{
	const struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next)
		if (!cl->dead && !f->hca->client[cl->id].fabric_reach)
			return 1;
	return 0;
}

void capture_mark(struct fabric *f)
{
	f->hca->capture.far = capture_any_remote_memory(f);
	if (capture_mark_ports(f))
		relay_update_paths(f->hca);
}

void fabric_capture_client_added(struct fabric *f)
{
	if (f->hca->capture.on && !f->hca->capture.far && capture_any_remote_memory(f))
		store_relaxed(&f->captures->news, 1);
}

void fabric_capture_node_added(struct fabric *f)
{
	/* No QP has a path to the new node yet, so the recount can wait for the token. */
	if (f->captures && f->hca->capture.on && capture_mark_ports(f))
		store_relaxed(&f->captures->news, 1);
}

bool capture_any_port(const struct hca *hca, const struct proto_capture *q)
{
	u32 d, p;

	if (!q->node[0] && !q->dev[0] && !q->port)
		return true;
	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			if (capture_has_port(hca, q, d, p))
				return true;
	return false;
}
