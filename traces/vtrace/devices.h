/* SPDX-License-Identifier: MIT */
/**
 * DOC: pN/devices: the devices that a program had, as text.
 *
 *	device 0 mlx5_0 0002c90300a1b2c0
 *	kind 0 0002c90300a1b2c0 0x2c9 4123 0 20.31.1014
 *	port 0 1 Ethernet 0 0 0
 *	gid 0 1 3 00000000000000000000ffffc0000202 RoCEv2 4
 *	address 0 1 192.0.2.2
 *
 * device: every device of the device list, in its order: number, name, node GUID.
 * The other lines describe devices that the program opened.
 * kind: system image GUID, vendor, part, hardware version, firmware.
 * port: link layer, LID, LMC, LID of the subnet manager.
 * gid: an entry of the GID table: index, GID, type, network interface.
 * address: an IP address by which the program reached a port of its own with the rdma_cm.
 *
 * A last line without a newline is incomplete, and ignored.
 */
#ifndef TRACES_VTRACE_DEVICES_H
#define TRACES_VTRACE_DEVICES_H

#include "traces/vtrace/text_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VT_MAX_DEVS	64u
#define VT_MAX_PORTS	16u /* of a device */
#define VT_MAX_GIDS	1024u /* of a port */
#define VT_MAX_ADDRS	64u /* of a port */
#define VT_DEV_NAME	64u /* bytes including the NUL */
#define VT_DEVICES_TEXT (256u << 10) /* bytes of the file */

/** enum vt_link - link layer of a port. */
enum vt_link {
	VT_LINK_OTHER,
	VT_LINK_INFINIBAND,
	VT_LINK_ETHERNET,
	VT_LINK_COUNT,
};

/** enum vt_gid_type - type of a GID, as enum ibv_gid_type. */
enum vt_gid_type {
	VT_GID_IB,
	VT_GID_ROCE_V1,
	VT_GID_ROCE_V2,
	VT_GID_TYPES,
};

extern const char *const vt_link_names[VT_LINK_COUNT];
extern const char *const vt_gid_names[VT_GID_TYPES];

/** struct vt_gid - an entry of a GID table. @ifindex: its network interface, 0: none */
struct vt_gid {
	uint8_t raw[16];
	uint32_t index;
	uint32_t type; /* enum vt_gid_type */
	uint32_t ifindex;
};

/** struct vt_port - a port. @gid: sorted by index; @addr: IP addresses, IPv4 as ::ffff:a.b.c.d */
struct vt_port {
	uint32_t num;
	uint32_t link; /* enum vt_link */
	uint32_t lid, lmc, sm_lid;
	uint32_t n_gids;
	struct vt_gid *gid;
	uint32_t n_addrs;
	uint8_t (*addr)[16];
};

/**
 * struct vt_device - a device of the list.
 * @system, @vendor, @part, @hw, @fw: valid if @known
 * @port: empty if the device was not opened
 */
struct vt_device {
	char name[VT_DEV_NAME];
	uint64_t guid;
	bool known;
	uint64_t system;
	uint32_t vendor, part, hw;
	char fw[VT_DEV_NAME];
	uint32_t n_ports;
	struct vt_port *port;
};

/** struct vt_devices - the device list. */
struct vt_devices {
	uint32_t n;
	struct vt_device *dev;
};

/**
 * vt_devices_parse() - parse the text of such a file, which is modified.
 * @path: for messages
 * Returns 0 or -errno, with @err set; vt_devices_free() in both cases.
 */
int vt_devices_parse(struct vt_devices *d, const char *path, char *text, struct vt_error *err);
void vt_devices_free(struct vt_devices *d);
/** vt_device_port() - find a device's port by its number. Returns NULL: there is none. */
struct vt_port *vt_device_port(const struct vt_device *dev, uint32_t num);

#endif
