/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu port up|down|lid|pkey|link`.
 */
#include "fabric/cli/cli.h"
#include "fabric/common/parse_link.h"

#include <stdio.h>
#include <unistd.h>

static int explain(const struct opts *o, int err)
{
	switch (err) {
	case -ENODEV:
		trouble("fabric %s has no device %s with a port %s%s%s", o->fabric,
			o->device[0] ? o->device : "at all", o->port ? "of that number" : "",
			o->node[0] ? " on node " : "", o->node);
		break;
	case -EOPNOTSUPP:
		trouble("only ports with link layer InfiniBand have LIDs");
		break;
	case -ERANGE:
		trouble("expected a LID from 1 to 0xbfff, a P_Key up to 0xffff, or an index within "
			"the port's table");
		break;
	case -ENOTUNIQ:
		trouble("a LID is one port's: name it by --device and --port");
		break;
	case -EADDRINUSE:
		trouble("another port has that LID");
		break;
	default:
		return not_running(o, err);
	}
	return 1;
}

static int send(const struct opts *o, const struct fabric_paths *p, const struct proto_port *q)
{
	struct proto_msg m = { .op = PROTO_PORT, .port = *q };
	int sock = ctl_connect(p->sock), ret;

	if (sock < 0)
		return not_running(o, sock);
	m.port.port = o->port;
	snprintf(m.port.node, sizeof(m.port.node), "%s", o->node);
	snprintf(m.port.dev, sizeof(m.port.dev), "%s", o->device);
	ret = ctl_call(sock, &m, NULL);
	close(sock);
	return ret ? explain(o, ret) : 0;
}

static int ask(const struct opts *o, const struct fabric_paths *p, u32 what, u32 index, u32 value)
{
	return send(o, p, &(struct proto_port){ .what = what, .index = index, .value = value });
}

int verb_port_up(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return ask(o, p, PORT_CHANGE_STATE, 0, PORT_ACTIVE);
}

int verb_port_down(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return ask(o, p, PORT_CHANGE_STATE, 0, PORT_DOWN);
}

int verb_port_lid(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	u64 lid;

	if (argc != 1 || !parse_number(argv[0], 0xffff, &lid)) {
		trouble("port lid: expected a LID; see 'rdmaemu port lid --help'");
		return EXIT_USAGE;
	}
	return ask(o, p, PORT_CHANGE_LID, 0, (u32)lid);
}

int verb_port_pkey(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	u64 index, pkey;

	if (argc != 2 || !parse_number(argv[0], 0xffff, &index) ||
	    !parse_number(argv[1], 0xffff, &pkey)) {
		trouble("port pkey: expected an index and a P_Key; see 'rdmaemu port pkey --help'");
		return EXIT_USAGE;
	}
	return ask(o, p, PORT_CHANGE_PKEY, (u32)index, (u32)pkey);
}

int verb_port_link(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_port q = { .what = PORT_CHANGE_LINK };
	const char *what;
	int at;

	if (link_words(argv, argc, &q.link, &at, &what)) {
		trouble("port link: '%s': expected %s; see 'rdmaemu port link --help'",
			at < argc ? argv[at] : "", what);
		return EXIT_USAGE;
	}
	return send(o, p, &q);
}
