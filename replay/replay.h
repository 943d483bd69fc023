/* SPDX-License-Identifier: MIT */
/**
 * DOC: replay of a trace of verbs.
 *
 * Theory of operation
 * -------------------
 * One process plays one program of the trace, with one thread for each thread of the program. Records are carried out
 * by the thread whose they are, in their order. A call begins when all calls of all programs that had ended before
 * it began in the record have ended here: every thread says in shared memory (struct rp_slot) by which
 * number the call ends that it is at. So calls that overlapped may overlap again, and all else is in order;
 * turn.c has how they wait for each other, and overlap.c the one exception.
 * The record of all programs with the smallest begin may always begin, so no wait is for ever; what the library itself
 * does not end within a bound is told by a watchdog (main thread).
 *
 * Objects are found by kind and ordinal. Memory lies at the recorded addresses where they are free, else elsewhere,
 * and addresses are moved by as much as their MR. Numbers of QPs and keys are those of this run: each process
 * publishes its own by ordinal, and looks up whose ordinal a recorded number was at that moment.
 *
 * Completions are taken from a CQ as they come and given to the recorded ones by QP and side (traces do not say
 * in which order completions of several QPs must come). What is not as recorded is a divergence: the first
 * one is kept in shared memory, everybody stops, and the process that started all of them shows it.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "traces/calls.h"
#include "traces/vtrace_read.h"
#include "traces/vtrace_write.h" /* vt_crc(), vt_now() */

#include <pthread.h>
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

struct rp_thread;
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
/** rp_world_find() - whose a number was at @when. NULL: nobody's. */
const struct rp_num *rp_world_find(const struct rp_num *num, size_t n, uint32_t value,
				   uint32_t mask, uint64_t when);
/** rp_subject() - the object that a call has made or changed: behind " = ", or an argument of that name (" id="). 0: none. */
uint32_t rp_subject(const char *line, enum vobj kind, const char *arg);

/**
 * rp_each_wr() - call @fn with each work request that was accepted, of all programs, until it returns something
 * else than 0. Returns that, or 0.
 */
int rp_each_wr(const struct rp_world *w,
	       int (*fn)(void *arg, uint32_t prog, const struct vt_rec *rec,
			 const struct vt_wr *wr),
	       void *arg);

