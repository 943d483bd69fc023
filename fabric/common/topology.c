/* SPDX-License-Identifier: MIT */
/** DOC: reading topology files: lines in the words of the command, each checked as it is read. */
#include "fabric/common/topology.h"
#include "fabric/common/parse.h"
#include "fabric/common/parse_link.h"
#include "fabric/common/opts.h"
#include "fabric/common/text_io.h"
#include "fabric/common/wire_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_MAX (4u << 20)

_Static_assert(sizeof(((struct topology *)0)->roce) == sizeof(((struct opts *)0)->roce),
	       "a line is as long as the option");

int topo_refuse(const struct topo_line *l, const char *what, const char *expected)
{
	return print_error("%s:%d: '%s': expected %s", l->file, l->number, what, expected);
}

int topo_flag(struct topo_line *l, const char **name, const char **value)
{
	char *word = l->at < l->n ? l->word[l->at] : "", *eq;

	if (strncmp(word, "--", 2) != 0)
		return 0;
	l->at++;
	eq = strchr(word, '=');
	*name = word + 2;
	if (eq) {
		*eq = '\0';
		*value = eq + 1;
	} else if (l->at < l->n) {
		*value = l->word[l->at++];
	} else {
		topo_refuse(l, word, "a value after it");
		return -1;
	}
	return 1;
}

bool topo_has_node(const struct topology *t, const char *name)
{
	u32 i;

	/* Lines about a node usually follow closely after its own. */
	for (i = t->n_nodes; i--;)
		if (!strcmp(t->node[i].name, name))
			return true;
	return !strcmp(name, NODE_NAME);
}

static int topo_read_subnet(struct topology *t, struct topo_line *l)
{
	const char *text = l->n == 2 ? l->word[1] : "subnet";

	t->has_subnets = true;
	if (l->n != 2 || !subnets_parse(&t->subnets, text))
		return topo_refuse(l, text, SUBNETS_EXPECTED);
	return 0;
}

static int topo_read_wire(struct topology *t, struct topo_line *l)
{
	struct wire_list list;

	if (l->n != 3 || strcmp(l->word[1], "roce") != 0)
		return topo_refuse(l, l->n > 1 ? l->word[1] : "wire", "wire roce ADDR|IFACE[,...]");
	if (t->roce[0])
		return topo_refuse(l, "wire", "one such line");
	if (!wire_list_parse(&list, l->word[2]) || strlen(l->word[2]) >= sizeof(t->roce))
		return topo_refuse(l, l->word[2], WIRE_LIST_EXPECTED);
	memcpy(t->roce, l->word[2], strlen(l->word[2]) + 1);
	return 0;
}

/*
 * A relative file name counts from the directory of the topology. Return: 0, or -1 after one line
 * on stderr.
 */
static int topo_profile_path(const struct topo_line *l, const char *name, char path[PATH_MAX])
{
	const char *slash = strrchr(l->file, '/');
	int n, dir = slash ? (int)(slash - l->file) + 1 : 0;
	size_t len;

	if (profile_builtin(name, &len) || name[0] == '/')
		dir = 0;
	n = snprintf(path, PATH_MAX, "%.*s%s", dir, l->file, name);
	return n < PATH_MAX ? 0 : topo_refuse(l, name, "a shorter path");
}

static const struct profile *topo_find_profile(struct topology *t, const struct topo_line *l,
					       const char *name)
{
	struct topo_profile *p;
	char path[PATH_MAX];
	size_t len;

	if (topo_profile_path(l, name, path))
		return NULL;
	if (!profile_builtin(path, &len) && access(path, R_OK)) {
		topo_refuse(l, name, "a profile's name or file");
		return NULL;
	}
	for (p = t->profiles; p; p = p->next)
		if (!strcmp(p->path, path))
			return &p->profile;
	p = calloc(1, sizeof(*p));
	if (!p || profile_load(&p->profile, path)) {
		free(p);
		return NULL;
	}
	snprintf(p->path, sizeof(p->path), "%s", path);
	p->next = t->profiles;
	t->profiles = p;
	return &p->profile;
}

static bool node_spec_has_address(const struct node_spec *s, const u8 raw[16])
{
	u32 i;

	for (i = 0; i < s->n_ip4; i++)
		if (!memcmp(s->ip4[i], raw, 16))
			return true;
	for (i = 0; i < s->n_ip6; i++)
		if (!memcmp(s->ip6[i], raw, 16))
			return true;
	return false;
}

