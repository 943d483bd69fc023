/* SPDX-License-Identifier: MIT */
/**
 * DOC: the frames of a capture, all of them in memory.
 *
 * PSNs are counted from the first of the connection, in each direction: the connections of
 * fault_try/connection.h have it. A malformed frame, which those do not understand, counts from the
 * first frame to the same QP.
 */
#include "emulator/ib.h"
#include "emulator/engine.h"
#include "emulator/av.h"
#include "fabric/cli/inject/tool.h"
#include "fabric/cli/fault_try/connection.h"
#include "fabric/common/pcap_library.h"

#include <stdio.h>
#include <stdlib.h>

#define GUESSES 256u /* frames to search for the first of a flow */

static int inject_file_error(const struct inject_file *f, const char *what)
{
	return print_error("replay: %s: %s", f->path, what);
}

static int inject_file_add_frame(struct inject_file *f, u32 link, const struct pcap_pkthdr *h,
				 const u8 *bytes, size_t *used)
{
	struct inject_frame *fr = &f->frame[f->n];

	if (h->caplen != h->len)
		return print_error("replay: %s: frame %u: expected all of it, but only %u of %u "
				   "bytes were captured",
				   f->path, f->n + 1, h->caplen, h->len);
	if (f->n == INJECT_FRAMES || h->caplen > INJECT_BYTES - *used)
		return print_error("replay: %s: expected at most %u frames of %u MiB together",
				   f->path, INJECT_FRAMES, INJECT_BYTES >> 20);
	memcpy(f->bytes + *used, bytes, h->caplen);
	*fr = (struct inject_frame){ .link = link, .len = h->caplen, .bytes = f->bytes + *used };
	*used += h->caplen;
	fr->parsed = roce_parse(link, fr->bytes, fr->len, fr->len, &fr->pkt);
	if (f->first == ~0u && fr->parsed != -ENOMSG)
		f->first = f->n;
	f->n++;
	return 0;
}

static int inject_file_read_frames(struct inject_file *f, const struct pcap_library *pcap,
				   pcap_t *in)
{
	u32 link = (u32)pcap->datalink(in);
	struct pcap_pkthdr *h;
	const u8 *bytes;
	size_t used = 0;
	int ret;

	if (!roce_link_known(link))
		return print_error("replay: %s: link type %u: expected Ethernet, Linux cooked, IP, "
				   "InfiniBand or ERF",
				   f->path, link);
	while ((ret = pcap->next_ex(in, &h, &bytes)) == 1)
		if (inject_file_add_frame(f, link, h, bytes, &used))
			return -1;
	if (ret != PCAP_ERROR_BREAK)
		return print_error("replay: %s: after frame %u: %s", f->path, f->n,
				   pcap->geterr(in));
	return f->first == ~0u ? inject_file_error(f, "expected RDMA packets, but it has none") : 0;
}

/* --- PSNs ----------------------------------------------------------------------------------- */

/* Compare two frames whose headers name their flow, at least. */
static bool inject_is_same_flow(const struct roce_pkt *a, const struct roce_pkt *b)
{
	return a->dqpn == b->dqpn && !memcmp(a->sgid, b->sgid, 16) &&
	       !memcmp(a->dgid, b->dgid, 16) && a->slid == b->slid && a->dlid == b->dlid &&
	       roce_is_response(a->opcode) == roce_is_response(b->opcode);
}

static u32 inject_file_guess_psn(const struct inject_file *f, u32 i)
{
	u32 k = 0, end = min_u32(i, GUESSES);

	while (k < end && (f->frame[k].parsed == -ENOMSG ||
			   !inject_is_same_flow(&f->frame[k].pkt, &f->frame[i].pkt)))
		k++;
	if (k == end)
		return 0;
	return (f->frame[i].pkt.psn - f->frame[k].pkt.psn + f->frame[k].rel) & IB_PSN_MASK;
}

