/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu fault try`: what its parts share. See trial.c.
 */
#ifndef FABRIC_CLI_FAULT_TRY_TRIAL_H
#define FABRIC_CLI_FAULT_TRY_TRIAL_H

#include "fabric/core/fabric.h"
#include "fabric/cli/scenario.h"
#include "fabric/cli/fault_try/connection.h"

#include <netinet/in.h>
#include <sys/time.h>

#define TRIAL_NAMES 64u

/** struct node_name - the name that --nodes gives an address. */
struct node_name {
	char name[NODE_NAME_MAX + 1];
	struct trace_addr addr;
};

/**
 * struct trial - one `fault try`.
 * @now: time since the first frame
 * @frames, @packets, @bad: of the file: all, those of RDMA, those whose headers make no sense
 * @s, @refused: while rules are read; how many cannot be tried
 * @printed: hits so far
 */
struct trial {
	const struct opts *o;
	const char *file;
	struct fabric fabric;
	struct engine_ops ops;
	struct trace_conns *conns;
	struct node_name names[TRIAL_NAMES];
	u32 n_names;
	struct timeval start;
	u64 now;
	u64 frames, packets, bad;
	const struct scenario *s;
	struct fault_bad refusal;
	u32 refused;
	u64 printed;
};

/* --- nodes.c --- */

/** trial_names_parse() - read --nodes. Return: 0 or -1 after a line on stderr. */
int trial_names_parse(struct trial *t);
/**
 * trial_nodes_make() - make a device for each address; addresses with the same name share a node.
 * Return: 0 or -errno.
 */
int trial_nodes_make(struct trial *t);
/**
 * trial_nodes_check() - refuse rules about a node that the trace does not have: they can never hit.
 * Return: 0, or -1 after a line on stderr for each.
 */
int trial_nodes_check(struct trial *t);
void trial_nodes_text(const struct trial *t, char *out, size_t size);
void trial_addr_text(const struct trace_addr *a, char out[INET6_ADDRSTRLEN]);

/* --- output.c --- */

/** trial_print_hit() - print that a rule hits a packet. */
void trial_print_hit(struct trial *t, const struct fault_pkt *p, const struct fault_rule *r);
/** trial_print_summary() - print what follows all hits. Return: the exit status. */
int trial_print_summary(struct trial *t);

#endif
