/* SPDX-License-Identifier: MIT */
/**
 * DOC: maps the recorded devices to the local ones.
 *
 * Theory of operation
 * -------------------
 * A trace describes the devices that each program had (pN/devices). The process that plays a
 * program describes the local devices in the same format, and publishes the text in shared memory.
 * A recorded device corresponds to the local device at the same place in the list, a port to the
 * port of the same number, a GID table entry to the entry of the same index or, failing that, of
 * the same kind. This gives pairs: a recorded name, GUID, GID, LID or address, and the local one.
 * Recorded lines are rewritten with these pairs before they are parsed, both what goes in and the
 * expected result. If both sides are equal there are no pairs, and lines are used unchanged.
 */
#ifndef TRACES_REPLAY_IDENTITY_H
#define TRACES_REPLAY_IDENTITY_H

#include "traces/replay/replay.h"

#define RP_NO_INDEX UINT32_MAX

/**
 * struct rp_seen - the local devices of a program, in the format of pN/devices. In shared memory.
 */
struct rp_seen {
	bool differs; /* from the recorded devices */
	char text[VT_DEVICES_TEXT / 4];
};

/** enum rp_pair_kind - what a pair maps. */
enum rp_pair_kind {
	RP_PAIR_GID, /* a GID, and the IP address in it */
	RP_PAIR_GUID,
	RP_PAIR_LID,
};

/**
 * struct rp_pair - a recorded value and the local one.
 * @from, @to: a GID, or a number in the first eight bytes
 * @none: there is no local value
 * @from_if, @to_if: network interfaces of the GIDs
 */
struct rp_pair {
	enum rp_pair_kind kind;
	bool none;
	uint8_t from[16], to[16];
	uint32_t from_if, to_if;
};

/**
 * struct rp_map - how the local devices differ from the recorded ones, for one program.
 * @pair: those of the program's own devices first
 * @n_names, @from_name, @to_name: names of devices, by their index
 * @index: local index of a recorded GID index of the program; RP_NO_INDEX: there is none
 * @has_index: @index is known
 * @uneven: the GID tables have different entries
 * @list: the device lists have different lengths
 * @other: the devices are of another kind: their capabilities are not compared
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

/* --- identity.c --- */

/** rp_map_own() - build g->map from the program's own devices. Returns 0 or -errno. */
int rp_map_own(struct rp_prog *g, const struct vt_devices *here);
/**
 * rp_map_make() - when all processes have published their devices, add them to g->map, which stays
 * NULL if nothing differs. Returns 0 or -errno.
 */
int rp_map_make(struct rp_prog *g);
/** rp_gid_find_local() - the entry of @here for an entry of @was. Returns NULL: there is none. */
const struct vt_gid *rp_gid_find_local(const struct vt_port *was, const struct vt_gid *gid,
				       const struct vt_port *here);
/** rp_gid_name() - a GID and its type, for messages. */
const char *rp_gid_name(const struct vt_gid *gid, char *text, size_t cap);

/* --- datagram.c: the caller holds the lock --- */

/**
 * rp_grh_mark_mrs() - mark the MRs of a receive that a GRH may be written to, if addresses differ
 * from the record.
 */
void rp_grh_mark_mrs(struct rp_prog *g, const struct vt_wr *wr);
/** rp_mr_has_grh() - whether an MR, or another one of the same memory, is marked. */
bool rp_mr_has_grh(const struct rp_prog *g, uint32_t mr);

/* --- tolerance.c --- */

/**
 * rp_result_is_tolerated() - whether the result of a call depends only on the devices, so that it
 * is not compared.
 */
bool rp_result_is_tolerated(const struct rp_thread *t, const char *line);
/**
 * rp_word_is_tolerated() - the same for one word of a result. @name: bytes of its key; @got: the
 * word of this run, or NULL
 */
bool rp_word_is_tolerated(const struct rp_thread *t, const char *want, const char *got,
			  size_t name);

#endif
