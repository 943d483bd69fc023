/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu log`.
 */
#include "fabric/cli.h"

#include <unistd.h>

/* What the flags ask for. A node is one that was named here, not the one that programs are on. */
static struct proto_msg log_query(const struct opts *o)
{
	struct proto_msg m = { .op = PROTO_LOG, .flags = o->json ? PROTO_F_JSON : 0 };

	snprintf(m.log.program, sizeof(m.log.program), "%s", o->program);
	if (o->level[OPT_NODE] == LEVEL_FLAG)
		snprintf(m.log.node, sizeof(m.log.node), "%s", o->node);
	m.log.qpn = o->qpn;
	return m;
}

int verb_log(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_msg m = log_query(o);
	int sock = ctl_connect(p->sock), fd = -1, ret;

	(void)argc;
	(void)argv;
	if (sock < 0)
		return not_running(o, sock);
	ret = ctl_call(sock, &m, &fd);
	close(sock);
	if (!ret && fd < 0)
		ret = -EPROTO;
	return ret ? not_running(o, ret) : print_fd(fd, stdout);
}
