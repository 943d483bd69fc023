/* SPDX-License-Identifier: MIT */
/**
 * DOC: a ladder of a capture: `rdmaemu trace ladder FILE`.
 *
 * A lane is a host: the node, where the capture is one of a fabric, whose interfaces are called
 * NODE/DEVICE/PORT; else an address. The first pass finds out which addresses a node sends from.
 */
#include "fabric/cli/ladder/ladder.h"
#include "fabric/cli/cli.h"
#include "fabric/common/unicode.h"
#include "fabric/fault/parse.h"
#include "emulator/mad.h"
#include "traces/formats/capture_file.h"
#include "traces/formats/roce.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPTURE_HOSTS 4096u

/** struct capture_host - an address, and the lane of its node. */
struct capture_host {
	char address[LADDER_NAME];
	u32 lane;
};

/** struct capture_ladder - a capture being drawn. */
struct capture_ladder {
	const struct opts *o;
	struct ladder l;
	struct capture_host *host;
	u32 n_hosts;
};

/* Write the address that a packet comes from or goes to. */
static void capture_address(const struct roce_pkt *r, bool source, char text[LADDER_NAME])
{
	const u8 *gid = source ? r->sgid : r->dgid;

	if (r->net == ROCE_IB)
		snprintf(text, LADDER_NAME, "LID %u", (u32)(source ? r->slid : r->dlid));
	else if (r->net == ROCE_IP4)
		inet_ntop(AF_INET, gid + 12, text, LADDER_NAME);
	else
		inet_ntop(AF_INET6, gid, text, LADDER_NAME);
}

/* The node of an interface, or "" where its name is none of a fabric's. */
static void capture_node(const char *iface, char text[LADDER_NAME])
{
	size_t n = strcspn(iface, "/");

	snprintf(text, LADDER_NAME, "%.*s", iface[n] ? (int)n : 0, iface);
	utf8_make_printable(text);
}

static struct capture_host *capture_find_host(struct capture_ladder *c, const char *address)
{
	u32 i;

	for (i = 0; i < c->n_hosts; i++)
		if (!strcmp(c->host[i].address, address))
			return &c->host[i];
	return NULL;
}

static u32 capture_lane(struct capture_ladder *c, const char *address)
{
	struct capture_host *h = capture_find_host(c, address);

	return h ? h->lane : ladder_lane(&c->l, address);
}

static bool capture_is_wanted(const struct opts *o, const struct roce_pkt *r)
{
	return !o->qpn || r->dqpn == o->qpn ||
	       (roce_headers(r->opcode) & ROCE_DETH && r->sqpn == o->qpn);
}

/* Read the next RDMA packet that is wanted. */
static bool capture_next(struct capture_ladder *c, struct capture_file *f, struct capture_pkt *p,
			 struct roce_pkt *r)
{
	while (capture_file_next(f, p))
		if (roce_link_known(p->link) &&
		    !roce_parse(p->link, p->frame, p->caplen, p->len, r) &&
		    capture_is_wanted(c->o, r))
			return true;
	return false;
}

/* Packets that did not arrive are on an interface of that name. */
static bool packet_is_lost(const struct capture_pkt *p)
{
	return !strcmp(p->iface, "dropped");
}

/* The sender of a packet, with the node of its interface. */
static void capture_learn(struct capture_ladder *c, const struct capture_pkt *p,
			  const struct roce_pkt *r)
{
	char address[LADDER_NAME], node[LADDER_NAME], name[2 * LADDER_NAME + 4];

	capture_address(r, true, address);
	if (packet_is_lost(p) || capture_find_host(c, address) || c->n_hosts == CAPTURE_HOSTS)
		return;
	capture_node(p->iface, node);
	snprintf(name, sizeof(name), "%s%s%s%s", node, node[0] ? " (" : "", address,
		 node[0] ? ")" : "");
	c->host[c->n_hosts].lane = ladder_lane(&c->l, name);
	snprintf(c->host[c->n_hosts++].address, LADDER_NAME, "%s", address);
}

/* --- labels ----------------------------------------------------------------------------------- */

/* Write the name of a CM message. Return: false: it is none. */
static bool label_mad(const struct roce_pkt *r, struct ladder_step *s)
{
	u32 attr;

	if (r->opcode >> 5 != ROCE_UD || r->dqpn != 1 || r->payload_cap < MAD_SIZE ||
	    mad_get(r->payload, F_CLASS) != MAD_CLASS_CM)
		return false;
	attr = (u32)mad_get(r->payload, F_ATTR);
	if (attr == MAD_REJ) {
		snprintf(s->label, sizeof(s->label), "CM REJ, reason %u",
			 (u32)mad_get(r->payload, F_REJ_REASON));
		s->bad = true;
	} else {
		snprintf(s->label, sizeof(s->label), "CM %s", fault_mad_name(attr));
	}
	return true;
}

