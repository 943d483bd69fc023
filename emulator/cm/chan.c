/* SPDX-License-Identifier: MIT */
/**
 * DOC: event channels of connection management.
 *
 * The one store that gives an event's slot an owner creates the event. All further steps can be
 * repeated: its place in the list, the identifier's new states, the wake-up. When they are done the
 * identifier notes the event (@ev_seq), and cm_recover() repeats them for events that were not
 * noted. An extra wake-up is harmless: the reader finds no event.
 *
 * A channel's list is ordered by @seq. An event that moves to another channel gets a new number.
 *
 * With chaos an event becomes visible some time after it was queued, as with a slow kernel: until
 * then neither it nor later events of its channel can be read; the fabric process wakes the reader.
 */
#include "emulator/cm/model.h"
#include "emulator/deadline.h"
#include "emulator/engine.h"
#include "emulator/mad.h"
#include "emulator/queue/event.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#define CM_DEV	   0u
#define CM_LATE_NS 800000u /* of real time, at most */

static struct hca_cmch *own_cmch(struct hca *hca, u32 client, u32 handle)
{
	return tab_owned(hca, TAB_CMCH, client, handle);
}

int cmd_cm_open_chan(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmch *ch;
	int i;

	if (cmd->cm.chan >= SEG_MAX_CHANS)
		return -EINVAL;
	i = tab_find(e->hca, TAB_CMCH, CM_DEV, HCA_MAX_CMCH);
	if (i < 0)
		return i;
	ch = &e->hca->cmch[i];
	ch->chan = cmd->cm.chan;
	ch->refs = ch->head = ch->tail = 0;
	tab_own(e->hca, TAB_CMCH, (u32)i, client, CM_DEV);
	cmd->handle = (u32)i;
	return 0;
}

int cmd_cm_close_chan(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmch *ch = own_cmch(e->hca, client, cmd->handle);

	if (!ch)
		return -EINVAL;
	if (ch->refs)
		return -EBUSY;
	tab_free(e->hca, TAB_CMCH, cmd->handle);
	return 0;
}

static u32 cmev_link(const struct hca *hca, const struct hca_cmev *ev)
{
	return (u32)(ev - hca->cmev) + 1;
}

void cm_event_link(struct hca *hca, struct hca_cmev *ev)
{
	struct hca_cmid *to = &hca->cmid[cm_event_counted_by(ev)];
	struct hca_cmch *ch = &hca->cmch[ev->ch];
	u32 link = cmev_link(hca, ev);

	/* A reader that is woken must find the event at the head, or one before it. */
	if (unlikely(ch->tail && hca->cmev[ch->tail - 1].due > ev->due))
		ev->due = hca->cmev[ch->tail - 1].due;
	ev->next = ev->next_own = 0;
	ev->prev = ch->tail;
	*(ch->tail ? &hca->cmev[ch->tail - 1].next : &ch->head) = link;
	ch->tail = link;
	*(to->last ? &hca->cmev[to->last - 1].next_own : &to->first) = link;
	to->last = link;
	hca->cmid[ev->ev.id].waiting++;
}

/* @before: link of the previous event of the same identifier; 0: it is the first. */
static void cm_event_unlink(struct hca *hca, struct hca_cmev *ev, u32 before)
{
	struct hca_cmid *to = &hca->cmid[cm_event_counted_by(ev)];
	struct hca_cmch *ch = &hca->cmch[ev->ch];

	*(ev->prev ? &hca->cmev[ev->prev - 1].next : &ch->head) = ev->next;
	*(ev->next ? &hca->cmev[ev->next - 1].prev : &ch->tail) = ev->prev;
	*(before ? &hca->cmev[before - 1].next_own : &to->first) = ev->next_own;
	if (to->last == cmev_link(hca, ev))
		to->last = before;
	hca->cmid[ev->ev.id].waiting--;
}

