/* SPDX-License-Identifier: MIT */
/* Samples of a fabric: see top.h. */
#include "fabric/cli/top/top.h"
#include "fabric/common/json.h"
#include "fabric/common/text_io.h"
#include "fabric/proto/real_time.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const counter_keys[TOP_COUNTERS] = {
	[TOP_TX_BYTES] = "xmit_bytes",	   [TOP_RX_BYTES] = "rcv_bytes",
	[TOP_TX_PACKETS] = "xmit_packets", [TOP_RX_PACKETS] = "rcv_packets",
	[TOP_RETRIES] = "retransmissions", [TOP_RNR] = "rcvd_rnr_err",
};

void top_text(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = (char)(from[i] >= ' ' && from[i] <= '~' ? from[i] : '?');
	to[i] = '\0';
}

int top_connect(struct top_source *s, const struct fabric_paths *p, const char *name)
{
	struct top_fabric *f = &s->fabric[s->n_fabrics];

	f->sock = ctl_connect(p->sock);
	if (f->sock < 0)
		return f->sock;
	if (!s->n_fabrics)
		snprintf(s->sock_path, sizeof(s->sock_path), "%s", p->sock);
	top_text(f->name, sizeof(f->name), name);
	s->n_fabrics++;
	return 0;
}

void top_disconnect(struct top_source *s)
{
	u32 i;

	for (i = 0; i < s->n_fabrics; i++)
		if (s->fabric[i].sock >= 0)
			close(s->fabric[i].sock);
}

/* Ask for text, by m->op. Return: the text, which the caller unmaps, or NULL with *@err set. */
static char *fabric_ask(struct top_fabric *f, struct proto_msg *m, size_t *len, int *err)
{
	char *text;
	int fd = -1;

	m->flags |= PROTO_F_JSON;
	memcpy(m->member, f->member, sizeof(f->member));
	*err = ctl_call(f->sock, m, &fd);
	if (!*err && fd < 0)
		*err = -EPROTO;
	if (*err)
		return NULL;
	*len = 0;
	text = memfd_map(fd, len);
	close(fd);
	return text;
}

static struct json_object *fabric_ask_json(struct top_fabric *f, u32 op, int *err)
{
	struct proto_msg m = { .op = op };
	struct json_tokener *tok;
	struct json_object *o;
	size_t len;
	char *text = fabric_ask(f, &m, &len, err);

	if (*err)
		return NULL;
	tok = json_tokener_new();
	o = text && tok ? json_tokener_parse_ex(tok, text, (int)len) : NULL;
	json_tokener_free(tok);
	if (text)
		munmap(text, len);
	if (!o)
		*err = -EPROTO;
	return o;
}

/* --- queue pairs ------------------------------------------------------------------------------ */

static int qp_compare(const void *a, const void *b)
{
	const struct top_qp *x = a, *y = b;

	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return x->qpn < y->qpn ? -1 : x->qpn > y->qpn;
}

static void qp_set_rates(struct top_qp *qp, const struct top_sample *before, double seconds)
{
	const struct top_qp *old;
	u32 i;

	if (!before || seconds <= 0 || !before->n_qps)
		return;
	old = bsearch(qp, before->qp, before->n_qps, sizeof(*qp), qp_compare);
	for (i = 0; old && i < TOP_COUNTERS; i++)
		if (qp->count[i] > old->count[i])
			qp->rate[i] = (double)(qp->count[i] - old->count[i]) / seconds;
}

static void qp_read_cq(struct top_qp *qp, struct json_object *o, struct json_object *cqs)
{
	u64 number = json_get_int(o, "recv_cq");
	struct json_object *cq;
	size_t i;

	for (i = 0; number && i < json_length(cqs); i++) {
		cq = json_object_array_get_idx(cqs, i);
		if (json_get_int(cq, "cq") != number)
			continue;
		qp->cq_used = json_get_int(cq, "entries");
		qp->cq_depth = json_get_int(cq, "depth");
		return;
	}
}

static void qp_read(struct top_qp *qp, struct json_object *o, struct json_object *cqs)
{
	struct json_object *counters = json_object_object_get(o, "counters");
	char peer[TOP_TEXT * 2] = "";
	u32 i;

	qp->qpn = (u32)json_get_int(o, "qpn");
	qp->pid = json_get_int(o, "pid");
	top_text(qp->node, sizeof(qp->node), json_get_str(o, "node"));
	top_text(qp->program, sizeof(qp->program), json_get_str(o, "name"));
	top_text(qp->type, sizeof(qp->type), json_get_str(o, "type"));
	top_text(qp->state, sizeof(qp->state), json_get_str(o, "state"));
	if (json_get_int(o, "peer_qpn"))
		snprintf(peer, sizeof(peer), "0x%06x %.40s", (u32)json_get_int(o, "peer_qpn"),
			 json_get_str(o, "peer_name"));
	top_text(qp->peer, sizeof(qp->peer), peer);
	for (i = 0; i < TOP_COUNTERS; i++)
		qp->count[i] = json_get_int(counters, counter_keys[i]);
	qp->in_flight = json_get_int(o, "in_flight");
	qp_read_cq(qp, o, cqs);
}

