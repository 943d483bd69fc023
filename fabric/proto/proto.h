/* SPDX-License-Identifier: MIT */
/**
 * DOC: the fabric's client protocol: what goes over its unix socket (SOCK_SEQPACKET).
 *
 * A request and a reply are each one message: struct proto_msg, file descriptors by SCM_RIGHTS.
 * The fabric process answers every request without needing the engine token, so a holder of the
 * token may ask. It admits peers of its own uid only (SO_PEERCRED).
 *
 * Where the socket is: <dir>/<fabric>.sock, see fabric/proto/state_dir.h for <dir>. `rdmaemu run` puts the
 * whole path into RDMAEMU_SOCKET for the shim.
 */
#ifndef FABRIC_PROTO_PROTO_H
#define FABRIC_PROTO_PROTO_H

#include "emulator/hca.h"

#define PROTO_MAGIC   0x4f544f52u /* "ROTO" */
#define PROTO_VERSION 8u
#define PROTO_ENV     "RDMAEMU_SOCKET"
/* Root of the private /sys and /dev tree (fabric/nodes/sysfs.h); unset: paths are not rewritten. */
#define PROTO_SYSFS_ENV "RDMAEMU_SYSFS"
/* The node that a program is on; unset: the host itself. */
#define PROTO_NODE_ENV "RDMAEMU_NODE"
/* Its number: nodes are counted as they are made, which is how they get their addresses. */
#define PROTO_NODE_NUMBER_ENV "RDMAEMU_NODE_NUMBER"
/* The number of the `rdmaemu run` that a program was started by. */
#define PROTO_RUN_ENV "RDMAEMU_RUN"

enum proto_op {
	/*
	 * HELLO: in: hello. out: welcome; fds: own segment, kick eventfd (write 8 bytes to wake
	 * the fabric process), HCA memory (only when !isolated).
	 */
	PROTO_HELLO = 1,
	/* SEG: in: peer (client, gen). out: fd of that client's segment. -ENOENT: it has gone. */
	PROTO_SEG,
	/* CHAN_ADD: in: chan; fd: the channel's eventfd, kept until CHAN_DEL or death. */
	PROTO_CHAN_ADD,
	PROTO_CHAN_DEL,
	/* CHAN: in: peer + chan. out: fd of that channel. */
	PROTO_CHAN,
	/*
	 * LEASE: the caller's process keeps the fabric alive until it exits, also through exec.
	 * PROTO_F_STAY: and the fabric stays until it is stopped. in: lease.node, which is made if
	 * there is none. out: flags, PROTO_F_*; lease.
	 */
	PROTO_LEASE,
	/* STATUS: out: text in memfd (fd), JSON when flags has PROTO_F_JSON. Of an audit: PROTO_F_BUSY, PROTO_F_UNSOUND. */
	PROTO_STATUS,
	/* LOG: in: log. out: log, whose positions have moved on; text likewise. */
	PROTO_LOG,
	/* STOP: the fabric ends; answered before it does. */
	PROTO_STOP,
	/* HELPER_FD: fd: eventfd that wakes the client's helper thread. */
	PROTO_HELPER_FD,
	/* HELPER: in: peer. out: fd of that client's helper eventfd. */
	PROTO_HELPER,
	/*
	 * DEV: in: ask.number, of the client's node; ask.node: for those who are no client. out: dev,
	 * as it is now.
	 */
	PROTO_DEV,
	/* PORT: in: port. Answered when it has been done. */
	PROTO_PORT,
	/* NODE: in: ask.node, or ask.ip. out: node. Anybody may ask. -ENOENT: there is none. */
	PROTO_NODE,
	/*
	 * FAULT_ADD: in: fault.text, one or several rules; or fd: a scenario in a memfd, of the file
	 * fault.place. All of them or none. out: fault.n rules were added, 0 when that very scenario was
	 * there already, fault.id is the last one's. -EINVAL: fault.text says what is wrong.
	 */
	PROTO_FAULT_ADD,
	/* FAULT_REMOVE: in: fault.name, or fault.id where that is empty. out: fault.hits. -ENOENT */
	PROTO_FAULT_REMOVE,
	/* FAULT_CLEAR: all of them. out: fault.n */
	PROTO_FAULT_CLEAR,
	/*
	 * JOURNAL: in: journal.errors, .notices: positions. out: the next entry and the positions behind it.
	 * -ENOENT: there is none. PROTO_F_END: the positions of the end, no entry.
	 */
	PROTO_JOURNAL,
	/* FAULT_NEXT: in: fault.id. out: the rule with the lowest id from that on. -ENOENT */
	PROTO_FAULT_NEXT,
	/* FAULT_LIST: out: as STATUS; PROTO_F_SUMMARY: lines for the end of a run, maybe none */
	PROTO_FAULT_LIST,
	/* CALL: in: call.id. out: call.err, call.event: how it fails; 0: it does not. */
	PROTO_CALL,
	/*
	 * CLOCK: in, out: clock. Answered when it is where it is to be. -EOPNOTSUPP: joined fabrics
	 * leave it as it is. -EBUSY: somebody else is moving it. -ETIME: it stopped on the way, as who
	 * has the engine is stopped or helps no more.
	 */
	PROTO_CLOCK,
	/*
	 * CAPTURE_START: in: capture; fd: what it writes to, unless it is a ring of files, capture.path. Answered
	 * when packets are captured. PROTO_F_HOLD: it ends with this connection. out: capture.id. -ENODEV: there is
	 * no such port. -EUSERS: there are too many. Else capture.text says what is wrong.
	 */
	PROTO_CAPTURE_START,
	/*
	 * CAPTURE_STOP: in: capture.id; 0: any. Answered when all is in the file. out: capture: what it has done,
	 * capture.err what it has failed with. -ENOENT
	 */
	PROTO_CAPTURE_STOP,
	/* CAPTURE_LIST: out: as STATUS */
	PROTO_CAPTURE_LIST,
	/*
	 * INJECT: in: inject.from, which is made if there is none, and what names a queue pair. out: inject.
	 * -ENOENT: there is no such queue pair. -ENOTUNIQ: there are several, inject.n of them.
	 * -EREMOTE: inject.from is another fabric's.
	 */
	PROTO_INJECT,
	/*
	 * INJECT_FRAME: in: frame. out: frame.why: for which it was dropped at once, or "". Answered when it is
	 * put in. -ENOMSG: it is no RDMA packet. -ENXIO: nobody has the address that it comes from.
	 * -EREMOTE: it is for another fabric.
	 */
	PROTO_INJECT_FRAME,
	/*
	 * INJECT_SETTLED: in: settled, on the connection that a capture is held by. out: settled. -EAGAIN: a
	 * packet of the queue pair is under way, or not in the capture yet. -ENOENT: there is no capture.
	 */
	PROTO_INJECT_SETTLED,
};

