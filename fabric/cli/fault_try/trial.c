/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu fault try`: which packets of a captured trace rules would hit.
 *
 * Theory of operation
 * -------------------
 * The matcher of the fabric process evaluates the rules, and it needs a fabric. So one is made
 * whose nodes are the addresses of the trace and whose clock is that of the trace, and in which
 * nothing happens. The file is read twice, see connection.h:
 *
 * 1. for its connections and nodes;
 * 2. to match each packet with the rules, in the order of fabric/fault/tx.c.
 *
 * The file may come from anywhere: libpcap checks its own lengths, traces/formats/roce.h those of
 * packets.
 */
#include "fabric/cli/fault_try/trial.h"
#include "fabric/cli/cli.h"
#include "fabric/common/pcap_library.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/parse.h"
#include "fabric/fault/table.h"
#include "fabric/fault/keys.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIME_END 1000000000u /* s; a longer trace counts as that long */

static u64 trial_now(void *ctx)
{
	return ((struct trial *)ctx)->now;
}

/* --- rules ---------------------------------------------------------------------------------- */

/* NULL, or why a trace cannot show what the rule hits. */
static const char *trial_rule_refusal(const struct fault_rule *r)
{
	static const struct {
		u64 keys;
		const char *why;
	} keys[] = {
		{ KEY(PROGRAM), "program=: a trace does not say whose its packets are" },
		{ KEY(PID), "pid=: a trace does not say whose its packets are" },
		{ KEY(DEVICE), "device=: a trace has addresses only" },
		{ KEY(PORT), "port=: a trace has addresses only" },
		{ KEY(WR_ID), "wr_id=: a trace has no work requests" },
	};
	size_t i;

	if (r->on == FAULT_ON_CALL)
		return "it is about calls, and a trace has none";
	if (r->on == FAULT_ON_WR)
		return "it is about work requests, and a trace has none";
	if (r->on == FAULT_ON_CQ)
		return "it is about completion queues, and a trace has none";
	if (r->on == FAULT_ON_TIME && !r->triggered)
		return "it waits for no packet, only for its time";
	if (r->on == FAULT_ON_STATE && r->act != FA_PARTITION)
		return "it is about no packets";
	/* For an event, a link or a process these keys name its target. */
	for (i = 0; i < ARRAY_SIZE(keys) && r->on == FAULT_ON_WIRE; i++)
		if (r->has & keys[i].keys)
			return keys[i].why;
	return NULL;
}

static int trial_rule_add(void *ctx, const char *text, u32 line)
{
	struct trial *t = ctx;
	struct faults *all = t->fabric.faults;
	struct fault_rule rule, *r;
	const char *why;
	int ret = fault_parse(&rule, text, &t->refusal);

	if (ret)
		return ret;
	if (rule.name[0] && fault_rule_find(all, rule.name, 0))
		return fault_refuse(&t->refusal, rule.name, "a name that no other rule has");
	if (t->s->file)
		snprintf(rule.place, sizeof(rule.place), "%.240s:%u", t->s->file, line);
	/* scenario.c has checked their number. */
	r = fault_rule_insert(&t->fabric, &rule);
	all->n++;
	why = trial_rule_refusal(r);
	if (!why)
		return 0;
	print_error("fault try: %s: cannot be tried: %s", fault_rule_text(&t->fabric, r->id), why);
	t->refused++;
	return 0;
}

/* Return: 0, or -1 after a line on stderr for each rule that cannot be tried. */
static int trial_rules_read(struct trial *t, const struct scenario *s)
{
	u32 line = 0;

	t->s = s;
	if (!fault_parse_lines(s->text, s->len, &t->refusal, &line, trial_rule_add, t))
		return t->refused ? -1 : 0;
	if (s->file)
		return print_error("%s:%u: '%s': expected %s", s->file, line, t->refusal.word,
				   t->refusal.expected);
	return print_error("fault try: '%s': expected %s", t->refusal.word, t->refusal.expected);
}

/* --- the file ------------------------------------------------------------------------------- */

/* First the rules of fault/tx.c for a packet that leaves, then those for one that arrives. */
static void trial_packet_match(struct trial *t, const struct fault_pkt *p)
{
	struct fabric *f = &t->fabric;
	struct fault_rule *r;
	bool dropped = false;
	u32 i, at = 0;

	for (i = 0; i < f->faults->high; i++) {
		r = &f->faults->rule[i];
		if (r->act == FA_PARTITION)
			r->state = fault_rule_is_open(f, r);
		if (r->triggered && fault_rule_is_on_pkt(f, r, p) &&
		    fault_rule_count(f, r, fault_pkt_key(p)))
			trial_print_hit(t, p, r);
	}
	r = fault_match_cut(f, p);
	if (r) {
		dropped = true;
		trial_print_hit(t, p, r);
	}
	while ((r = fault_match_wire(f, p, FAULT_ACTS_SEND, &at))) {
		dropped |= r->act == FA_DROP;
		trial_print_hit(t, p, r);
	}
	for (at = 0; !dropped && (r = fault_match_wire(f, p, FAULT_ACTS_ARRIVAL, &at));)
		trial_print_hit(t, p, r);
}

static int trial_frame_learn(struct trial *t, const struct trace_pkt *p)
{
	if (trace_conns_learn(t->conns, t->frames, p))
		return print_error("fault try: %s: frame %llu: expected at most %u addresses and "
				   "%u flows between them",
				   t->file, (unsigned long long)t->frames, TRACE_NODES,
				   TRACE_FLOWS);
	return 0;
}

static void trial_frame_match(struct trial *t, const struct trace_pkt *p)
{
	struct hca *hca = t->fabric.hca;
	struct fault_pkt pkt;

	/* A file that is being written may have new addresses by now. */
	if (!trace_conns_look(t->conns, t->frames, p, &pkt) || pkt.src.dev >= hca->n_devs ||
	    pkt.dst.dev >= hca->n_devs)
		return;
	pkt.src.node = hca->dev[pkt.src.dev].node;
	pkt.dst.node = hca->dev[pkt.dst.dev].node;
	trial_packet_match(t, &pkt);
}

static void trial_time_set(struct trial *t, const struct timeval *tv)
{
	u64 s, ns = (u64)tv->tv_usec % NSEC_PER_SEC;

	if (t->frames == 1)
		t->start = *tv;
	s = (u64)tv->tv_sec - (u64)t->start.tv_sec;
	if (tv->tv_sec < t->start.tv_sec)
		s = ns = 0;
	s = s < TIME_END ? s : TIME_END;
	ns += s * NSEC_PER_SEC;
	s = (u64)t->start.tv_usec % NSEC_PER_SEC;
	t->now = ns > s ? ns - s : 0;
}

/* Return: 0, or -1 after one line on stderr. */
static int trial_frames_read(struct trial *t, const struct pcap_library *pcap, pcap_t *in,
			     bool learn)
{
	u32 link = (u32)pcap->datalink(in);
	struct pcap_pkthdr *h;
	struct trace_pkt p;
	const u8 *bytes;
	int ret;

	t->frames = t->packets = t->bad = 0;
	while ((ret = pcap->next_ex(in, &h, &bytes)) == 1) {
		t->frames++;
		trial_time_set(t, &h->ts);
		switch (trace_frame_parse(link, bytes, h->caplen, h->len, &p)) {
		case TRACE_OTHER:
			continue;
		case TRACE_BAD:
			t->bad++;
			continue;
		case TRACE_RDMA:
			break;
		}
		t->packets++;
		if (!learn)
			trial_frame_match(t, &p);
		else if (trial_frame_learn(t, &p))
			return -1;
	}
	/* The second reading reports it. */
	if (ret == PCAP_ERROR_BREAK || learn)
		return 0;
	return print_error("fault try: %s: after frame %llu: %s", t->file,
			   (unsigned long long)t->frames, pcap->geterr(in));
}

/* Return: 0 or -1 after a line on stderr. */
static int trial_file_read(struct trial *t, bool learn)
{
	char err[PCAP_ERRBUF_SIZE] = "";
	struct pcap_library pcap;
	pcap_t *in;
	FILE *file;
	int ret;

	if (pcap_library_load(&pcap, err))
		return print_error("fault try: %s: %s", t->file, err);
	file = fopen(t->file, "rbe");
	if (!file)
		return print_error("fault try: %s: %s", t->file, strerror(errno));
	if (fseek(file, 0, SEEK_END) || fseek(file, 0, SEEK_SET)) {
		fclose(file);
		return print_error("fault try: %s: expected a file, which is read twice", t->file);
	}
	in = pcap.fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, err);
	if (!in) {
		fclose(file);
		return print_error("fault try: %s: expected a capture, pcap or pcapng: %s", t->file,
				   err);
	}
	if (roce_link_known((u32)pcap.datalink(in)))
		ret = trial_frames_read(t, &pcap, in, learn);
	else
		ret = print_error("fault try: %s: link type %d: expected Ethernet, Linux cooked, "
				  "IP, InfiniBand or ERF",
				  t->file, pcap.datalink(in));
	pcap.close(in);
	return ret;
}

/* --- the verb ------------------------------------------------------------------------------- */

static int trial_fabric_make(struct trial *t)
{
	struct fabric *f = &t->fabric;

	t->conns = trace_conns_make(TRACE_FLOWS);
	f->hca = mmap(NULL, sizeof(struct hca), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!t->conns || f->hca == MAP_FAILED || fault_table_make(f))
		return print_error("%s", strerror(ENOMEM));
	f->hca->seed = t->o->seed;
	t->ops.now = trial_now;
	f->engine.hca = f->hca;
	f->engine.ops = &t->ops;
	f->engine.ctx = t;
	return 0;
}

static int trial_file_run(struct trial *t)
{
	int ret;

	t->file = t->o->trace;
	if (trial_file_read(t, true))
		return 1;
	trace_conns_settle(t->conns);
	ret = trial_nodes_make(t);
	if (ret)
		return print_error("fault try: %s: nodes: %s", t->file, strerror(-ret)) ? 1 : 0;
	if (trial_nodes_check(t))
		return 1;
	if (t->o->json)
		printf("{\"hits\": [");
	ret = trial_file_read(t, false) ? 1 : 0;
	return trial_print_summary(t) ? 1 : ret;
}

int verb_fault_try(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	static struct trial t;
	struct scenario s = { 0 };
	int ret;

	(void)p;
	if (!o->trace[0]) {
		print_error("fault try: expected --trace FILE; see 'rdmaemu fault try --help'");
		return EXIT_USAGE;
	}
	ret = scenario_from_args(&s, "fault try", o, argc, argv);
	if (ret)
		return ret;
	t.o = o;
	if (trial_names_parse(&t))
		ret = EXIT_USAGE;
	else
		ret = trial_fabric_make(&t)			       ? 1
		      : trial_rules_read(&t, &s) || trial_file_run(&t) ? EXIT_USAGE
								       : 0;
	if (t.fabric.faults)
		free(t.fabric.faults);
	trace_conns_free(t.conns);
	scenario_free(&s);
	return ret;
}
