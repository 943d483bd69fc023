/* SPDX-License-Identifier: MIT */
/** DOC: the release, and the identity that devices report by verbs and in sysfs. */
#ifndef FABRIC_PROTO_VERSION_H
#define FABRIC_PROTO_VERSION_H

#define RDMAEMU_VERSION "0.1.0" /* also the devices' firmware version */

/*
 * A neutral identity: programs take special paths for vendors and parts that they know, and some
 * take vendor 0 for Soft-RoCE. PCI has room for only the lower 16 bits of the vendor's number.
 */
#define IDENT_VENDOR	 0x525645 /* "RVE" */
#define IDENT_PCI_VENDOR (IDENT_VENDOR & 0xffff)
#define IDENT_PART	 1
#define IDENT_HW_REV	 1
#define IDENT_BOARD	 "rdmaemu"

#endif
