/* SPDX-License-Identifier: MIT */
/** DOC: the journal's text, for a reader who knows rdma-core. */
#include "emulator/burst.h"
#include "emulator/journal/text.h"
#include "emulator/mad.h"
#include "emulator/packet_fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define NSEC 1000000000ULL

/** struct text - a line that is being written; it is truncated to the buffer. */
struct text {
	char *p;
	size_t left;
};

static void __attribute__((format(printf, 2, 3))) text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->p, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || !t->left)
		return;
	n = (size_t)n < t->left ? n : (int)t->left - 1;
	t->p += n;
	t->left -= (size_t)n;
}

/* The "s" of a plural. */
static const char *plural_suffix(u64 n)
{
	return n == 1 ? "" : "s";
}

/* A time of the fabric clock, in seconds since the fabric's start. */
static void text_time(struct text *t, u64 ts, u64 epoch)
{
	u64 us = (ts > epoch ? ts - epoch : 0) / 1000;

	text_printf(t, "%llu.%06llu s", (unsigned long long)(us / 1000000),
		    (unsigned long long)(us % 1000000));
}

/* --- who and what --- */

static void text_node(struct text *t, const struct hca *hca, u32 node)
{
	if (node < min_u32(hca->n_nodes, HCA_MAX_NODES))
		text_printf(t, "%s", hca->node[node].name);
	else
		text_printf(t, "?");
}

void journal_who_text(const struct hca *hca, const struct journal_who *w, u32 qp_type, char *buf,
		      size_t size)
{
	struct text t = { buf, size };

	*buf = '\0';
	if (w->name[0])
		text_printf(&t, "%.*s[%d]@", (int)sizeof(w->name), w->name, w->pid);
	else if (w->node != JOURNAL_NOBODY)
		text_printf(&t, "node ");
	else if (!w->qpn)
		return;
	if (w->node != JOURNAL_NOBODY || w->name[0])
		text_node(&t, hca, w->node);
	if (!w->qpn)
		return;
	text_printf(&t, "%s%s%sqp 0x%06x", t.p == buf ? "" : " ",
		    qp_type ? ib_qp_type_name(qp_type) : "", qp_type ? " " : "", w->qpn);
}

static const char *wire_op_name(u32 op)
{
	static const char *const names[BOP_NONE] = {
		[BOP_SEND] = "SEND",
		[BOP_WRITE] = "RDMA_WRITE",
		[BOP_READ_REQ] = "RDMA_READ_REQUEST",
		[BOP_READ_RESP] = "RDMA_READ_RESPONSE",
		[BOP_ATOMIC_REQ] = "ATOMIC",
		[BOP_ATOMIC_WRITE] = "ATOMIC_WRITE",
		[BOP_ATOMIC_ACK] = "ATOMIC_ACKNOWLEDGE",
		[BOP_ACK] = "ACKNOWLEDGE",
		[BOP_FLUSH] = "FLUSH",
	};

	return op < BOP_NONE ? names[op] : "?";
}

/*
 * The packet's opcode as in IBTA table 38; for a burst of several packets, @n, their common part.
 */
static void text_wire_op(struct text *t, u32 op, u32 flags, u32 n)
{
	static const char *const where[] = { "MIDDLE", "FIRST", "LAST", "ONLY" };

	text_printf(t, "%s", wire_op_name(op));
	if (n > 1 || (op != BOP_SEND && op != BOP_WRITE && op != BOP_READ_RESP))
		return;
	text_printf(t, "_%s", where[(flags & BF_FIRST ? 1 : 0) | (flags & BF_LAST ? 2 : 0)]);
	if (flags & BF_IMM)
		text_printf(t, "_WITH_IMM");
	if (flags & BF_INV)
		text_printf(t, "_WITH_INV");
}

static const char *mad_name(u32 attr)
{
	static const char *const names[] = { "REQ",  "MRA",	 "REJ",	     "REP", "RTU", "DREQ",
					     "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR" };

	return attr >= MAD_REQ && attr < MAD_ATTR_END ? names[attr - MAD_REQ] : "MAD";
}

