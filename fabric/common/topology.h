/* SPDX-License-Identifier: MIT */
/**
 * DOC: topology files: the nodes of a fabric, their devices, ports and addresses.
 *
 * The command reads the file as a whole and reports errors in it. The fabric process reads it again
 * and makes the nodes before it serves any program. See rdmaemu-topology(5).
 */
#ifndef FABRIC_COMMON_TOPOLOGY_H
#define FABRIC_COMMON_TOPOLOGY_H

#include "fabric/common/nodes.h"

#include <limits.h>

struct opts;

/** struct topo_line - the line that is read: its words, how many are used so far, and its place. */
struct topo_line {
	const char *file;
	int number;
	u32 n, at;
	char *word[64];
};

/** struct topo_port - a change of ports, and the number of its line. */
struct topo_port {
	struct proto_port change;
	int line;
};

/** struct topo_profile - a profile of nodes. */
struct topo_profile {
	struct profile profile;
	char path[PATH_MAX];
	struct topo_profile *next;
};

/**
 * struct topology - the content of a file.
 * @hash: of its text, never 0; 0: there is no file
 * @roce: the wires that speak RoCE v2, as --roce has them; "": none
 */
struct topology {
	char file[PATH_MAX];
	u64 hash;
	char roce[200];
	bool has_subnets;
	struct subnets subnets;
	u32 n_nodes;
	u32 n_ports;
	struct node_spec *node;
	int *node_line; /* of each */
	struct topo_port *port;
	struct topo_profile *profiles;
};

/**
 * topology_load() - read a file. Return: 0, or -1 after one line on stderr that names file and
 * line.
 */
int topology_load(struct topology *t, const char *path);
/** topology_set_wires() - set --roce as the file says, unless it is given. Return: 0 or -1. */
int topology_set_wires(struct opts *o);
/** topology_free() - free the content. */
void topology_free(struct topology *t);

/** topo_refuse() - print "FILE:LINE: 'WHAT': expected EXPECTED" on stderr. Return: -1. */
int topo_refuse(const struct topo_line *l, const char *what, const char *expected);
/**
 * topo_flag() - read the next option, as --NAME VALUE or --NAME=VALUE.
 * Return: 1 with @name and @value; 0: the next word is not an option, or missing; -1 after
 * topo_refuse().
 */
int topo_flag(struct topo_line *l, const char **name, const char **value);
/** topo_has_node() - whether a line so far names that node, or it is the host. */
bool topo_has_node(const struct topology *t, const char *name);

#endif
