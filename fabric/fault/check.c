/* SPDX-License-Identifier: MIT */
/* Checks that the words of a fault rule make sense together. See rule.h. */
#include "emulator/mad.h"
#include "fabric/fault/capability.h"
#include "fabric/fault/contradiction.h"
#include "fabric/fault/keys.h"
#include "fabric/common/nodes.h"
#include "fabric/fault/parse.h"

#include <stdio.h>

#define O(op) BIT64(OP_##op)

#define CONNECTED (1u << QPT_RC | 1u << QPT_UC | 1u << QPT_XRC_SEND | 1u << QPT_XRC_RECV)
#define RELIABLE  (CONNECTED & ~(1u << QPT_UC))

#define DATAGRAMS O(MAD)
#define ANSWERS                                                                                    \
	(O(READ_RESP_FIRST) | O(READ_RESP_MIDDLE) | O(READ_RESP_LAST) | O(READ_RESP_ONLY) |        \
	 O(ATOMIC_ACK) | O(ACK) | O(NAK_SEQ) | O(NAK_INV_REQ) | O(NAK_ACCESS) | O(NAK_OP) |        \
	 O(NAK_RNR))

#define REQUESTS (fault_type_ops(1u << QPT_RC | 1u << QPT_UD) & ~(ANSWERS | O(MAD)))

/* Packets that consume a receive, the first one of each message that does. */
#define TAKES_RECV                                                                                 \
	(O(SEND_FIRST) | O(SEND_ONLY) | O(SEND_ONLY_IMM) | O(SEND_ONLY_INV) | O(WRITE_LAST_IMM) |  \
	 O(WRITE_ONLY_IMM))
#define RESOURCES (O(READ_REQ) | O(CMP_SWAP) | O(FETCH_ADD) | O(FLUSH) | O(ATOMIC_WRITE))
#define SENDS                                                                                      \
	(O(SEND_FIRST) | O(SEND_MIDDLE) | O(SEND_LAST) | O(SEND_LAST_IMM) | O(SEND_ONLY) |         \
	 O(SEND_ONLY_IMM))

#define HOLD_NS 10000000u /* how long `cq hold` waits for a completion */

static bool rule_has_keys(const struct fault_rule *r, u64 keys)
{
	return r->has & keys;
}

/* Restrict the rule to opcodes in @all; without opcode= it is about those in @unsaid. */
static int check_narrow_ops(struct fault_rule *r, u64 all, u64 unsaid, const char *what,
			    struct fault_bad *bad)
{
	struct fault_where *w = &r->where;

	if (!rule_has_keys(r, KEY(OPCODE)))
		w->ops = unsaid;
	w->ops &= all;
	return w->ops ? 0 : fault_refuse(bad, "opcode=", "an opcode of %s", what);
}

static int check_retries(struct fault_rule *r, struct fault_bad *bad)
{
	const u64 all = REQUESTS;

	const bool in_order = r->act == FA_NAK && r->what.syndrome == AETH_NAK_PSN_SEQ;
	const u32 types = in_order ? RELIABLE : RELIABLE | 1u << QPT_SRD;

	if (r->where.types && !(r->where.types & types))
		return fault_refuse(bad, "type=",
				    in_order ? "RC or XRC: other types have no sequence of packets"
					     : "RC, XRC or SRD: other types have no ACKs");
	if (!r->where.types)
		r->where.types = types;
	if (r->act == FA_RNR)
		return check_narrow_ops(
			r, TAKES_RECV | RESOURCES, TAKES_RECV,
			"requests that a responder may not be ready for: those that take a "
			"receive, READ or atomics",
			bad);
	if (r->what.syndrome == AETH_NAK_REM_ACCESS)
		return check_narrow_ops(r, all & ~SENDS, all & ~SENDS, "requests that have a key",
					bad);
	return check_narrow_ops(r, all, all, "requests", bad);
}

/* The bit in fault_where.mads. */
static u32 mad_attr_bit(u32 attr)
{
	return 1u << (attr - MAD_REQ);
}

