/* SPDX-License-Identifier: MIT */
/**
 * DOC: rules that can never hit: their words are known and allowed, but no packet, work request or
 * event has all that they ask for. See contradiction.h.
 */
#include "fabric/fault/contradiction.h"
#include "emulator/mad.h"
#include "fabric/fault/keys.h"
#include "fabric/fault/parse.h"

#define O(op)	  BIT64(OP_##op)
#define T(type)	  (1u << QPT_##type)
#define MTU_MIN	  256u
#define MTU_MAX	  4096u
#define FRAME_MAX (MTU_MAX + 18) /* with Ethernet and VLAN header */

#define EMPTY                                                                                      \
	(O(READ_REQ) | O(ACK) | O(NAK_SEQ) | O(NAK_INV_REQ) | O(NAK_ACCESS) | O(NAK_OP) |          \
	 O(NAK_RNR) | O(CMP_SWAP) | O(FETCH_ADD) | O(FLUSH))
#define FULL                                                                                       \
	(O(SEND_FIRST) | O(SEND_MIDDLE) | O(WRITE_FIRST) | O(WRITE_MIDDLE) | O(READ_RESP_FIRST) |  \
	 O(READ_RESP_MIDDLE))
#define LAST                                                                                       \
	(O(SEND_LAST) | O(SEND_LAST_IMM) | O(SEND_LAST_INV) | O(WRITE_LAST) | O(WRITE_LAST_IMM) |  \
	 O(READ_RESP_LAST))

static bool has_keys(const struct fault_rule *r, u64 keys)
{
	return r->has & keys;
}

/* Whether the rule is about QPs of these types only. */
static bool only_types(const struct fault_where *w, u32 types)
{
	return w->types && !(w->types & ~types);
}

/* IBTA 9.7.4.1.2: all packets of a message but its last are full; a last one is not empty. */
static bool op_has_size(u32 op, const struct fault_where *w)
{
	u64 min = w->size.min, max = w->size.max, mtu;

	if (EMPTY >> op & 1)
		return !min;
	if (O(SEND_ONLY) >> op & 1 && (!w->types || w->types & T(RAW_PACKET)))
		return min <= FRAME_MAX;
	if (LAST >> op & 1)
		return max && min <= MTU_MAX;
	for (mtu = MTU_MIN; FULL >> op & 1; mtu *= 2) {
		if (mtu > MTU_MAX)
			return false;
		if (mtu >= min && mtu <= max)
			break;
	}
	return min <= MTU_MAX;
}

static int check_size(const struct fault_where *w, struct fault_bad *bad)
{
	u64 ops = w->ops & (w->types ? fault_type_ops(w->types) : ~0ULL);
	u32 op;

	if (!w->size.has)
		return 0;
	if (w->size.min && !(ops & ~EMPTY))
		return fault_refuse(bad, "size=", "0: these packets have no payload");
	for (op = 0; op < OP_NONE; op++)
		if (ops >> op & 1 && op_has_size(op, w))
			return 0;
	return fault_refuse(
		bad, "size=",
		"the payload of one packet: at most %u bytes (%u in a raw frame), 1 or more in a "
		"_LAST, and 256, 512, 1024, 2048 or 4096, the MTU, in a _FIRST or _MIDDLE",
		MTU_MAX, FRAME_MAX);
}

/* CM messages belong to QP 1 of a port, not to a program. */
static int check_messages_only(const struct fault_rule *r, struct fault_bad *bad)
{
	const struct fault_where *w = &r->where;

	if (w->ops & ~O(MAD))
		return 0;
	if (has_keys(r, KEY(PROGRAM) | KEY(PID)))
		return fault_refuse(bad, has_keys(r, KEY(PROGRAM)) ? "program=" : "pid=",
				    "node= or device=: messages of connection management come from "
				    "ports, not from programs");
	if (w->has_qpn && w->qpn != 1)
		return fault_refuse(bad, "qp=",
				    "1: QP 1 sends and receives all messages of connection "
				    "management");
	if (r->act == FA_EVENT && fault_event_is_qp(r->what.event))
		return fault_refuse(
			bad, "opcode=", "packets of the queue pair that is to have the event");
	return 0;
}

