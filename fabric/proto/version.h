/* SPDX-License-Identifier: MIT */
/**
 * DOC: who we are: the release, and what devices say of themselves, by verbs and in sysfs alike.
 */
#ifndef FABRIC_PROTO_VERSION_H
#define FABRIC_PROTO_VERSION_H

#define RDMAEMU_VERSION "0.1.0" /* also the devices' firmware version */

/*
 * A neutral identity: programs choose special ways for vendors and parts they know, and some take
 * vendor 0 for Soft-RoCE. PCI has room for the lower 16 bits of the vendor's number only.
 */
#define IDENT_VENDOR	 0x525645 /* "RVE" */
#define IDENT_PCI_VENDOR (IDENT_VENDOR & 0xffff)
#define IDENT_PART	 1
#define IDENT_HW_REV	 1
#define IDENT_BOARD	 "rdmaemu"

#endif
