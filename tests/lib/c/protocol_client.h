/* SPDX-License-Identifier: MIT */
/**
 * DOC: a client that speaks the protocol of the fabric process itself, without the library: for
 * tests of what a hostile program can do. What fails ends the program with a message.
 */
#ifndef TESTS_LIB_C_PROTOCOL_CLIENT_H
#define TESTS_LIB_C_PROTOCOL_CLIENT_H

#include "emulator/verbs/cmd.h"
#include "fabric/proto/proto.h"

#include <stdbool.h>
#include <stddef.h>

#define PROTOCOL_PATIENCE 60 /* seconds for an answer */

/**
 * struct protocol_client - a client of the fabric that the environment names.
 * @seg: its segment, of which the first @mapped bytes are mapped
 */
struct protocol_client {
	int sock;
	int kick;
	struct seg_hdr *seg;
	size_t mapped;
	struct proto_welcome welcome;
};

/** protocol_connect() - a connection to the fabric process. Return: its descriptor. */
int protocol_connect(void);
/**
 * protocol_ask() - send a request and receive its answer in @m.
 * @fds: receives @max descriptors
 * Return: false: the connection has ended, or the answer came without the descriptors.
 */
bool protocol_ask(int sock, struct proto_msg *m, int *fds, size_t max);
/**
 * protocol_hello() - become a client, on a connection of its own, on the node that the environment
 * names. Return: 0 or the -errno that the fabric process answers.
 */
int protocol_hello(struct protocol_client *c, const char *name, size_t mapped);
/** protocol_leave() - hang up. */
void protocol_leave(struct protocol_client *c);
/** protocol_kick() - tell the fabric process to look. */
void protocol_kick(const struct protocol_client *c);
/** protocol_command() - have @cmd executed, and wait. Return: its result. */
int protocol_command(struct protocol_client *c, struct hca_cmd *cmd);

#endif
