/* SPDX-License-Identifier: MIT */
/**
 * DOC: compares recorded lines of two runs whose devices differ.
 *
 * Theory of operation
 * -------------------
 * A trace describes the devices that each program had (pN/devices). A device of one run corresponds
 * to the device at the same place in the list of the other run, a port to the port of the same
 * number, a GID table entry to the entry of the same index or, failing that, of the same kind. This
 * gives pairs: a name, GUID, GID, LID or address of the one run, and that of the other. Lines of
 * the one run are rewritten with these pairs. Results may still differ because the devices have
 * other capabilities: tolerance.c names them.
 *
 * A replay maps the recorded devices to the local ones, and `rdmaemu trace diff` those of one trace
 * to those of another.
 */
#ifndef TRACES_COMPARE_COMPARE_H
#define TRACES_COMPARE_COMPARE_H

#include "traces/vtrace/devices.h"

#define CMP_NO_INDEX UINT32_MAX

/** enum cmp_pair_kind - what a pair maps. */
enum cmp_pair_kind {
	CMP_PAIR_GID, /* a GID, and the IP address in it */
	CMP_PAIR_GUID,
	CMP_PAIR_LID,
};

/**
 * struct cmp_pair - a value of one run and that of the other.
 * @from, @to: a GID, or a number in the first eight bytes
 * @none: the other run has no such value
 * @from_if, @to_if: network interfaces of the GIDs
 */
struct cmp_pair {
	enum cmp_pair_kind kind;
	bool none;
	uint8_t from[16], to[16];
	uint32_t from_if, to_if;
};

/**
 * struct cmp_map - how the devices of a program differ from those that it had in another run.
 * @pair: those of the program's own devices first
 * @n_names, @from_name, @to_name: names of devices, by their index
 * @index: the other run's index for a GID index of the program; CMP_NO_INDEX: there is none
 * @has_index: @index is known
 * @differs: something differs
 * @uneven: the GID tables have different entries
 * @list: the device lists have different lengths
 * @other: the devices are of another kind: their capabilities are not compared
 */
struct cmp_map {
	struct cmp_pair *pair;
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

/* --- device_map.c --- */

/** enum cmp_kind - how a map treats devices of another kind. */
enum cmp_kind {
	CMP_KIND_BY_DEVICE, /* they are of another kind if vendor, part or versions differ */
	CMP_KIND_OTHER, /* always: one run was on hardware and the other on the emulator */
	CMP_KIND_SAME, /* never: capabilities are compared */
};

/**
 * cmp_map_new() - map the devices of a program to those that it has in another run.
 * @was: its devices; without any (an older trace, or it opened none) the map is empty
 * Return: the map, for cmp_map_free(); NULL: no memory.
 */
struct cmp_map *cmp_map_new(const struct vt_devices *was, const struct vt_devices *here,
			    enum cmp_kind kind);
/**
 * cmp_map_add() - add the devices of another program, which this one may name.
 * Return: 0 or -errno.
 */
int cmp_map_add(struct cmp_map *m, const struct vt_devices *was, const struct vt_devices *here);
/** cmp_map_free() - @m: may be NULL */
void cmp_map_free(struct cmp_map *m);
/** cmp_gid_find_local() - the entry of @here for an entry of @was. Returns NULL: there is none. */
const struct vt_gid *cmp_gid_find_local(const struct vt_port *was, const struct vt_gid *gid,
					const struct vt_port *here);
/** cmp_gid_name() - a GID and its type, for messages. */
const char *cmp_gid_name(const struct vt_gid *gid, char *text, size_t cap);

/* --- remap.c --- */

/**
 * cmp_line_remap() - rewrite a line for the devices of the other run.
 * @text, @cap: where to
 * @len: set to its length
 * Return: 0, or -ENOSPC: it does not fit.
 */
int cmp_line_remap(const struct cmp_map *m, const char *line, char *text, size_t cap, size_t *len);

/* --- tolerance.c --- */

/** enum cmp_asks - what a call asks a device about. */
enum cmp_asks {
	CMP_ASKS_NOTHING,
	CMP_ASKS_DEVICE, /* its attributes */
	CMP_ASKS_PORT, /* those of a port */
};

/** cmp_line_asks() - what the call of a line asks about. */
enum cmp_asks cmp_line_asks(const char *line);
/**
 * cmp_line_is_question() - whether a call only asks about devices, ports and their tables. How
 * often a program asks may depend on the length of a table.
 */
bool cmp_line_is_question(const char *line);
/**
 * cmp_result_is_tolerated() - whether the result of a call depends only on the devices, so that it
 * is not compared.
 */
bool cmp_result_is_tolerated(const struct cmp_map *m, const char *line);
/**
 * cmp_word_is_tolerated() - the same for one word of a result. @m: may be NULL; @name: bytes of its
 * key; @got: the word of the other run, or NULL
 */
bool cmp_word_is_tolerated(const struct cmp_map *m, enum cmp_asks asks, const char *want,
			   const char *got, size_t name);

/**
 * cmp_input_is_tolerated() - whether an argument may differ that describes a packet which has come:
 * ibv_create_ah_from_wc() and its sibling get completion and GRH from the program. Devices set
 * fields of the IP header, and mlx5 has the kind of the packet in wc.sl; programs send numbers of
 * queue pairs as immediates.
 * @a, @b: the words of the two runs, one may be NULL; @name: bytes of the key
 */
bool cmp_input_is_tolerated(const char *line, const char *a, const char *b, size_t name);

/* --- words.c --- */

/**
 * struct cmp_judge - how words of two lines are compared. Both have "KEY=VALUE", without an end.
 * @is_same: whether two words of the same key are; @name: bytes of the key
 * @may_lack: whether a word may be missing on one side; @of_a: it is missing in the second line
 */
struct cmp_judge {
	bool (*is_same)(void *arg, const char *a, size_t a_len, const char *b, size_t b_len,
			size_t name);
	bool (*may_lack)(void *arg, const char *word, size_t len, size_t name, bool of_a);
	void *arg;
};

/** cmp_words_are_same() - compare two lines, or two ends of lines, word by word. */
bool cmp_words_are_same(const struct cmp_judge *j, const char *a, const char *b);

#endif
