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
	r = fault_match_call(f, cl->id, call_descs[id].name);
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
	u32 i;
	int id;

	memset(mask, 0, SEG_CALL_WORDS * sizeof(*mask));
	for (i = 0; i < t->high; i++) {
		if (!t->rule[i].id || t->rule[i].on != FAULT_ON_CALL)
			continue;
		id = call_find(t->rule[i].what.call);
		if (id >= 0)
			mask[id / 64] |= BIT64(id % 64);
	}
}

void fault_calls(struct fabric *f, struct client *cl)
{
	struct client *one = cl, *at;
	u64 mask[SEG_CALL_WORDS];
	u32 i;

	mask_of(f, mask);
	for (at = one ? one : f->clients; at; at = one ? NULL : at->next)
		for (i = 0; at->seg && i < SEG_CALL_WORDS; i++)
			store_relaxed(&at->seg->fail_calls[i], mask[i]);
}
