/* SPDX-License-Identifier: MIT */
/**
 * DOC: how many clients one process of an isolated fabric may have.
 *
 * The table of clients is the fabric's. A process has a part of it at most. What many processes can
 * have together is bounded as well: programs on one node have no more clients than are left for all
 * others. Only processes with control make nodes: server/control.c.
 */
#include "fabric/server/quota.h"
#include "fabric/server/server.h"

#define PROCESS_CLIENTS 32u
#define UNSEEN_CLIENTS	(HCA_MAX_CLIENTS / 2) /* of processes of a node whose ids are unknown */

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
	if (a->clients < (a->pid > 0 ? PROCESS_CLIENTS : UNSEEN_CLIENTS) &&
	    node_count_clients(f, node) < HCA_MAX_CLIENTS - f->clients.n)
		return 0;
	quota_note(f, c, "clients");
	return -EUSERS;
}
