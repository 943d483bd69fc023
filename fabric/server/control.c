/* SPDX-License-Identifier: MIT */
/**
 * DOC: who may control an isolated fabric.
 *
 * Its programs must not read each other's traffic or drop it, so they may only send what the
 * emulated HCA needs. Two rules decide; each connection keeps what it was granted when it came:
 *
 * 1. A fabric has a socket for control. An isolated one has another, in a directory of its own,
 *    which is all that a container needs: it serves programs, and grants no control.
 * 2. Programs of the same user find the socket for control, too. A process has no control if it is
 *    a program or descends from one: a process on the way from it to init has a lease, or is a
 *    client. `rdmaemu run --control` gives a program and its descendants control.
 *
 * A run that stays as its program's parent keeps its control; one that becomes the program drops
 * it. A process that has lost all its ancestors, as daemons do, is not recognised any more: see
 * SECURITY.md.
 */
#include "fabric/server/control.h"
#include "fabric/server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool process_is_client(const struct fabric *f, s32 pid)
{
	const struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next)
		if (!cl->exited && f->hca->client[cl->id].fabric_pid == pid)
			return true;
	return false;
}

bool control_is_granted(const struct fabric *f, const struct conn *c, bool programs)
{
	const struct lease *l;
	bool program = false;
	s32 pid = c->cred.pid;
	u32 i;

	if (!f->isolated)
		return true;
	/* A process of another PID namespace has no number here. */
	if (programs || pid <= 0)
		return false;
	for (i = 0; pid > 0 && i < MAX_ANCESTORS; i++) {
		l = lease_of_process(f, pid);
		if (l)
			return l->grants || (l->control && pid == c->cred.pid);
		program |= process_is_client(f, pid);
		pid = process_parent(pid);
	}
	return !pid && !program;
}

int control_drop(struct conn *c)
{
	if (c->lease && c->lease->grants)
		return 0;
	c->control = false;
	if (c->lease)
		c->lease->control = false;
	return 0;
}

int control_listen(struct fabric *f)
{
	if (!f->isolated)
		return 0;
	if (mkdir(f->paths.programs, 0700) && errno != EEXIST)
		return -errno;
	return server_listen_at(f, &f->server->listen_programs, f->paths.programs_sock);
}

void control_end(struct fabric *f)
{
	if (!f->isolated)
		return;
	unlink(f->paths.programs_sock);
	rmdir(f->paths.programs);
	loop_watch_close(&f->server->listen_programs);
}
