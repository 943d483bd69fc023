/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu log`.
 */
#include "fabric/cli/cli.h"
#include "fabric/common/text_io.h"

#include <unistd.h>

/*
 * The request for the options. A node is one that --node names, not the one that programs are on.
 */
static struct proto_msg log_query(const struct opts *o)
{
	struct proto_msg m = { .op = PROTO_LOG, .flags = o->json ? PROTO_F_JSON : 0 };

	if (o->follow)
		m.flags |= PROTO_F_FOLLOW | PROTO_F_LINES;
	snprintf(m.log.program, sizeof(m.log.program), "%s", o->program);
	if (o->level[OPT_NODE] == LEVEL_FLAG)
		snprintf(m.log.node, sizeof(m.log.node), "%s", o->node);
	m.log.qpn = o->qpn;
	return m;
}

static int log_print_entries(const struct proto_msg *m, int fd)
{
	if (m->log.lost)
		print_error("%llu entries were overwritten before they could be printed",
			    (unsigned long long)m->log.lost);
	return memfd_print(fd, stdout);
}

/* Print new entries until the fabric ends. Return: exit status. */
static int log_follow(const struct opts *o, int sock)
{
	struct proto_msg m;
	int fd = -1, ret;

	for (;;) {
		ret = ctl_receive(sock, &m, &fd);
		if (ret == -ETIMEDOUT)
			continue;
		if (ret == -EPIPE)
			return 0;
		if (!ret && (m.ret || fd < 0))
			ret = m.ret ? m.ret : -EPROTO;
		if (ret)
			return ctl_print_error(o, ret);
		ret = log_print_entries(&m, fd);
		if (ret)
			return ret;
	}
}

int verb_log(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_msg m = log_query(o);
	int sock = ctl_connect(p->sock), fd = -1, ret;

	(void)argc;
	(void)argv;
	if (sock < 0)
		return ctl_print_error(o, sock);
	ret = ctl_call(sock, &m, &fd);
	if (!ret && fd < 0)
		ret = -EPROTO;
	ret = ret ? ctl_print_error(o, ret) : log_print_entries(&m, fd);
	if (!ret && o->follow)
		ret = log_follow(o, sock);
	close(sock);
	return ret;
}