/* Add the queue pairs of fabric @nth. Return: 0 or -ENOMEM. */
static int sample_add_qps(struct top_sample *s, const struct top_source *source, u32 nth,
			  struct json_object *status)
{
	struct json_object *qps = json_object_object_get(status, "qps");
	struct json_object *cqs = json_object_object_get(status, "cqs");
	size_t i, n = json_length(qps);
	struct top_qp *more = realloc(s->qp, (s->n_qps + n + 1) * sizeof(*more)), *qp;

	if (!more)
		return -ENOMEM;
	s->qp = more;
	for (i = 0; i < n; i++) {
		qp = &s->qp[s->n_qps++];
		*qp = (struct top_qp){ .nth = nth };
		snprintf(qp->fabric, sizeof(qp->fabric), "%s", source->fabric[nth].name);
		qp_read(qp, json_object_array_get_idx(qps, i), cqs);
	}
	return 0;
}

static void sample_set_rates(struct top_sample *s, const struct top_sample *before)
{
	double seconds = before ? (double)(s->at - before->at) / 1e9 : 0;
	u32 i, k;

	qsort(s->qp, s->n_qps, sizeof(*s->qp), qp_compare);
	for (i = 0; i < s->n_qps; i++) {
		qp_set_rates(&s->qp[i], before, seconds);
		for (k = 0; k < TOP_COUNTERS; k++)
			s->rate[k] += s->qp[i].rate[k];
	}
	if (before && s->dropped > before->dropped && seconds > 0)
		s->dropped_rate = (double)(s->dropped - before->dropped) / seconds;
}

/* --- the rest of the status ------------------------------------------------------------------- */

static u64 sample_count(struct json_object *o, const char *key)
{
	return json_length(json_object_object_get(o, key));
}

/* Nodes of members are no nodes of the fabric itself. */
static u64 sample_count_nodes(struct json_object *status)
{
	struct json_object *nodes = json_object_object_get(status, "nodes");
	u64 n = 0;
	size_t i;

	for (i = 0; i < json_length(nodes); i++)
		n += !json_object_object_get(json_object_array_get_idx(nodes, i), "member");
	return n;
}

static void sample_read_engine(struct top_sample *s, struct json_object *engine)
{
	const char *holder = json_get_str(engine, "holder");
	char text[TOP_LINE];

	if (!strcmp(holder, "client"))
		snprintf(text, sizeof(text), "in %.16s[%s]%s", json_get_str(engine, "name"),
			 json_get_str(engine, "pid"),
			 json_get_int(engine, "stopped") ? ", STOPPED" : "");
	else
		snprintf(text, sizeof(text), "%.16s", !strcmp(holder, "none") ? "free" : holder);
	top_text(s->engine, sizeof(s->engine), text);
}

static void sample_add_fabric(struct top_sample *s, const struct top_fabric *f,
			      struct json_object *status)
{
	size_t n = strlen(s->fabric);
	u64 uptime_ms = json_get_int(status, "uptime_ms");

	if (!s->n_fabrics++)
		sample_read_engine(s, json_object_object_get(status, "engine"));
	snprintf(s->fabric + n, sizeof(s->fabric) - n, "%s", n ? ", " : "");
	n = strlen(s->fabric);
	top_text(s->fabric + n, sizeof(s->fabric) - n,
		 f->member[0] ? f->member : json_get_str(status, "fabric"));
	s->uptime_ms = uptime_ms > s->uptime_ms ? uptime_ms : s->uptime_ms;
}

static void sample_add_head(struct top_sample *s, const struct top_fabric *f,
			    struct json_object *status)
{
	struct json_object *devices = json_object_object_get(status, "devices"), *ports, *clients,
			   *c;
	size_t i, k;

	sample_add_fabric(s, f, status);
	s->nodes += sample_count_nodes(status);
	s->programs += sample_count(status, "clients");
	s->members += f->member[0] ? 0 : sample_count(status, "members");
	for (i = 0; i < json_length(devices); i++) {
		ports = json_object_object_get(json_object_array_get_idx(devices, i), "ports");
		for (k = 0; k < json_length(ports); k++)
			s->dropped += json_get_int(
				json_object_object_get(json_object_array_get_idx(ports, k),
						       "counters"),
				"dropped");
	}
	clients = json_object_object_get(status, "clients");
	for (i = 0; i < json_length(clients); i++) {
		c = json_object_array_get_idx(clients, i);
		s->memory += json_get_int(c, "mr_bytes");
		s->lent += json_get_int(json_object_object_get(c, "lent"), "bytes");
	}
}

/* --- rules and journal ------------------------------------------------------------------------ */

