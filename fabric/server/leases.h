/* SPDX-License-Identifier: MIT */
/** DOC: leases: which processes keep the fabric, and when a run has ended. */
#ifndef FABRIC_SERVER_LEASES_H
#define FABRIC_SERVER_LEASES_H

#include "fabric/core/fabric.h"

#define MAX_LEASES 65536u

/**
 * struct lease - a process that keeps the fabric alive: usually the program of an `rdmaemu run`.
 * @w: pidfd
 * @exited: the process has ended; the lease stays until the programs of its run have ended, too
 * @run: number of the run; 0: none
 * @scenario: struct conn.scenario of the connection that took the lease
 */
struct lease {
	struct watch w;
	s32 pid; /* in the fabric process's namespace; 0: it has none there */
	s32 node; /* that its process belongs to */
	bool exited;
	bool dead;
	bool control; /* its process may control the fabric, as long as it is no program */
	bool grants; /* and so may its program and all that descends from it */
	u32 run;
	u64 scenario;
	struct lease *next;
};

/** struct leases - all leases. */
struct leases {
	struct lease *list;
	u32 n; /* processes, includes connections that are leases: struct conn.hold */
};

/** lease_request() - PROTO_LEASE. Return: 0 with the answer in @m, or -errno. */
int lease_request(struct fabric *f, struct conn *c, struct proto_msg *m);
/**
 * lease_note_setup() - a request comes. If it changes something while the fabric has no program,
 * then it prepares the fabric for the next run, which therefore does not begin anew.
 */
void lease_note_setup(struct fabric *f, const struct proto_msg *m);
/** lease_conn_closed() - a connection closes. */
void lease_conn_closed(struct fabric *f, struct conn *c);
/** leases_end_runs() - a client has ended: so may have the run that it belonged to. */
void leases_end_runs(struct fabric *f);
/** leases_free_dead() - free those that are dead. */
void leases_free_dead(struct fabric *f);

#endif
