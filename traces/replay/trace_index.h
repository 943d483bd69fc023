/* SPDX-License-Identifier: MIT */
/* What the processes of a replay have in common: the trace, and where all of them are. See replay.h. */
#ifndef TRACES_REPLAY_TRACE_INDEX_H
#define TRACES_REPLAY_TRACE_INDEX_H

#include "traces/calls/calls.h"
#include "traces/vtrace/read.h"
#include "traces/vtrace/write.h" /* vt_crc(), vt_now() */

#include <stdlib.h>

#define RP_MAGIC     0x70657275u
#define RP_TIMEOUT   60u /* seconds that a wait may take */
#define RP_DONE	     UINT64_MAX
#define RP_MAX_FILES 256u

/**
 * struct rp_slot - a thread of a program.
 * @next_end: the number by which the call ends that it is at
 * @wanted: the smallest number that somebody who sleeps wants @next_end to have reached; RP_DONE: nobody does
 * @beat: futex of those who sleep: how often they were woken
 * @cpu: that it was seen on last, from 1
 */
struct rp_slot {
	uint64_t next_end;
	uint32_t prog; /* index in the trace */
	uint32_t thread; /* ordinal */
	uint64_t off; /* of the record that it is at */
	uint64_t since; /* when it began with it; 0: it waits for its turn */
	uint64_t wanted;
	uint32_t beat;
	uint32_t cpu;
} __attribute__((aligned(64)));

/** struct rp_made - what an object of this run has instead of the recorded. */
struct rp_made {
	uint32_t num; /* rkey, number of a QP or SRQ, or an identifier's port */
	uint32_t lkey;
	uint32_t handle;
	int64_t delta; /* MR: this run's address minus the recorded */
};

enum rp_made_kind {
	RP_MR,
	RP_MW,
	RP_QP,
	RP_SRQ,
	RP_CTX, /* num: its cmd_fd + 1 */
	RP_PD,
	RP_DM,
	RP_PORT, /* of an identifier of the rdma_cm: num */
	RP_MADE_COUNT,
};

/** struct rp_count - what was done and compared. */
struct rp_count {
	uint64_t calls;
	uint64_t wrs;
	uint64_t wcs;
	uint64_t events;
	uint64_t bytes;
	uint64_t mems;
	uint64_t payloads; /* of receives */
	uint64_t order; /* completions that came in another order between QPs */
	uint64_t unexpected; /* of a live program, that were not as recorded */
};

/** struct rp_share - shared by all processes of a replay. Slots follow, then objects: rp_layout. */
struct rp_share {
	uint32_t magic;
	uint32_t failed; /* 1: somebody writes @why, 2: it is there */
	uint32_t unfit; /* the devices here cannot stand for the recorded: nothing was played */
	uint64_t start; /* CLOCK_MONOTONIC when all were ready */
	uint32_t ready; /* processes */
	uint32_t players; /* processes that play */
	uint64_t
		hold_at; /* number by which the call ends behind which @held is waited for; 0: none */
	uint32_t held;
	struct rp_count count;
	int32_t pid[VT_MAX_PROGS]; /* of those that play */
	int32_t file[RP_MAX_FILES]; /* descriptors, the same in all processes */
	char why[4096];
	uint64_t gone_at; /* CLOCK_MONOTONIC: the live program was seen to have ended; 0: it runs */
	char gone[512]; /* how it has, from then on */
};

/** struct rp_num - a recorded key or number, and whose it was from when on. Sorted by @num, then @from. */
struct rp_num {
	uint32_t num;
	uint32_t kind; /* enum rp_made_kind */
	uint32_t prog;
	uint32_t ord;
	uint64_t from; /* number by which the call had ended */
	bool lkey;
	uint64_t file; /* of a context: what file its cmd_fd is of */
};

/** enum rp_unexpected - what to do when a live program does something else than was recorded. */
enum rp_unexpected {
	RP_FAIL, /* that is a divergence */
	RP_WAIT, /* say so, put it aside, and wait on */
	RP_IGNORE,
};

