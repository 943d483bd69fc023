/* SPDX-License-Identifier: MIT */
/*
 * DOC: what the processes of a replay share: the trace, and how far each thread has got. See
 * replay.h.
 */
#ifndef TRACES_REPLAY_WORLD_H
#define TRACES_REPLAY_WORLD_H

#include "traces/calls/calls.h"
#include "traces/vtrace/read.h"
#include "traces/vtrace/write.h" /* vt_crc(), vt_now() */

#define RP_MAGIC     0x70657275u
#define RP_TIMEOUT   60u /* most seconds of a wait */
#define RP_DONE	     UINT64_MAX
#define RP_MAX_FILES 256u

/**
 * struct rp_slot - a thread of a program.
 * @next_end: number by which its current call ends
 * @wanted: smallest @next_end that a sleeping thread waits for; RP_DONE: none
 * @beat: futex of the sleeping threads: how often they were woken
 * @cpu: CPU that it was last seen on, from 1
 */
struct rp_slot {
	uint64_t next_end;
	uint32_t prog; /* index in the trace */
	uint32_t thread; /* ordinal */
	uint64_t off; /* of its current record */
	uint64_t since; /* when it began; 0: it waits for its turn */
	uint64_t wanted;
	uint32_t beat;
	uint32_t cpu;
} __attribute__((aligned(64)));

/** struct rp_made - numbers of an object in this run. */
struct rp_made {
	uint32_t num; /* rkey, QP or SRQ number, or port of an identifier */
	uint32_t lkey;
	uint32_t handle;
	int64_t delta; /* MR: local address minus the recorded one */
};

enum rp_made_kind {
	RP_MR,
	RP_MW,
	RP_QP,
	RP_SRQ,
	RP_CTX, /* num: its cmd_fd + 1 */
	RP_PD,
	RP_DM,
	RP_PORT, /* num: port of an rdma_cm identifier */
	RP_MADE_COUNT,
};

/** struct rp_count - how much was played and compared. */
struct rp_count {
	uint64_t calls;
	uint64_t wrs;
	uint64_t wcs;
	uint64_t events;
	uint64_t bytes;
	uint64_t mems;
	uint64_t payloads; /* of receives */
	uint64_t order; /* completions that came in another order between QPs */
	uint64_t unexpected; /* of a live program */
};

/**
 * struct rp_share - memory that all processes of a replay share. The slots follow, then struct
 * rp_made of all objects, then struct rp_seen.
 */
struct rp_share {
	uint32_t magic;
	uint32_t failed; /* 1: @why is being written, 2: it is complete */
	uint32_t unfit; /* the local devices cannot replace the recorded ones: nothing was played */
	uint64_t start; /* CLOCK_MONOTONIC when all were ready */
	uint32_t ready; /* ready processes */
	uint32_t players; /* processes that play */
	uint64_t hold_at; /* end of the call after which a thread waits for @held; 0: none */
	uint32_t held;
	struct rp_count count;
	int32_t pid[VT_MAX_PROGS]; /* of the players */
	int32_t file[RP_MAX_FILES]; /* the same in all processes */
	char why[4096];
	uint64_t gone_at; /* CLOCK_MONOTONIC when the live program's end was seen; 0: it runs */
	char gone[512]; /* then: how it ended */
};

/**
 * struct rp_num - a recorded key or number, and the object that had it from then on. Sorted by
 * @num, then @from.
 */
struct rp_num {
	uint32_t num;
	uint32_t kind; /* enum rp_made_kind */
	uint32_t prog;
	uint32_t ord;
	uint64_t from; /* end of the call that gave it */
	bool lkey;
	uint64_t file; /* context: the file of its cmd_fd */
};

/** enum rp_unexpected - what to do when a live program does something that was not recorded. */
enum rp_unexpected {
	RP_FAIL, /* report a divergence */
	RP_WAIT, /* print it, put it aside, and keep waiting */
	RP_IGNORE,
};

/**
 * struct rp_word - eight bytes of an MR that peers modify by atomics. Sorted by position.
 * @addr: address that the atomics use
 * @first: when the first of them was being posted
 * @settled: when all of them had completed; UINT64_MAX: the word is not compared
 * @off: offset in the MR; UINT64_MAX: unknown
 * @sum: sum of the additions; @mixed: there are other atomics, or failed ones
 * @start, @value: recorded value before the first atomic, and at the end
 * @sums: nothing but additions has changed it, so that they determine its value, and the record
 *	does not
 */
struct rp_word {
	uint32_t prog;
	uint32_t mr;
	uint64_t addr;
	uint64_t first;
	uint64_t settled;
	uint64_t off;
	uint64_t sum;
	uint64_t start, value;
	bool mixed;
	bool sums;
};

struct rp_seen; /* identity.h */
/** struct rp_world - the whole trace, the same in all processes. */
struct rp_world {
	struct vt_dir dir;
	struct rp_share *share;
	struct rp_slot *slot;
	uint32_t n_slots;
	struct rp_made *made[VT_MAX_PROGS][RP_MADE_COUNT]; /* by ordinal */
	uint32_t n_obj[VT_MAX_PROGS][VOBJ_COUNT]; /* ordinals in a program's lines, + 1 */
	struct rp_num *key; /* lkeys and rkeys */
	struct rp_num *qpn; /* QPs and SRQs */
	size_t n_key, n_qpn;
	struct rp_num *handle; /* objects that can be imported */
	size_t n_handle;
	struct rp_num *cmd_fd; /* contexts by the file of their cmd_fd */
	size_t n_cmd_fd;
	struct rp_num *port; /* ports of identifiers that the fabric chose */
	size_t n_port;
	uint64_t file[RP_MAX_FILES]; /* other files */
	uint32_t n_files;
	struct rp_word *word;
	size_t n_words;
	size_t share_size;
	uint64_t *failed_at
		[VT_MAX_PROGS]; /* by QP: end of the poll with its last failed completion */
	uint64_t first_t; /* earliest time in the trace */
	bool full; /* the trace has payload */
	const char *live; /* trace of the live program; NULL: all programs are played */
	enum rp_unexpected unexpected;
	struct rp_seen *seen; /* local devices, by program */
	bool on_devices; /* on the machine's devices, without a fabric */
	bool capabilities; /* compare capabilities even of other devices */
	bool ignore_memory; /* do not compare final contents of memory */
	unsigned int ignore; /* fields of completions not to compare: bits of poll.c */
};

/**
 * rp_world_open() - read the trace and lay out the shared memory. Returns 0, or -errno with @err
 * set.
 */
int rp_world_open(struct rp_world *w, const char *dir, struct vt_error *err);
/**
 * rp_world_map() - map the shared memory @fd, w->share_size bytes. @fresh: initialize it. Returns 0
 * or -errno.
 */
int rp_world_map(struct rp_world *w, int fd, bool fresh);
/** rp_slots_of() - the slots of a program: one more than its threads. */
struct rp_slot *rp_slots_of(const struct rp_world *w, uint32_t prog);

#endif