/** rp_sort() - as qsort(3), also of nothing: a list without entries has no memory. */
static inline void rp_sort(void *base, size_t n, size_t size,
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
/** rp_word_at() - the word that has the byte at @addr of an MR. NULL: peers do no atomics there. */
struct rp_word *rp_word_at(const struct rp_world *w, uint32_t prog, uint32_t mr, uint64_t addr);
/**
 * rp_words_put() - write recorded bytes of an MR, but for words that are sums of what atomics have added.
 * @addr: by which atomics name the first byte; @at: where that is here
 */
void rp_words_put(const struct rp_world *w, uint32_t prog, const struct vt_rec *rec, uint64_t addr,
		  uint8_t *at);

/* --- overlap.c --------------------------------------------------------------------------- */

/** rp_overlap_learn() - learn from a poll of the record when queue pairs failed. Returns 0 or -ENOMEM. */
int rp_overlap_learn(struct rp_world *w, uint32_t prog, const struct vt_rec *rec);
/**
 * rp_let_pass() - before a call that takes something away: wait for overlapping posts of peers, and for other threads
 * that take an event, which were before it.
 */
void rp_let_pass(const struct rp_thread *t, const struct vt_rec *rec);

/** struct rp_region - memory of the program, here and there. */
struct rp_region {
	uint64_t addr;
	uint64_t len;
	int64_t delta;
};

struct rp_mr {
	uint64_t base; /* recorded: what addresses of work requests start from */
	uint64_t len;
	uint8_t *host; /* here; NULL: no memory of the program's */
	bool implicit; /* all of the address space */
	bool twin; /* its memory, or part of it, is another one's as well */
	bool grh; /* GRHs of datagrams land there */
	/* what the record says is there, and behind it what was there at first; NULL: not followed, it is too much */
	uint8_t *shadow;
};

/** rp_mr_first() - what the record says was there at first, of a region that has a shadow. */
static inline uint8_t *rp_mr_first(const struct rp_mr *mr)
{
	return mr->shadow + mr->len;
}

/** struct rp_recv - a posted receive. */
struct rp_recv {
	uint64_t wr_id;
	const struct vt_wr *wr;
	struct rp_recv *next;
};

struct rp_queue {
	struct rp_recv *first, **last;
	bool unsure; /* one in error may have been of either side: which receives are posted is not certain any more */
	bool loose; /* an unexpected message has taken one: others take other ones than in the record */
};

/** struct rp_cqe - a completion that came, and was not asked for yet. */
struct rp_cqe {
	struct ibv_wc wc;
	uint32_t qp; /* ordinal */
	bool told; /* that it was not expected yet */
	struct rp_cqe *next;
};

struct rp_cq {
	struct ibv_cq *cq;
	struct rp_cqe *first, **last;
	uint32_t events; /* taken and not acknowledged */
	uint32_t pending; /* taken, and the record has not had them yet */
	uint32_t missed; /* armings when completions were there: these may give no event */
	uint64_t ex_flags; /* ibv_create_cq_ex(): wc_flags */
	bool ex;
	bool polled; /* in the record */
	bool by_start; /* it was, by ibv_start_poll() */
};

struct rp_prog;

/** struct rp_file - an empty file for one that the program had open. @was: its descriptor there */
struct rp_file {
	int was;
	int fd;
	struct rp_file *next;
};

/** struct rp_tag - a tag of an SRQ. @was: its handle there; @handle: here */
struct rp_tag {
	uint32_t srq;
	uint32_t was;
	uint32_t handle;
	struct rp_tag *next;
};

#define RP_TAG_LISTS 1024u

/** struct rp_scratch - work requests of a post, made of the record. */
struct rp_scratch {
	struct ibv_send_wr *send;
	struct ibv_recv_wr *recv;
	struct ibv_sge *sge;
	uint8_t *bytes; /* inline data and the like, that are in no MR */
	size_t n_wr, n_sge, n_bytes;
};

/** struct rp_thread - one thread of this process. */
struct rp_thread {
	struct rp_prog *prog;
	struct rp_slot *slot;
	pthread_t id;
	struct vcall_parsed parsed;
	struct vcall_text text;
	char *mapped; /* the line, with what is here */
	uint64_t when; /* number by which the call of its record began */
	const struct vt_wc *awaited; /* of the poll that it is at */
	uint64_t look_ns; /* how long it looks whether others get on before it sleeps: turn.c */
	struct rp_scratch scratch;
};

/** struct rp_prog - the program of this process. */
struct rp_prog {
	struct rp_world *w;
	const struct vt_program *p;
	uint32_t nth; /* index in the trace */
	bool pace;
	uint64_t timeout; /* ns */
	struct ibv_device **devs;
	void **obj[VOBJ_COUNT]; /* by ordinal */
	const uint32_t *n_obj; /* ordinals of a kind + 1 */
	struct rp_region *region;
	size_t n_regions;
	struct rp_mr *mr;
	uint64_t shadows; /* bytes of them */
	struct rp_cq *cq;
	struct rp_queue *rq, *srq; /* by ordinal of QP, SRQ */
	uint32_t *qp_srq; /* ordinal of the SRQ of a QP */
	struct rp_cqe *free_cqe;
	struct rp_recv *free_recv;
	pthread_mutex_t lock; /* of objects, CQs and queues */
	struct rp_thread *thread;
	uint32_t n_threads;
	uint32_t first_slot;
	struct rp_file *file; /* of XRC domains */
	struct rp_places
		*places; /* where receives land; NULL: the record has no CRCs of what they got */
	struct rp_aside *aside; /* events that were not expected yet */
	struct rp_tag *tag[RP_TAG_LISTS];
	uint32_t running;
	struct rp_map *map; /* NULL: all is called as it was recorded */
};

/* --- turn.c: order ----------------------------------------------------------------------- */

/** rp_turn() - wait until it is the record's turn. Returns false: somebody has failed. */
bool rp_turn(struct rp_thread *t, const struct vt_rec *rec);
/** rp_at() - the thread is at this record now; NULL: at its end. */
void rp_at(struct rp_thread *t, const struct vt_rec *rec);
/** rp_slot_at() - what a thread is at ends by that number: what begins before need not wait for it. RP_DONE: it has ended. */
void rp_slot_at(struct rp_slot *s, uint64_t end);
/** rp_may_begin() - whether all that ended before @begin has ended here. */
bool rp_may_begin(const struct rp_world *w, const struct rp_slot *mine, uint64_t begin);
/**
 * rp_after_others() - let a thread get on that was, in the record, over with what it is at before @rec had ended, or had
 * begun to post by then: that may bring what @rec waits for. Waits a bounded time. Returns false: there is none.
 */
bool rp_after_others(struct rp_thread *t, const struct vt_rec *rec);
/** rp_wake_all() - all who sleep look again. */
void rp_wake_all(const struct rp_world *w);

/* --- share.c ----------------------------------------------------------------------------- */

bool rp_failed(const struct rp_world *w);
/** rp_fail() - all that is played ends; of several the first @text counts. */
void rp_fail(struct rp_world *w, const char *text);
/** rp_rest() - one step of waiting for something, longer each time. *@n starts at 0. */
void rp_rest(unsigned int *n);

/**
 * rp_diverge() - this is not as recorded. The first one counts. Returns false.
 * @want, @got: both sides
 */
bool rp_diverge(struct rp_thread *t, const struct vt_rec *rec, const char *what, const char *want,
		const char *got);
/** rp_trouble() - the replay cannot go on, which is nobody's divergence. Returns false. */
bool rp_trouble(struct rp_thread *t, const struct vt_rec *rec, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** rp_unfit() - the devices here cannot stand for the recorded. */
void rp_unfit(struct rp_world *w, const char *why);

/* --- memory.c ---------------------------------------------------------------------------- */

/** rp_memory_init() - map all that the program registers. Returns 0 or -errno, with @err set. */
int rp_memory_init(struct rp_prog *g, struct vt_error *err);
/** rp_moved() - where an address of the record is here. */
uint64_t rp_moved(const struct rp_prog *g, uint64_t addr);
/** rp_nowhere() - an address in memory that nobody can read, for one that the program could not. */
uint64_t rp_nowhere(uint64_t addr);
/**
 * rp_mr_made() - an MR was registered or changed: by the recorded call's addresses.
 */
void rp_mr_made(struct rp_prog *g, uint32_t ord, uint64_t base, uint64_t len, uint8_t *host,
		int64_t delta);
/** rp_mr_gone() - it is not registered any more. With the lock. */
void rp_mr_gone(struct rp_prog *g, uint32_t ord);
/** rp_at_mr() - where @len bytes at the recorded @addr of an MR are here. NULL: nowhere. */
uint8_t *rp_at_mr(const struct rp_prog *g, uint32_t mr, uint64_t addr, uint64_t len);
/** rp_mem() - VT_MEM. */
bool rp_mem(struct rp_thread *t, const struct vt_rec *rec);

/* --- shadow.c: with the lock ------------------------------------------------------------------------------- */

/** rp_shadow_new(), rp_shadow_free() - make one of @len bytes and as many behind it; NULL: there is no room. */
uint8_t *rp_shadow_new(struct rp_prog *g, uint64_t len);
void rp_shadow_free(struct rp_prog *g, struct rp_mr *mr);
/** rp_twins_find() - a new MR and others that have the same memory learn of each other. */
void rp_twins_find(struct rp_prog *g, struct rp_mr *mr);
/** rp_twins_tell() - what the record has now at @at, which is in an MR, it has in its twins as well. */
void rp_twins_tell(struct rp_prog *g, uint32_t mr, const uint8_t *at, const uint8_t *bytes,
		   uint64_t len);

/* --- files.c, landing.c --------------------------------------------------------------------------- */

/** rp_file() - the descriptor here for one of the record. */
uint64_t rp_file(const struct rp_prog *g, uint64_t file, uint64_t when);
/**
 * rp_only_landed() - whether an MR that has a shadow differs from it only where the trace lets something land, and where the
 * record has in the end what was there at first.
 */
bool rp_only_landed(const struct rp_prog *g, uint32_t mr);

/* --- received.c: with the lock ------------------------------------------------------------------ */

/** rp_places_init() - find where what lands. Returns 0 or -ENOMEM. */
int rp_places_init(struct rp_prog *g);
/** rp_place_taken(), rp_place_left() - a receive is posted, is not any more. Returns whether its bytes can be compared. */
void rp_place_taken(struct rp_prog *g, const struct vt_wr *wr);
bool rp_place_left(struct rp_prog *g, const struct vt_wr *wr);
/** rp_place_written() - the replay overwrites there, by the recorded address, what may have been received. */
void rp_place_written(struct rp_prog *g, uint64_t addr, uint64_t len);

/* --- objects.c --------------------------------------------------------------------------- */

int rp_objects_init(struct rp_prog *g);
void *rp_obj(const struct rp_prog *g, enum vobj kind, uint32_t ord);
/** rp_qp_of() - ordinal of the QP of that number in this run, 0: none. */
uint32_t rp_qp_of(struct rp_prog *g, uint32_t qpn);
/** rp_env() - for the walker of calls. */
struct vcall_env rp_env(struct rp_thread *t);
/** rp_key(), rp_qpn() - this run's key or number for a recorded one. */
uint32_t rp_key(const struct rp_prog *g, uint32_t key, uint64_t when, int64_t *delta);
uint32_t rp_qpn(const struct rp_prog *g, uint32_t qpn, uint64_t when);
/** rp_port() - the same of a port number; those that no identifier has got are the programs' own choice. */
uint16_t rp_port(const struct rp_thread *t, uint16_t port);
/** rp_port_made() - an identifier may have got a port. */
void rp_port_made(struct rp_prog *g, uint32_t id);
/** rp_handle() - the same of a handle by which an object of that kind is imported. */
uint32_t rp_handle(const struct rp_prog *g, enum rp_made_kind kind, uint32_t handle, uint64_t when);

/* --- live.c ------------------------------------------------------------------------------ */

/** rp_is_listen() and so on - whether a call's line is rdma_listen(), took a connection request, is any. */
bool rp_is_listen(const char *line);
bool rp_is_request(const char *line);
bool rp_is_any(const char *line);
/**
 * rp_count_calls() - how many calls of a program are such.
 * @first, @last: set to the number by which the first and the last of them ended, if there is any; or NULL
 */
uint32_t rp_count_calls(const struct vt_program *p, bool (*is)(const char *line), uint64_t *first,
			uint64_t *last);
/**
 * rp_live_count() - how many such calls the programs have made whose trace is being written to @dir.
 * @played: those that are played, or the real one; else the live one
 */
uint32_t rp_live_count(const char *dir, bool played, bool (*is)(const char *line));
/**
 * rp_live_num() - the key of the live program's region, or the number of its queue pair, that stands for a recorded one;
 * which is waited for. rp_made.delta is set as well. Returns 0: there is none.
 */
uint32_t rp_live_num(const struct rp_prog *g, const struct rp_num *n);
/** rp_live_runs() - whether one of the live command's programs has not ended: it may have left some behind. */
bool rp_live_runs(const char *dir);

/* --- gone.c ------------------------------------------------------------------------------ */

/** rp_live_gone() - say to all that are played that the live program has ended. @text: how */
void rp_live_gone(struct rp_world *w, const char *text);
/** rp_live_over() - whether the live program has ended, and what the thread waits for cannot come any more. */
bool rp_live_over(const struct rp_thread *t);
/** rp_left_alone() - say so, and what is waited for. Returns false. */
bool rp_left_alone(struct rp_thread *t, const struct vt_rec *rec, const char *want);

/* --- unexpected.c ------------------------------------------------------------------------ */

/** rp_policy() - set what is done by its name. Returns false: there is none such. */
bool rp_policy(struct rp_world *w, const char *name);
/** rp_unexpected() - count what came instead, and say it if it is put aside. */
void rp_unexpected(struct rp_thread *t, const struct vt_rec *rec, const char *want,
		   const char *got);
/** rp_get_event() - rdma_get_cm_event() until it is the one of the recorded result @want. */
int rp_get_event(struct rp_thread *t, const struct vt_rec *rec, const char *want,
		 struct rdma_event_channel *channel, struct rdma_cm_event **ev);
/** rp_drop_aside() - forget events about an identifier that is about to be destroyed, which waits for them. */
void rp_drop_aside(struct rp_prog *g, const struct rdma_cm_id *id);

/* --- the kinds of records ------------------------------------------------------------------ */

bool rp_call(struct rp_thread *t, const struct vt_rec *rec);
bool rp_post_send(struct rp_thread *t, const struct vt_rec *rec);
bool rp_post_recv(struct rp_thread *t, const struct vt_rec *rec);
bool rp_post_ops(struct rp_thread *t, const struct vt_rec *rec);
bool rp_dm(struct rp_thread *t, const struct vt_rec *rec);
bool rp_post_wr(struct rp_thread *t, const struct vt_rec *rec);
bool rp_poll(struct rp_thread *t, const struct vt_rec *rec);
bool rp_notify(struct rp_thread *t, const struct vt_rec *rec);
bool rp_cq_event(struct rp_thread *t, const struct vt_rec *rec);
bool rp_ack(struct rp_thread *t, const struct vt_rec *rec);
/** rp_ack_rest() - acknowledge the events that the record has not had, and destroying @cq would wait for. */
void rp_ack_rest(struct rp_prog *g, const struct ibv_cq *cq);

/** rp_invoke() - carry out a call with the walker's arguments. Returns what it returned. */
uint64_t rp_invoke(enum vcall call, const uint64_t *args);
/** rp_drain() - take what a CQ has into its pool, at most @n. With the lock. Returns 0 or what failed. */
int rp_drain(struct rp_prog *g, struct rp_cq *cq, int n);
/** rp_drain_ex() - the same of an extended CQ, by ibv_start_poll(). */
int rp_drain_ex(struct rp_prog *g, struct rp_cq *cq, int n);
/** rp_refused_ex() - ask an extended CQ what it refuses. Returns minus errno's value. */
int rp_refused_ex(struct rp_cq *cq);
/** rp_ignore() - fields with commas between are not compared. Returns false: one has no such name. */
bool rp_ignore(struct rp_world *w, char *list);
#define RP_FIELDS "wr_id, status, opcode, byte_len, imm, wc_flags, payload, src_qp or memory"
void rp_keep(struct rp_prog *g, struct rp_cq *cq, const struct ibv_wc *wc);

/** rp_play() - play a program. Returns the exit status of its process. */
int rp_play(struct rp_world *w, uint32_t nth, bool pace, uint64_t timeout);

#endif
