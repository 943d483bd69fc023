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
#ifndef TRACES_REPLAY_REPLAY_H
#define TRACES_REPLAY_REPLAY_H

#include "traces/replay/trace_index.h"
#include "traces/calls/calls.h"

#include <pthread.h>

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

/** rp_mr_first_bytes() - what the record says was there at first, of a region that has a shadow. */
static inline uint8_t *rp_mr_first_bytes(const struct rp_mr *mr)
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

/** rp_turn_wait() - wait until it is the record's turn. Returns false: somebody has failed. */
bool rp_turn_wait(struct rp_thread *t, const struct vt_rec *rec);
/** rp_slot_enter() - the thread is at this record now; NULL: at its end. */
void rp_slot_enter(struct rp_thread *t, const struct vt_rec *rec);
/** rp_slot_advance() - what a thread is at ends by that number: what begins before need not wait for it. RP_DONE: it has ended. */
void rp_slot_advance(struct rp_slot *s, uint64_t end);
/** rp_rec_may_begin() - whether all that ended before @begin has ended here. */
bool rp_rec_may_begin(const struct rp_world *w, const struct rp_slot *mine, uint64_t begin);
/**
 * rp_turn_yield() - let a thread get on that was, in the record, over with what it is at before @rec had ended, or had
 * begun to post by then: that may bring what @rec waits for. Waits a bounded time. Returns false: there is none.
 */
bool rp_turn_yield(struct rp_thread *t, const struct vt_rec *rec);
/** rp_slots_wake_all() - all who sleep look again. */
void rp_slots_wake_all(const struct rp_world *w);

/* --- overlap.c --------------------------------------------------------------------------- */

/**
 * rp_overlap_wait() - before a call that takes something away: wait for overlapping posts of peers, and for other threads
 * that take an event, which were before it.
 */
void rp_overlap_wait(const struct rp_thread *t, const struct vt_rec *rec);

/* --- shared.c ----------------------------------------------------------------------------- */

/**
 * rp_diverge() - this is not as recorded. The first one counts. Returns false.
 * @want, @got: both sides
 */
bool rp_diverge(struct rp_thread *t, const struct vt_rec *rec, const char *what, const char *want,
		const char *got);