static int check_messages(struct fault_rule *r, struct fault_bad *bad)
{
	const u32 req = mad_attr_bit(MAD_REQ), sidr = mad_attr_bit(MAD_SIDR_REQ);
	u32 can = r->act == FA_REJECT ? req | sidr : r->act == FA_MRA ? req : ~0u;

	r->where.ops = O(MAD);
	if (r->where.mads & ~can)
		return fault_refuse(bad, fault_act_name(r), "%s",
				    r->act == FA_MRA
					    ? "REQ: an MRA answers nothing else"
					    : "REQ or SIDR_REQ: only these can be rejected");
	if (!r->where.mads)
		r->where.mads = can;
	return 0;
}

static int check_opcodes(const struct fault_rule *r, struct fault_bad *bad)
{
	const struct fault_where *w = &r->where;

	if (!w->ops)
		return fault_refuse(bad, "opcode=", "an opcode of packets as SEND_ONLY or ACK");
	if (w->types && !(w->ops & fault_type_ops(w->types)))
		return fault_refuse(bad, "opcode=", "an opcode that QPs of this type= have");
	if (rule_has_keys(r, KEYS_CONNECTION) && !(w->ops & ~DATAGRAMS))
		return fault_refuse(
			bad, "opcode=", "an opcode of connections, as conn=, psn= and round= are");
	return 0;
}

static int check_packets(struct fault_rule *r, struct fault_bad *bad)
{
	struct fault_where *w = &r->where;
	int ret = 0;

	if (!strncmp(fault_act_name(r), "cm ", 3))
		return check_messages(r, bad);
	/* A response has the PSN of its request: a rule on responses by PSN must give opcode=. */
	if (!rule_has_keys(r, KEY(OPCODE)))
		w->ops = rule_has_keys(r, KEY(PSN)) ? REQUESTS : OPS_ALL;
	if (r->act == FA_RNR || r->act == FA_NAK)
		ret = check_retries(r, bad);
	if (!ret && (rule_has_keys(r, KEY(CONN) | KEY(ROUND)) || w->psn_rel) && w->types &&
	    !(w->types & CONNECTED))
		return fault_refuse(
			bad, "type=", "RC, UC or XRC: conn=, round= and psn=+N need a connection");
	if (!ret)
		ret = check_opcodes(r, bad);
	return ret ? ret : fault_check_packet_words(r, bad);
}

static int check_when(const struct fault_rule *r, struct fault_bad *bad)
{
	const struct fault_when *w = &r->when;
	bool counts = r->on != FAULT_ON_STATE && (r->on != FAULT_ON_TIME || r->triggered);

	if (w->has_nth && rule_has_keys(r, KEY(AFTER) | KEY(EVERY)))
		return fault_refuse(bad, "nth=", "no after= or every= with it");
	if (w->has_nth && rule_has_keys(r, KEY(FOR)) && !w->for_ns)
		return fault_refuse(bad, "for=", "a time: nth=N is after=N-1 for=1");
	if (rule_has_keys(r, KEY(FOR)) && !w->for_ns && (!counts || r->on == FAULT_ON_TIME))
		return fault_refuse(bad, "for=", "a time with its unit: ns, us, ms or s");
	if (rule_has_keys(r, KEY(PROB)) && rule_has_keys(r, KEY(PERCENT)))
		return fault_refuse(bad, "prob=", "P%% or prob=, not both");
	if (w->has_seed && w->prob == FAULT_PROB_ONE && !r->what.jitter_ns)
		return fault_refuse(bad, "seed=", "something random: prob= or jitter=");
	return 0;
}

static int check_ends(const struct fault_rule *r, struct fault_bad *bad)
{
	const struct fault_where *w = &r->where;

	if (w->dir && !rule_has_keys(r, KEYS_WHO | KEY(LINK)))
		return fault_refuse(
			bad, "direction=",
			"an end that sends or receives: node=, device=, port=, program=, pid=, "
			"qp= or link=");
	return fault_check_link_words(w, bad);
}

