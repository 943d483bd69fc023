/* SPDX-License-Identifier: MIT */
/* The audit of connection management: identifiers, channels, events, groups. See audit.h. */
#include "emulator/audit/audit.h"

#include "emulator/cm/model.h"

/* Each entry of the chain has the number, and this identifier is in it once. */
static int audit_cm_port(const struct audit *a, u32 i)
{
	const struct hca *hca = a->hca;
	const struct hca_cmid *id = &hca->cmid[i], *o;
	u32 space = cm_port_space_index(id->ps), n = 0, seen = 0, at;

	for (at = hca->cm_port[space][cm_port_slot(id->node, id->src.port)]; at; at = o->next) {
		MUST(at <= HCA_MAX_CMID && audit_is_live(a, TAB_CMID, at - 1),
		     "port %u: there is no identifier %u", id->src.port, at - 1);
		o = &hca->cmid[at - 1];
		MUST(o->port_held && o->ps == id->ps &&
			     cm_port_slot(o->node, o->src.port) ==
				     cm_port_slot(id->node, id->src.port),
		     "port %u: identifier %u does not have it", id->src.port, at - 1);
		seen += o == id;
		MUST(++n <= hca->tab[TAB_CMID].n, "port %u: its list is a ring", id->src.port);
	}
	MUST(seen == 1, "identifier %u: %u times in the list of port %u", i, seen, id->src.port);
	return 0;
}

/* The identifier's events are in the order of their channel. */
static int audit_own_events(struct audit *a, u32 i)
{
	const struct hca_cmid *id = &a->hca->cmid[i];
	const struct hca_cmev *ev;
	u32 at, last = 0;
	u64 seq = 0;

	for (at = id->first; at; at = ev->next_own) {
		MUST(at <= HCA_MAX_CMEV && audit_owner(a, TAB_CMEV, at - 1) == id->client,
		     "identifier %u: no event %u", i, at - 1);
		ev = &a->hca->cmev[at - 1];
		MUST(cm_event_counted_by(ev) == i && ev->seq > seq,
		     "identifier %u: event %u is of %u, %llu after %llu", i, at - 1,
		     cm_event_counted_by(ev), (unsigned long long)ev->seq, (unsigned long long)seq);
		seq = ev->seq;
		last = at;
		a->owned++;
	}
	MUST(id->last == last, "identifier %u: ends with event %u, not %u", i, last - 1,
	     id->last - 1);
	return 0;
}

/* Checks that apply only while the program has the identifier. */
static int audit_owned_cmid(struct audit *a, u32 i)
{
	const struct hca_cmid *id = &a->hca->cmid[i], *l;
	int ret;

	MUST(audit_use(a, TAB_CMCH, id->ch, id->client), "identifier %u: channel %u", i, id->ch);
	MUST(id->pending <= id->backlog, "identifier %u: %u requests, %u may wait", i, id->pending,
	     id->backlog);
	MUST((id->state == CM_IDLE) <= !id->port_held, "identifier %u: has port %u, and is idle", i,
	     id->src.port);
	if (id->listener) {
		MUST(audit_owner(a, TAB_CMID, id->listener - 1) == id->client,
		     "identifier %u: no listener %u", i, id->listener - 1);
		l = &a->hca->cmid[id->listener - 1];
		MUST(l->state == CM_LISTEN && id->waiting == 1,
		     "identifier %u: listener %u in state %u, %u events", i, id->listener - 1,
		     l->state, id->waiting);
		a->pending[id->listener - 1]++;
	}
	ret = id->port_held ? audit_cm_port(a, i) : 0;
	return ret ? ret : audit_own_events(a, i);
}

int audit_cmid(struct audit *a, u32 i)
{
	const struct hca *hca = a->hca;
	const struct hca_cmid *id = &hca->cmid[i];

	MUST(id->state <= CM_DESTROYING && id->proto <= CMP_SIDR_REQ_RCVD,
	     "identifier %u: states %u, %u", i, id->state, id->proto);
	MUST(cm_port_space_index(id->ps) < CM_PORT_SPACES, "identifier %u: port space %#x", i,
	     id->ps);
	MUST((id->local_id & (HCA_MAX_CMID - 1)) == i, "identifier %u: communication id %#x", i,
	     id->local_id);
	MUST(id->bound <= hca->n_devs &&
		     (!id->bound || (id->port && id->port <= hca->dev[id->bound - 1].n_ports)) &&
		     id->sgid_index < HCA_GIDS,
	     "identifier %u: GID %u of port %u of device %u", i, id->sgid_index, id->port,
	     id->bound - 1);
	MUST(!id->deadline || (hca->cm_bits[i / 64] & BIT64(i % 64)),
	     "identifier %u: its deadline is not looked at", i);
	if (id->state != CM_DESTROYING)
		return audit_owned_cmid(a, i);
	MUST(!id->port_held && !id->listener && !id->waiting && !id->pending && !id->first,
	     "identifier %u: is destroyed, has port %u, listener %u, %u events", i, id->src.port,
	     id->listener - 1, id->waiting);
	return 0;
}