static int topo_add_address(const struct topology *t, struct node_spec *s,
			    const struct topo_line *l, const char *value)
{
	u8 raw[16];
	u32 i, *n;

	if (!ip_parse(value, raw))
		return topo_refuse(l, value, "an IPv4 or IPv6 address of a host");
	for (i = 0; i < t->n_nodes; i++)
		if (node_spec_has_address(&t->node[i], raw))
			return topo_refuse(l, value, "an address that no other node has");
	n = gid_is_v4(raw) ? &s->n_ip4 : &s->n_ip6;
	if (*n == NODE_MAX_PORTS || node_spec_has_address(s, raw))
		return topo_refuse(l, value, "each address once, at most one a port");
	memcpy(gid_is_v4(raw) ? s->ip4[*n] : s->ip6[*n], raw, 16);
	++*n;
	return 0;
}

static int topo_node_flag(struct topology *t, struct node_spec *s, struct topo_line *l,
			  const char *name, const char *value)
{
	u64 n;

	if (!strcmp(name, "devices")) {
		if (!parse_number(value, PROFILE_MAX_DEVS, &n) || !n)
			return topo_refuse(l, value, "a number of devices, 1 to 8");
		s->n_devs = (u32)n;
	} else if (!strcmp(name, "ports")) {
		if (!parse_number(value, HCA_MAX_PORTS, &n) || !n)
			return topo_refuse(l, value, "a number of ports of each device, 1 or 2");
		s->n_ports = (u32)n;
	} else if (!strcmp(name, "profile")) {
		s->profile = topo_find_profile(t, l, value);
		return s->profile ? 0 : -1;
	} else if (!strcmp(name, "address")) {
		return topo_add_address(t, s, l, value);
	} else {
		return topo_refuse(l, name, "--devices, --ports, --profile or --address");
	}
	return 0;
}

static int topo_read_node(struct topology *t, struct topo_line *l)
{
	const char *name, *value, *node = l->n > 1 ? l->word[1] : "node";
	struct node_spec *s = &t->node[t->n_nodes];
	int ret;

	if (l->n < 2 || !hca_node_name_ok(node))
		return topo_refuse(l, node, "a node's name: " NAME_EXPECTED);
	if (topo_has_node(t, node))
		return topo_refuse(l, node, "a name that is new; node0 is the host itself");
	if (t->n_nodes == HCA_MAX_NODES - 1)
		return topo_refuse(l, node, "at most 1023 nodes");
	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s", node);
	l->at = 2;
	while ((ret = topo_flag(l, &name, &value)) > 0)
		if (topo_node_flag(t, s, l, name, value))
			return -1;
	if (ret)
		return ret;
	if (l->at < l->n)
		return topo_refuse(l, l->word[l->at], "options after the node's name");
	t->node_line[t->n_nodes++] = l->number;
	return 0;
}

static int topo_port_flag(const struct topology *t, struct proto_port *q, struct topo_line *l,
			  const char *name, const char *value)
{
	u64 n;

	if (!strcmp(name, "node")) {
		if (!topo_has_node(t, value))
			return topo_refuse(l, value, "a node that a line before this one names");
		snprintf(q->node, sizeof(q->node), "%s", value);
	} else if (!strcmp(name, "device")) {
		if (!*value || strlen(value) >= sizeof(q->dev))
			return topo_refuse(l, value, "a device's name");
		snprintf(q->dev, sizeof(q->dev), "%s", value);
	} else if (!strcmp(name, "port")) {
		if (!parse_number(value, HCA_MAX_PORTS, &n) || !n)
			return topo_refuse(l, value, "a port's number, 1 or 2");
		q->port = (u32)n;
	} else {
		return topo_refuse(l, name, "--node, --device or --port");
	}
	return 0;
}

static int topo_port_link(struct proto_port *q, struct topo_line *l)
{
	int left = (int)(l->n - l->at), at;
	const char *what;

	q->what = PORT_CHANGE_LINK;
	if (!link_parse(l->word + l->at, left, &q->link, &at, &what))
		return 0;
	return topo_refuse(l, at < left ? l->word[(int)l->at + at] : "link", what);
}