/* The request of a program on a real device. */
static void text_request(struct text *t, const struct journal_entry *j)
{
	if (j->args[0])
		text_printf(t, "(%.*s)", (int)sizeof(j->args), j->args);
}

void journal_op_text(const struct journal_entry *j, char *buf, size_t size)
{
	struct text t = { buf, size };

	*buf = '\0';
	switch (j->optype) {
	case JOP_WR:
		text_printf(&t, "%s", ib_wr_opcode_name(j->opcode));
		text_request(&t, j);
		break;
	case JOP_RECV:
		text_printf(&t, "RECV");
		text_request(&t, j);
		break;
	case JOP_WIRE:
		text_wire_op(&t, j->opcode & 0xff, j->opcode >> 8, j->n);
		break;
	case JOP_MAD:
		text_printf(&t, "CM %s", mad_name(j->opcode));
		break;
	case JOP_CALL:
		text_printf(&t, "%.*s(%.*s)", (int)sizeof(j->call), j->call, (int)sizeof(j->args),
			    j->args);
		break;
	}
}

/* --- why --- */

static const char *reject_text(u32 reason)
{
	switch (reason) {
	case CM_REJ_NO_QP:
		return "no QP available";
	case CM_REJ_NO_RESOURCES:
		return "no resources available";
	case CM_REJ_TIMEOUT:
		return "the peer has given up";
	case CM_REJ_UNSUPPORTED:
		return "unsupported request";
	case CM_REJ_INVALID_COMM_ID:
		return "invalid communication ID";
	case CM_REJ_INVALID_SERVICE_ID:
		return "invalid service ID: no program listens there";
	case CM_REJ_INVALID_TRANSPORT:
		return "invalid transport service type";
	case CM_REJ_STALE_CONN:
		return "stale connection: the peer has one with this QP already";
	case CM_REJ_INVALID_GID:
		return "invalid GID: the peer has no route back";
	case CM_REJ_CONSUMER_DEFINED:
		return "consumer defined: by the program, or no program listens at that address or "
		       "for "
		       "that type of QP";
	case CM_REJ_DUPLICATE_LOCAL_COMM_ID:
		return "duplicate local communication ID";
	default:
		return "see IBTA table 110";
	}
}

