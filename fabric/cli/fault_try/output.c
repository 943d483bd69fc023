/* SPDX-License-Identifier: MIT */
/* What `rdmaemu fault try` prints. */
#include "fabric/cli/fault_try/trial.h"
#include "fabric/cli/cli.h"
#include "fabric/common/json.h"
#include "fabric/common/text_io.h"
#include "fabric/fault/parse.h"
#include "fabric/fault/table.h"

#include <json-c/json.h>

static void trial_endpoint_text(const struct trial *t, const struct fault_end *e, char *out,
				size_t size)
{
	const char *name = t->fabric.hca->node[e->node].name;

	if (e->qpn == TRACE_QP_UNKNOWN)
		snprintf(out, size, "%s qp=?", name);
	else
		snprintf(out, size, "%s qp=%u", name, e->qpn);
}

static struct json_object *trial_endpoint_json(const struct trial *t, const struct fault_end *e)
{
	struct json_object *o = json_object_new_object();
	char addr[INET6_ADDRSTRLEN];

	trial_addr_text(trace_conns_node(t->conns, e->dev), addr);
	json_object_object_add(o, "node",
			       json_object_new_string(t->fabric.hca->node[e->node].name));
	json_add_str(o, "address", addr);
	if (e->qpn != TRACE_QP_UNKNOWN)
		json_add_int(o, "qp", e->qpn);
	return o;
}

static void trial_print_hit_json(struct trial *t, const struct fault_pkt *p,
				 const struct fault_rule *r)
{
	struct json_object *o = json_object_new_object();

	json_add_int(o, "frame", t->frames);
	json_add_int(o, "time_ns", t->now);
	json_object_object_add(o, "src", trial_endpoint_json(t, &p->src));
	json_object_object_add(o, "dst", trial_endpoint_json(t, &p->dst));
	json_add_str(o, "opcode", fault_op_name(p->op));
	if (p->mad)
		json_object_object_add(o, "message",
				       json_object_new_string(fault_mad_name(p->mad)));
	json_add_int(o, "psn", p->psn);
	if (p->conn) {
		json_add_int(o, "conn", p->conn);
		json_add_int(o, "psn_rel", p->rel);
		json_add_int(o, "round", p->round);
	}
	json_add_int(o, "size", p->size);
	json_add_str(o, "rule", r->name);
	printf("%s\n%s", t->printed ? "," : "",
	       json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

/* A hit in the words of rules, to copy into one. */
static void trial_print_hit_text(const struct trial *t, const struct fault_pkt *p,
				 const struct fault_rule *r)
{
	char src[NODE_NAME_MAX + 24], dst[NODE_NAME_MAX + 24];

	trial_endpoint_text(t, &p->src, src, sizeof(src));
	trial_endpoint_text(t, &p->dst, dst, sizeof(dst));
	printf("%llu %llu.%09llu %s > %s %s%s%s psn=0x%06x", (unsigned long long)t->frames,
	       (unsigned long long)(t->now / NSEC_PER_SEC),
	       (unsigned long long)(t->now % NSEC_PER_SEC), src, dst, fault_op_name(p->op),
	       p->mad ? " " : "", p->mad ? fault_mad_name(p->mad) : "", p->psn);
	if (p->conn)
		printf(" conn=%u psn=+%u round=%u", p->conn, p->rel, p->round);
	printf(" size=%llu %s: %s\n", (unsigned long long)p->size, r->name, fault_act_name(r));
}

void trial_print_hit(struct trial *t, const struct fault_pkt *p, const struct fault_rule *r)
{
	if (t->o->json)
		trial_print_hit_json(t, p, r);
	else
		trial_print_hit_text(t, p, r);
	t->printed++;
}

static void trial_print_summary_json(const struct trial *t)
{
	struct json_object *root = fault_list_json(&t->fabric);

	printf("%s],\n\"frames\": %llu, \"packets\": %llu, \"bad\": %llu, \"connections\": %u,\n"
	       "\"rules\": %s}\n",
	       t->printed ? "\n" : "", (unsigned long long)t->frames,
	       (unsigned long long)t->packets, (unsigned long long)t->bad,
	       trace_conns_count(t->conns),
	       json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY));
	json_object_put(root);
}

int trial_print_summary(struct trial *t)
{
	struct proto_msg list = { .op = PROTO_FAULT_LIST };
	char nodes[1024];
	int ret;

	if (t->o->json) {
		trial_print_summary_json(t);
		return 0;
	}
	if (t->printed)
		puts("");
	fflush(stdout);
	ret = memfd_print(fault_list_memfd(&t->fabric, &list), stdout);
	trial_nodes_text(t, nodes, sizeof(nodes));
	printf("%llu frames, %llu RDMA packets, %llu that make no sense; connections: %u; nodes: "
	       "%s\n",
	       (unsigned long long)t->frames, (unsigned long long)t->packets,
	       (unsigned long long)t->bad, trace_conns_count(t->conns), nodes);
	return ret;
}
