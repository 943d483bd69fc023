/* SPDX-License-Identifier: MIT */
/**
 * DOC: how many clients and nodes one process of an isolated fabric may have.
 *
 * The tables of clients and nodes are the fabric's. A process has a part of each at most. What many
 * processes can have together is bounded as well: programs on one node have no more clients than
 * are left for all others, and programs make no more than half of the nodes. Processes with control
 * may make as many nodes as have room.
 */
#include "fabric/server/quota.h"
#include "fabric/common/nodes.h"
#include "fabric/server/server.h"

#define PROCESS_CLIENTS 32u
#define PROCESS_NODES	32u
#define UNSEEN_CLIENTS	(HCA_MAX_CLIENTS / 2) /* of all processes whose ids are unknown */
#define PROGRAMS_NODES	(HCA_MAX_NODES / 2)

void quota_note(struct fabric *f, const struct conn *c, const char *what)
{
	if (c->account && c->account->noted)
		return;
	if (c->account)
		c->account->noted = true;
	fabric_note(f, "process %d has as many %s as one process may: more are refused",
		    c->cred.pid, what);
}

static u32 node_count_clients(const struct fabric *f, u32 node)
{
	const struct client *cl;
	u32 n = 0;

	for (cl = f->clients.list; cl; cl = cl->next)
		n += !cl->freed && f->hca->client[cl->id].node == node;
	return n;
}

int quota_check_client(struct fabric *f, const struct conn *c, u32 node)
{
	const struct account *a = c->account;

	if (!a)
		return 0;
	if (a->clients < (a->pid ? PROCESS_CLIENTS : UNSEEN_CLIENTS) &&
	    node_count_clients(f, node) < HCA_MAX_CLIENTS - f->clients.n)
		return 0;
	quota_note(f, c, "clients");
	return -EUSERS;
}

int quota_check_node(struct fabric *f, const struct conn *c, const char *name)
{
	const struct account *a = c->account;

	if (!a || c->control || !name[0] || !strcmp(name, NODE_NAME) ||
	    hca_node_find(f->hca, name) >= 0)
		return 0;
	if (a->nodes < (a->pid ? PROCESS_NODES : PROGRAMS_NODES) &&
	    f->server->accounts.nodes < PROGRAMS_NODES)
		return 0;
	quota_note(f, c, "nodes");
	return -EUSERS;
}

void quota_count_nodes(struct fabric *f, const struct conn *c, u32 before)
{
	u32 made = f->hca->n_nodes - before;

	if (!c->account || c->control)
		return;
	c->account->nodes += made;
	f->server->accounts.nodes += made;
}