static int check_groups(const char *text, struct fault_bad *bad)
{
	char buf[FAULT_GROUPS], *name, *other, *p = buf, *names[128];
	u32 n = 0, i;

	snprintf(buf, sizeof(buf), "%s", text);
	while ((name = strsep(&p, "|,"))) {
		for (i = 0; i < n; i++) {
			other = names[i];
			if (!strcmp(other, name))
				return fault_refuse(bad, name, "each node in one group");
		}
		if (n < ARRAY_SIZE(names))
			names[n++] = name;
	}
	return 0;
}

static int check_link(const struct fault_rule *r, struct fault_bad *bad)
{
	if (!rule_has_keys(r, KEY(NODE) | KEY(DEVICE) | KEY(PORT) | KEY(LINK)))
		return fault_refuse(bad, "link", "one of node=, device=, port= and link=");
	if (rule_has_keys(r, KEY(LINK)) && rule_has_keys(r, KEY(NODE) | KEY(DEVICE) | KEY(PORT)))
		return fault_refuse(bad, "link=", "link=, or node=, device= and port=");
	if (r->what.link == LINK_FLAP && !rule_has_keys(r, KEY(PERIOD)))
		return fault_refuse(bad, "flap", "period= with it");
	if (r->what.link != LINK_FLAP && rule_has_keys(r, KEY(PERIOD)))
		return fault_refuse(bad, "period=", "flap: no other state has a period");
	if (r->what.link == LINK_UP && rule_has_keys(r, KEY(FOR)))
		return fault_refuse(bad, "for=", "down or flap: up has no end");
	return 0;
}

static int check_event(struct fault_rule *r, struct fault_bad *bad)
{
	u32 ev = r->what.event;
	bool srq = ev == EV_SRQ_ERR || ev == EV_SRQ_LIMIT_REACHED;

	if (rule_has_keys(r, KEY(CQ)) && ev != EV_CQ_ERR)
		return fault_refuse(bad, "cq=", "IBV_EVENT_CQ_ERR with it");
	if (rule_has_keys(r, KEY(SRQ)) && !srq)
		return fault_refuse(bad, "srq=", "IBV_EVENT_SRQ_ERR or _LIMIT_REACHED with it");
	if (rule_has_keys(r, KEY(QP)) && !r->triggered && !fault_event_is_qp(ev))
		return fault_refuse(bad, "qp=", "an event of a QP with it");
	if (rule_has_keys(r, KEY(FOR)))
		return fault_refuse(bad, "for=", "nothing: an event is raised once");
	return fault_is_port_event(ev) ? 0 : fault_check_event(r, bad);
}

static int check_work_opcode(const struct fault_rule *r, struct fault_bad *bad)
{
	return !rule_has_keys(r, KEY(OPCODE)) || r->where.wr_ops
		       ? 0
		       : fault_refuse(bad, "opcode=",
				      "an opcode of work requests as RDMA_WRITE, or RECV");
}

static int check_what(struct fault_rule *r, struct fault_bad *bad)
{
	int ret;

	switch (r->act) {
	case FA_DELAY:
		if (rule_has_keys(r, KEY(DISTRIBUTION)) && !rule_has_keys(r, KEY(JITTER)))
			return fault_refuse(bad, "distribution=", "jitter= with it");
		return 0;
	case FA_PARTITION:
		return check_groups(r->what.groups, bad);
	case FA_LINK:
		return check_link(r, bad);
	case FA_EVENT:
		return check_event(r, bad);
	case FA_KILL:
	case FA_PAUSE:
	case FA_RESUME:
		return rule_has_keys(r, KEY(NODE) | KEY(PROGRAM) | KEY(PID))
			       ? 0
			       : fault_refuse(bad, fault_act_name(r),
					      "one of node=, program= and pid=");
	case FA_FAIL:
		return fault_check_call(r, bad);
	case FA_LIMIT:
		return fault_check_limit(r, bad);
	case FA_HOLD:
		r->what.delay_ns = r->what.delay_ns ? r->what.delay_ns : HOLD_NS;
		return 0;
	case FA_LATE:
		return check_work_opcode(r, bad);
	case FA_DEFER:
		ret = check_work_opcode(r, bad);
		return ret ? ret : fault_check_defer(r, bad);
	case FA_WC:
		ret = check_work_opcode(r, bad);
		return ret ? ret : fault_check_work(r, bad);
	default:
		return 0;
	}
}

