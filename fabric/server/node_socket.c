/* SPDX-License-Identifier: MIT */
/**
 * DOC: the sockets of an isolated fabric's nodes.
 *
 * A node has a socket of its own as soon as its first program is started, alone in a directory.
 * That directory is all that a container needs whose programs belong to this node. A connection
 * that comes by it has no control, and its process is on this node and no other: server/control.c.
 * So a program is kept on its node even where the fabric process cannot see who it is.
 */
#include "fabric/server/node_socket.h"
#include "fabric/common/nodes.h"
#include "fabric/common/tree.h"
#include "fabric/server/server.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *node_socket_name(const struct fabric *f, u32 node)
{
	return node ? f->hca->node[node].name : NODE_NAME;
}

int node_sockets_start(struct fabric *f)
{
	u32 i;

	for (i = 0; i < HCA_MAX_NODES; i++)
		f->server->node_sockets.w[i].fd = -1;
	if (!f->isolated)
		return 0;
	/* A fabric that was killed has left its own. */
	tree_remove(f->paths.programs);
	if (mkdir(f->paths.programs, 0700))
		return -errno;
	return node_socket_make(f, 0);
}

int node_socket_make(struct fabric *f, u32 node)
{
	struct watch *w = &f->server->node_sockets.w[node];
	char path[PATH_MAX], *name;
	int ret;

	if (!f->isolated || w->fd >= 0)
		return 0;
	ret = statedir_node_sock(path, f->paths.programs, node_socket_name(f, node));
	if (ret)
		return ret;
	name = strrchr(path, '/');
	*name = '\0';
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	*name = '/';
	return server_listen_at(f, w, path);
}

s32 node_socket_of(const struct fabric *f, const struct watch *w)
{
	return w == &f->server->listen ? CONN_NO_NODE : (s32)(w - f->server->node_sockets.w);
}

void node_sockets_accept(struct fabric *f)
{
	u32 i;

	for (i = 0; f->isolated && i < f->hca->n_nodes; i++)
		if (f->server->node_sockets.w[i].fd >= 0)
			conn_accept(f, &f->server->node_sockets.w[i], 0);
}

void node_sockets_watch(struct fabric *f)
{
	u32 i;

	for (i = 0; i < f->hca->n_nodes; i++)
		if (f->server->node_sockets.w[i].fd >= 0)
			loop_watch_events(f, &f->server->node_sockets.w[i], EPOLLIN);
}

static void node_socket_remove(struct fabric *f, u32 node)
{
	char path[PATH_MAX];

	if (statedir_node_sock(path, f->paths.programs, node_socket_name(f, node)))
		return;
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

void node_sockets_end(struct fabric *f, bool remove)
{
	u32 i;

	if (!f->isolated)
		return;
	/* Without tree_remove(): the process may have no descriptors left. */
	for (i = 0; i < f->hca->n_nodes; i++) {
		loop_watch_close(&f->server->node_sockets.w[i]);
		if (remove)
			node_socket_remove(f, i);
	}
	if (remove)
		rmdir(f->paths.programs);
}
