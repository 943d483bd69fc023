/* SPDX-License-Identifier: MIT */
/**
 * DOC: the private directory with each fabric's socket, lock, log and sysfs tree.
 *
 *	<dir>/config		settings (fabric/common/opts.h)
 *	<dir>/<name>.lock	flock(2)ed by who starts or ends the fabric; see lock_take()
 *	<dir>/<name>.sock	the fabric's socket (proto.h)
 *	<dir>/<name>.log	what the fabric process has to say
 *	<dir>/<name>.sysfs	tree of fabric/nodes/sysfs.h; where <dir> is on a disk, in /dev/shm/rdmaemu-<uid>
 */
#ifndef FABRIC_PROTO_STATE_DIR_H
#define FABRIC_PROTO_STATE_DIR_H

#include "emulator/types.h"

#include <limits.h>

/**
 * statedir_find() - the directory's absolute path, whether it is there or not.
 * @given: as for statedir_open()
 * Return: 0 or -errno.
 */
int statedir_find(const char *given, char path[PATH_MAX]);
/**
 * statedir_open() - find, make if missing, and check the directory.
 * @given: --dir or RDMAEMU_DIR, or "": $XDG_RUNTIME_DIR/rdmaemu, else /tmp/rdmaemu-<uid>
 * @path: receives its absolute path
 *
 * It must be a directory (no symlink), owned by the caller and closed to all others: whoever can
 * write to it can put a socket of his own there.
 * Return: 0, or -1 after one line on stderr.
 */
int statedir_open(const char *given, char path[PATH_MAX]);

/** struct fabric_paths - the files of one fabric. */
struct fabric_paths {
	char dir[PATH_MAX];
	char lock[PATH_MAX];
	char sock[PATH_MAX];
	char log[PATH_MAX];
	char sysfs[PATH_MAX];
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
 * lock_take() - take the right to start or end the fabric.
 * Return: descriptor that holds it until closed; -EWOULDBLOCK if @wait is false and somebody has
 * it; -errno.
 */
int lock_take(const char *path, bool wait);
/** lock_drop_file() - remove the lock file and let go: others notice and make a new one. */
void lock_drop_file(const char *path, int fd);

#endif
