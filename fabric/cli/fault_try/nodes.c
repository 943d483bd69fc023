/* SPDX-License-Identifier: MIT */
/* The nodes of `rdmaemu fault try`: the addresses of its trace, and their names. */
#include "fabric/cli/fault_try/trial.h"
#include "fabric/common/nodes.h"
#include "fabric/common/parse.h"
#include "fabric/fault/parse.h"
#include "fabric/fault/table.h"

#include <arpa/inet.h>
#include <stdio.h>

#define SHOWN 8u /* in a message */

static bool trial_addr_parse(const char *text, struct trace_addr *a)
{
	u64 lid;

	*a = (struct trace_addr){ 0 };
	if (inet_pton(AF_INET, text, a->b) == 1) {
		a->kind = '4';
	} else if (inet_pton(AF_INET6, text, a->b) == 1) {
		a->kind = '6';
	} else if (parse_number(text, 0xffff, &lid)) {
		a->kind = 'L';
		a->b[0] = (u8)(lid >> 8);
		a->b[1] = (u8)lid;
	}
	return a->kind;
}

void trial_addr_text(const struct trace_addr *a, char out[INET6_ADDRSTRLEN])
{
	if (a->kind == 'L')
		snprintf(out, INET6_ADDRSTRLEN, "LID %u", (u32)a->b[0] << 8 | a->b[1]);
	else
		inet_ntop(a->kind == '4' ? AF_INET : AF_INET6, a->b, out, INET6_ADDRSTRLEN);
}

/* "node7" is the default name of the eighth address. */
static bool trial_is_default_name(const char *name)
{
	u64 n;

	return !strncmp(name, "node", 4) && parse_number(name + 4, ~0ULL, &n);
}

int trial_names_parse(struct trial *t)
{
	char buf[PATH_MAX], *p = buf, *word, *eq;
	struct node_name *n;

	snprintf(buf, sizeof(buf), "%s", t->o->nodes);
	while (t->o->nodes[0] && (word = strsep(&p, ","))) {
		if (t->n_names == TRIAL_NAMES)
			return print_error("fault try: --nodes: expected at most %u names",
					   TRIAL_NAMES);
		n = &t->names[t->n_names++];
		eq = strchr(word, '=');
		if (!eq || !trial_addr_parse(eq + 1, &n->addr))
			return print_error("fault try: --nodes '%s': expected NAME=ADDRESS, the "
					   "address being IPv4, IPv6 or a LID",
					   word);
		*eq = '\0';
		if (!hca_node_name_ok(word) || trial_is_default_name(word))
			return print_error("fault try: --nodes '%s': expected a node's name: %s; "
					   "not nodeN, as those are called that have none",
					   word, NAME_EXPECTED);
		snprintf(n->name, sizeof(n->name), "%s", word);
	}
	return 0;
}

static void trial_node_name(const struct trial *t, u32 addr, char out[NODE_NAME_MAX + 1])
{
	u32 i;

	snprintf(out, NODE_NAME_MAX + 1, "node%u", addr);
	for (i = 0; i < t->n_names; i++)
		if (!memcmp(&t->names[i].addr, trace_conns_node(t->conns, addr),
			    sizeof(t->names[i].addr)))
			snprintf(out, NODE_NAME_MAX + 1, "%s", t->names[i].name);
}

int trial_nodes_make(struct trial *t)
{
	struct hca *hca = t->fabric.hca;
	char name[NODE_NAME_MAX + 1];
	u32 i;
	int n;

	for (i = 0; i < trace_conns_n_nodes(t->conns); i++) {
		trial_node_name(t, i, name);
		n = hca_node_find(hca, name);
		if (n < 0) {
			n = hca_node_begin(hca, name, 0);
			if (n < 0)
				return n;
			hca_node_publish(hca, (u32)n);
		}
		hca->dev[i].node = (u32)n;
		hca->dev[i].n_ports = 1;
		hca->n_devs = i + 1;
	}
	return 0;
}

void trial_nodes_text(const struct trial *t, char *out, size_t size)
{
	char addr[INET6_ADDRSTRLEN];
	u32 i, n = trace_conns_n_nodes(t->conns);
	size_t len = 0;

	snprintf(out, size, "none");
	for (i = 0; i < n && i < SHOWN && len < size; i++) {
		trial_addr_text(trace_conns_node(t->conns, i), addr);
		len += (size_t)snprintf(out + len, size - len, "%s%s (%s)", i ? ", " : "",
					t->fabric.hca->node[t->fabric.hca->dev[i].node].name, addr);
	}
	if (n > SHOWN && len < size)
		snprintf(out + len, size - len, ", ...");
}

int trial_nodes_check(struct trial *t)
{
	struct faults *all = t->fabric.faults;
	struct fault_bad bad;
	char nodes[1024];
	int ret = 0;
	u32 i;

	trial_nodes_text(t, nodes, sizeof(nodes));
	for (i = 0; i < all->high; i++)
		if (all->rule[i].on == FAULT_ON_WIRE &&
		    fault_check_fabric(t->fabric.hca, true, &all->rule[i], &bad))
			ret = print_error("fault try: %s: '%s': expected a node of the trace: %s",
					  fault_rule_text(&t->fabric, all->rule[i].id), bad.word,
					  nodes);
	return ret;
}
