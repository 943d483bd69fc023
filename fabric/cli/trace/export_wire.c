/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets of an export that tell why work takes long: NAKs, RNR NAKs, and packets that did not
 * arrive, with the rule that has dropped them. `rdmaemu record --capture` has captured them.
 *
 * A NAK is an instant of the requester, which it was sent to; a packet that was lost is one of the
 * queue pair that has sent it, where that is in the trace, or else of the one that lacks it. The
 * capture has the fabric's time: without it (fabric_time.c) an export has no packets.
 */
#include "fabric/cli/trace/export.h"
#include "fabric/cli/trace/chrome.h"
#include "fabric/cli/trace/fabric_time.h"
#include "traces/formats/capture_file.h"
#include "traces/formats/roce.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIRE_NOTE 512u

/** struct wire_end - a queue pair of the export. */
struct wire_end {
	const struct export_program *p;
	u32 ordinal;
};

/* The only queue pair that has a number, or whose peer has it. Return: whether there is one. */
static bool wire_find(const struct export *x, u32 qpn, bool peer, struct wire_end *end)
{
	const struct export_qp *qp;
	u32 i, k, found = 0;

	for (i = 0; qpn && i < x->n_progs; i++)
		for (k = 1; k < x->prog[i].n_qps; k++) {
			qp = &x->prog[i].qp[k];
			if (!qp->num || (peer ? qp->dest : qp->num) != qpn)
				continue;
			*end = (struct wire_end){ &x->prog[i], k };
			found++;
		}
	return found == 1;
}

static bool wire_is_nak(const struct roce_pkt *r)
{
	return roce_headers(r->opcode) & ROCE_AETH && (r->opcode & 31) == ROCE_ACK &&
	       roce_is_nak(r->syndrome);
}

static void wire_print(struct export *x, const struct wire_end *end, const struct capture_pkt *p,
		       const struct roce_pkt *r, bool lost)
{
	struct chrome_at at = { end->p->p->num, EXPORT_TID_QP + end->ordinal, 0 };
	char note[WIRE_NOTE];
	struct hca_clock clock;
	u64 real;

	if (!trace_fabric_time_read(end->p->p, &clock))
		return;
	real = hca_clock_real_at(&clock, p->ns, 0);
	/* Traffic of programs that are not in the trace. */
	if (real < x->begin || real == ~0ULL)
		return;
	at.ns = real - x->begin;
	chrome_begin(x->out, 'i', "wire", lost ? "lost" : roce_syndrome_name(r->syndrome), &at);
	chrome_member(x->out, "s", "t");
	chrome_arg_hex(x->out, "psn", r->psn);
	chrome_arg(x->out, "opcode", r->opcode);
	if (p->comment) {
		snprintf(note, sizeof(note), "%.*s", (int)min_u32(p->comment_len, WIRE_NOTE - 1),
			 p->comment);
		chrome_arg_text(x->out, "why", note);
	}
	chrome_end(x->out);
}

static void wire_packet(struct export *x, const struct capture_pkt *p)
{
	bool lost = !strcmp(p->iface, "dropped");
	struct wire_end end;
	struct roce_pkt r;

	if (!roce_link_known(p->link) || roce_parse(p->link, p->frame, p->caplen, p->len, &r) ||
	    (!lost && !wire_is_nak(&r)))
		return;
	if ((lost && wire_find(x, r.dqpn, true, &end)) || wire_find(x, r.dqpn, false, &end))
		wire_print(x, &end, p, &r, lost);
}

void export_wire(struct export *x, const char *dir)
{
	struct capture_file f;
	struct capture_pkt p;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/wire.pcapng", dir) >= (int)sizeof(path) ||
	    access(path, R_OK) || capture_file_open(&f, path))
		return;
	while (capture_file_next(&f, &p))
		wire_packet(x, &p);
	capture_file_close(&f);
}