int fault_check_packet_words(const struct fault_rule *r, struct fault_bad *bad)
{
	const struct fault_where *w = &r->where;
	int ret = check_size(w, bad);

	if (!ret)
		ret = check_messages_only(r, bad);
	if (ret)
		return ret;
	if (w->round.has && w->round.min > 1 && only_types(w, ~(T(RC) | T(XRC_SEND) | T(XRC_RECV))))
		return fault_refuse(bad,
				    "round=", "1: queue pairs of this type= send each packet once");
	if (w->psn.has && only_types(w, T(RAW_PACKET)))
		return fault_refuse(bad, "psn=", "another type=: raw frames have no PSN");
	if (w->dir == DIR_RX && only_types(w, T(RAW_PACKET)) &&
	    has_keys(r, KEY(PROGRAM) | KEY(PID) | KEY(QP)))
		return fault_refuse(bad, "direction=",
				    "tx: which queue pair receives a raw frame is not known in "
				    "transit");
	return 0;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Whether @link is "A-B" with these names, in this order. */
static bool link_is_pair(const char *link, const char *a, const char *b)
{
	size_t n = strlen(a);

	return !strncmp(link, a, n) && link[n] == '-' && !strcmp(link + n + 1, b);
}

/* Whether @link begins, or ends, with the name of this node and a dash. */
static bool link_has_at(const char *link, const char *node, bool first)
{
	size_t n = strlen(node), len = strlen(link);

	if (len < n + 2)
		return false;
	return first ? !strncmp(link, node, n) && link[n] == '-'
		     : !strcmp(link + len - n, node) && link[len - n - 1] == '-';
}

static bool link_has_node(const char *link, const char *node)
{
	return link_has_at(link, node, true) || link_has_at(link, node, false);
}

/* The link of one node: one end of each packet is that node, the other may be any. */
static int check_link_of_node(const struct fault_where *w, struct fault_bad *bad)
{
	const char *link = w->link, *node = w->node, *peer = w->peer;

	if (!node[0] || !strcmp(node, link))
		return 0;
	if (peer[0] && strcmp(peer, link) != 0)
		return fault_refuse(
			bad, "peer=", "%s, the node of link=%s, in node= or peer=", link, link);
	/* The direction is that of the link's node and that of node=. */
	if (w->dir)
		return fault_refuse(bad, "direction=",
				    "no direction=, or node=%s, the node whose link it is", link);
	return 0;
}

static int check_link_of_pair(const struct fault_where *w, struct fault_bad *bad)
{
	const char *link = w->link, *node = w->node, *peer = w->peer;
	bool ab, ba;

	if (node[0] && !link_has_node(link, node))
		return fault_refuse(bad, "node=", "a node of link=%s", link);
	if (peer[0] && !link_has_node(link, peer))
		return fault_refuse(bad, "peer=", "a node of link=%s", link);
	if (node[0] && peer[0]) {
		ab = link_is_pair(link, node, peer);
		ba = link_is_pair(link, peer, node);
		if (!ab && !ba)
			return fault_refuse(bad, "peer=", "the other node of link=%s", link);
	} else {
		ab = node[0] ? link_has_at(link, node, true)
			     : !peer[0] || link_has_at(link, peer, false);
		ba = node[0] ? link_has_at(link, node, false)
			     : !peer[0] || link_has_at(link, peer, true);
	}
	/* The direction is that of the first node. */
	if (w->dir && !ab && ba)
		return fault_refuse(
			bad, "direction=",
			"the first node of link=%s at that end: tx is from it, rx to it", link);
	return 0;
}

int fault_check_link_words(const struct fault_where *w, struct fault_bad *bad)
{
	if (!w->link[0])
		return 0;
	/* A name with a dash is a pair, unless another word has it as a node's. */
	if (!strchr(w->link, '-') || !strcmp(w->link, w->node) || !strcmp(w->link, w->peer))
		return check_link_of_node(w, bad);
	return check_link_of_pair(w, bad);
}

/* --- work requests ---------------------------------------------------------------------------- */

int fault_check_work_words(const struct fault_rule *r, struct fault_bad *bad)
{
	const u32 empty = 1u << WR_LOCAL_INV | 1u << WR_BIND_MW;
	const struct fault_where *w = &r->where;

	if (w->conn && only_types(w, T(UD) | T(RAW_PACKET)))
		return fault_refuse(bad, "conn=",
				    "RC, UC or XRC: queue pairs of this type= have no connection");
	if (w->size.has && w->size.min && !(w->wr_ops & ~empty))
		return fault_refuse(bad, "size=", "0: LOCAL_INV and BIND_MW carry no data");
	return 0;
}
