/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets of captures, for a report.
 *
 * The files are read twice: first to learn which flows are a connection, and how many packets there
 * are; then for the packets themselves, of which a page has the latest REPORT_PACKETS. Their ICRC
 * is checked in the second pass only. A file may come from anybody.
 */
#include "fabric/cli/report/report.h"
#include "fabric/cli/fault_try/connection.h"
#include "fabric/fault/parse.h"
#include "emulator/mad.h"
#include "traces/formats/capture_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All headers and a MAD: a longer packet's ICRC takes time. */
#define CAPTURE_HEAD  512u
#define CAPTURE_SLOTS (4 * REPORT_FLOWS)

/**
 * struct capture_pass - a pass over all files.
 * @packets: RDMA packets so far
 * @skip: packets at the beginning that the page does not have
 * @slot: hash table of flows, indices + 1
 */
struct capture_pass {
	struct report_packets *p;
	struct trace_conns *conns;
	u64 packets;
	u64 skip;
	bool all_frames;
	u32 slot[CAPTURE_SLOTS];
};

/* --- hosts and flows -------------------------------------------------------------------------- */

static void capture_put_address(const struct roce_pkt *r, bool source, char *text, size_t size)
{
	const u8 *gid = source ? r->sgid : r->dgid;

	if (r->net == ROCE_IB)
		snprintf(text, size, "LID %u", (u32)(source ? r->slid : r->dlid));
	else if (r->net == ROCE_IP4)
		inet_ntop(AF_INET, gid + 12, text, (socklen_t)size);
	else
		inet_ntop(AF_INET6, gid, text, (socklen_t)size);
}

/* The last one stands for all others when the table is full. */
static u32 capture_host(struct report_packets *p, const struct roce_pkt *r, bool source)
{
	char text[sizeof(p->host->address)];
	u32 i;

	capture_put_address(r, source, text, sizeof(text));
	for (i = 0; i < p->n_hosts; i++)
		if (!strcmp(p->host[i].address, text))
			return i;
	if (p->n_hosts == REPORT_HOSTS)
		return REPORT_HOSTS - 1;
	snprintf(p->host[p->n_hosts].address, sizeof(text), "%s",
		 p->n_hosts == REPORT_HOSTS - 1 ? "others" : text);
	return p->n_hosts++;
}

/* A fabric names interfaces NODE/DEVICE/PORT. A packet that was dropped is on another one. */
static void capture_learn_node(struct report_packets *p, u32 host, const char *iface)
{
	size_t n = strcspn(iface, "/");

	if (!p->host[host].node && iface[n])
		p->host[host].node = strings_number(&p->strings, iface, n);
}

static bool capture_is_same_flow(const struct report_flow *a, const struct report_flow *b)
{
	return a->from == b->from && a->to == b->to && a->from_qpn == b->from_qpn &&
	       a->to_qpn == b->to_qpn && a->transport == b->transport && a->conn == b->conn;
}

/* The last one stands for all others when the table is full. */
static u32 capture_flow(struct capture_pass *c, const struct report_flow *f)
{
	struct report_packets *p = c->p;
	u64 h = ((u64)f->from_qpn << 32 | f->to_qpn) * 0x9e3779b97f4a7c15ULL +
		((u64)f->conn << 40 | (u64)f->from << 20 | f->to) * 0xff51afd7ed558ccdULL;
	u32 at = (u32)(h >> 40) % CAPTURE_SLOTS;

	for (; c->slot[at]; at = (at + 1) % CAPTURE_SLOTS)
		if (capture_is_same_flow(&p->flow[c->slot[at] - 1], f))
			return c->slot[at] - 1;
	if (p->n_flows == REPORT_FLOWS)
		return REPORT_FLOWS - 1;
	p->flow[p->n_flows] = *f;
	c->slot[at] = ++p->n_flows;
	return p->n_flows - 1;
}

/* --- a packet --------------------------------------------------------------------------------- */

static u32 capture_label(struct report_packets *p, const struct roce_pkt *r)
{
	char text[64];
	u32 attr;

	if (r->opcode == ROCE_OPCODE_CNP)
		return strings_number(&p->strings, "CNP", 3);
	if (r->opcode >> 5 != ROCE_UD || r->dqpn != 1 || r->payload_cap < MAD_SIZE ||
	    mad_get(r->payload, F_CLASS) != MAD_CLASS_CM)
		return 0;
	attr = (u32)mad_get(r->payload, F_ATTR);
	if (attr == MAD_REJ)
		snprintf(text, sizeof(text), "CM REJ, reason %u",
			 (u32)mad_get(r->payload, F_REJ_REASON));
	else
		snprintf(text, sizeof(text), "CM %s", fault_mad_name(attr));
	return strings_number(&p->strings, text, sizeof(text));
}

/* Packets that a reader looks at. */
static bool capture_is_notable(const struct report_row *row)
{
	return row->flags || row->note || row->label ||
	       ((row->opcode & 31) == ROCE_ACK && roce_is_nak(row->syndrome));
}

static void capture_keep_bytes(struct capture_pass *c, struct report_row *row,
			       const struct capture_pkt *f, const struct roce_pkt *r)
{
	struct report_packets *p = c->p;
	u32 n = min_u32(f->caplen, REPORT_BYTES);
	size_t payload = (size_t)(r->payload - f->frame);

	if ((!c->all_frames && !capture_is_notable(row)) || p->n_frames == REPORT_FRAMES ||
	    payload > 255)
		return;
	row->payload = (u8)payload;
	row->frame = (u32)p->n_bytes + 1;
	p->bytes[p->n_bytes] = (u8)n;
	memcpy(p->bytes + p->n_bytes + 1, f->frame, n);
	p->n_bytes += n + 1;
	p->n_frames++;
}