int fault_check(struct fault_rule *r, struct fault_bad *bad)
{
	int ret = 0;

	if (r->on == FAULT_ON_WIRE || r->triggered)
		ret = check_packets(r, bad);
	if (!ret)
		ret = check_when(r, bad);
	if (!ret)
		ret = check_ends(r, bad);
	return ret ? ret : check_what(r, bad);
}

/* --- against a fabric ------------------------------------------------------------------------- */

static int check_node_known(const struct hca *hca, const char *key, const char *name,
			    struct fault_bad *bad)
{
	if (!name[0] || hca_node_find(hca, name) >= 0 || !strcmp(name, NODE_NAME))
		return 0;
	return fault_refuse(bad, name, "%sa node of the topology", key);
}

static int check_link_known(const struct hca *hca, const char *link, struct fault_bad *bad)
{
	char a[sizeof(((struct fault_where *)0)->link)];
	const char *dash = link;

	if (!link[0] || hca_node_find(hca, link) >= 0)
		return 0;
	/* Node names may contain dashes. */
	while ((dash = strchr(dash, '-'))) {
		snprintf(a, sizeof(a), "%.*s", (int)(dash - link), link);
		dash++;
		if (hca_node_find(hca, a) >= 0 && hca_node_find(hca, dash) >= 0)
			return 0;
	}
	return fault_refuse(bad, link,
			    "link= with a node of the topology, or two with '-' between");
}

static int check_groups_known(const struct hca *hca, const char *text, struct fault_bad *bad)
{
	char buf[FAULT_GROUPS], *p = buf, *name;
	int ret = 0;

	snprintf(buf, sizeof(buf), "%s", text);
	while (!ret && (name = strsep(&p, "|,")))
		ret = strcmp(name, "*") != 0 ? check_node_known(hca, "", name, bad) : 0;
	return ret;
}

/*
 * A node has the devices of its profile; nodes that do not exist yet have the fabric's. A fabric of
 * real devices does not know any.
 */
static int check_device_known(const struct hca *hca, const struct fault_where *w,
			      struct fault_bad *bad)
{
	int node = w->node[0] ? hca_node_find(hca, w->node) : -1;
	bool device = false, port = false;
	u32 d;

	if ((!w->device[0] && !w->port) || !hca->n_devs)
		return 0;
	for (d = 0; d < hca->n_devs; d++) {
		const struct hca_dev *dev = &hca->dev[d];

		if (node >= 0 && dev->node != (u32)node)
			continue;
		if (w->device[0] && strcmp(w->device, dev->name) != 0)
			continue;
		device = true;
		port |= w->port <= dev->n_ports;
	}
	if (!device)
		return fault_refuse(bad, w->device, "a known device%s%s",
				    node >= 0 ? " on node " : "", node >= 0 ? w->node : "");
	return port ? 0 : fault_refuse(bad, "port=", "a port that the device has");
}

int fault_check_fabric(const struct hca *hca, bool topology, const struct fault_rule *r,
		       struct fault_bad *bad)
{
	const struct fault_where *w = &r->where;
	const u32 unused = mad_attr_bit(MAD_LAP) | mad_attr_bit(MAD_APR);
	int ret = 0;

	/* A capture of a real fabric may have them: `fault try` takes such a rule. */
	if (w->mads && !(w->mads & ~unused))
		return fault_refuse(bad, w->mads & mad_attr_bit(MAD_LAP) ? "LAP" : "APR",
				    "another message: librdmacm sends no LAP and no APR");
	if (topology) {
		ret = check_node_known(hca, "node= with ", w->node, bad);
		if (!ret)
			ret = check_node_known(hca, "peer= with ", w->peer, bad);
		if (!ret)
			ret = check_link_known(hca, w->link, bad);
		if (!ret)
			ret = check_groups_known(hca, r->what.groups, bad);
	}
	return ret ? ret : check_device_known(hca, w, bad);
}