/* Formats of causes that need no more than @info. NULL: text_cause() handles them. */
static const char *cause_format(u32 cause)
{
	static const char *const text[CAUSE_COUNT] = {
		[CAUSE_NONE] = "no cause is known",
		[CAUSE_LKEY] = "lkey 0x%x: not of this PD, out of range, or without the right",
		[CAUSE_LOCAL_LEN] = "its length does not fit: %u bytes",
		[CAUSE_REQUEST_LEN] = "longer than the receive, which has %u bytes",
		[CAUSE_RKEY] = "rkey 0x%x: not of this PD, out of range, or without the right",
		[CAUSE_ACCESS_FLAGS] = "not enabled in qp_access_flags, which are 0x%x",
		[CAUSE_RD_ATOMIC] = "beyond max_rd_atomic or max_dest_rd_atomic %u",
		[CAUSE_MISALIGNED] = "the address of an atomic is not a multiple of 8, low bits %u",
		[CAUSE_MEM_FAULT] = "registered memory is not mapped any more, key 0x%x",
		[CAUSE_CQ_OVERRUN] = "completion queue %u is full: it was not polled in time",
		[CAUSE_BAD_WQE] = "malformed, or not for this type of QP, opcode %u",
		[CAUSE_SRQN] = "SRQ 0x%x is not of the target's XRC domain",
		[CAUSE_AH] = "address handle %u does not exist, or is of another PD or port",
		[CAUSE_WINDOW] = "the memory window is refused, key 0x%x",
		[CAUSE_TAG] = "tag handle 0x%x does not exist, or has its message already",
		[CAUSE_CM_SIDR] = "the peer refuses datagrams to that address, SIDR status %u",
		[CAUSE_NO_PORT] = "no port has the address that it was sent to",
		[CAUSE_NO_QP] = "there is no QP 0x%06x at that port",
		[CAUSE_OTHER_PEER] = "the QP there is connected with another one, qp 0x%06x",
		[CAUSE_QKEY] = "Q_Key 0x%08x is not the QP's",
		[CAUSE_NO_RECEIVE] = "no receive is posted",
		[CAUSE_TOO_LONG] = "%u bytes of payload in a packet are more than a link's MTU",
		[CAUSE_OUT_OF_SEQ] = "PSN 0x%06x was expected: packets before it were lost",
		[CAUSE_REFUSED] = "rights, range or length do not allow it, rkey 0x%x",
		[CAUSE_NO_MAD] = "it is not a message of connection management",
		[CAUSE_NO_WAY] = "no connection leads to the fabric that it is for",
		[CAUSE_SENDER_GONE] = "the memory that it comes from no longer exists",
		[CAUSE_TIMEOUT] = "no ACK in time, timeout %u",
		[CAUSE_SEQ_NAK] = "the peer lacks it: PSN sequence NAK",
		[CAUSE_LOST_RESPONSE] = "the response to it was lost: a later one has arrived",
		[CAUSE_RNR] = "RNR NAK, timer %u",
		[CAUSE_PSN] = "it is missing, PSN 0x%06x arrived instead",
		[CAUSE_ADMIN] = "changed by command, or with the host's addresses",
		[CAUSE_MODIFIED] = "modified to IBV_QPS_ERR by its program",
		[CAUSE_LIMIT] = "fewer than srq_limit %u receives are left",
		[CAUSE_FIRST_PACKET] = "the first packet has arrived at the QP in RTR",
		[CAUSE_DRAINED] = "all work begun before SQD is complete",
		[CAUSE_LAST_WQE] = "the QP is in ERR and takes no more receives of its SRQ",
	};

	return cause < CAUSE_COUNT ? text[cause] : "?";
}

/* @key: the key that was refused, or NULL */
static void text_cause(struct text *t, const struct hca *hca, u32 cause, u32 info,
		       const struct journal_key *key, const char *rule)
{
	char part[256];

	switch (cause) {
	case CAUSE_LKEY:
	case CAUSE_RKEY:
	case CAUSE_REFUSED:
	case CAUSE_MISALIGNED:
		if (key && key->fault && key->key == info)
			journal_key_text(cause, key, part, sizeof(part));
		else
			snprintf(part, sizeof(part), cause_format(cause), info);
		text_printf(t, "%s", part);
		break;
	case CAUSE_FAULT:
		text_printf(t, "by %s%s", rule ? "fault rule " : "a fault rule", rule ? rule : "");
		break;
	case CAUSE_CM_ERRNO:
		text_printf(t, "%s", strerror((int)info));
		break;
	case CAUSE_PORT_DOWN:
		text_printf(t, "%s port %u is down",
			    info >> 8 < hca->n_devs ? hca->dev[info >> 8].name : "?", info & 0xff);
		break;
	case CAUSE_PKEY:
		text_printf(t, "P_Key 0x%04x of the sender does not match 0x%04x", info >> 16,
			    info & 0xffff);
		break;
	case CAUSE_QP_STATE:
		text_printf(t, "the QP there is in %s", ib_qp_state_name(info));
		break;
	case CAUSE_SOCKET:
		text_printf(t, "%s: %s",
			    info == EMSGSIZE ? "longer than the way to its host allows"
					     : "the host's network refuses it",
			    strerror((int)info));
		break;
	case CAUSE_PACKET:
		text_printf(t, "%s", packet_fault_text(info));
		break;
	default:
		text_printf(t, cause_format(cause), info);
	}
}