static void cm_event_wake(struct engine *e, const struct hca_cmev *ev)
{
	struct hca *hca = e->hca;

	if (likely(!ev->due))
		chan_wake(e, ev->client, hca->cmch[ev->ch].chan);
	else
		deadline_set(e, hca->cmev_bits, hca->cmev_sum, (u32)(ev - hca->cmev), ev->due);
}

/* When the event becomes visible. */
static u64 cm_event_due_ns(struct engine *e, u64 seq)
{
	const struct hca *hca = e->hca;
	u64 span = hca_clock_span(&hca->clock, CM_LATE_NS);

	if (likely(!hca->chaos) || !span)
		return 0;
	return e->ops->now(e->ctx) + mix64(hca->chaos_seed ^ seq << 8) % span;
}

/* As deadline_fn. */
static u64 cm_event_timer_check(struct engine *e, u32 slot, u64 now)
{
	struct hca_cmev *ev = &e->hca->cmev[slot];

	if (!ev->client || !ev->due)
		return 0;
	if (ev->due > now)
		return ev->due;
	ev->due = 0;
	cm_event_wake(e, ev);
	return 0;
}

u64 cm_event_timers(struct engine *e, u64 now)
{
	struct hca *hca = e->hca;

	if (likely(!hca->chaos))
		return ~0ULL;
	return deadline_scan(e, hca->cmev_bits, hca->cmev_sum, HCA_MAX_CMEV, now,
			     cm_event_timer_check);
}

void cm_event_apply(struct engine *e, struct hca_cmev *ev)
{
	struct hca_cmid *id = &e->hca->cmid[ev->ev.id];

	cmid_set_states(id, ev->state, ev->proto);
	cm_event_wake(e, ev);
	store_release(&id->ev_seq, ev->seq);
}

bool cm_event_has_room(const struct hca *hca, u32 client)
{
	return hca->client[client].n[TAB_CMEV] < CM_CLIENT_EVENTS &&
	       hca->tab[TAB_CMEV].n < HCA_MAX_CMEV;
}

/* The identifier whose program reads the event; NULL: none can. */
static struct hca_cmid *cm_event_reader(struct hca *hca, struct hca_cmid *id,
					const struct cm_event *ev)
{
	if (id->state == CM_DESTROYING)
		return NULL;
	if (ev->type == CM_EV_CONNECT_REQUEST)
		return id->listener ? &hca->cmid[id->listener - 1] : NULL;
	return id->uid ? id : NULL;
}

static void cm_event_queue(struct engine *e, struct hca_cmid *id, u32 state, u32 proto, u32 mc,
			   struct cm_event *ev)
{
	struct hca *hca = e->hca;
	struct hca_cmid *to = cm_event_reader(hca, id, ev);
	struct hca_cmev *new;
	int i = -ENOMEM;

	if (to && cm_event_has_room(hca, to->client - 1))
		i = tab_find(hca, TAB_CMEV, CM_DEV, HCA_MAX_CMEV);
	if (i < 0) {
		cmid_set_states(id, id->state == CM_DESTROYING ? CM_DESTROYING : state, proto);
		return;
	}
	ev->id = cmid_slot(hca, id);
	ev->listen_id = to == id ? 0 : cmid_slot(hca, to);
	ev->uid = to->uid;
	new = &hca->cmev[i];
	new->ch = to->ch;
	new->seq = ++hca->cm_seq;
	new->state = state;
	new->proto = proto;
	new->mc = mc;
	new->due = cm_event_due_ns(e, new->seq);
	new->ev = *ev;
	tab_own(hca, TAB_CMEV, (u32)i, to->client - 1, CM_DEV);
	cm_event_link(hca, new);
	cm_event_apply(e, new);
}

void cm_event_raise(struct engine *e, struct hca_cmid *id, u32 state, u32 proto,
		    struct cm_event *ev)
{
	cm_event_queue(e, id, state, proto, 0, ev);
}