/**
 * struct rp_word - eight bytes of an MR that peers do atomics on. Sorted by all that says where.
 * @addr: by which the atomics name it
 * @first: the first of them was being posted from then on
 * @settled: they all had completed then; UINT64_MAX: the word is not compared
 * @off: where it is in the MR; UINT64_MAX: that is not known
 * @sum: what they add; @mixed: not all of them are additions that went well
 * @start, @value: what the record says was there before the first, and in the end
 * @sums: nothing but they has changed it: what lies there in between is theirs to say, not the record's
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
/** struct rp_world - the trace as a whole, the same in all processes. */
struct rp_world {
	struct vt_dir dir;
	struct rp_share *share;
	struct rp_slot *slot;
	uint32_t n_slots;
	struct rp_made *made[VT_MAX_PROGS][RP_MADE_COUNT]; /* by ordinal */
	uint32_t n_obj[VT_MAX_PROGS][VOBJ_COUNT]; /* ordinals that a program's lines have, + 1 */
	struct rp_num *key; /* lkeys and rkeys */
	struct rp_num *qpn; /* QPs and SRQs */
	size_t n_key, n_qpn;
	struct rp_num *handle; /* objects that can be imported */
	size_t n_handle;
	struct rp_num *cmd_fd; /* contexts by the file of their cmd_fd */
	size_t n_cmd_fd;
	struct rp_num
		*port; /* of identifiers: the fabric gives those that nobody asked for in turn */
	size_t n_port;
	uint64_t file[RP_MAX_FILES]; /* others */
	uint32_t n_files;
	struct rp_word *word;
	size_t n_words;
	size_t share_size;
	uint64_t *failed_at
		[VT_MAX_PROGS]; /* by QP: the number of the poll that had its last failed completion */
	uint64_t first_t; /* earliest time of the trace */
	bool full; /* payload is in the trace */
	const char *
		live; /* trace of the program that is live instead of a recorded one; NULL: all are played */
	enum rp_unexpected unexpected;
	struct rp_seen *seen; /* by program: the devices here */
	bool on_devices; /* there is no fabric of ours */
	bool capabilities; /* are compared in any case */
	bool ignore_memory; /* what memory held at its end is not compared */
	unsigned int ignore; /* nor are these fields of completions: bits of poll.c */
};

/** rp_world_open() - read the trace and lay out what is shared. Returns 0, or -errno with @err set. */
int rp_world_open(struct rp_world *w, const char *dir, struct vt_error *err);
/** rp_world_map() - map @fd, which has w->share_size bytes. @fresh: fill it in. */
int rp_world_map(struct rp_world *w, int fd, bool fresh);
/** rp_slots_of() - the slots of a program: one more than it has threads. */
struct rp_slot *rp_slots_of(const struct rp_world *w, uint32_t prog);
/** rp_num_find() - whose a number was at @when. NULL: nobody's. */
const struct rp_num *rp_num_find(const struct rp_num *num, size_t n, uint32_t value, uint32_t mask,
				 uint64_t when);
/** rp_line_object() - the object that a call has made or changed: behind " = ", or an argument of that name (" id="). 0: none. */
uint32_t rp_line_object(const char *line, enum vobj kind, const char *arg);

/**
 * rp_for_each_wr() - call @fn with each work request that was accepted, of all programs, until it returns something
 * else than 0. Returns that, or 0.
 */
int rp_for_each_wr(const struct rp_world *w,
		   int (*fn)(void *arg, uint32_t prog, const struct vt_rec *rec,
			     const struct vt_wr *wr),
		   void *arg);

/** rp_sort_array() - as qsort(3), also of nothing: a list without entries has no memory. */
static inline void rp_sort_array(void *base, size_t n, size_t size,
				 int (*compare)(const void *a, const void *b))
{
	if (n)
		qsort(base, n, size, compare);
}

/* --- files.c ----------------------------------------------------------------------------- */

/** rp_files_learn() - the files that a call of the record names. Returns 0 or -ENOMEM. */
int rp_files_learn(struct rp_world *w, uint32_t prog, const struct vt_rec *rec);
/** rp_files_make() - make those that are no contexts'. Returns 0 or -errno. */
int rp_files_make(struct rp_world *w);

/* --- atomics.c --------------------------------------------------------------------------- */

/** rp_words_init() - find the words that peers do atomics on. Returns 0 or -ENOMEM. */
int rp_words_init(struct rp_world *w);
/** rp_word_find() - the word that has the byte at @addr of an MR. NULL: peers do no atomics there. */
struct rp_word *rp_word_find(const struct rp_world *w, uint32_t prog, uint32_t mr, uint64_t addr);
/**
 * rp_words_put() - write recorded bytes of an MR, but for words that are sums of what atomics have added.
 * @addr: by which atomics name the first byte; @at: where that is here
 */
void rp_words_put(const struct rp_world *w, uint32_t prog, const struct vt_rec *rec, uint64_t addr,
		  uint8_t *at);

/* --- overlap.c --------------------------------------------------------------------------- */

/** rp_overlap_learn() - learn from a poll of the record when queue pairs failed. Returns 0 or -ENOMEM. */
int rp_overlap_learn(struct rp_world *w, uint32_t prog, const struct vt_rec *rec);

/* --- shared.c ----------------------------------------------------------------------------- */

bool rp_is_failed(const struct rp_world *w);
/** rp_fail() - all that is played ends; of several the first @text counts. */
void rp_fail(struct rp_world *w, const char *text);
/** rp_wait_step() - one step of waiting for something, longer each time. *@n starts at 0. */
void rp_wait_step(unsigned int *n);
/** rp_fail_devices() - the devices here cannot stand for the recorded. */
void rp_fail_devices(struct rp_world *w, const char *why);

#endif
