/* SPDX-License-Identifier: MIT */
/**
 * DOC: the fabric process, inside.
 *
 * One thread serves one epoll loop (server/loop.c). Its events are connections and their requests
 * (server/conns.c), exits of processes (pidfds), the kick eventfds that clients write to when
 * there is work for this process, a timer and signals. Requests are answered at once; none needs
 * the engine token, since its holder may be the client that asks. Engine work (server/work.c) needs
 * the token, and never waits for it.
 *
 * The arrows between the folders run one way:
 *
 *   proto <- common <- core <- nodes <- link <- packet <- fault, capture, join, roce <- journal,
 *   inject <- server
 *
 * core/ has what every module uses: this struct, the loop's watches, the clock, notes, connections,
 * clients. The other folders keep their state in structs of their own, to which struct fabric
 * points. Only server/ knows all of them, and calls them; no folder calls it. A lower module that
 * has to call a higher one gets a table from it: struct link_rules, struct link_carrier, struct
 * node_events.
 */
#ifndef FABRIC_CORE_FABRIC_H
#define FABRIC_CORE_FABRIC_H

#include "emulator/engine.h"
#include "fabric/common/profile.h"
#include "fabric/core/client.h"
#include "fabric/core/clock.h"
#include "fabric/core/conn.h"
#include "fabric/core/loop.h"
#include "fabric/core/note.h"
#include "fabric/core/poller_wake.h"
#include "fabric/core/wait.h"
#include "fabric/proto/proto.h"
#include "fabric/proto/real_time.h"
#include "fabric/proto/state_dir.h"

#define NEVER (~0ULL)

#define NSEC_PER_SEC  1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_USEC 1000ULL

struct captures;
struct chaos;
struct faults;
struct faultwire;
struct inject;
struct join;
struct link;
struct nodes;
struct roce;
struct server;

/** struct fabric - the fabric process. All times are real time unless they say otherwise. */
struct fabric {
	char name[64];
	char node_name[48]; /* name of the node with the host's own addresses */
	struct fabric_paths paths;
	struct profile profile;
	bool isolated;
	bool real; /* its programs have real devices: it has rules and a journal, no devices */
	bool leaving; /* it was told to stop */
	bool starter_told; /* core/starter.h */
	u64 started; /* fabric time as well: both begin at the same moment */
	u64 guid_salt; /* of its nodes' GUIDs; 0: none */

	struct hca *hca;
	int hca_fd;
	struct engine engine;

	struct loop loop;
	struct fabric_clock clock;
	struct notes notes;
	struct conns conns;
	struct clients clients;
	struct waiters wait;
	struct poller_wakes wake;

	struct nodes *nodes;
	struct link *link; /* bursts on their way over links */
	struct chaos *chaos; /* link/chaos.h; NULL: chaos is off */
	struct faults *faults; /* the rules */
	struct faultwire *faultwire; /* what the rules know of packets sent so far */
	struct captures *captures;
	struct join *join; /* NULL: it is not joined with other fabrics */
	struct roce *roce; /* NULL: it has no wires */
	struct inject *inject; /* NULL: no frame was injected so far */
	struct server *server;
};

/**
 * fabric_engine_now() - fabric time as the engine sees it: with chaos, when its current event was
 * due.
 */
static inline u64 fabric_engine_now(const struct fabric *f)
{
	return f->engine.ops->now(f->engine.ctx);
}

#endif
