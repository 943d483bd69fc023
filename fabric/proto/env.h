/* SPDX-License-Identifier: MIT */
/** DOC: what `rdmaemu run` passes to the program's library, in environment variables. */
#ifndef FABRIC_PROTO_ENV_H
#define FABRIC_PROTO_ENV_H

/* The path of the fabric's socket. */
#define PROTO_ENV "RDMAEMU_SOCKET"
/* Root of the private /sys and /dev tree (fabric/nodes/sysfs.h); unset: paths are not rewritten. */
#define PROTO_SYSFS_ENV "RDMAEMU_SYSFS"
/* The node that a program runs on; unset: the host itself. */
#define PROTO_NODE_ENV "RDMAEMU_NODE"
/* Its number: nodes are counted in the order in which they are made, as are their addresses. */
#define PROTO_NODE_NUMBER_ENV "RDMAEMU_NODE_NUMBER"
/* The number of the `rdmaemu run` that has started a program. */
#define PROTO_RUN_ENV "RDMAEMU_RUN"

/* "1": lend registered memory (docs/design/lent-memory.md); otherwise, and unset: keep it. */
#define PROTO_LEND_ENV "RDMAEMU_LEND"
/* "1": the device reaches shared memory by mappings of its own (libshim/memory/alias.c). */
#define PROTO_ALIAS_ENV "RDMAEMU_ALIAS"

/* How names of emulated PTP clocks begin: /dev/ptp2310000. Real ones have small numbers. */
#define PROTO_PTP_NAME "ptp231"

/*
 * The socket of the fabric with the rules for programs on real devices, which have no emulated ones
 * (libtap/users/faults.c); and the number of their `rdmaemu run --real` there. Such a run may be
 * inside a run on emulated devices, so these have names of their own.
 */
#define PROTO_REAL_ENV	   "RDMAEMU_REAL_SOCKET"
#define PROTO_REAL_RUN_ENV "RDMAEMU_REAL_RUN"
/* "1": the tap keeps what was posted, by which the journal describes a request that has failed. */
#define PROTO_REAL_REQUESTS_ENV "RDMAEMU_REAL_REQUESTS"

/*
 * For a program that has real and emulated devices (libdispatch/): the shim's path, and what
 * PROTO_ENV, PROTO_NODE_ENV and PROTO_RUN_ENV say to other programs.
 */
#define PROTO_BESIDE_LIB_ENV  "RDMAEMU_BESIDE_LIBRARY"
#define PROTO_BESIDE_ENV      "RDMAEMU_BESIDE_SOCKET"
#define PROTO_BESIDE_NODE_ENV "RDMAEMU_BESIDE_NODE"
#define PROTO_BESIDE_RUN_ENV  "RDMAEMU_BESIDE_RUN"

#endif
