/* SPDX-License-Identifier: MIT */
/**
 * DOC: the answers of the kernel's RDMA netlink family (NETLINK_RDMA, client nldev), which rdma(8),
 * libibverbs and test suites ask for devices, ports, resources and statistics.
 *
 * Theory of operation
 * -------------------
 * A program's netlink socket is a connection to the fabric process (libshim/interpose/netlink.c),
 * and each datagram on it is one of netlink: struct nlmsghdr and attributes. struct nldev is the
 * kernel's end of it. It is driven by whoever has the connection:
 *
 *  1. the caller puts a datagram into @in;
 *  2. it calls nldev_next() until that returns false, and sends @out each time.
 *
 * Thus a dump of many objects is made piece by piece, as fast as the program reads it, and needs
 * no more memory than one datagram. Objects are read without the token, as for a status: an object
 * that is created or destroyed meanwhile is in the dump or not.
 *
 * Nothing in @in is trusted. Requests that the kernel refuses fail with the kernel's error.
 *
 * The facts are those of the kernel's ib_core (nldev, netlink) and netlink core, and of iproute2's
 * rdma tool, which reads the answers.
 */
#ifndef FABRIC_NLDEV_NLDEV_H
#define FABRIC_NLDEV_NLDEV_H

#include "emulator/hca.h"

#include <linux/netlink.h>

/* Bytes of a datagram: what the kernel fills where pages have 4 KiB; libmnl's buffer is a page. */
#define NLDEV_OUT 3776u
#define NLDEV_IN  8192u

/** struct nldev_dump - a dump under way. @at: number of the next object */
struct nldev_dump {
	bool on;
	u32 cmd; /* enum nldev_cmd */
	u32 seq;
	u32 dev; /* in the HCA */
	u32 port; /* 0: any */
	u32 at;
	int err; /* it ends with that */
};

/** struct nldev_ack - an answer NLMSG_ERROR that comes after the reply. */
struct nldev_ack {
	bool due;
	int err;
	u32 pos; /* of the request in @in */
};

/**
 * struct nldev - the kernel's end of a netlink socket.
 * @node: whose devices it shows
 * @portid: the program's address
 * @pidns, @own_pidns: PID namespaces of the program and of the fabric process, by inode
 * @admin: the program has CAP_NET_ADMIN: it sees keys
 * @nest, @msg: where the message in @out begins; @full: something did not fit
 */
struct nldev {
	u32 node;
	u32 portid;
	u64 pidns, own_pidns;
	bool admin;
	bool full;
	struct nldev_ack ack;
	struct nldev_dump dump;
	u32 in_len, in_pos;
	u32 out_len;
	u32 msg;
	u8 in[NLDEV_IN] __attribute__((aligned(8)));
	u8 out[NLDEV_OUT] __attribute__((aligned(8)));
};

/* --- request.c --- */

/** nldev_next() - make the next datagram in @out. Return: false: there is none, @in is done. */
bool nldev_next(struct nldev *n, struct hca *hca);

#endif