int audit_cmch(struct audit *a, u32 i)
{
	const struct hca_cmch *ch = &a->hca->cmch[i];
	const struct hca_cmev *ev;
	u32 at, last = 0;
	u64 seq = 0;

	MUST(ch->chan < SEG_MAX_CHANS, "channel %u: number %u", i, ch->chan);
	for (at = ch->head; at; at = ev->next) {
		MUST(at <= HCA_MAX_CMEV && audit_owner(a, TAB_CMEV, at - 1) == ch->client,
		     "channel %u: no event %u", i, at - 1);
		ev = &a->hca->cmev[at - 1];
		MUST(ev->ch == i && ev->seq > seq, "channel %u: event %u is of %u, %llu after %llu",
		     i, at - 1, ev->ch, (unsigned long long)ev->seq, (unsigned long long)seq);
		MUST(ev->prev == last, "channel %u: event %u follows %u, not %u", i, at - 1,
		     last - 1, ev->prev - 1);
		seq = ev->seq;
		last = at;
		a->listed++;
	}
	MUST(ch->tail == last, "channel %u: ends with event %u, not %u", i, last - 1, ch->tail - 1);
	return 0;
}

int audit_cmev(struct audit *a, u32 i)
{
	const struct hca_cmev *ev = &a->hca->cmev[i];
	u32 to = cm_event_counted_by(ev);

	MUST(audit_use(a, TAB_CMID, ev->ev.id, ev->client), "event %u: identifier %u", i,
	     ev->ev.id);
	MUST(audit_owner(a, TAB_CMID, to) == ev->client && a->hca->cmid[to].ch == ev->ch,
	     "event %u: on channel %u, but identifier %u is not", i, ev->ch, to);
	MUST(ev->seq <= a->hca->cmid[ev->ev.id].ev_seq, "event %u: identifier %u has not noted it",
	     i, ev->ev.id);
	MUST(!ev->due || (a->hca->cmev_bits[i / 64] & BIT64(i % 64)),
	     "event %u: due at %llu, and nobody looks", i, (unsigned long long)ev->due);
	MUST(!ev->mc || audit_owner(a, TAB_CMMC, ev->mc - 1) == ev->client,
	     "event %u: there is no group %u", i, ev->mc - 1);
	return 0;
}

int audit_cmmc(struct audit *a, u32 i)
{
	const struct hca_cmmc *mc = &a->hca->cmmc[i];
	u32 at, n = 0;

	MUST(audit_owner(a, TAB_CMID, mc->id) == mc->client &&
		     a->hca->cmid[mc->id].state != CM_DESTROYING,
	     "group %u: identifier %u", i, mc->id);
	for (at = a->hca->cmid[mc->id].groups; at != i + 1; at = a->hca->cmmc[at - 1].next)
		MUST(at && at <= HCA_MAX_CMMC && ++n <= HCA_MAX_CMMC &&
			     a->hca->cmmc[at - 1].client == mc->client &&
			     a->hca->cmmc[at - 1].id == mc->id,
		     "group %u: not in the list of identifier %u, or %u in it", i, mc->id, at - 1);
	return 0;
}

int audit_cm(const struct audit *a)
{
	const struct hca *hca = a->hca;
	u32 i;

	MUST(a->listed == a->n[TAB_CMEV] && a->owned == a->n[TAB_CMEV],
	     "%u events of connections, %u in channels, %u in identifiers", a->n[TAB_CMEV],
	     a->listed, a->owned);
	for (i = 0; i < hca->tab[TAB_CMID].high; i++)
		MUST(!hca->cmid[i].client || hca->cmid[i].pending == a->pending[i],
		     "identifier %u: %u requests, there are %u", i, hca->cmid[i].pending,
		     a->pending[i]);
	return 0;
}
