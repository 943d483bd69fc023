/* SPDX-License-Identifier: MIT */
/**
 * DOC: the private copy of what the kernel would show of the devices in /sys and /dev.
 *
 * There is one tree of ordinary files and symlinks per node, with the devices that its programs
 * see. `rdmaemu run` passes its root in $RDMAEMU_SYSFS; the shim then shows
 *
 *	<root>/sys/class/infiniband*		as	/sys/class/infiniband*
 *	<root>/sys/devices/pci0fab:*		as	/sys/devices/pci0fab:*
 *	<root>/dev/infiniband*			as	/dev/infiniband*
 *	<root>/dev/ptp231*			as	/dev/ptp231*
 *	<root>/sys/class/ptp/ptp231*		as	/sys/class/ptp/ptp231*
 *
 * PCI domain 0fab is made up, and the kernel numbers PTP clocks from 0, so no real device's
 * directory or clock is ever hidden.
 */
#ifndef FABRIC_NODES_SYSFS_H
#define FABRIC_NODES_SYSFS_H

#include "emulator/hca.h"

#include <limits.h>

/* The largest device index that fits into the made-up PCI domain (256 buses of 32 devices). */
#define SYSFS_MAX_INDEX 8190u

/**
 * sysfs_build() - write the tree for @n devices.
 * @root: its directory; created (mode 0700) if missing, the parent must exist
 * @devs: uverbsN belongs to devs[N]
 *
 * Called again for the same root and devices it updates the files, each atomically. Counters exist
 * only by name: the shim reads them from the HCA. Nothing outside @root is opened or followed.
 * Return: 0 or -errno; on error the tree may be incomplete, sysfs_remove() removes it.
 */
int sysfs_build(const char *root, const struct hca_dev *devs, u32 n);

/**
 * sysfs_counters() - update the files of the counters, in a tree that was built.
 * Return: 0 or -errno.
 */
int sysfs_counters(const char *root, const struct hca_dev *devs, u32 n);

/**
 * sysfs_remove() - delete the tree, root included. Symlinks are removed, not followed.
 * Return: 0 (also if there is none) or -errno of the first failure; the rest is deleted anyway.
 */
int sysfs_remove(const char *root);

#endif