/** rp_fail_rec() - the replay cannot go on, which is nobody's divergence. Returns false. */
bool rp_fail_rec(struct rp_thread *t, const struct vt_rec *rec, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* --- memory.c ---------------------------------------------------------------------------- */

/** rp_memory_init() - map all that the program registers. Returns 0 or -errno, with @err set. */
int rp_memory_init(struct rp_prog *g, struct vt_error *err);
/** rp_addr_map() - where an address of the record is here. */
uint64_t rp_addr_map(const struct rp_prog *g, uint64_t addr);
/** rp_addr_unreadable() - an address in memory that nobody can read, for one that the program could not. */
uint64_t rp_addr_unreadable(uint64_t addr);
/**
 * rp_mr_bind() - an MR was registered or changed: by the recorded call's addresses.
 */
void rp_mr_bind(struct rp_prog *g, uint32_t ord, uint64_t base, uint64_t len, uint8_t *host,
		int64_t delta);
/** rp_mr_unbind() - it is not registered any more. With the lock. */
void rp_mr_unbind(struct rp_prog *g, uint32_t ord);
/** rp_mr_at() - where @len bytes at the recorded @addr of an MR are here. NULL: nowhere. */
uint8_t *rp_mr_at(const struct rp_prog *g, uint32_t mr, uint64_t addr, uint64_t len);
/** rp_play_mem() - VT_MEM. */
bool rp_play_mem(struct rp_thread *t, const struct vt_rec *rec);

/* --- shadow.c: with the lock ------------------------------------------------------------------------------- */

/** rp_shadow_new(), rp_shadow_free() - make one of @len bytes and as many behind it; NULL: there is no room. */
uint8_t *rp_shadow_new(struct rp_prog *g, uint64_t len);
void rp_shadow_free(struct rp_prog *g, struct rp_mr *mr);
/** rp_shadow_find_twins() - a new MR and others that have the same memory learn of each other. */
void rp_shadow_find_twins(struct rp_prog *g, struct rp_mr *mr);
/** rp_shadow_update_twins() - what the record has now at @at, which is in an MR, it has in its twins as well. */
void rp_shadow_update_twins(struct rp_prog *g, uint32_t mr, const uint8_t *at, const uint8_t *bytes,
			    uint64_t len);

/* --- files.c, write_target.c --------------------------------------------------------------------------- */

/** rp_file_fd() - the descriptor here for one of the record. */
uint64_t rp_file_fd(const struct rp_prog *g, uint64_t file, uint64_t when);
/**
 * rp_mr_differs_in_targets() - whether an MR that has a shadow differs from it only where the trace lets something land, and where the
 * record has in the end what was there at first.
 */
bool rp_mr_differs_in_targets(const struct rp_prog *g, uint32_t mr);

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
/** rp_qp_find() - ordinal of the QP of that number in this run, 0: none. */
uint32_t rp_qp_find(struct rp_prog *g, uint32_t qpn);
/** rp_env() - for the walker of calls. */
struct vcall_env rp_env(struct rp_thread *t);
/** rp_key_map(), rp_qpn_map() - this run's key or number for a recorded one. */
uint32_t rp_key_map(const struct rp_prog *g, uint32_t key, uint64_t when, int64_t *delta);
uint32_t rp_qpn_map(const struct rp_prog *g, uint32_t qpn, uint64_t when);
/** rp_port_map() - the same of a port number; those that no identifier has got are the programs' own choice. */
uint16_t rp_port_map(const struct rp_thread *t, uint16_t port);
/** rp_port_publish() - an identifier may have got a port. */
void rp_port_publish(struct rp_prog *g, uint32_t id);
/** rp_handle_map() - the same of a handle by which an object of that kind is imported. */
uint32_t rp_handle_map(const struct rp_prog *g, enum rp_made_kind kind, uint32_t handle,
		       uint64_t when);

/* --- live.c ------------------------------------------------------------------------------ */

/** rp_line_is_listen() and so on - whether a call's line is rdma_listen(), took a connection request, is any. */
bool rp_line_is_listen(const char *line);
bool rp_line_is_request(const char *line);
bool rp_line_is_any(const char *line);
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
 * rp_live_find_num() - the key of the live program's region, or the number of its queue pair, that stands for a recorded one;
 * which is waited for. rp_made.delta is set as well. Returns 0: there is none.
 */
uint32_t rp_live_find_num(const struct rp_prog *g, const struct rp_num *n);
/** rp_live_is_running() - whether one of the live command's programs has not ended: it may have left some behind. */
bool rp_live_is_running(const char *dir);

/* --- live_exit.c ------------------------------------------------------------------------------ */

/** rp_live_set_gone() - say to all that are played that the live program has ended. @text: how */
void rp_live_set_gone(struct rp_world *w, const char *text);
/** rp_live_is_over() - whether the live program has ended, and what the thread waits for cannot come any more. */
bool rp_live_is_over(const struct rp_thread *t);
/** rp_live_fail_wait() - say so, and what is waited for. Returns false. */
bool rp_live_fail_wait(struct rp_thread *t, const struct vt_rec *rec, const char *want);

/* --- policy.c ------------------------------------------------------------------------ */

/** rp_policy_set() - set what is done by its name. Returns false: there is none such. */
bool rp_policy_set(struct rp_world *w, const char *name);
/** rp_policy_note() - count what came instead, and say it if it is put aside. */
void rp_policy_note(struct rp_thread *t, const struct vt_rec *rec, const char *want,
		    const char *got);
/** rp_policy_get_event() - rdma_get_cm_event() until it is the one of the recorded result @want. */
int rp_policy_get_event(struct rp_thread *t, const struct vt_rec *rec, const char *want,
			struct rdma_event_channel *channel, struct rdma_cm_event **ev);
/** rp_policy_drop_events() - forget events about an identifier that is about to be destroyed, which waits for them. */
void rp_policy_drop_events(struct rp_prog *g, const struct rdma_cm_id *id);

/* --- the kinds of records ------------------------------------------------------------------ */

bool rp_play_call(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_post_send(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_post_recv(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_post_ops(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_dm(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_post_wr(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_poll(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_notify(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_cq_event(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_ack(struct rp_thread *t, const struct vt_rec *rec);
/** rp_cq_ack_rest() - acknowledge the events that the record has not had, and destroying @cq would wait for. */
void rp_cq_ack_rest(struct rp_prog *g, const struct ibv_cq *cq);

/** rp_call_invoke() - carry out a call with the walker's arguments. Returns what it returned. */
uint64_t rp_call_invoke(enum vcall call, const uint64_t *args);
/** rp_cq_drain() - take what a CQ has into its pool, at most @n. With the lock. Returns 0 or what failed. */
int rp_cq_drain(struct rp_prog *g, struct rp_cq *cq, int n);
/** rp_cqex_drain() - the same of an extended CQ, by ibv_start_poll(). */
int rp_cqex_drain(struct rp_prog *g, struct rp_cq *cq, int n);
/** rp_cqex_refused() - ask an extended CQ what it refuses. Returns minus errno's value. */
int rp_cqex_refused(struct rp_cq *cq);
/** rp_policy_ignore() - fields with commas between are not compared. Returns false: one has no such name. */
bool rp_policy_ignore(struct rp_world *w, char *list);
#define RP_FIELDS "wr_id, status, opcode, byte_len, imm, wc_flags, payload, src_qp or memory"
void rp_cq_keep(struct rp_prog *g, struct rp_cq *cq, const struct ibv_wc *wc);

/** rp_play_program() - play a program. Returns the exit status of its process. */
int rp_play_program(struct rp_world *w, uint32_t nth, bool pace, uint64_t timeout);

#endif
