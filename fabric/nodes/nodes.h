/* SPDX-License-Identifier: MIT */
/**
 * DOC: the nodes of a running fabric: their devices and ports, addresses and sysfs trees.
 *
 * common/nodes.h describes what a node is to be. Modules that depend on nodes get struct
 * node_events: server/daemon.c calls them.
 */
#ifndef FABRIC_NODES_NODES_H
#define FABRIC_NODES_NODES_H

#include "fabric/common/topology.h"
#include "fabric/core/fabric.h"

#define MAX_PORT_JOBS 8u
#define MAX_NDEVS     64u

/** struct node_events - callbacks for changes of nodes. Each may be NULL. */
struct node_events {
	void (*added)(struct fabric *f); /* a node was made: mark its ports. No token needed. */
	void (*changed)(struct fabric *f); /* nodes or their ports have changed */
};

/** struct port_job - a request about ports that waits for the token. */
struct port_job {
	struct conn *conn; /* NULL: no job */
	struct proto_msg msg;
};

/** struct ndev_order - network interfaces, in the order in which ports got them. */
struct ndev_order {
	char name[MAX_NDEVS][16];
	u32 n;
};

/** struct node_shown - the state of a node's sysfs tree. */
struct node_shown {
	bool tree;
	bool stale; /* something other than counters has changed */
	u64 counted; /* sum of all counters when they were written last */
};

/** struct nodes - what the fabric process knows of its nodes in addition to HCA memory. */
struct nodes {
	struct subnets subnets; /* nodes' addresses come from these */
	u64 spread; /* where addresses begin in the subnets: differs between fabrics */
	u64 addresses; /* addresses that were given out, of each subnet */
	u32 lids; /* LIDs that were given out */
	u64 topology; /* struct topology.hash; 0: no topology */
	const struct node_events *events;

	struct node_shown shown[HCA_MAX_NODES];
	struct port_job port_job[MAX_PORT_JOBS];
	u32 n_port_jobs;

	struct watch netlink;
	bool gids_stale; /* addresses of the host have changed */
	struct ndev_order ndevs;
};

/* --- nodes.c --- */

/** fabric_nodes_init() - no nodes. Return: 0 or -ENOMEM. */
int fabric_nodes_init(struct fabric *f);
/** fabric_nodes_changed() - call node_events.changed. */
void fabric_nodes_changed(struct fabric *f);
/**
 * fabric_node_spread() - a number that differs between fabrics whose host nodes have different
 * names.
 */
u64 fabric_node_spread(const char *name);
/**
 * fabric_node_make() - make a node.
 * Return: index, -EINVAL, -EEXIST, -EADDRINUSE, -EOVERFLOW or -ENOSPC.
 */
int fabric_node_make(struct fabric *f, const struct node_spec *s);
/**
 * fabric_node_find_or_make() - the node of that name, made if there is none.
 * Return: as fabric_node_make().
 */
int fabric_node_find_or_make(struct fabric *f, const char *name);
/**
 * fabric_node_use() - as fabric_node_find_or_make(), and its sysfs tree is up to date.
 * @name: "": the host's node
 * Return: index or -errno.
 */
int fabric_node_use(struct fabric *f, const char *name);
/** fabric_node_ask() - PROTO_NODE: @m becomes the answer. Return: 0 or -ENOENT. */
int fabric_node_ask(const struct fabric *f, struct proto_msg *m);
/** fabric_node_publish() - write a node's sysfs tree. Return: 0 or -errno. */
int fabric_node_publish(struct fabric *f, u32 node);
/** fabric_node_publish_counters() - write the counters into its tree, if something was counted. */
void fabric_node_publish_counters(struct fabric *f, u32 node);

/* --- topology_make.c --- */

/**
 * topology_apply() - make the nodes and change the ports as @t says.
 * Return: 0, or -errno with the reason in @why.
 */
int topology_apply(struct fabric *f, const struct topology *t, char *why, size_t size);

#endif
