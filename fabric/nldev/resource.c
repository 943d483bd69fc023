/* SPDX-License-Identifier: MIT */
/* Resources: how many there are, and messages about one or all of a kind. */
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "fabric/nldev/model.h"

static const struct nldev_kind *kind_by_cmd(u32 cmd)
{
	u32 i;

	for (i = 0; i < NLO_COUNT; i++)
		if (nldev_kind_of(i)->cmd == cmd)
			return nldev_kind_of(i);
	return NULL;
}

/* The end of the slots of the table that have ever been used. */
static u32 kind_end(const struct hca *hca, const struct nldev_kind *k)
{
	return min_u32(load_relaxed(&hca->tab[k->tab].high), tab_max(k->tab));
}

static bool slot_is_shown(struct hca *hca, const struct nldev_kind *k, u32 slot, u32 dev)
{
	return load_acquire(&tab_at(hca, k->tab, slot)->client) && k->is_shown(hca, slot, dev);
}

static void summary_put(struct nldev *n, struct hca *hca, u32 dev)
{
	u32 i, slot, table, entry;
	u64 count;

	nldev_put_handle(n, &hca->dev[dev]);
	table = nlattr_nest(n, NLA_RES_SUMMARY);
	for (i = 0; i < NLO_COUNT; i++) {
		const struct nldev_kind *k = nldev_kind_of(i);

		for (count = slot = 0; slot < kind_end(hca, k); slot++)
			count += slot_is_shown(hca, k, slot, dev);
		entry = nlattr_nest(n, NLA_RES_SUMMARY_ENTRY);
		nlattr_put_str(n, NLA_RES_SUMMARY_ENTRY_NAME, k->name, 16);
		nlattr_put_u64(n, NLA_RES_SUMMARY_ENTRY_CURR, count);
		nlattr_nest_end(n, entry);
	}
	nlattr_nest_end(n, table);
}

int nldev_get_summary(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	int dev = nldev_find_dev(n, hca, q);

	if (dev < 0)
		return dev;
	nlmsg_begin(n, NLC_RES_GET, q->seq, 0);
	summary_put(n, hca, (u32)dev);
	nlmsg_end(n);
	return 0;
}

bool nldev_dump_summaries(struct nldev *n, struct hca *hca)
{
	const struct hca_node *node = &hca->node[n->node];

	if (n->dump.at >= node->n_devs)
		return false;
	nlmsg_begin(n, NLC_RES_GET, n->dump.seq, NLM_F_MULTI);
	summary_put(n, hca, node->first_dev + n->dump.at++);
	nlmsg_end(n);
	return true;
}

/* The slot of an object by its number, or -ENOENT. */
static int object_find(struct hca *hca, const struct nldev_kind *k, u32 number, u32 dev)
{
	u32 slot = number - 1;

	if (k == nldev_kind_of(NLO_QP)) {
		const struct hca_qp *qp = hca_qp_by_num(hca, number);

		slot = qp ? (u32)(qp - hca->qp) : ~0u;
	}
	return slot < kind_end(hca, k) && slot_is_shown(hca, k, slot, dev) ? (int)slot : -ENOENT;
}

int nldev_get_object(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	const struct nldev_kind *k = kind_by_cmd(q->cmd == NLC_STAT_GET ? NLC_RES_MR_GET : q->cmd);
	int dev = nldev_find_dev(n, hca, q), port, slot;

	if (dev < 0 || !nlattr_has(q, k->id))
		return -EINVAL;
	port = nldev_find_port(hca, (u32)dev, q);
	if (port < 0 || (port > 0) == k->per_dev)
		return -EINVAL;
	slot = object_find(hca, k, nlattr_u32(q, k->id), (u32)dev);
	if (slot < 0)
		return slot;
	if (port && k->port(hca, (u32)slot) != (u32)port)
		return -EAGAIN;
	nlmsg_begin(n, q->cmd, q->seq, 0);
	nldev_put_handle(n, &hca->dev[dev]);
	if (q->cmd == NLC_STAT_GET)
		nlattr_put_u32(n, NLA_RES_MRN, (u32)slot + 1);
	else
		k->put(n, hca, (u32)slot);
	nlmsg_end(n);
	return 0;
}

static bool object_is_dumped(struct nldev *n, struct hca *hca, const struct nldev_kind *k, u32 slot)
{
	return slot_is_shown(hca, k, slot, n->dump.dev) &&
	       (!n->dump.port || !k->port || k->port(hca, slot) == n->dump.port);
}

static void entry_put(struct nldev *n, struct hca *hca, const struct nldev_kind *k, u32 slot)
{
	u32 entry = nlattr_nest(n, k->entry);

	if (n->dump.cmd == NLC_STAT_GET)
		nlattr_put_u32(n, NLA_RES_MRN, slot + 1);
	else
		k->put(n, hca, slot);
	nlattr_nest_end(n, entry);
}

bool nldev_dump_objects(struct nldev *n, struct hca *hca)
{
	const struct nldev_kind *k =
		kind_by_cmd(n->dump.cmd == NLC_STAT_GET ? NLC_RES_MR_GET : n->dump.cmd);
	u32 table, before, filled = 0;

	nlmsg_begin(n, n->dump.cmd, n->dump.seq, NLM_F_MULTI);
	nldev_put_handle(n, &hca->dev[n->dump.dev]);
	table = nlattr_nest(n, k->table);
	for (; n->dump.at < kind_end(hca, k); n->dump.at++) {
		if (!object_is_dumped(n, hca, k, n->dump.at))
			continue;
		before = n->out_len;
		entry_put(n, hca, k, n->dump.at);
		if (!n->full) {
			filled++;
			continue;
		}
		/* The next message has it, unless it is too long for any. */
		n->full = false;
		n->out_len = before;
		if (filled)
			break;
	}
	nlattr_nest_end(n, table);
	nlmsg_end(n);
	if (!filled)
		n->out_len = n->msg;
	return filled > 0;
}
