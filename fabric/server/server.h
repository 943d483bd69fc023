/* SPDX-License-Identifier: MIT */
/** DOC: the state of the fabric process that only server/ knows. */
#ifndef FABRIC_SERVER_SERVER_H
#define FABRIC_SERVER_SERVER_H

#include "emulator/yield.h"
#include "fabric/common/opts.h"
#include "fabric/core/fabric.h"
#include "fabric/server/account.h"
#include "fabric/server/clock_move.h"
#include "fabric/server/channels.h"
#include "fabric/server/closer.h"
#include "fabric/server/conns.h"
#include "fabric/server/control.h"
#include "fabric/server/eventfd_signal.h"
#include "fabric/server/helper.h"
#include "fabric/server/idle.h"
#include "fabric/server/leases.h"
#include "fabric/server/node_socket.h"
#include "fabric/server/slices.h"
#include "fabric/server/work.h"

#include <sys/stat.h>

/** struct server - state of server/. All times are real time. */
struct server {
	const struct opts *opts; /* that the fabric was started with */
	struct watch listen;
	struct node_sockets node_sockets; /* isolated: those of the programs */
	struct watch signals;
	struct watch socket; /* inotify: the file of the socket */
	struct stat sock_file;
	bool vanished; /* that file was removed */
	int alive; /* the lock of fabric_paths.alive */
	int spare_fd; /* closed for a moment when no other descriptor is available */
	struct eventfd_signaller signaller;
	u32 n_cpus;
	struct crowd crowd; /* whether other processes keep the CPUs busy */
	struct brief brief; /* looks of the loop meanwhile */
	struct slices slices;
	struct accounts accounts; /* of an isolated fabric */
	struct closer closer; /* of an isolated fabric */
	bool closer_full; /* the log says that it was */
	struct leases leases;
	struct idle idle;
	struct work work;
	struct clock_move move;
	struct channel_watch channels;
	struct xfer xfer[MAX_XFERS];
};

/* --- socket_watch.c --- */

/**
 * server_file_is_own() - whether @path is still the file that @own describes.
 *
 * Linux reports the removal of a file (IN_ATTRIB) a moment before the path ceases to lead to it. In
 * that moment the file has no link, and is no longer its owner's.
 */
bool server_file_is_own(const char *path, const struct stat *own);
/** server_watch_socket() - leave when the file of the socket is removed. Return: 0 or -errno. */
int server_watch_socket(struct fabric *f);

/* --- loop.c --- */

/** server_listen_at() - bind a socket to @path and watch it. Return: 0 or -errno. */
int server_listen_at(struct fabric *f, struct watch *w, const char *path);
/** server_listen() - bind the socket and watch it. Return: 0 or -errno. */
int server_listen(struct fabric *f);
/** server_loop() - serve until it is time to leave; then the lock is held. */
void server_loop(struct fabric *f);

#endif