enum proto_flags {
	PROTO_F_END = 1 << 8, /* JOURNAL */
	PROTO_F_BUSY = 1 << 9, /* STATUS, out: there was no audit: the engine did not stand still */
	PROTO_F_UNSOUND = 1 << 10, /* STATUS, out: the audit has found something */
	PROTO_F_JSON = 1 << 0, /* STATUS, LOG: JSON is wanted */
	PROTO_F_STAY = 1 << 1, /* LEASE: do not leave when the last client has gone */
	PROTO_F_ISOLATED = 1 << 2, /* LEASE, out: it is an isolated fabric */
	PROTO_F_HOLD = 1 << 3, /* LEASE, out: the lease lasts as long as this connection */
	PROTO_F_AUDIT = 1 << 4, /* STATUS: with an audit of the HCA's memory */
	PROTO_F_LINES = 1 << 5, /* LOG, with JSON: an object in each line, instead of an array */
	PROTO_F_FOLLOW = 1 << 7, /* LOG: answers go on to come when there is more */
	PROTO_F_SUMMARY = 1 << 6, /* LOG: entries that are alike as one, and how many they are */
};

#define PROTO_NODE_SIZE sizeof(((struct hca_node *)0)->name)
#define PROTO_DEV_SIZE	32u

struct proto_hello {
	u32 version;
	s32 pid; /* own view */
	u64 pidns; /* st_ino of /proc/self/ns/pid */
	u64 cookie_addr;
	u64 cookie;
	char node[PROTO_NODE_SIZE]; /* empty: the host */
	char name[32]; /* program name */
	u32 run; /* RDMAEMU_RUN, a number that `rdmaemu run` has given out; 0: none */
	u32 pad;
};

#define PROTO_MAX_DEVS 8 /* of a node */

