/* SPDX-License-Identifier: MIT */
/**
 * DOC: the state directory, which has each fabric's socket, lock, log and sysfs tree.
 *
 *	<dir>/config		settings (common/opts.h)
 *	<dir>/<name>.lock	flock(2)ed while the fabric starts or ends, see lock_take()
 *	<dir>/<name>.sock	the fabric's socket (proto.h)
 *	<dir>/<name>.programs/	isolated fabrics: a directory per node with a socket,
 *				<node>/sock, which serves its programs and no control
 *	<dir>/<name>.log	messages of the fabric process
 *	<dir>/journals/		journals of fabrics that have ended (common/journal_dir.h)
 *	<dir>/<name>.sysfs	tree of fabric/nodes/sysfs.h; if <dir> is on a disk, in
 *				/dev/shm/rdmaemu-<uid>
 *	<name>.alive		next to that tree: flock(2)ed by the fabric process that has made it
 */
#ifndef FABRIC_PROTO_STATE_DIR_H
#define FABRIC_PROTO_STATE_DIR_H

#include "emulator/types.h"

#include <limits.h>

/**
 * statedir_find() - the directory's absolute path, whether it exists or not.
 * @given: as for statedir_open()
 *
 * If that directory is open to others, who cannot change it, the path is that of rdmaemu-<uid> in
 * it.
 * Return: 0 or -errno.
 */
int statedir_find(const char *given, char path[PATH_MAX]);
/**
 * statedir_open() - find the directory, make it if it is missing, and check it.
 * @given: --dir or RDMAEMU_DIR, or "": $XDG_RUNTIME_DIR/rdmaemu, else /tmp/rdmaemu-<uid>
 * @path: receives its absolute path
 *
 * It must be a directory (no symlink) that belongs to the caller and is closed to all others: a
 * user who can write to it could put another socket there.
 * Return: 0, or -1 after one line on stderr.
 */
int statedir_open(const char *given, char path[PATH_MAX]);

/* `run --fresh`: what is between the name that its fabric would have otherwise and a number. */
#define STATEDIR_FRESH ".fresh-"

/* How the files of a fabric end. */
#define STATE_LOCK     ".lock"
#define STATE_SOCK     ".sock"
#define STATE_PROGRAMS ".programs"
#define STATE_LOG      ".log"
#define STATE_SYSFS    ".sysfs"
#define STATE_ALIVE    ".alive"

/** statedir_base_len() - how much of a fabric's name is not of `run --fresh`. */
size_t statedir_base_len(const char *name);

/** struct fabric_paths - the files of one fabric. */
struct fabric_paths {
	char dir[PATH_MAX];
	char lock[PATH_MAX];
	char sock[PATH_MAX];
	char programs[PATH_MAX]; /* directory */
	char log[PATH_MAX];
	char sysfs[PATH_MAX];
	char alive[PATH_MAX];
};

/**
 * statedir_paths() - the files of fabric @name in @dir.
 * Return: 0, or -1 after one line on stderr: a socket's path has a limit (unix(7)).
 */
int statedir_paths(struct fabric_paths *p, const char *dir, const char *name);

/**
 * statedir_node_sysfs() - the root of the sysfs tree of a node.
 * @fabric: tree of the fabric, which is that of the host, node0
 * @name: of the node; "": the host
 * Return: 0 or -ENAMETOOLONG.
 */
int statedir_node_sysfs(char root[PATH_MAX], const char *fabric, const char *name);

/**
 * statedir_node_sock() - the socket of an isolated fabric for the programs of a node, alone in its
 * directory.
 * @programs: struct fabric_paths.programs
 * @name: of the node; "": the host
 * Return: 0 or -ENAMETOOLONG: a socket's path has a limit (unix(7)).
 */
int statedir_node_sock(char path[PATH_MAX], const char *programs, const char *name);

/**
 * lock_take() - take the lock under which the fabric starts and ends, or that it holds while it
 * lives.
 * Return: a descriptor that holds it until it is closed; -EWOULDBLOCK if @wait is false and another
 * process has the lock; -errno.
 */
int lock_take(const char *path, bool wait);
/**
 * lock_drop_file() - remove the lock file and release the lock: other processes notice and make a
 * new file.
 */
void lock_drop_file(const char *path, int fd);

#endif
