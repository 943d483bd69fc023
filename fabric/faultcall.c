/* SPDX-License-Identifier: MIT */
/**
 * DOC: calls that fail on purpose, the fabric process's side: see fabric/calls.h and libshim/fault.c.
 *
 * Which calls a rule is about is told to every client by a bit per call in its segment, so that only
 * those ask. They are answered without the token: its holder may be the one who asks.
 */
#include "fabric/calls.h"
#include "fabric/faultdo.h"

/* More than that of one rule's hits are said less and less often. */
#define NOTED_HITS 8u

_Static_assert(sizeof(((struct seg_hdr *)0)->fail_calls) == SEG_CALL_WORDS * sizeof(u64), "mask");

int fault_call(struct fabric *f, const struct client *cl, struct proto_msg *m)
{
	const struct hca_client *h = &f->hca->client[cl->id];
	const struct fault_rule *r;
	u32 id = m->call.id;

	if (id >= CALL_COUNT)
		return -EINVAL;
	r = fault_match_call(f, cl->id, id);
	m->call.err = 0;
	m->call.event = 0;
	if (!r)
		return 0;
	if (r->act == FA_EVENT)
		m->call.event = ETIMEDOUT;
	else
		m->call.err = (u32)r->what.err;
	if (r->hits <= NOTED_HITS || !(r->hits & (r->hits - 1)))
		note(f, "fault %s: %s() of %s[%d] on node %s fails: %s", r->name,
		     call_descs[id].name, h->name, h->fabric_pid, f->hca->node[h->node].name,
		     strerrorname_np((int)(m->call.err | m->call.event)));
	return 0;
}

static void mask_of(const struct fabric *f, u64 mask[SEG_CALL_WORDS])
{
	const struct faults *t = f->faults;
	u32 i, id;

	memset(mask, 0, SEG_CALL_WORDS * sizeof(*mask));
	for (i = 0; i < t->high; i++) {
		if (!t->rule[i].id || t->rule[i].on != FAULT_ON_CALL)
			continue;
		id = t->rule[i].what.call_id;
		mask[id / 64] |= BIT64(id % 64);
	}
}

static void tell(struct client *cl, const u64 mask[SEG_CALL_WORDS])
{
	u32 i;

	for (i = 0; cl->seg && i < SEG_CALL_WORDS; i++)
		store_relaxed(&cl->seg->fail_calls[i], mask[i]);
}

void fault_calls(struct fabric *f, struct client *cl)
{
	u64 mask[SEG_CALL_WORDS];

	mask_of(f, mask);
	if (cl) {
		tell(cl, mask);
		return;
	}
	for (cl = f->clients; cl; cl = cl->next)
		tell(cl, mask);
}