struct proto_welcome {
	u32 client;
	u32 gen;
	u32 isolated;
	u32 fabric_reach; /* 0: start the memory helper */
	u64 seg_size;
	u64 hca_size;
	u32 first_dev; /* of the client's node, in the HCA */
	u32 n_devs;
	u32 node;
	u32 pad;
};

struct proto_peer {
	u32 client;
	u32 gen;
	u32 chan;
	u32 pad;
};

enum proto_port_what {
	PORT_CHANGE_STATE, /* value: enum hca_port_state */
	PORT_CHANGE_LID,
	PORT_CHANGE_PKEY,
	PORT_CHANGE_LINK, /* link */
};

struct proto_port {
	char node[PROTO_NODE_SIZE]; /* empty: all */
	char dev[PROTO_DEV_SIZE]; /* empty: all */
	u32 port; /* 0: all */
	u32 what; /* enum proto_port_what */
	u32 index;
	u32 value;
	struct hca_uplink link;
};

struct proto_lease {
	u64 profile; /* profile_hash() */
	u64 topology; /* struct topology.hash; 0: none */
	u32 ppm; /* out: the clock that it was started with */
	u32 manual;
	u32 chaos; /* out */
	u32 faults; /* out: rules there are */
	u64 chaos_seed; /* out */
	char node[PROTO_NODE_SIZE]; /* empty: the host */
	u32 number; /* out: of the node */
};

/**
 * struct proto_call - a call that a program is in.
 * @id: enum call_id
 * @err: errno's value that it fails with; @event: or that the event has which comes of it (rdma_cm)
 */
struct proto_call {
	u32 id;
	u32 err;
	u32 event;
};

enum proto_clock_what {
	PROTO_CLOCK_SHOW,
	PROTO_CLOCK_ADVANCE, /* by ns */
	PROTO_CLOCK_STOP,
	PROTO_CLOCK_RUN, /* ppm; 0: as fast as before */
};

#define CLOCK_ADVANCE_MAX (366ULL * 24 * 3600 * 1000000000) /* ns */

/**
 * struct proto_clock - the fabric's clock. Times are fabric time since the fabric's start, ns.
 * @ppm: how fast it runs when it does, in millionths of real time
 * @now, @running: out
 * @next: out: the next deadline of the engine, ~0: there is none
 */
struct proto_clock {
	u32 what; /* enum proto_clock_what */
	u32 ppm;
	u64 ns;
	u64 now;
	u64 next;
	u32 running;
	u32 pad;
};

/**
 * struct proto_log - which entries of the journal, and of the fabric's own notes, are wanted.
 * @errors, @notices, @notes: those before these positions are known already
 *	SUMMARY: out: how many errors and notices there were
 * @lost: out: entries that were overwritten before they were asked for
 * @clients: SUMMARY: out: those of @run that have not ended yet
 * @program: name, or process id; empty: of all
 * @node: empty: of all
 * @qpn: 0: of all
 * @run: of the programs that this `rdmaemu run` has started; 0: of all
 */
struct proto_log {
	u64 errors;
	u64 notices;
	u64 notes;
	u64 lost;
	u64 clients;
	char program[JOURNAL_NAME];
	char node[PROTO_NODE_SIZE];
	u32 qpn;
	u32 run;
};

struct proto_ask {
	u32 number;
	char node[PROTO_NODE_SIZE]; /* empty: the host */
	u8 ip[16]; /* NODE: as a GID, where there is no name */
};

/**
 * struct proto_journal - an entry of the journal, in words: emulator/journal/entry.h.
 * @errors, @notices: positions in the two rings; 0: the oldest entry
 * @ts: since the fabric's start, ns
 */
struct proto_journal {
	u64 errors;
	u64 notices;
	u64 ts;
	u64 wr_id;
	s32 pid, peer_pid;
	u32 qpn, peer_qpn;
	u32 psn;
	u32 attempt;
	u32 rule;
	u8 has_psn, has_wr_id, is_error, pad;
	char kind[16];
	char what[64];
	char program[JOURNAL_NAME];
	char peer[JOURNAL_NAME];
	char text[768];
};

/**
 * struct proto_capture - a capture: fabric/capture/capture.h.
 * @erf: InfiniBand packets have a header of ERF's: roce_erf_header()
 * @snaplen: bytes of each frame; 0: all
 * @ring_bytes: of a file of a ring; 0: there is one file; @ring_files: that are kept; 0: all
 * @node, @dev, @port: "", "", 0: all
 * @path: the file, absolute; of a ring, what its files' names are made of
 * @packets, @bytes, @filtered, @lost, @files: out: what it has done
 * @err: out: errno that it has ended with, about @text; 0: none
 * @mode: of files that are made of a ring: as who asks would make them
 * @ended: out: another than its owner has ended it
 */
