/* SPDX-License-Identifier: MIT */
/** DOC: the release, the protocol's version, and the identity that devices report. */
#ifndef FABRIC_PROTO_VERSION_H
#define FABRIC_PROTO_VERSION_H

#include "emulator/types.h"

#define RDMAEMU_VERSION "0.1.0" /* also the devices' firmware version */

#define PROTO_VERSION 30u
/*
 * The first word of each message has the version, so that two versions notice each other whatever
 * else they changed. The answer to a message of another version is a header with -EPROTONOSUPPORT
 * and the release; those two have the same place in all versions.
 */
#define PROTO_FAMILY  0x4f540000u /* "OT" */
#define PROTO_MAGIC   (PROTO_FAMILY | PROTO_VERSION)
#define PROTO_RELEASE 32u

/** proto_is_other_version() - whether a message's first word is that of another version. */
static inline bool proto_is_other_version(u32 magic)
{
	return magic != PROTO_MAGIC && (magic & 0xffff0000u) == PROTO_FAMILY;
}

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
