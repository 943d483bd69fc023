/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the recorded devices are here.
 *
 * Theory of operation
 * -------------------
 * A trace says what devices each program had (pN/devices). The process that plays a program asks the devices that it has
 * for the same, and puts the answer where all see it, as the same text. Devices stand for each other by their place in
 * the list, ports by their number, entries of GID tables by their index, or else by what they are. That
 * gives pairs: a recorded name, GUID, GID, LID or address, and what is here instead. A recorded line is read with
 * the one in the place of the other, what goes in as well as what is to come out. Where both sides are equal there are no
 * pairs, and lines are read as they are.
 */
#ifndef TRACES_REPLAY_IDENTITY_H
#define TRACES_REPLAY_IDENTITY_H

#include "traces/replay/replay.h"

#define RP_NO_INDEX UINT32_MAX
#define RP_IB_GID                                                                                  \
	19u /* where a sockaddr_ib's GID begins: behind "ib:" and 8 bytes in hexadecimal */

/** struct rp_seen - what the devices here are that a program's stand for, as pN/devices says it. In shared memory. */
struct rp_seen {
	bool differs; /* from what was recorded */
	char text[VT_DEVICES_TEXT / 4];
};

/** enum rp_pair_kind - what has a counterpart. */
enum rp_pair_kind {
	RP_PAIR_GID, /* and the IP address that it is of */
	RP_PAIR_GUID,
	RP_PAIR_LID,
};

/**
 * struct rp_pair - something recorded and what it is here.
 * @from, @to: a GID as it lies, or a number in the first eight bytes
 * @none: it has no counterpart
 * @from_if, @to_if: network interfaces of GIDs
 */
struct rp_pair {
	enum rp_pair_kind kind;
	bool none;
	uint8_t from[16], to[16];
	uint32_t from_if, to_if;
};

/**
 * struct rp_map - what is other than recorded, for one program.
 * @pair: the program's own first
 * @n_names, @from_name, @to_name: devices by their number
 * @index: what a GID index of the program's is here; RP_NO_INDEX: no entry stands for it
 * @has_index: that is known
 * @uneven: GID tables have other entries
 * @list: the list has another number of devices
 * @other: another kind of device: what it can do more or less than the recorded is not compared
 */
struct rp_map {
	struct rp_pair *pair;
	uint32_t n_pairs;
	uint32_t n_names;
	char (*from_name)[VT_DEV_NAME];
	char (*to_name)[VT_DEV_NAME];
	uint32_t index[VT_MAX_GIDS];
	bool has_index[VT_MAX_GIDS];
	bool differs;
	bool uneven;
	bool list;
	bool other;
};

/* --- local_dev.c, identity.c, dev_check.c ------------------------------------------------------------- */

/**
 * rp_local_dev_check() - say in shared memory what the devices are that a program's stand for here.
 * Returns false: they cannot, which is said there.
 */
bool rp_local_dev_check(struct rp_prog *g);
/** rp_map_own() - make g->map of the program's own devices. Returns 0 or -errno. */
int rp_map_own(struct rp_prog *g, const struct vt_devices *here);
/** rp_map_make() - when all have said theirs: add them to g->map, which is NULL where all is as recorded. Returns 0 or -errno. */
int rp_map_make(struct rp_prog *g);
/** rp_gid_find_local() - the entry of @here that stands for one of @was. NULL: none does. */
const struct vt_gid *rp_gid_find_local(const struct vt_port *was, const struct vt_gid *gid,
				       const struct vt_port *here);
/** rp_devices_fit() - whether all that the trace needs of a program's devices is here. Returns false: @why is set. */
bool rp_devices_fit(const struct rp_prog *g, const struct vt_devices *here, char *why, size_t cap);
/** rp_gid_name() - a GID as people read it, with its type. */
const char *rp_gid_name(const struct vt_gid *gid, char *text, size_t cap);

/* --- rewrite.c, mapped.c --------------------------------------------------------------------- */

/** enum rp_word_kind - what a word of a line names. */
enum rp_word_kind {
	RP_WORD_OTHER,
	RP_WORD_TEXT, /* in quotes */
	RP_WORD_GID,
	RP_WORD_GUID,
	RP_WORD_LID,
	RP_WORD_INDEX, /* of a GID */
	RP_WORD_IB, /* a sockaddr_ib */
	RP_WORD_IP, /* ADDRESS:PORT or [ADDRESS%SCOPE]:PORT */
};

/** struct rp_named - a word of a line. @key: bytes before its "=", 0: it has none, and is all value */
struct rp_named {
	enum rp_word_kind kind;
	const char *word;
	size_t len;
	size_t key;
	const char *value;
	size_t value_len;
};

/** rp_word_next() - the next word from *@at on, which moves behind it. Returns false: there is none. */
bool rp_word_next(const char **at, struct rp_named *w, bool query_gid);
/** rp_word_is() - whether the last part of a word's key is this. */
bool rp_word_is(const struct rp_named *w, const char *last);
/** rp_word_gid() - the GID that a word names, as an address or as it is. Returns false: it names none. */
bool rp_word_gid(const struct rp_named *w, uint8_t gid[16]);
/** rp_line_is_query_gid() - whether a line's "index=" is of a GID. */
bool rp_line_is_query_gid(const char *line);

/** rp_line_remap() - a recorded line as it is to be read here. NULL: it has no room. @len: set */
const char *rp_line_remap(struct rp_thread *t, const char *line, size_t *len);

/* --- datagram.c: with the lock ------------------------------------------------------------------ */

/** rp_grh_mark_mrs() - a datagram may come into this receive, where addresses are other than recorded. */
void rp_grh_mark_mrs(struct rp_prog *g, const struct vt_wr *wr);
/** rp_mr_has_grh() - whether one may have come into an MR, or into another one with the same memory. */
bool rp_mr_has_grh(const struct rp_prog *g, uint32_t mr);

/* --- tolerance.c -------------------------------------------------------------------------------- */

/** rp_result_is_tolerated() - whether what a call returns says of the devices here only what they are. */
bool rp_result_is_tolerated(const struct rp_thread *t, const char *line);
/** rp_word_is_tolerated() - the same of a word of a result: @name bytes of key. @got: this run's, or NULL where it has none */
bool rp_word_is_tolerated(const struct rp_thread *t, const char *want, const char *got,
			  size_t name);

#endif
