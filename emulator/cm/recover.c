/* SPDX-License-Identifier: MIT */
/**
 * DOC: recovery of connection management after the death of a holder: tables, lists and counts are
 * rebuilt from the identifiers and events, so that none stays half updated.
 *
 * An event that its identifier has not noted is one that the dead holder had just created: its
 * states are applied and its channel is woken, possibly for the second time. A request's identifier
 * without such an event is incomplete: it is freed, and the peer sends the request again.
 */
#include "emulator/cm/model.h"
#include "emulator/engine.h"
#include "emulator/tab.h"

#define SORT_BINS 18u /* 2^17 events and one more */
_Static_assert(HCA_MAX_CMEV <= 1u << (SORT_BINS - 1), "bins for all events");

/* Merge two lists of events, links of index + 1, in the order of @seq. */
static u32 cm_events_merge(struct hca *hca, u32 a, u32 b)
{
	u32 head = 0, *tail = &head, *least;

	while (a && b) {
		least = hca->cmev[a - 1].seq < hca->cmev[b - 1].seq ? &a : &b;
		*tail = *least;
		tail = &hca->cmev[*least - 1].next;
		*least = *tail;
	}
	*tail = a ? a : b;
	return head;
}

static bool cmid_is_live(const struct hca *hca, u32 slot, u32 client)
{
	return slot < HCA_MAX_CMID && hca->cmid[slot].client == client &&
	       hca->cmid[slot].state != CM_DESTROYING;
}

/*
 * Whether everything that the event refers to still exists: its program may have died while taking
 * it.
 */
static bool cm_event_is_valid(const struct hca *hca, const struct hca_cmev *ev)
{
	u32 to = cm_event_counted_by(ev);

	if (!cmid_is_live(hca, ev->ev.id, ev->client) || !cmid_is_live(hca, to, ev->client))
		return false;
	if (ev->ev.type == CM_EV_CONNECT_REQUEST && hca->cmid[ev->ev.id].listener != to + 1)
		return false;
	return !ev->mc || hca->cmmc[ev->mc - 1].client == ev->client;
}

/* All events, sorted. Events without a reader are freed. */
static u32 cm_events_sort(struct hca *hca)
{
	u32 bin[SORT_BINS] = { 0 };
	u32 i, b, link, all = 0;

	for (i = 0; i < hca->tab[TAB_CMEV].high; i++) {
		if (!hca->cmev[i].client)
			continue;
		if (!cm_event_is_valid(hca, &hca->cmev[i])) {
			tab_free(hca, TAB_CMEV, i);
			continue;
		}
		hca->cmev[i].next = 0;
		link = i + 1;
		for (b = 0; b < SORT_BINS - 1 && bin[b]; b++) {
			link = cm_events_merge(hca, bin[b], link);
			bin[b] = 0;
		}
		bin[b] = bin[b] ? cm_events_merge(hca, bin[b], link) : link;
	}
	for (b = 0; b < SORT_BINS; b++)
		all = cm_events_merge(hca, all, bin[b]);
	return all;
}

static void cm_events_relink(struct engine *e)
{
	struct hca *hca = e->hca;
	struct hca_cmev *ev;
	u32 i, at, next;

	for (i = 0; i < hca->tab[TAB_CMCH].high; i++)
		hca->cmch[i].head = hca->cmch[i].tail = 0;
	for (i = 0; i < hca->tab[TAB_CMID].high; i++)
		hca->cmid[i].waiting = hca->cmid[i].first = hca->cmid[i].last = 0;
	for (at = cm_events_sort(hca); at; at = next) {
		ev = &hca->cmev[at - 1];
		next = ev->next;
		ev->ch = hca->cmid[cm_event_counted_by(ev)].ch;
		cm_event_link(hca, ev);
		if (ev->seq > hca->cmid[ev->ev.id].ev_seq)
			cm_event_apply(e, ev);
	}
}

/* An incomplete request, or an identifier that program and protocol have released. */
static bool cmid_is_stray(const struct hca_cmid *id)
{
	if (id->state == CM_DESTROYING)
		return id->proto == CMP_IDLE;
	return id->listener && !id->waiting;
}

/* Recount the backlogs and the identifiers of each channel. */
static void cm_recover_counts(struct hca *hca)
{
	struct hca_cmid *id;
	u32 i;

	for (i = 0; i < hca->tab[TAB_CMCH].high; i++)
		hca->cmch[i].refs = 0;
	for (i = 0; i < hca->tab[TAB_CMID].high; i++) {
		id = &hca->cmid[i];
		id->pending = 0;
		if (id->client && cmid_is_stray(id))
			tab_free(hca, TAB_CMID, i);
	}
	for (i = 0; i < hca->tab[TAB_CMID].high; i++) {
		id = &hca->cmid[i];
		if (!id->client || id->state == CM_DESTROYING)
			continue;
		hca->cmch[id->ch].refs++;
		if (id->listener)
			hca->cmid[id->listener - 1].pending++;
	}
}

static void cm_recover_timers(struct engine *e)
{
	struct hca *hca = e->hca;
	u32 i;

	if (hca->cm_left != hca->cm_sent)
		hca->next_deadline = 1;
	for (i = 0; i < hca->tab[TAB_CMID].high; i++) {
		if (!hca->cmid[i].client || !hca->cmid[i].deadline)
			continue;
		hca->cm_bits[i / 64] |= BIT64(i % 64);
		hca->cm_sum[i / 64 / 64] |= BIT64(i / 64 % 64);
		hca->next_deadline = min_u64(hca->next_deadline, hca->cmid[i].deadline);
	}
	for (i = 0; i < hca->tab[TAB_CMEV].high; i++) {
		if (!hca->cmev[i].client || !hca->cmev[i].due)
			continue;
		hca->cmev_bits[i / 64] |= BIT64(i % 64);
		hca->cmev_sum[i / 64 / 64] |= BIT64(i / 64 % 64);
		hca->next_deadline = min_u64(hca->next_deadline, hca->cmev[i].due);
	}
}

void cm_recover(struct engine *e)
{
	if (!e->hca->tab[TAB_CMCH].high)
		return;
	cm_events_relink(e);
	cm_recover_counts(e->hca);
	cm_ports_rebuild(e->hca);
	cm_peers_rebuild(e->hca);
	cm_mcast_rebuild(e->hca);
	cm_recover_timers(e);
}