static void label_packet(const struct roce_pkt *r, struct ladder_step *s)
{
	const char *name = fault_op_name(r->opcode & 31u);
	int n;

	if (label_mad(r, s))
		return;
	if (r->opcode == ROCE_OPCODE_CNP)
		name = "CNP";
	else if (r->wrong & ROCE_BAD_OPCODE)
		name = "unknown opcode";
	else if ((r->opcode & 31) == ROCE_ACK)
		name = roce_syndrome_name(r->syndrome);
	if ((r->opcode & 31) == ROCE_ACK && r->opcode != ROCE_OPCODE_CNP)
		s->bad = roce_is_nak(r->syndrome);
	n = snprintf(s->label, sizeof(s->label), "%s qp 0x%x psn 0x%06x", name, r->dqpn, r->psn);
	if (n > 0 && r->payload_len)
		snprintf(s->label + n, sizeof(s->label) - (size_t)n, ", %u B", r->payload_len);
}

static void step_of(struct capture_ladder *c, const struct capture_pkt *p, const struct roce_pkt *r,
		    struct ladder_step *s)
{
	char address[LADDER_NAME];

	*s = (struct ladder_step){ .ns = p->ns, .lost = packet_is_lost(p) };
	capture_address(r, true, address);
	s->from = capture_lane(c, address);
	capture_address(r, false, address);
	s->to = capture_lane(c, address);
	label_packet(r, s);
	s->bad |= s->lost || (r->wrong & ~(u32)ROCE_CUT) != 0;
	if (p->comment) {
		snprintf(s->note, sizeof(s->note), "%.*s", (int)p->comment_len, p->comment);
		utf8_make_printable(s->note);
	} else if (r->wrong & ~(u32)ROCE_CUT) {
		snprintf(s->note, sizeof(s->note), "%s",
			 roce_wrong_text(r->wrong & ~(u32)ROCE_CUT));
	}
}

/* --- both passes ------------------------------------------------------------------------------ */

static void capture_first_pass(struct capture_ladder *c, struct capture_file *f)
{
	char address[LADDER_NAME];
	struct capture_pkt p;
	struct roce_pkt r;

	while (capture_next(c, f, &p, &r)) {
		capture_learn(c, &p, &r);
		ladder_count(&c->l, p.ns);
	}
	/* Addresses that no interface has come last. */
	capture_file_rewind(f);
	while (capture_next(c, f, &p, &r)) {
		capture_address(&r, true, address);
		capture_lane(c, address);
		capture_address(&r, false, address);
		capture_lane(c, address);
	}
}

static void capture_print(struct capture_ladder *c, struct capture_file *f)
{
	struct ladder_step s;
	struct capture_pkt p;
	struct roce_pkt r;

	capture_first_pass(c, f);
	ladder_head(&c->l);
	capture_file_rewind(f);
	while (capture_next(c, f, &p, &r)) {
		step_of(c, &p, &r, &s);
		ladder_step(&c->l, &s);
	}
	ladder_end(&c->l);
}

static int capture_ladder_print(const struct opts *o, const char *path)
{
	struct capture_ladder c = { .o = o };
	struct capture_file f;
	int ret = capture_file_open(&f, path);

	if (ret) {
		print_error("trace ladder: %s: %s", path,
			    ret == -EBADMSG ? "expected a capture, pcap or pcapng"
					    : strerror(-ret));
		return EXIT_USAGE;
	}
	c.host = calloc(CAPTURE_HOSTS, sizeof(*c.host));
	if (c.host) {
		ladder_init(&c.l, stdout, o);
		capture_print(&c, &f);
		if (!c.l.steps)
			print_error("trace ladder: %s: no RDMA packet%s", path,
				    o->qpn ? " of that queue pair" : "");
		if (f.cut)
			print_error("trace ladder: %s ends within a packet", path);
	} else {
		ret = print_error("trace ladder: %s", strerror(ENOMEM));
	}
	free(c.host);
	capture_file_close(&f);
	return ret ? EXIT_USAGE : 0;
}

int verb_trace_ladder(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)p;
	if (argc == 1)
		return capture_ladder_print(o, argv[0]);
	print_error("trace ladder: expected one capture; see 'rdmaemu trace ladder --help'");
	return EXIT_USAGE;
}