static int fault_compare(const void *a, const void *b)
{
	const struct top_fault *x = a, *y = b;

	return x->hits < y->hits ? 1 : x->hits > y->hits ? -1 : 0;
}

/* The rules with the most hits. */
static void sample_add_faults(struct top_sample *s, struct json_object *root)
{
	struct json_object *all = json_object_object_get(root, "faults"), *rule;
	struct top_fault f;
	size_t i;

	s->n_rules += (u32)json_length(all);
	for (i = 0; i < json_length(all); i++) {
		rule = json_object_array_get_idx(all, i);
		f = (struct top_fault){ .seen = json_get_int(rule, "seen"),
					.hits = json_get_int(rule, "hits") };
		top_text(f.name, sizeof(f.name), json_get_str(rule, "name"));
		top_text(f.rule, sizeof(f.rule), json_get_str(rule, "rule"));
		if (s->n_faults < TOP_FAULTS)
			s->fault[s->n_faults++] = f;
		else if (f.hits > s->fault[TOP_FAULTS - 1].hits)
			s->fault[TOP_FAULTS - 1] = f;
		qsort(s->fault, s->n_faults, sizeof(f), fault_compare);
	}
}

static void sample_add_entry(struct top_source *s, struct json_object *entry)
{
	struct json_object *who = json_object_object_get(entry, "who");
	const char *status = json_get_str(entry, "status"), *name = json_get_str(who, "name");
	char text[TOP_LINE];

	if (s->n_journal == TOP_JOURNAL)
		memmove(s->journal[0], s->journal[1], sizeof(s->journal) - sizeof(s->journal[0]));
	else
		s->n_journal++;
	snprintf(text, sizeof(text), "%10.3f %s%s%.32s%s%.400s",
		 (double)json_get_int(entry, "ts") / 1e9, status, *status ? " " : "", name,
		 *name ? ": " : "", json_get_str(entry, "text"));
	top_text(s->journal[s->n_journal - 1], TOP_LINE, text);
}

/* Entries since the sample before. Return: 0 or -errno. */
static int source_read_journal(struct top_source *s, struct top_fabric *f)
{
	struct proto_msg m = { .op = PROTO_LOG, .flags = PROTO_F_LINES, .log = f->log };
	char *text, *copy, *rest, *line;
	struct json_object *entry;
	size_t len;
	int err;

	m.log.floods = UINT64_MAX; /* each entry comes once */
	text = fabric_ask(f, &m, &len, &err);
	if (err)
		return err;
	f->log = m.log;
	copy = rest = text ? strndup(text, len) : NULL;
	while ((line = strsep(&rest, "\n")) && *line) {
		entry = json_tokener_parse(line);
		if (entry)
			sample_add_entry(s, entry);
		json_object_put(entry);
	}
	free(copy);
	if (text)
		munmap(text, len);
	return 0;
}

/*
 * Add what fabric @nth answers. Nothing is added unless it has answered all questions. Return: 0 or
 * -errno.
 */
static int sample_add(struct top_source *s, u32 nth, struct top_sample *new)
{
	struct top_fabric *f = &s->fabric[nth];
	struct json_object *status, *faults = NULL;
	int err;

	status = fabric_ask_json(f, PROTO_STATUS, &err);
	if (!err)
		faults = fabric_ask_json(f, PROTO_FAULT_LIST, &err);
	if (!err)
		err = source_read_journal(s, f);
	if (!err) {
		sample_add_head(new, f, status);
		sample_add_faults(new, faults);
		err = sample_add_qps(new, s, nth, status);
	}
	if (!err && !nth && s->o->joined)
		top_members_find(s, status);
	json_object_put(status);
	json_object_put(faults);
	return err;
}

/* Members end with the fabric that asks them. */
static bool source_is_over(const struct top_source *s)
{
	u32 i;

	for (i = 0; i < s->n_fabrics; i++)
		if (s->fabric[i].sock >= 0 && !s->fabric[i].member[0])
			return false;
	return true;
}

int top_sample_take(struct top_source *s, struct top_sample *new, const struct top_sample *before)
{
	struct top_fabric *f;
	int err = 0;
	u32 i;

	*new = (struct top_sample){ .at = real_ns() };
	for (i = 0; i < s->n_fabrics && !err; i++) {
		f = &s->fabric[i];
		if (f->sock < 0)
			continue;
		err = sample_add(s, i, new);
		if (top_member_is_away(f, err))
			err = 0;
		if (err != -EPIPE)
			continue;
		/* The others go on without it. */
		close(f->sock);
		f->sock = -1;
		err = 0;
	}
	if (!err && (!new->n_fabrics || source_is_over(s)))
		err = -EPIPE;
	if (!err)
		sample_set_rates(new, before);
	memcpy(new->journal, s->journal, sizeof(new->journal));
	new->n_journal = s->n_journal;
	return err;
}

void top_sample_free(struct top_sample *s)
{
	free(s->qp);
	s->qp = NULL;
	s->n_qps = 0;
}