struct proto_capture {
	u32 id;
	u32 lossy;
	u32 snaplen;
	u32 port;
	u32 erf;
	u32 ended;
	u32 mode;
	u32 pad;
	u64 ring_bytes;
	u32 ring_files;
	u32 files;
	u64 packets;
	u64 bytes;
	u64 filtered;
	u64 lost;
	s32 err;
	u32 state; /* out: enum capture_state */
	char node[PROTO_NODE_SIZE];
	char dev[PROTO_DEV_SIZE];
	char filter[1024];
	char text[256];
	char path[4096];
};

/** struct proto_fault - rules: fabric/fault/rule.h. */
struct proto_fault {
	u32 id;
	u32 n;
	u64 seen;
	u64 hits;
	char name[40];
	char place[256];
	char text[512];
};

/**
 * struct proto_inject - a queue pair, and what packets of its peer look like.
 * @node, @dev, @port: in: where it is; empty, 0: anywhere. out
 * @from: in: the node that its peer is, or is to be on; empty: any
 * @program: in: whose it is, by name or process id; empty: anybody's
 * @qpn: in: its number; 0: any of those that are connected, the youngest
 * @mr: in: the @mr th memory region of its PD, from 1 on; @n_mrs: out: there are so many
 * @gid, @peer_gid, @lid, @peer_lid: out: the ends' addresses
 * @first_request, @first_answer: out: PSN of the first request that it was to get, and that it sent
 * @mgid, @mlid: out: of the first multicast group that it is in; @in_group: it is in one
 * @global: out: its packets have a GRH, on InfiniBand too
 * @epsn: out: of the next request that it waits for
 * @una, @next: out: of what it has sent: the oldest that is not acknowledged, and the next
 */
struct proto_inject {
	char node[PROTO_NODE_SIZE];
	char dev[PROTO_DEV_SIZE];
	char from[PROTO_NODE_SIZE];
	char program[JOURNAL_NAME];
	u32 port;
	u32 qpn;
	u32 mr;
	u32 n;
	/* out */
	u32 type; /* enum ib_qp_type */
	u32 state; /* enum ib_qp_state */
	u32 link_layer; /* enum hca_link */
	u32 mtu; /* bytes */
	u32 peer_qpn;
	u32 pkey;
	u32 qkey;
	u32 srqn; /* XRC target: of the first SRQ of its domain */
	u32 flow_label;
	u8 gid[16], peer_gid[16];
	u16 lid, peer_lid;
	u8 sl, tclass, hop_limit, isolated;
	u8 mgid[16];
	u16 mlid;
	u8 global, in_group;
	u32 first_request, first_answer;
	u32 epsn, una, next;
	u32 n_mrs;
	u32 rkey;
	u64 va, len; /* of the region */
};

/**
 * struct proto_settled - whether a capture has all that a queue pair has sent.
 * @qpn: the queue pair's
 * @upto: in: 0, or what the answer before had: the packets that were sent by the time of that question count
 * @packets: out: so many has the capture written by now
 */
struct proto_settled {
	u32 qpn;
	u32 pad;
	u64 upto;
	u64 packets;
};

#define PROTO_FRAME 4608u /* the largest MTU and all headers */

/** struct proto_frame - a frame. @link: LINKTYPE_* of pcap: enum roce_link */
struct proto_frame {
	u32 link;
	u32 len;
	char why[128];
	u8 bytes[PROTO_FRAME];
};

struct proto_msg {
	u32 magic;
	u32 op; /* enum proto_op */
	s32 ret; /* reply: 0 or -errno */
	u32 flags;
	union {
		struct proto_hello hello;
		struct proto_welcome welcome;
		struct proto_peer peer;
		struct proto_lease lease;
		struct proto_ask ask; /* DEV, NODE */
		struct proto_call call;
		struct proto_log log;
		struct hca_node node;
		struct proto_port port;
		struct proto_fault fault;
		struct proto_clock clock;
		struct proto_capture capture;
		struct proto_journal journal;
		struct proto_inject inject;
		struct proto_frame frame;
		struct proto_settled settled;
		struct hca_dev dev; /* isolated clients have no HCA memory to look it up in */
	};
};

#endif