/* The words after the options. */
static int topo_port_values(struct proto_port *q, struct topo_line *l, const char *verb)
{
	u32 left = l->n - l->at;
	u64 index = 0, value = 0;

	if (!strcmp(verb, "up") || !strcmp(verb, "down")) {
		q->what = PORT_CHANGE_STATE;
		q->value = verb[0] == 'u' ? PORT_ACTIVE : PORT_DOWN;
		return left ? topo_refuse(l, l->word[l->at], "nothing after the options") : 0;
	}
	if (!strcmp(verb, "lid")) {
		q->what = PORT_CHANGE_LID;
		if (left != 1 || !parse_number(l->word[l->at], 0xbfff, &value) || !value)
			return topo_refuse(l, left ? l->word[l->at] : verb,
					   "a LID, 1 to 0xbfff, and nothing after it");
		q->value = (u32)value;
		return 0;
	}
	if (!strcmp(verb, "link"))
		return topo_port_link(q, l);
	q->what = PORT_CHANGE_PKEY;
	if (left != 2 || !parse_number(l->word[l->at], LIM_PKEYS - 1, &index) ||
	    !parse_number(l->word[l->at + 1], 0xffff, &value))
		return topo_refuse(l, left ? l->word[l->at] : verb,
				   "an index, 0 to 7, and a P_Key up to 0xffff");
	q->index = (u32)index;
	q->value = (u32)value;
	return 0;
}

static int topo_read_port(struct topology *t, struct topo_line *l)
{
	const char *name, *value, *verb = l->n > 1 ? l->word[1] : "port";
	struct proto_port q = { 0 };
	struct topo_port *more;
	int ret;

	if (strcmp(verb, "up") != 0 && strcmp(verb, "down") != 0 && strcmp(verb, "lid") != 0 &&
	    strcmp(verb, "pkey") != 0 && strcmp(verb, "link") != 0)
		return topo_refuse(l, verb, "port up, down, lid, pkey or link");
	l->at = 2;
	while ((ret = topo_flag(l, &name, &value)) > 0)
		if (topo_port_flag(t, &q, l, name, value))
			return -1;
	if (ret || topo_port_values(&q, l, verb))
		return -1;
	more = reallocarray(t->port, t->n_ports + 1, sizeof(*more));
	if (!more)
		return print_error("%s", strerror(ENOMEM));
	more[t->n_ports++] = (struct topo_port){ q, l->number };
	t->port = more;
	return 0;
}

static const struct {
	const char *name;
	int (*read)(struct topology *t, struct topo_line *l);
} line_kinds[] = {
	{ "node", topo_read_node },
	{ "port", topo_read_port },
	{ "subnet", topo_read_subnet },
	{ "wire", topo_read_wire },
};

static int topo_read_line(struct topology *t, int number, char *text)
{
	struct topo_line l = { .file = t->file, .number = number };
	char *next;
	size_t i;

	*strchrnul(text, '#') = '\0';
	while ((next = strsep(&text, " \t\r"))) {
		if (!*next)
			continue;
		if (l.n == ARRAY_SIZE(l.word))
			return topo_refuse(&l, next, "at most 64 words in a line");
		l.word[l.n++] = next;
	}
	if (!l.n)
		return 0;
	for (i = 0; i < ARRAY_SIZE(line_kinds); i++)
		if (!strcmp(line_kinds[i].name, l.word[0]))
			return line_kinds[i].read(t, &l);
	return topo_refuse(&l, l.word[0], "node, port, subnet or wire");
}

int topology_load(struct topology *t, const char *path)
{
	char *text, *rest, *line;
	int number = 0, ret = 0;
	size_t len;

	memset(t, 0, sizeof(*t));
	subnets_default(&t->subnets);
	text = rest = text_file_read("topology", path, FILE_MAX, &len);
	if (!text)
		return -1;
	if (!realpath(path, t->file)) {
		free(text);
		return print_error("topology %s: %s", path, strerror(errno));
	}
	t->hash = fnv1a(FNV1A_BASIS, text, len);
	t->hash = t->hash ? t->hash : 1;
	t->node = calloc(HCA_MAX_NODES, sizeof(*t->node));
	t->node_line = calloc(HCA_MAX_NODES, sizeof(*t->node_line));
	if (!t->node || !t->node_line)
		ret = print_error("%s", strerror(ENOMEM));
	while (!ret && (line = strsep(&rest, "\n")))
		ret = topo_read_line(t, ++number, line);
	free(text);
	if (ret)
		topology_free(t);
	return ret;
}

void topology_free(struct topology *t)
{
	struct topo_profile *p;

	while ((p = t->profiles)) {
		t->profiles = p->next;
		free(p);
	}
	free(t->node);
	free(t->node_line);
	free(t->port);
	memset(t, 0, sizeof(*t));
}

int topology_set_wires(struct opts *o)
{
	struct topology *t;
	int ret;

	if (!o->topology[0] || o->roce[0])
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return print_error("%s", strerror(ENOMEM));
	ret = topology_load(t, o->topology);
	if (!ret) {
		snprintf(o->roce, sizeof(o->roce), "%s", t->roce);
		topology_free(t);
	}
	free(t);
	return ret;
}
