/* SPDX-License-Identifier: MIT */
/**
 * DOC: the fabric's client protocol, over its unix socket (SOCK_SEQPACKET).
 *
 * A request and its reply are one message each: struct proto_msg, with file descriptors by
 * SCM_RIGHTS. The fabric process answers every request without the engine token, so the holder of
 * the token may send one. It admits peers of its own uid only (SO_PEERCRED).
 * -EACCES: programs of an isolated fabric may not send that request; -EPERM: nor name a node that
 * is not theirs (server/control.c).
 *
 * The socket is <dir>/<fabric>.sock, that of the programs of an isolated fabric's node
 * <dir>/<fabric>.programs/<node>/sock; see fabric/proto/state_dir.h for <dir>. `rdmaemu run` passes
 * the whole path to the shim in RDMAEMU_SOCKET.
 */
#ifndef FABRIC_PROTO_PROTO_H
#define FABRIC_PROTO_PROTO_H

#include "emulator/hca.h"
#include "fabric/proto/env.h"
#include "fabric/proto/packets.h"
#include "fabric/proto/tapped.h"
#include "fabric/proto/version.h"

enum proto_op {
	/*
	 * HELLO: in: hello. out: welcome; fds: own segment, kick eventfd (write 8 bytes to wake the
	 * fabric process), HCA memory (only when !isolated). hello.real: only the segment, whose
	 * header is all that such a client uses. -EMEDIUMTYPE: the fabric is of the other kind.
	 */
	PROTO_HELLO = 1,
	/* SEG: in: peer (client, gen). out: fd of that client's segment. -ENOENT: it is gone. */
	PROTO_SEG,
	/* CHAN_ADD: in: chan; fd: its eventfd, kept until CHAN_DEL or the client's death. */
	PROTO_CHAN_ADD,
	PROTO_CHAN_DEL,
	/* CHAN: in: peer + chan. out: fd of that channel. */
	PROTO_CHAN,
	/*
	 * LEASE: the caller's process keeps the fabric alive until it exits, across exec.
	 * PROTO_F_STAY: the fabric then stays until it is stopped. in: lease.node, which is made if
	 * there is none. out: flags, PROTO_F_*; lease. -ESTALE: the fabric has served its programs
	 * and leaves; the connection ends when it has left, and the caller starts a new one.
	 * PROTO_F_REAL: the programs are on real devices. -EMEDIUMTYPE: as HELLO.
	 */
	PROTO_LEASE,
	/*
	 * STATUS: out: text in a memfd (fd), JSON if flags has PROTO_F_JSON. With an audit:
	 * PROTO_F_BUSY, PROTO_F_UNSOUND.
	 */
	PROTO_STATUS,
	/*
	 * LOG: in: log. out: log, with advanced positions; JSON in a memfd (fd). -ENODEV: no node
	 * has that name.
	 */
	PROTO_LOG,
	/* STOP: end the fabric; the answer comes before the end. */
	PROTO_STOP,
	/* HELPER_FD: fd: eventfd that wakes the client's helper thread. */
	PROTO_HELPER_FD,
	/* HELPER: in: peer. out: fd of that client's helper eventfd. */
	PROTO_HELPER,
	/*
	 * DEV: in: ask.number, of the client's node; ask.node: for a process that is no client.
	 * out: dev, in its current state.
	 */
	PROTO_DEV,
	/* PORT: in: port. The answer comes when the port has changed. */
	PROTO_PORT,
	/* NODE: in: ask.node, or ask.ip. out: node. Any process may ask. -ENOENT: there is none. */
	PROTO_NODE,
	/*
	 * FAULT_ADD: in: fault.text, one or several rules; or fd: a scenario in a memfd, of the
	 * file fault.place. PROTO_F_RUN: they end with the run whose lease this connection took.
	 * All rules are added or none. out: fault.n: rules added, 0 if the same
	 * scenario was added before; fault.id: the last one's. -EINVAL: fault.text says what is
	 * wrong.
	 */
	PROTO_FAULT_ADD,
	/* FAULT_REMOVE: in: fault.name, or fault.id if that is empty. out: fault.hits. -ENOENT */
	PROTO_FAULT_REMOVE,
	/* FAULT_CLEAR: remove all rules. out: fault.n */
	PROTO_FAULT_CLEAR,
	/*
	 * JOURNAL: in: journal.errors, .notices: positions. out: the next entry and the positions
	 * after it. -ENOENT: there is none. PROTO_F_END: the positions of the end, no entry.
	 */
	PROTO_JOURNAL,
	/* FAULT_NEXT: in: fault.id. out: the rule with the lowest id from there on. -ENOENT */
	PROTO_FAULT_NEXT,
	/*
	 * FAULT_LIST: out: as STATUS. PROTO_F_SUMMARY: lines for the end of a run, maybe none; in:
	 * fault.place: its scenario, fault.n: all rules of it must have fired, without one all of
	 * the fabric; out: fault.id: how many rules had to fire, fault.n: how many did not. With
	 * PROTO_F_JSON as well: all rules, each with whether it had to fire.
	 */
	PROTO_FAULT_LIST,
	/* CALL: in: call.id, .args. out: call.err, .event: how the call fails; 0: it does not. */
	PROTO_CALL,
	/*
	 * CLOCK: in, out: clock. The answer comes when the clock has its new time. -EOPNOTSUPP:
	 * clocks of joined fabrics cannot be changed. -EBUSY: another request is moving it. -ETIME:
	 * it stopped on the way, because the holder of the engine, or a helper, is stopped.
	 */
	PROTO_CLOCK,
	/*
	 * CAPTURE_START: in: capture; fd: the output, unless that is a ring of files, capture.path.
	 * The answer comes when packets are captured. PROTO_F_HOLD: the capture ends with this
	 * connection. out: capture.id. -ENODEV: there is no such port. -EUSERS: there are too many
	 * captures. Otherwise capture.text says what is wrong.
	 */
	PROTO_CAPTURE_START,
	/*
	 * CAPTURE_STOP: in: capture.id; 0: any. The answer comes when all packets are in the file.
	 * out: capture: its counts, capture.err: how it has failed. -ENOENT
	 */
	PROTO_CAPTURE_STOP,
	/* CAPTURE_LIST: out: as STATUS */
	PROTO_CAPTURE_LIST,
	/*
	 * INJECT: in: inject.from, which is made if there is none, and fields that name a queue
	 * pair. out: inject. -ENOENT: there is no such queue pair. -ENOTUNIQ: there are several,
	 * inject.n of them. -EREMOTE: inject.from is another fabric's.
	 */
	PROTO_INJECT,
	/*
	 * INJECT_FRAME: in: frame. out: frame.why: why it was dropped at once, or "". The answer
	 * comes when it is injected. -ENOMSG: it is no RDMA packet. -ENXIO: no port has its source
	 * address. -EREMOTE: it is for another fabric.
	 */
	PROTO_INJECT_FRAME,
	/*
	 * INJECT_SETTLED: in: settled, on the connection that owns a capture. out: settled.
	 * -EAGAIN: a packet of the queue pair is on its way, or not in the capture yet. -ENOENT:
	 * there is no capture.
	 */
	PROTO_INJECT_SETTLED,
	/*
	 * NLDEV: in: nldev. From the answer on, the connection is a netlink socket of NETLINK_RDMA:
	 * its messages are netlink's, both ways, but for further ones of this kind, which change
	 * nldev.portid and have no answer.
	 */
	PROTO_NLDEV,
	/* DROP: this connection and the process of its lease, now a program, lose control. */
	PROTO_DROP,
	/*
	 * CALL_FAILED: in: call.id, .err, .args, .limited: a call has failed, which no rule made
	 * fail but one about limits: for the journal. -EOPNOTSUPP: only of clients with real
	 * devices.
	 */
	PROTO_CALL_FAILED,
	/*
	 * WORK: in: work: a work request is being posted. out: work.status: what it completes with;
	 * 0: what the device says; work.delay_ns. -EOPNOTSUPP: as CALL_FAILED.
	 */
	PROTO_WORK,
	/*
	 * WORK_FAILED: in: failed: a work request has completed with failed.work.status, which no
	 * rule says: for the journal. -EOPNOTSUPP: as CALL_FAILED.
	 */
	PROTO_WORK_FAILED,
	/*
	 * CM: in: cm: rdma_get_cm_event() has an event that a message has caused. out: cm.act.
	 * -EOPNOTSUPP: as CALL_FAILED.
	 */
	PROTO_CM,
	/*
	 * EVENT_SEEN: in: event: ibv_get_async_event() returns it: for the journal. -EOPNOTSUPP: as
	 * CALL_FAILED.
	 */
	PROTO_EVENT_SEEN,
	/*
	 * OBJECTS: in: ask.number: a process, as it sees itself. out: ask.number: objects of verbs
	 * and the rdma_cm that it has. -ESRCH: it uses none of the fabric's devices.
	 */
	PROTO_OBJECTS,
	/*
	 * LEND: fd: the client's memory file (docs/design/lent-memory.md), kept until its death.
	 * -EINVAL: it is none, or may shrink. -EALREADY: there is one. In an isolated fabric no
	 * other client gets it.
	 */
	PROTO_LEND,
	/* LENT: in: peer. out: fd of that client's memory file. -ENOENT: there is none. */
	PROTO_LENT,
	/* HOLD: in: hold.cq: its completions can be withheld. out: hold.ns: for how long; 0: not */
	PROTO_HOLD,
	/*
	 * LIMITS: out: limits: those that rules have lowered; others are the largest value.
	 * -EOPNOTSUPP: as CALL_FAILED.
	 */
	PROTO_LIMITS,
	/*
	 * UNSEEN: in: event.qpn: the program posts to it, or polls, past verbs: for the journal.
	 * -EOPNOTSUPP: as CALL_FAILED.
	 */
	PROTO_UNSEEN,
	/* WIRE: in: ask.number. out: fd: that wire's socket. -ENOENT. -EACCES: it is isolated. */
	PROTO_WIRE,
	/* WIRE_INBOX: the same. out: fd: memory, struct ingress_box with EGRESS_BATCH entries. */
	PROTO_WIRE_INBOX,
	/*
	 * GROUPS: whether the fabric's wires have joined the groups that queue pairs are attached
	 * to. -EAGAIN: not yet
	 */
	PROTO_GROUPS,
	/*
	 * EVENTS: out: fd: an eventfd that becomes readable when EVENT_NEXT has an answer. There is
	 * one for a client. -EOPNOTSUPP: as CALL_FAILED.
	 */
	PROTO_EVENTS,
	/* EVENT_NEXT: out: raise: what a rule raises. -EAGAIN: nothing */
	PROTO_EVENT_NEXT,
	/*
	 * EVENT_RAISED: in: event: what event.rule raises was raised on an object: for the journal
	 * and the rule's hits. -EOPNOTSUPP: as CALL_FAILED.
	 */
	PROTO_EVENT_RAISED,
};

