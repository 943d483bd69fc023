/* SPDX-License-Identifier: MIT */
/**
 * DOC: who may control an isolated fabric, and who is on which node.
 *
 * Its programs must not read each other's traffic or drop it, so they may only send what the
 * emulated HCA needs, and say of no other node than their own that they are there. Two rules
 * decide; each connection keeps what it was granted when it came:
 *
 * 1. A fabric has a socket for control. An isolated one has another for the programs of each node:
 *    server/node_socket.c. It grants no control, and who comes by it is on that node.
 * 2. Programs of the same user find all sockets. A process has no control if it is a program or
 *    descends from one: a process on the way from it to init has a lease, or is a client. It then
 *    belongs to the node of the nearest of these. `rdmaemu run --control` gives a program and its
 *    descendants control. A process that has control may be on any node.
 *
 * A run that stays as its program's parent keeps its control; one that becomes the program drops
 * it. A process that has lost all its ancestors, as daemons do, is not recognised any more: see
 * SECURITY.md.
 */
#include "fabric/server/control.h"
#include "fabric/common/nodes.h"
#include "fabric/server/server.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_ANCESTORS 256

bool control_is_needed(u32 op)
{
	switch (op) {
	case PROTO_HELLO:
	case PROTO_SEG:
	case PROTO_CHAN_ADD:
	case PROTO_CHAN_DEL:
	case PROTO_CHAN:
	case PROTO_LEASE:
	case PROTO_HELPER_FD:
	case PROTO_HELPER:
	case PROTO_DEV:
	case PROTO_NODE:
	case PROTO_CALL:
	case PROTO_CALL_FAILED:
	case PROTO_WORK:
	case PROTO_WORK_FAILED:
	case PROTO_CM:
	case PROTO_EVENT_SEEN:
	case PROTO_LEND:
	case PROTO_LENT:
	case PROTO_WIRE:
	case PROTO_WIRE_INBOX:
	case PROTO_HOLD:
	case PROTO_LIMITS:
	case PROTO_UNSEEN:
	case PROTO_EVENTS:
	case PROTO_EVENT_NEXT:
	case PROTO_EVENT_RAISED:
	case PROTO_NLDEV:
	case PROTO_DROP:
		return false;
	default:
		return true;
	}
}

/* The parent of a process, 0: it has none; -1: there is no such process, or no /proc. */
static s32 process_parent(s32 pid)
{
	char path[32], text[512];
	const char *end;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* "pid (name) state parent": the name may contain anything. */
	end = strrchr(text, ')');
	return end && strlen(end) > 4 ? (s32)strtol(end + 4, NULL, 10) : -1;
}

static const struct lease *lease_of_process(const struct fabric *f, s32 pid)
{
	const struct lease *l;

	for (l = f->server->leases.list; l; l = l->next)
		if (!l->exited && l->pid == pid)
			return l;
	return NULL;
}

/* The node of the client that a process is, or CONN_NO_NODE. */
static s32 client_node_of_process(const struct fabric *f, s32 pid)
{
	const struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next)
		if (!cl->exited && f->hca->client[cl->id].fabric_pid == pid)
			return (s32)f->hca->client[cl->id].node;
	return CONN_NO_NODE;
}

/*
 * Where the process of a connection belongs: as the nearest of its ancestors, itself included, that
 * has a lease or is a client. Return: a node; CONN_ANY_NODE: it may control the fabric;
 * CONN_NO_NODE: its ancestors are not known.
 */
static s32 process_find_node(const struct fabric *f, s32 pid)
{
	const s32 self = pid;
	const struct lease *l;
	s32 node = CONN_NO_NODE;
	u32 i;

	for (i = 0; pid > 0 && i < MAX_ANCESTORS; i++) {
		l = lease_of_process(f, pid);
		if (l && (l->grants || (l->control && pid == self)))
			return CONN_ANY_NODE;
		if (l)
			return l->node;
		if (node == CONN_NO_NODE)
			node = client_node_of_process(f, pid);
		pid = process_parent(pid);
	}
	return !pid && node == CONN_NO_NODE ? CONN_ANY_NODE : node;
}

void control_admit(const struct fabric *f, struct conn *c, s32 door)
{
	/* A process of another PID namespace has no number here. */
	c->node = !f->isolated	    ? CONN_ANY_NODE
		  : c->cred.pid > 0 ? process_find_node(f, c->cred.pid)
				    : door;
	if (door != CONN_NO_NODE && c->node != door)
		c->node = c->node == CONN_ANY_NODE ? door : CONN_NO_NODE;
	c->control = c->node == CONN_ANY_NODE;
}

int control_check_node(struct fabric *f, const struct conn *c, const char *name)
{
	s32 node = !name[0] || !strcmp(name, NODE_NAME) ? 0 : hca_node_find(f->hca, name);

	if (c->node == CONN_ANY_NODE || (node >= 0 && node == c->node))
		return 0;
	if (!name[0])
		name = NODE_NAME;
	if (c->account && !c->account->noted)
		fabric_note(f, "process %d claims to be on node '%s', where it does not belong",
			    c->cred.pid, hca_node_name_ok(name) ? name : "?");
	if (c->account)
		c->account->noted = true;
	return -EPERM;
}

int control_drop(struct conn *c)
{
	if (c->lease && c->lease->grants)
		return 0;
	c->control = false;
	if (c->lease) {
		c->lease->control = false;
		c->node = c->lease->node;
	} else if (c->node == CONN_ANY_NODE) {
		c->node = CONN_NO_NODE;
	}
	return 0;
}
