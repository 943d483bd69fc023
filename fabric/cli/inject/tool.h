/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu replay FILE --inject`, the command's side.
 *
 * Theory of operation
 * -------------------
 * 1. The frames of a capture are read into memory (file.c).
 * 2. Each is rewritten as a frame of the live queue pair's peer (edit.c) and given to the fabric
 *    process (fabric/inject/inject.h).
 * 3. A capture of the queue pair's port, which writes into a pipe, has the packets that the queue
 *    pair sends (tap.c).
 * 4. A script (script.c) names the frames to send and the packets to expect. Its steps are carried
 *    out in order (run.c); the first difference ends it.
 */
#ifndef FABRIC_CLI_INJECT_TOOL_H
#define FABRIC_CLI_INJECT_TOOL_H

#include "fabric/common/opts.h"
#include "fabric/proto/proto.h"
#include "traces/formats/roce.h"

#define INJECT_FRAMES 65536u /* of a file */
#define INJECT_BYTES  (64u << 20) /* of all frames */
#define INJECT_STEPS  4096u /* of a script */
#define INJECT_VALUES 8u /* of a step */
#define INJECT_KEYS   64u /* different remote keys of a file */

/**
 * struct inject_frame - a frame of the file.
 * @bytes: all @len bytes that it had on the wire
 * @parsed: the result of roce_parse()
 * @rel: its PSN, counted from the first of its direction of the connection
 */
struct inject_frame {
	u32 link; /* enum roce_link */
	u32 len;
	const u8 *bytes;
	s32 parsed;
	u32 rel;
	struct roce_pkt pkt;
};

/** struct inject_region - a remote key of the file. @va: the lowest address used with it */
struct inject_region {
	u32 rkey;
	u64 va;
};

/**
 * struct inject_file - a capture.
 * @first: the first frame with an RDMA packet, whose sender is the peer that is played; @n: none
 * @key: remote keys of the peer's requests, in the order of their first use
 * @qkey, @srqn: the first in a packet to a QP other than 1
 * @group: the first packet to a multicast group, likewise; NULL: none
 */
struct inject_file {
	const char *path;
	struct inject_frame *frame;
	u32 n;
	u32 first;
	u8 *bytes;
	struct inject_region key[INJECT_KEYS];
	u32 n_keys;
	u32 qkey, srqn;
	const struct roce_pkt *group;
};

/* --- file.c ---------------------------------------------------------------------------------- */

/** inject_is_peer_frame() - whether the played peer has sent frame @i. */
bool inject_is_peer_frame(const struct inject_file *file, u32 i);
/** inject_is_multicast() - whether a packet is for a multicast group. */
bool inject_is_multicast(const struct roce_pkt *p);
/** inject_file_load() - read a capture. Return: 0, or -1 after one line on stderr. */
int inject_file_load(struct inject_file *file, const char *path);
void inject_file_free(struct inject_file *file);

/* --- field.c, edit.c ------------------------------------------------------------------------- */

/** struct inject_value - NAME=VALUE of a step. @rel: it was written as +VALUE */
struct inject_value {
	u8 field;
	bool rel;
	u64 min, max; /* equal, but for ranges */
	u8 bytes[64]; /* payload= */
};

/**
 * inject_value_parse() - read a word as NAME=VALUE.
 * @send: the value is to be set, not compared
 * Return: NULL, or what was expected.
 */
const char *inject_value_parse(struct inject_value *v, const char *word, bool send);

/**
 * struct inject_live - the live queue pair, and what is needed to rewrite frames for it.
 * @q: the answer to PROTO_INJECT
 * @region: the regions that keys of the file stand for, in the order of inject_file.key
 */
struct inject_live {
	struct proto_inject q;
	struct {
		u32 rkey;
		u64 va;
	} region[INJECT_KEYS];
	u32 n_regions;
};

/**
 * inject_frame_build() - make the frame that the live queue pair's peer would send, with the values
 * of a step.
 * @as_is: change nothing but what the step sets
 * Return: 0; -EMSGSIZE: it does not fit; -EINVAL: no frame can have these values.
 */
int inject_frame_build(const struct inject_file *file, const struct inject_frame *fr,
		       const struct inject_live *live, bool as_is, const struct inject_value *value,
		       u32 n, struct proto_frame *out);
/**
 * inject_values_set() - set the values of a step in a packet.
 * @room: @size bytes for a payload that changes
 */
void inject_values_set(struct roce_pkt *p, const struct inject_live *live,
		       const struct inject_value *v, u32 n, u8 *room, u32 size);
/**
 * inject_psn_base() - the PSN that relative PSNs of packets like @p count from.
 * @from_live: the queue pair has sent it
 */
u32 inject_psn_base(const struct proto_inject *q, const struct roce_pkt *p, bool from_live);
/** inject_value_matches() - whether a packet that the queue pair has sent has that value. */
bool inject_value_matches(const struct inject_value *v, const struct roce_pkt *p,
			  const struct inject_live *live);
/** inject_pkt_op() - the opcode as enum fault_op; OP_NONE: fault rules do not know it. */
u32 inject_pkt_op(const struct roce_pkt *p);
/** inject_pkt_text() - describe a packet of the queue pair in the words of scripts. */
void inject_pkt_text(const struct roce_pkt *p, const struct inject_live *live, char *buf,
		     size_t size);
/** inject_pkt_json() - likewise, as members of a struct json_object. */
struct json_object;
void inject_pkt_json(const struct roce_pkt *p, const struct inject_live *live,
		     struct json_object *o);

/* --- script.c -------------------------------------------------------------------------------- */

enum inject_do {
	DO_SEND, /* frames @from to @to, counted from 1; @from 0: all of the peer */
	DO_EXPECT,
	DO_NOTHING, /* "expect none": no packet comes for @ns */
	DO_WAIT,
	DO_STATE, /* the queue pair is in @state within @ns */
	DO_IGNORE, /* packets with @ops are not compared from now on; 0: all are */
};

/** struct inject_step - a line of a script. @text: the line */
struct inject_step {
	u8 what; /* enum inject_do */
	u8 n; /* values */
	u16 times;
	u32 line;
	u32 from, to;
	u32 state; /* enum ib_qp_state */
	u64 ops; /* a bit for each enum fault_op */
	u64 ns;
	const char *text;
	struct inject_value value[INJECT_VALUES];
};

/**
 * struct inject_script - the steps. @path: NULL: there is no script; @room: steps that memory is
 * allocated for
 */
struct inject_script {
	const char *path;
	char *text;
	struct inject_step *step;
	u32 n, room;
};

/** inject_script_read() - read a script. Return: 0, or -1 after one line on stderr. */
int inject_script_read(struct inject_script *s, const char *path);
/**
 * inject_script_parse() - likewise, of a text that the script owns from now on and cuts into lines.
 */
int inject_script_parse(struct inject_script *s, char *text);
/** inject_script_free() - free what was read, also after an error. */
void inject_script_free(struct inject_script *s);

/* --- tap.c ----------------------------------------------------------------------------------- */

struct inject_tap;
/**
 * inject_tap_open() - keep packets of the port from now on. Return: NULL after one line on stderr.
 */
struct inject_tap *inject_tap_open(const struct opts *o, const char *sock,
				   const struct inject_live *live);
/**
 * inject_tap_next() - the next packet that the queue pair has sent to its peer.
 * @until: real time, ns
 * Return: 0, with @p's payload valid until the next call; -ETIMEDOUT: none was sent by then, even
 * if its way here took longer; -EPIPE: the capture has ended; -ENOBUFS: packets were lost.
 */
int inject_tap_next(struct inject_tap *t, u64 until, struct roce_pkt *p);
/**
 * inject_tap_ignore() - do not keep packets of these opcodes that are sent from now on.
 * @ops: a bit for each enum fault_op
 * Return: 0 or -EPIPE.
 */
int inject_tap_ignore(struct inject_tap *t, u64 ops);
void inject_tap_close(struct inject_tap *t);

/* --- run.c ---------------------------------------------------------------------------------- */

/** inject_sleep() - sleep, in real time. */
void inject_sleep(u64 ns);
/** inject_run() - carry out a script. Return: exit status. */
int inject_run(const struct opts *o, const char *sock, const struct inject_file *file,
	       const struct inject_script *s);

#endif
