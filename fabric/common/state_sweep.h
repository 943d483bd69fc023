/* SPDX-License-Identifier: MIT */
/**
 * DOC: files that fabrics have left in the state directory: those of a start that failed, and those
 * of a fabric that was killed.
 *
 * A fabric process holds the lock of <name>.alive from before it makes its tree until it has
 * removed it. A tree whose lock is free is therefore a dead fabric's, whatever its state directory
 * was; one without that file is left alone. A socket is a dead fabric's if nothing listens while
 * <name>.lock is held, under which fabrics start and end.
 */
#ifndef FABRIC_COMMON_STATE_SWEEP_H
#define FABRIC_COMMON_STATE_SWEEP_H

#include "fabric/proto/state_dir.h"

/**
 * state_alive_take() - take the lock that says that the fabric lives. Another process may have it
 * for a moment, as it sweeps, or longer, if its state directory was removed and made anew.
 * Return: a descriptor, -EBUSY or -errno.
 */
int state_alive_take(const struct fabric_paths *p);
/**
 * state_files_remove() - remove the files of a fabric whose process has ended. Its lock is held.
 * @log: its log, too
 */
void state_files_remove(const struct fabric_paths *p, bool log);

/**
 * state_sweep() - remove what dead fabrics of this user have left, in the state directory of @own
 * and where trees of state directories on disks are. Living fabrics, @own and the logs of fabrics
 * that have a name of their own stay. What cannot be removed stays, too.
 */
void state_sweep(const struct fabric_paths *own);

#endif