enum proto_flags {
	PROTO_F_END = 1 << 8, /* JOURNAL */
	PROTO_F_BUSY = 1 << 9, /* STATUS, out: no audit: the engine did not stand still */
	PROTO_F_UNSOUND = 1 << 10, /* STATUS, out: the audit has found an error */
	PROTO_F_JSON = 1 << 0, /* STATUS, LOG: as JSON */
	PROTO_F_STAY = 1 << 1, /* LEASE: stay when the last client has gone */
	PROTO_F_ISOLATED = 1 << 2, /* LEASE, out: it is an isolated fabric */
	PROTO_F_HOLD = 1 << 3, /* LEASE, out: the lease lasts as long as this connection */
	PROTO_F_AUDIT = 1 << 4, /* STATUS: with an audit of the HCA's memory */
	PROTO_F_LINES = 1 << 5, /* LOG, with JSON: an object per line, instead of an array */
	PROTO_F_FOLLOW = 1 << 7, /* LOG: send further answers when there are new entries */
	PROTO_F_SUMMARY = 1 << 6, /* LOG: equal entries as one, as JSON, and their numbers */
	PROTO_F_KEEP = 1 << 11, /* LEASE: serve later runs too, instead of leaving before them */
	PROTO_F_RUN = 1 << 12, /* FAULT_ADD */
	PROTO_F_VERBOSE = 1 << 13, /* STATUS, as text: all details */
	PROTO_F_CONTROL = 1 << 14, /* LEASE: the process's program may control the fabric */
	PROTO_F_REAL = 1 << 15, /* LEASE */
};

