/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu replay FILE --inject`, the command's side.
 *
 * Theory of operation
 * -------------------
 * The frames of a capture are read into memory (file.c), made to be those of the live queue pair's peer
 * (edit.c), and given to the fabric process one by one (fabric/inject/inject.h). What the queue pair sends is seen by a
 * capture of its port, which writes into a pipe of ours (tap.c). A script (script.c) says which frames
 * go and what is to come back; its steps are carried out in order (run.c), the first that differs ends it.
 */
#ifndef FABRIC_CLI_INJECT_TOOL_H
#define FABRIC_CLI_INJECT_TOOL_H

#include "fabric/common/opts.h"
#include "fabric/proto/proto.h"
#include "traces/formats/roce.h"

#define INJECT_FRAMES 65536u /* of a file */
#define INJECT_BYTES  (64u << 20) /* of all of them */
#define INJECT_STEPS  4096u /* of a script */
#define INJECT_VALUES 8u /* of a step */
#define INJECT_KEYS   64u /* remote keys of a file that are told apart */

/**
 * struct inject_frame - a frame of the file.
 * @bytes: @len of them, all that it had on the wire
 * @parsed: what roce_parse() has returned
 * @rel: its PSN, from the first of its direction of the connection on
 */
struct inject_frame {
	u32 link; /* enum roce_link */
	u32 len;
	const u8 *bytes;
	s32 parsed;
	u32 rel;
	struct roce_pkt pkt;
};

/** struct inject_region - a remote key of the file. @va: the lowest address that is used with it */
struct inject_region {
	u32 rkey;
	u64 va;
};

/**
 * struct inject_file - a capture.
 * @first: the first frame that has an RDMA packet: its sender is the peer that is played; @n: there is none
 * @key: those of its requests, in the order in which they come
 * @qkey, @srqn: the first that it has for a QP other than 1
 * @group: the first frame to a multicast group, likewise; NULL: there is none
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

/** inject_is_peer_frame() - whether frame @i is of the peer that is played. */
bool inject_is_peer_frame(const struct inject_file *file, u32 i);
/** inject_is_multicast() - whether a packet is for a multicast group. */
bool inject_is_multicast(const struct roce_pkt *p);
/** inject_file_load() - read a capture. Return: 0, or -1 after one line on stderr. */
int inject_file_load(struct inject_file *file, const char *path);
void inject_file_free(struct inject_file *file);

/* --- fields ------------------------------------------------------------------------------------- */

/** struct inject_value - NAME=VALUE of a step. @rel: it was +VALUE */
struct inject_value {
	u8 field;
	bool rel;
	u64 min, max; /* equal, but for ranges */
	u8 bytes[64]; /* payload= */
};

/**
 * inject_value_parse() - read one.
 * @send: it is to be set, not to be compared
 * Return: NULL, or what was expected.
 */
const char *inject_value_parse(struct inject_value *v, const char *word, bool send);

/**
 * struct inject_live - the queue pair, and what else a frame has to be made for it.
 * @q: as PROTO_INJECT has answered
 * @region: its regions that keys of the file are mapped to, by inject_file.key
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
 * inject_frame_build() - the frame as the live queue pair's peer would send it, and with what a step sets.
 * @as_is: but for what the step sets nothing is changed
 * Return: 0; -EMSGSIZE: it does not fit; -EINVAL: no frame can be like that.
 */
int inject_frame_build(const struct inject_file *file, const struct inject_frame *fr,
		       const struct inject_live *live, bool as_is, const struct inject_value *value,
		       u32 n, struct proto_frame *out);
/**
 * inject_values_set() - set what a step sets.
 * @room: @size bytes for a payload that changes
 */
void inject_values_set(struct roce_pkt *p, const struct inject_live *live,
		       const struct inject_value *v, u32 n, u8 *room, u32 size);
/** inject_psn_base() - the PSN that relative ones of packets like @p, from or to the queue pair, count from. */
u32 inject_psn_base(const struct proto_inject *q, const struct roce_pkt *p, bool from_live);
/** inject_value_matches() - whether a packet that the queue pair has sent has that value. */
bool inject_value_matches(const struct inject_value *v, const struct roce_pkt *p,
			  const struct inject_live *live);
/** inject_pkt_op() - its opcode: enum fault_op; OP_NONE: one that rules do not know. */
u32 inject_pkt_op(const struct roce_pkt *p);
/** inject_pkt_text() - a packet that the queue pair has sent, in the words of scripts. */
void inject_pkt_text(const struct roce_pkt *p, const struct inject_live *live, char *buf,
		     size_t size);
/** inject_pkt_json() - likewise, for machines: its fields are added to a struct json_object. */
struct json_object;
void inject_pkt_json(const struct roce_pkt *p, const struct inject_live *live,
		     struct json_object *o);

/* --- scripts ------------------------------------------------------------------------------------- */

enum inject_do {
	DO_SEND, /* frames @from to @to, counted from 1; @from 0: all that the peer has sent */
	DO_EXPECT,
	DO_NOTHING, /* expect none: no packet comes for @ns */
	DO_WAIT,
	DO_STATE, /* the queue pair is in @state within @ns */
	DO_IGNORE, /* packets with @ops are not looked at from now on; 0: all are */
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

/** struct inject_script - steps. @path: NULL: there is no script; @room: there is so much for */
struct inject_script {
	const char *path;
	char *text;
	struct inject_step *step;
	u32 n, room;
};

/** inject_script_read() - read a script. Return: 0, or -1 after one line on stderr. */
int inject_script_read(struct inject_script *s, const char *path);
/** inject_script_parse() - likewise, of text that is the script's from now on; lines are cut in it. */
int inject_script_parse(struct inject_script *s, char *text);
/** inject_script_free() - what was read, also when that failed. */
void inject_script_free(struct inject_script *s);

/* --- the queue pair's packets ----------------------------------------------------------------------- */

struct inject_tap;
/** inject_tap_open() - packets of the port are kept from now on. Return: NULL after one line on stderr. */
struct inject_tap *inject_tap_open(const struct opts *o, const char *sock,
				   const struct inject_live *live);
/**
 * inject_tap_next() - the next packet that the queue pair has sent to its peer.
 * @until: real time, ns
 * Return: 0; -ETIMEDOUT: none has been sent by then, however late it would have come here; -EPIPE: the capture has
 * ended. @p's payload is there until the next call.
 */
int inject_tap_next(struct inject_tap *t, u64 until, struct roce_pkt *p);
/** inject_tap_ignore() - packets that are sent from now on are not kept: a bit for each enum fault_op. Return: 0 or -EPIPE */
int inject_tap_ignore(struct inject_tap *t, u64 ops);
void inject_tap_close(struct inject_tap *t);

/* --- all of it ----------------------------------------------------------------------------------------- */

/** inject_sleep() - sleep, in real time. */
void inject_sleep(u64 ns);
/** inject_run() - carry it out. Return: exit status. */
int inject_run(const struct opts *o, const char *sock, const struct inject_file *file,
	       const struct inject_script *s);

#endif