/* Why there was no answer. */
static void text_no_answer(struct text *t, const struct hca *hca, const struct journal_entry *j,
			   const char *rule)
{
	switch (j->why) {
	case WHY_DROPPED:
		text_printf(t, "dropped %u time%s: ", j->n, plural_suffix(j->n));
		text_cause(t, hca, j->why_cause, j->why_info, NULL, rule);
		break;
	case WHY_NO_ADDRESS:
		text_printf(t, "no port has the address that it is sent to");
		break;
	case WHY_OWN_PORT:
		text_printf(t, "its port %u is down", j->why_info);
		break;
	case WHY_PEER_PORT:
		text_printf(t, "the peer's port %u is down", j->why_info);
		break;
	case WHY_PEER_ENDED:
		text_printf(t, "the peer's program has ended");
		break;
	case WHY_PEER_GONE:
		text_printf(t, "the peer has no such QP: destroyed, or never made");
		break;
	case WHY_PEER_STATE:
		text_printf(t, "the peer's QP is in %s", ib_qp_state_name(j->why_info));
		break;
	case WHY_PEER_OTHER:
		text_printf(t, "the peer's QP is connected with qp 0x%06x", j->why_info);
		break;
	case WHY_PKEY:
		text_printf(t, "P_Key 0x%04x does not match the peer's 0x%04x", j->why_info >> 16,
			    j->why_info & 0xffff);
		break;
	case WHY_FAR:
		text_printf(t, "the peer is on another fabric, whose log may know");
		break;
	case WHY_SILENT:
		text_printf(t, "the peer's QP is in %s and has not answered in time",
			    ib_qp_state_name(j->why_info));
		break;
	default:
		text_printf(t, "the reason is not known");
	}
}

/* How often, and from when to when, the packet was sent. */
static void text_sent(struct text *t, const struct journal_entry *j, u64 epoch)
{
	text_printf(t, "sent %u time%s", j->attempt + 1, plural_suffix(j->attempt + 1));
	if (j->since) {
		text_printf(t, " from ");
		text_time(t, j->since, epoch);
		text_printf(t, " to ");
		text_time(t, j->last, epoch);
	}
}

static void text_retry(struct text *t, const struct hca *hca, const struct journal_entry *j,
		       u64 epoch, const char *rule)
{
	text_printf(t, "no ACK, ");
	text_sent(t, j, epoch);
	text_printf(t, ": ");
	text_no_answer(t, hca, j, rule);
}

/* The peer answered, and the answer asked for a retransmission. */
static void text_retry_asked(struct text *t, const struct hca *hca, const struct journal_entry *j,
			     u64 epoch, const char *rule)
{
	text_printf(t, "%s, and retry_cnt %u allows no further retransmission: ",
		    j->cause == CAUSE_RETRY_NAK ? "PSN sequence NAK, the peer lacks it"
						: "a response to it was lost, a later one arrived",
		    j->info);
	text_sent(t, j, epoch);
	if (j->why) {
		text_printf(t, ": ");
		text_no_answer(t, hca, j, rule);
	}
}

static void text_rnr(struct text *t, const struct hca *hca, const struct journal_entry *j,
		     u64 epoch)
{
	char peer[2 * NODE_NAME_MAX + 64];

	journal_who_text(hca, &j->peer, 0, peer, sizeof(peer));
	text_printf(t, "%u RNR NAK%s since ", j->n, plural_suffix(j->n));
	text_time(t, j->since, epoch);
	if (j->why_info == ~0u)
		text_printf(t, ", the receives of %s are not known here",
			    peer[0] ? peer : "the peer");
	else
		text_printf(t, ", %u receive%s posted by %s", j->why_info,
			    plural_suffix(j->why_info), peer[0] ? peer : "the peer");
}

static void text_cm(struct text *t, const struct hca *hca, const struct journal_entry *j,
		    const char *rule)
{
	if (j->cause == CAUSE_CM_REJECT) {
		text_printf(t, "rejected with reason %u, %s", j->info, reject_text(j->info));
		if (j->why_info)
			text_printf(t, ", at port %u", j->why_info);
		return;
	}
	text_printf(t, "no answer to %u of them", j->info + 1);
	if (j->why) {
		text_printf(t, ": ");
		text_no_answer(t, hca, j, rule);
	}
}