void cm_event_raise_status(struct engine *e, struct hca_cmid *id, u32 state, u32 proto, u32 type,
			   s32 status)
{
	struct cm_event ev = { .type = type, .status = status };

	cm_event_queue(e, id, state, proto, 0, &ev);
}

void cm_event_raise_mcast(struct engine *e, struct hca_cmid *id, struct hca_cmmc *mc,
			  struct cm_event *ev)
{
	cm_event_queue(e, id, id->state, id->proto, (u32)(mc - e->hca->cmmc) + 1, ev);
}

int cmd_cm_get_event(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_cmch *ch = own_cmch(hca, client, cmd->handle);
	struct hca_cmev *ev;
	struct hca_cmid *to;

	if (!ch)
		return -EINVAL;
	if (!ch->head)
		return -EAGAIN;
	ev = &hca->cmev[ch->head - 1];
	if (unlikely(ev->due))
		return -EAGAIN;
	to = &hca->cmid[cm_event_counted_by(ev)];
	cmd->cm.ev = ev->ev;
	to->reported++;
	if (ev->mc)
		hca->cmmc[ev->mc - 1].reported++;
	if (ev->ev.type == CM_EV_CONNECT_REQUEST) {
		to->pending--;
		hca->cmid[ev->ev.id].listener = 0;
	}
	cm_event_unlink(hca, ev, 0);
	tab_free(hca, TAB_CMEV, (u32)(ev - hca->cmev));
	return 0;
}

u32 cm_events_drop(struct engine *e, struct hca_cmid *id, const struct hca_cmmc *mc)
{
	struct hca *hca = e->hca;
	u32 want = mc ? (u32)(mc - hca->cmmc) + 1 : 0;
	u32 at, next, before = 0, n = 0;
	struct hca_cmev *ev;

	for (at = id->first; at; at = next) {
		ev = &hca->cmev[at - 1];
		next = ev->next_own;
		if (mc && ev->mc != want) {
			before = at;
			continue;
		}
		cm_event_unlink(hca, ev, before);
		tab_free(hca, TAB_CMEV, at - 1);
		/* An event that is not visible yet has caused no wake-up. */
		n += !ev->due;
		if (ev->ev.type == CM_EV_CONNECT_REQUEST)
			cmid_retire(e, &hca->cmid[ev->ev.id]);
	}
	return n;
}

/* Move the first event of its identifier to the end of channel @to, with a new number. */
static void cm_event_move(struct engine *e, struct hca_cmev *ev, u32 to)
{
	struct hca *hca = e->hca;
	u64 seq = ++hca->cm_seq;

	cm_event_unlink(hca, ev, 0);
	/* Note it before it gets its number: recovery must not apply its states again. */
	store_release(&hca->cmid[ev->ev.id].ev_seq, seq);
	ev->seq = seq;
	ev->ch = to;
	cm_event_link(hca, ev);
	cm_event_wake(e, ev);
}

static void cmid_set_channel(struct hca *hca, struct hca_cmid *id, u32 to)
{
	hca->cmch[id->ch].refs--;
	hca->cmch[to].refs++;
	id->ch = to;
}

u32 cm_events_move(struct engine *e, struct hca_cmid *id, u32 to)
{
	struct hca *hca = e->hca;
	u32 last = id->last, at = 0, n = 0;
	struct hca_cmev *ev;

	cmid_set_channel(hca, id, to);
	while (at != last) {
		at = id->first;
		ev = &hca->cmev[at - 1];
		/* Requests follow their listener. */
		if (ev->ev.type == CM_EV_CONNECT_REQUEST)
			cmid_set_channel(hca, &hca->cmid[ev->ev.id], to);
		n += !ev->due;
		cm_event_move(e, ev, to);
	}
	return n;
}

void cm_event_set_data(struct cm_param *p, const u8 mad[MAD_SIZE], u32 skip)
{
	u32 len, off = mad_private_data((enum cm_attr)mad_get(mad, F_ATTR), &len);

	p->data_len = (u8)(len - skip);
	memcpy(p->data, mad + off + skip, len - skip);
}