struct proto_hello {
	u32 version;
	s32 pid; /* as the client sees it */
	u64 pidns; /* st_ino of /proc/self/ns/pid */
	u64 cookie_addr;
	u64 cookie;
	char node[PROTO_NODE_SIZE]; /* empty: the host */
	char name[32]; /* program name */
	u32 run; /* RDMAEMU_RUN, a number of `rdmaemu run`; 0: none */
	u32 real; /* it has real devices: only rules about its calls and its process apply */
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

/**
 * struct proto_peer - a client, for requests about it.
 * @size: SEG: bytes that will be mapped: its file is made as long
 */
struct proto_peer {
	u32 client;
	u32 gen;
	u32 chan;
	u32 pad;
	u64 size;
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

/**
 * struct proto_given - settings that a fabric was started with, to compare with those of a later
 * command. Hashes are fnv1a(), 0: not given.
 */
struct proto_given {
	u64 seed;
	u64 subnets; /* of its nodes, given or not */
	u64 listen, join, token_file, roce, roce_peers;
	u32 first_mr;
	u32 stays; /* until it is stopped */
	u32 plaintext;
	u32 reserved;
	char name[PROTO_NODE_SIZE]; /* of the host's node */
};

struct proto_lease {
	struct proto_given given; /* out */
	u64 linger_ms; /* in: --linger, plus one; 0: not given */
	u64 profile; /* profile_hash() */
	u64 topology; /* struct topology.hash; 0: none */
	u32 ppm; /* out: the clock that it was started with */
	u32 manual;
	u32 chaos; /* out */
	u32 faults; /* out: number of rules */
	u64 chaos_seed; /* out */
	char node[PROTO_NODE_SIZE]; /* empty: the host */
	u32 number; /* out: of the node */
	u32 run; /* RDMAEMU_RUN of the caller's program; 0: none */
};

/**
 * struct proto_call - a call that a program makes.
 * @id: enum call_id
 * @err: value of errno that the call fails with
 * @event: value of errno for the event that the call leads to (rdma_cm)
 * @args: its arguments as text for the journal, "": unknown
 * @limited: CALL_FAILED: it has asked for more than LIMITS allowed
 */
struct proto_call {
	u32 id;
	u32 err;
	u32 event;
	u32 limited;
	char args[PROTO_ARGS];
};

/**
 * struct proto_hold - a CQ from which polls may find nothing: cq_hold.h.
 * @cq: its handle
 * @ns: at most for this long
 */
struct proto_hold {
	u32 cq;
	u32 reserved;
	u64 ns;
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
 * @ppm: speed while it runs, in millionths of real time
 * @now, @running: out
 * @real: out: CLOCK_MONOTONIC at @now
 * @next: out: the next deadline of the engine, ~0: there is none
 */
struct proto_clock {
	u32 what; /* enum proto_clock_what */
	u32 ppm;
	u64 ns;
	u64 now;
	u64 real;
	u64 next;
	u32 running;
	u32 pad;
};

/**
 * struct proto_log - a query for entries of the journal and of the fabric's own notes.
 * @errors, @notices, @notes: positions from which on entries are new
 * 	SUMMARY: out: number of errors and of notices
 * @floods: LINES: entries before @notices that have counted others since hca.flood_seq had this
 *	value come first (emulator/journal/alike.c); out: hca.flood_seq.
 *	UINT64_MAX: none come first, and new ones come without a count
 * @lost: out: entries that were overwritten before this query
 *	SUMMARY: out: entries of kinds that had no room
 * @clients: SUMMARY: out: programs of @run that have not ended yet
 * @program: name, or process id; empty: all
 * @node: empty: all
 * @qpn: 0: all
 * @run: programs that this `rdmaemu run` has started; 0: all
 */
struct proto_log {
	u64 errors;
	u64 notices;
	u64 notes;
	u64 floods;
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
	u8 ip[16]; /* NODE: as a GID, if there is no name */
};

/**
 * struct proto_journal - an entry of the journal, as text: emulator/journal/entry.h.
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
 * struct proto_nldev - who asks on a netlink socket.
 * @portid: the socket's address
 * @pidns: st_ino of /proc/self/ns/pid
 */
struct proto_nldev {
	u64 pidns;
	u32 portid;
	u32 pad;
	char node[PROTO_NODE_SIZE]; /* empty: the host */
};

struct proto_msg {
	u32 magic;
	u32 op; /* enum proto_op */
	s32 ret; /* reply: 0 or -errno */
	u32 flags;
	char release[PROTO_RELEASE]; /* of the fabric, with -EPROTONOSUPPORT */
	/*
	 * STATUS, LOG, FAULT_LIST: the member of the mesh that is asked instead, by its name. No
	 * FOLLOW, AUDIT or SUMMARY. -ENXIO: there is none. -EHOSTUNREACH: it is away.
	 * -EHOSTDOWN: it does not answer. -EBUSY: it is asked too often.
	 */
	char member[PROTO_NODE_SIZE];
	union {
		struct proto_hello hello;
		struct proto_welcome welcome;
		struct proto_peer peer;
		struct proto_lease lease;
		struct proto_ask ask; /* DEV, NODE, OBJECTS */
		struct proto_call call;
		struct proto_work work;
		struct proto_failed_work failed;
		struct proto_cm cm;
		struct proto_event event;
		struct proto_raise raise;
		struct proto_hold hold;
		struct hca_limits limits;
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
		struct proto_nldev nldev;
		struct hca_dev dev; /* isolated clients have no HCA memory to read it from */
	};
};

#endif