static void text_why(struct text *t, const struct hca *hca, const struct journal_entry *j,
		     u64 epoch, const char *rule)
{
	switch (j->cause) {
	case CAUSE_RETRY:
		text_retry(t, hca, j, epoch, rule);
		return;
	case CAUSE_RETRY_NAK:
	case CAUSE_RETRY_RESPONSE:
		text_retry_asked(t, hca, j, epoch, rule);
		return;
	case CAUSE_RNR_RETRY:
		text_rnr(t, hca, j, epoch);
		return;
	case CAUSE_NAK:
		text_printf(t, "the peer has refused it: ");
		if (j->why == WHY_NAK)
			text_cause(t, hca, j->why_cause, j->why_info, &j->key, rule);
		else
			text_printf(t, "NAK, syndrome 0x%02x", j->info);
		return;
	case CAUSE_CM_TIMEOUT:
	case CAUSE_CM_REJECT:
		text_cm(t, hca, j, rule);
		return;
	}
	if (j->kind == JRN_GONE)
		text_printf(t, "ended with %u QP%s connected", j->n, plural_suffix(j->n));
	else if (j->kind == JRN_FLUSH)
		text_printf(t, "%u work request%s: ", j->n, plural_suffix(j->n));
	else if (j->kind == JRN_UNSEEN)
		text_printf(t, "the program uses QP 0x%06x past verbs", j->who.qpn);
	else if (j->kind == JRN_AMBIGUOUS)
		text_printf(t, "it has an address of %s port %u, too",
			    j->dev < hca->n_devs ? hca->dev[j->dev].name : "?", j->port);
	if (j->kind != JRN_GONE && j->kind != JRN_UNSEEN && j->kind != JRN_AMBIGUOUS)
		text_cause(t, hca, j->cause, j->info, &j->key, rule);
	if (j->counters[0])
		text_printf(t, "; counters of the device: %.*s", (int)sizeof(j->counters),
			    j->counters);
}

/* A flood of entries that are alike. */
static void text_more(struct text *t, const struct journal_entry *j, u64 epoch)
{
	if (!j->more)
		return;
	text_printf(t, "; %llu times, the last at ", 1ull + j->more);
	text_time(t, j->until, epoch);
}

void journal_why_text(const struct hca *hca, const struct journal_entry *j, u64 epoch,
		      const char *rule, char *buf, size_t size)
{
	struct text t = { buf, size };

	*buf = '\0';
	text_why(&t, hca, j, epoch, rule);
	text_more(&t, j, epoch);
}

/* --- all --- */

static void text_port(struct text *t, const struct hca *hca, const struct journal_entry *j)
{
	if (j->dev < hca->n_devs && !j->who.name[0] && j->port)
		text_printf(t, " %s port %u", hca->dev[j->dev].name, j->port);
}

void journal_entry_text(const struct hca *hca, const struct journal_entry *j, u64 epoch,
			const char *rule, char *buf, size_t size)
{
	struct text t = { buf, size };
	char part[256];

	*buf = '\0';
	journal_who_text(hca, &j->who, j->qp_type, part, sizeof(part));
	text_printf(&t, "%s", part[0] ? part : "fabric");
	if (!j->who.qpn)
		text_port(&t, hca, j);
	journal_who_text(hca, &j->peer, 0, part, sizeof(part));
	if (part[0])
		text_printf(&t, " -> %s", part);
	text_printf(&t, ":");
	journal_op_text(j, part, sizeof(part));
	if (part[0])
		text_printf(&t, " %s", part);
	if (j->has_wr_id)
		text_printf(&t, " wr_id %llu", (unsigned long long)j->wr_id);
	if (j->has_psn)
		text_printf(&t, " psn 0x%06x", j->psn);
	if (j->kind == JRN_DROP && j->n > 1)
		text_printf(&t, "-0x%06x", psn_add(j->psn, j->n - 1));
	if (j->kind == JRN_RETRY)
		text_printf(&t, " attempt %u", j->attempt + 2);
	if (part[0] || j->has_wr_id || j->has_psn)
		text_printf(&t, ":");
	text_printf(&t, " %s: ", journal_status_name(j));
	text_why(&t, hca, j, epoch, rule);
	text_more(&t, j, epoch);
}
