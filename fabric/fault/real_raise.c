/* SPDX-License-Identifier: MIT */
/**
 * DOC: asynchronous events that rules raise on real devices.
 *
 * The fabric process knows no objects of such programs. When a rule is due, it rings the eventfd of
 * each program that the rule names. The program's process asks which event it is, raises it on the
 * objects that the rule selects (libtap/users/raised_events.c), and says so for each: the first one
 * is the rule's hit.
 */
#include "emulator/ib.h"
#include "emulator/journal/writer.h"
#include "fabric/core/fabric.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"

#include <stdio.h>
#include <sys/eventfd.h>

static void client_ring(struct fabric *f, struct client *cl, const struct fault_rule *r)
{
	const struct hca_client *h = &f->hca->client[cl->id];

	if (cl->events_fd < 0) {
		fabric_note(f,
			    "fault %s: process %d (%s) has no device open, or has opened it before "
			    "a rule `event` was there",
			    r->name, h->fabric_pid, h->name);
		return;
	}
	if (cl->n_events == CLIENT_EVENTS) {
		fabric_note(f, "fault %s: process %d (%s) does not fetch its events", r->name,
			    h->fabric_pid, h->name);
		return;
	}
	cl->events[cl->n_events++] = r->id;
	/* It is non-blocking, and one that is full is readable. */
	(void)eventfd_write(cl->events_fd, 1);
}

bool fault_real_event_fire(struct fabric *f, const struct fault_rule *r)
{
	struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next)
		if (!cl->dead && !cl->exited && fault_rule_is_on_client(f, &r->where, cl->id))
			client_ring(f, cl, r);
	return false;
}

int fault_events_open(struct fabric *f, struct client *cl, int *fds, u32 *n_fds)
{
	if (!f->real)
		return -EOPNOTSUPP;
	if (cl->events_fd < 0)
		cl->events_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cl->events_fd < 0)
		return -errno;
	fds[0] = cl->events_fd;
	*n_fds = 1;
	return 0;
}

static void raise_fill(struct proto_raise *raise, const struct fault_rule *r)
{
	const struct fault_where *w = &r->where;

	*raise = (struct proto_raise){
		.rule = r->id,
		.type = r->what.event,
		.qpn = w->has_qpn ? w->qpn : 0,
		.port = w->port,
		.srq = r->what.srq,
	};
	snprintf(raise->device, sizeof(raise->device), "%s", w->device);
}

int fault_event_next(struct fabric *f, struct client *cl, struct proto_msg *m)
{
	const struct fault_rule *r = NULL;

	/* A rule that was removed meanwhile raises nothing. */
	while (cl->n_events && !r) {
		r = fault_rule_find(f->faults, "", cl->events[0]);
		memmove(&cl->events[0], &cl->events[1], --cl->n_events * sizeof(cl->events[0]));
	}
	if (!r)
		return -EAGAIN;
	raise_fill(&m->raise, r);
	return 0;
}

int fault_event_raised(struct fabric *f, const struct client *cl, const struct proto_msg *m)
{
	const struct proto_event *event = &m->event;
	struct fault_rule *r;
	struct journal_entry j;

	if (!f->real)
		return -EOPNOTSUPP;
	if (event->type > EV_WQ_FATAL || event->qpn > IB_QPN_MASK)
		return -EINVAL;
	r = fault_rule_find(f->faults, "", event->rule);
	if (!r)
		return 0;
	if (r->act != FA_EVENT || r->what.event != event->type)
		return -EINVAL;
	r->hits += event->first;
	j = journal_of_client(f->hca, cl->id, event->qpn, JRN_EVENT, event->type, r->id);
	fault_call_journal(f, &j);
	return 0;
}