static void capture_connect(struct capture_pass *c, const struct capture_pkt *f,
			    struct report_flow *flow, struct report_row *row)
{
	struct fault_pkt pkt;
	struct trace_pkt t;

	if (trace_frame_parse(f->link, f->frame, min_u32(f->caplen, CAPTURE_HEAD), f->len, &t) !=
		    TRACE_RDMA ||
	    !trace_conns_look(c->conns, c->packets, &t, &pkt))
		return;
	flow->from_qpn = pkt.src.qpn;
	flow->conn = pkt.conn;
	if (pkt.round > 1)
		row->flags |= REPORT_AGAIN;
}

static void capture_add(struct capture_pass *c, const struct capture_pkt *f,
			const struct roce_pkt *r)
{
	struct report_packets *p = c->p;
	struct report_flow flow = { .from = capture_host(p, r, true),
				    .to = capture_host(p, r, false),
				    .from_qpn = TRACE_QP_UNKNOWN,
				    .to_qpn = r->dqpn,
				    .transport = r->opcode >> 5 };
	struct report_row *row = &p->row[p->n++];
	u32 wrong = r->wrong & ~(u32)ROCE_CUT;
	const char *text = roce_wrong_text(wrong);

	*row = (struct report_row){ .ns = f->ns,
				    .psn = r->psn,
				    .order = p->n,
				    .size = r->payload_len,
				    .opcode = r->opcode,
				    .syndrome = r->syndrome,
				    .label = capture_label(p, r) };
	if (!strcmp(f->iface, "dropped"))
		row->flags |= REPORT_LOST;
	else
		capture_learn_node(p, flow.from, f->iface);
	if (wrong)
		row->flags |= REPORT_WRONG;
	row->note = f->comment ? strings_number(&p->strings, f->comment, f->comment_len)
			       : strings_number(&p->strings, text, strlen(text));
	capture_connect(c, f, &flow, row);
	row->flow = capture_flow(c, &flow);
	capture_keep_bytes(c, row, f, r);
}

/* --- passes ----------------------------------------------------------------------------------- */

static void capture_learn_connection(struct capture_pass *c, const struct capture_pkt *f)
{
	struct trace_pkt t;

	/* Without room for more addresses or flows their packets belong to no connection. */
	if (trace_frame_parse(f->link, f->frame, min_u32(f->caplen, CAPTURE_HEAD), f->len, &t) ==
	    TRACE_RDMA)
		trace_conns_learn(c->conns, c->packets, &t);
}

static void capture_pass_file(struct capture_pass *c, struct capture_file *f, bool learn)
{
	u32 cap;
	struct capture_pkt pkt;
	struct roce_pkt r;

	while (capture_file_next(f, &pkt)) {
		cap = learn ? min_u32(pkt.caplen, CAPTURE_HEAD) : pkt.caplen;
		if (!roce_link_known(pkt.link) || roce_parse(pkt.link, pkt.frame, cap, pkt.len, &r))
			continue;
		c->packets++;
		if (learn)
			capture_learn_connection(c, &pkt);
		else if (c->packets > c->skip && c->packets <= c->p->total)
			capture_add(c, &pkt, &r);
	}
}

static int capture_pass(struct capture_pass *c, bool learn)
{
	struct capture_file f;
	u32 i;
	int ret;

	c->packets = 0;
	for (i = 0; i < c->p->n_files; i++) {
		ret = capture_file_open(&f, c->p->file[i]);
		if (ret)
			return print_error("%s: %s", c->p->file[i],
					   ret == -EBADMSG ? "expected a capture, pcap or pcapng"
							   : strerror(-ret));
		capture_pass_file(c, &f, learn);
		c->p->cut |= f.cut;
		capture_file_close(&f);
	}
	return 0;
}

static int capture_make_room(struct capture_pass *c)
{
	struct report_packets *p = c->p;
	u64 n = p->total < REPORT_PACKETS ? p->total : REPORT_PACKETS;

	c->skip = p->total - n;
	c->all_frames = n <= REPORT_FRAMES;
	p->row = calloc(n + 1, sizeof(*p->row));
	p->host = calloc(REPORT_HOSTS, sizeof(*p->host));
	p->flow = calloc(REPORT_FLOWS, sizeof(*p->flow));
	p->bytes = malloc((size_t)min_u32((u32)n, REPORT_FRAMES) * (REPORT_BYTES + 1) + 1);
	return p->row && p->host && p->flow && p->bytes ? 0 : -ENOMEM;
}

static int capture_compare(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	return report_order(x->ns, x->order, y->ns, y->order);
}

int packets_read(struct report_packets *p)
{
	struct capture_pass *c;
	int ret = -1;

	if (!p->n_files)
		return 0;
	c = calloc(1, sizeof(*c));
	if (c)
		c->conns = trace_conns_make(REPORT_FLOWS);
	if (!c || !c->conns) {
		print_error("report: %s", strerror(ENOMEM));
		goto out;
	}
	c->p = p;
	if (capture_pass(c, true))
		goto out;
	trace_conns_settle(c->conns);
	p->total = c->packets;
	ret = capture_make_room(c);
	if (ret)
		print_error("report: %s", strerror(ENOMEM));
	else
		ret = capture_pass(c, false);
	if (p->n_files > 1)
		qsort(p->row, p->n, sizeof(*p->row), capture_compare);
out:
	if (c)
		trace_conns_free(c->conns);
	free(c);
	return ret;
}

void packets_free(struct report_packets *p)
{
	strings_free(&p->strings);
	free(p->row);
	free(p->host);
	free(p->flow);
	free(p->bytes);
}
