/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu port up|down|lid|pkey|link`.
 */
#include "fabric/cli/cli.h"
#include "fabric/common/parse.h"
#include "fabric/common/parse_link.h"

#include <stdio.h>
#include <unistd.h>

static int port_print_error(const struct opts *o, int err)
{
	switch (err) {
	case -ENODEV:
		print_error("fabric %s has no device %s with a port %s%s%s", o->fabric,
			    o->device[0] ? o->device : "at all", o->port ? "of that number" : "",
			    o->node[0] ? " on node " : "", o->node);
		break;
	case -EOPNOTSUPP:
		print_error("only ports with link layer InfiniBand have LIDs");
		break;
	case -ERANGE:
		print_error("expected a LID from 1 to 0xbfff, a P_Key up to 0xffff, or an index "
			    "within the port's table");
		break;
	case -ENOTUNIQ:
		print_error("a LID is one port's: name it by --device and --port");
		break;
	case -EADDRINUSE:
		print_error("another port has that LID");
		break;
	default:
		return ctl_print_error(o, err);
	}
	return 1;
}

static int port_send_change(const struct opts *o, const struct fabric_paths *p,
			    const struct proto_port *q)
{
	struct proto_msg m = { .op = PROTO_PORT, .port = *q };
	int sock = ctl_connect(p->sock), ret;

	if (sock < 0)
		return ctl_print_error(o, sock);
	m.port.port = o->port;
	snprintf(m.port.node, sizeof(m.port.node), "%s", o->node);
	snprintf(m.port.dev, sizeof(m.port.dev), "%s", o->device);
	ret = ctl_call(sock, &m, NULL);
	close(sock);
	return ret ? port_print_error(o, ret) : 0;
}

static int port_send_number(const struct opts *o, const struct fabric_paths *p, u32 what, u32 index,
			    u32 value)
{
	return port_send_change(
		o, p, &(struct proto_port){ .what = what, .index = index, .value = value });
}

int verb_port_up(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return port_send_number(o, p, PORT_CHANGE_STATE, 0, PORT_ACTIVE);
}

int verb_port_down(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return port_send_number(o, p, PORT_CHANGE_STATE, 0, PORT_DOWN);
}

int verb_port_lid(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	u64 lid;

	if (argc != 1 || !parse_number(argv[0], 0xffff, &lid)) {
		print_error("port lid: expected a LID; see 'rdmaemu port lid --help'");
		return EXIT_USAGE;
	}
	return port_send_number(o, p, PORT_CHANGE_LID, 0, (u32)lid);
}

int verb_port_pkey(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	u64 index, pkey;

	if (argc != 2 || !parse_number(argv[0], 0xffff, &index) ||
	    !parse_number(argv[1], 0xffff, &pkey)) {
		print_error(
			"port pkey: expected an index and a P_Key; see 'rdmaemu port pkey --help'");
		return EXIT_USAGE;
	}
	return port_send_number(o, p, PORT_CHANGE_PKEY, (u32)index, (u32)pkey);
}

int verb_port_link(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_port q = { .what = PORT_CHANGE_LINK };
	const char *what;
	int at;

	if (link_parse(argv, argc, &q.link, &at, &what)) {
		print_error("port link: '%s': expected %s; see 'rdmaemu port link --help'",
			    at < argc ? argv[at] : "", what);
		return EXIT_USAGE;
	}
	return port_send_change(o, p, &q);
}