static int inject_file_find_psns(struct inject_file *f)
{
	struct trace_conns *t = trace_conns_make(TRACE_FLOWS);
	struct fault_pkt known;
	struct trace_pkt p;
	u32 i, pass;
	int ret = t ? 0 : inject_file_error(f, strerror(ENOMEM));

	for (pass = 0; pass < 2 && !ret; pass++) {
		for (i = 0; i < f->n && !ret; i++) {
			struct inject_frame *fr = &f->frame[i];
			bool good = trace_frame_parse(fr->link, fr->bytes, fr->len, fr->len, &p) ==
				    TRACE_RDMA;

			if (good && !pass && trace_conns_learn(t, i, &p))
				ret = print_error("replay: %s: frame %u: expected at most %u "
						  "addresses and %u flows between them",
						  f->path, i + 1, TRACE_NODES, TRACE_FLOWS);
			if (!pass)
				continue;
			if (good && trace_conns_look(t, i, &p, &known))
				fr->rel = known.rel;
			else if (fr->parsed != -ENOMSG)
				fr->rel = inject_file_guess_psn(f, i);
		}
		if (!pass && !ret)
			trace_conns_settle(t);
	}
	trace_conns_free(t);
	return ret;
}

/* --- keys ----------------------------------------------------------------------------------- */

static void inject_file_note_key(struct inject_file *f, const struct roce_pkt *p)
{
	u32 i;

	if (!p->rkey)
		return;
	for (i = 0; i < f->n_keys && f->key[i].rkey != p->rkey; i++)
		;
	if (i == INJECT_KEYS)
		return;
	if (i == f->n_keys)
		f->key[f->n_keys++] = (struct inject_region){ p->rkey, p->va };
	if (p->va < f->key[i].va)
		f->key[i].va = p->va;
}

bool inject_is_multicast(const struct roce_pkt *p)
{
	return p->opcode >> 5 == ROCE_UD &&
	       (p->net == ROCE_IB ? p->dlid >= HCA_LIDS : gid_is_mcast(p->dgid));
}

/* An InfiniBand port may send with a GRH to some peers and without one to others. */
bool inject_is_peer_frame(const struct inject_file *f, u32 i)
{
	const struct roce_pkt *first = &f->frame[f->first].pkt, *p = &f->frame[i].pkt;

	if (f->frame[i].parsed == -ENOMSG || p->slid != first->slid)
		return false;
	return p->net == ROCE_IB || first->net == ROCE_IB || !memcmp(p->sgid, first->sgid, 16);
}

/* Find the keys, the Q_Key and the group that the played peer uses. */
static void inject_file_find_keys(struct inject_file *f)
{
	const struct roce_pkt *p;
	u32 i;

	for (i = 0; i < f->n; i++) {
		p = &f->frame[i].pkt;
		if (f->frame[i].parsed || !inject_is_peer_frame(f, i))
			continue;
		if (roce_headers(p->opcode) & (ROCE_RETH | ROCE_ATOMICETH))
			inject_file_note_key(f, p);
		if (p->dqpn == GSI_QPN)
			continue;
		if (!f->qkey)
			f->qkey = p->qkey;
		if (!f->group && inject_is_multicast(p))
			f->group = p;
		if (!f->srqn)
			f->srqn = p->srqn;
	}
}

int inject_file_load(struct inject_file *f, const char *path)
{
	char err[PCAP_ERRBUF_SIZE] = "";
	struct pcap_library pcap;
	pcap_t *in;
	int ret;

	*f = (struct inject_file){ .path = path, .first = ~0u };
	if (pcap_library_load(&pcap, err))
		return print_error("replay: %s: %s", path, err);
	in = pcap.open_offline(path, err);
	if (!in && !strncmp(err, path, strlen(path)))
		return print_error("replay: %s", err);
	if (!in)
		return print_error("replay: %s: expected a capture, pcap or pcapng: %s", path, err);
	/* Pages are touched only as far as frames fill them. */
	f->frame = calloc(INJECT_FRAMES, sizeof(*f->frame));
	f->bytes = malloc(INJECT_BYTES);
	if (!f->frame || !f->bytes) {
		pcap.close(in);
		return inject_file_error(f, strerror(ENOMEM));
	}
	ret = inject_file_read_frames(f, &pcap, in);
	pcap.close(in);
	if (!ret)
		ret = inject_file_find_psns(f);
	if (!ret)
		inject_file_find_keys(f);
	return ret;
}

void inject_file_free(struct inject_file *f)
{
	free(f->frame);
	free(f->bytes);
}
