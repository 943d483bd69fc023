/* SPDX-License-Identifier: MIT */
/**
 * DOC: the private copy of what the kernel would show of the devices in /sys and /dev.
 *
 * One tree of ordinary files and symlinks per view (that is: per set of devices that a program is
 * to see). `rdmaemu run` names its root in $RDMAEMU_SYSFS; the shim then shows
 *
 *	<root>/sys/class/infiniband*		as	/sys/class/infiniband*
 *	<root>/sys/devices/pci0fab:*		as	/sys/devices/pci0fab:*
 *	<root>/dev/infiniband*			as	/dev/infiniband*
 *
 * PCI domain 0fab is made up, so that no real device's directory is ever hidden.
 */
#ifndef FABRIC_SYSFS_H
#define FABRIC_SYSFS_H

#include "emulator/types.h"

#define SYSFS_GIDS 16
/* The largest device index that fits into the made-up PCI domain (256 buses of 32 devices). */
#define SYSFS_MAX_INDEX 8191u

/** struct sysfs_gid - one entry of the port's GID table. */
struct sysfs_gid {
	u8 raw[16];
	u8 type; /* 0: IB/RoCE v1, 2: RoCE v2 (struct hca_gid) */
	bool valid;
	char ndev[16]; /* network interface, "" if none */
};

/** struct sysfs_dev - a device with one port. */
struct sysfs_dev {
	char name[32]; /* "rdmaemu0"; must not contain '/' */
	u32 index; /* ibv_get_device_index(); selects the PCI address; up to SYSFS_MAX_INDEX */
	u64 guid; /* node and system image GUID, host order */
	u32 port_state; /* enum ibv_port_state: 4 active */
	u32 max_mtu; /* enum ibv_mtu */
	u32 active_mtu; /* enum ibv_mtu */
	u32 rate_gbps; /* 0: 100 */
	s32 numa_node; /* -1: none */
	struct sysfs_gid gid[SYSFS_GIDS];
};

/**
 * sysfs_build() - write the tree for @n devices.
 * @root: directory to put it in; created (mode 0700) if missing, its parent must exist
 * @devs: uverbsN belongs to devs[N]
 *
 * Called again for the same root and devices it brings the files up to date. Nothing in the tree
 * is opened or followed outside @root.
 * Return: 0 or -errno; on error the tree may be incomplete, sysfs_remove() cleans it up.
 */
int sysfs_build(const char *root, const struct sysfs_dev *devs, int n);

/**
 * sysfs_remove() - delete the tree, root included. Symlinks are removed, not followed.
 * Return: 0 (also if there is none) or -errno of the first failure; it deletes what it can.
 */
int sysfs_remove(const char *root);

#endif
