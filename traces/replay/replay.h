/* SPDX-License-Identifier: MIT */
/**
 * DOC: replays a trace of verbs.
 *
 * Theory of operation
 * -------------------
 * One process plays one program of the trace, with a thread for each thread of the program. A
 * thread plays its records in their order. A call begins when all calls of all programs that had
 * ended before it began in the record have ended here: every thread publishes in shared memory
 * (struct rp_slot) the number by which its current call ends. So calls that overlapped may overlap
 * again, and all others keep their order. turn.c implements the waiting, overlap.c the one
 * exception.
 *
 * The record with the smallest begin of all programs may always begin, so the waits cannot
 * deadlock. A watchdog in the main thread reports a library call that does not return in time.
 *
 * Objects are found by kind and ordinal. Memory is mapped at the recorded addresses if they are
 * free; otherwise addresses move by as much as their MR. QP numbers and keys are those of this run:
 * each process publishes its own by ordinal, and looks up which object a recorded number belonged
 * to at that time.
 *
 * Completions are taken from a CQ as they come, and matched with the recorded ones by QP and side:
 * a trace does not say in which order completions of several QPs must come. Anything that is not as
 * recorded is a divergence. The first one is kept in shared memory, all processes stop, and the
 * process that started them prints it.
 */
#ifndef TRACES_REPLAY_REPLAY_H
#define TRACES_REPLAY_REPLAY_H

#include "traces/replay/trace_index.h"
#include "traces/calls/calls.h"

#include <pthread.h>

/** struct rp_region - memory of the program: recorded address and local one. */
struct rp_region {
	uint64_t addr;
	uint64_t len;
	int64_t delta;
};

struct rp_mr {
	uint64_t base; /* recorded base address of work requests */
	uint64_t len;
	uint8_t *host; /* local; NULL: not the program's memory */
	bool implicit; /* covers the whole address space */
	bool twin; /* shares memory with another MR */
	bool grh; /* datagrams may have written GRHs there */
	/* Recorded contents, followed by the recorded first contents. NULL: too large to follow. */
	uint8_t *shadow;
};

/** rp_mr_first_bytes() - the recorded contents at registration, of an MR with a shadow. */
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
	/* An error completion may have been of either side: the posted receives are uncertain. */
	bool unsure;
	/* An unexpected message has consumed a receive: the others pair up differently. */
	bool loose;
};

/** struct rp_cqe - a completion that was polled, and that the record has not consumed yet. */
struct rp_cqe {
	struct ibv_wc wc;
	uint32_t qp; /* ordinal */
	bool told; /* reported as unexpected */
	struct rp_cqe *next;
};

struct rp_cq {
	struct ibv_cq *cq;
	struct rp_cqe *first, **last;
	uint32_t events; /* taken and not acknowledged */
	uint32_t pending; /* taken ahead of the record */
	uint32_t missed; /* armed with completions present: these may give no event */
	uint64_t ex_flags; /* wc_flags of ibv_create_cq_ex() */
	bool ex;
	bool polled; /* the record polls it */
	bool by_start; /* by ibv_start_poll() */
};

struct rp_prog;

/**
 * struct rp_file - an empty file in place of one that the program had open. @was: its recorded
 * descriptor
 */
struct rp_file {
	int was;
	int fd;
	struct rp_file *next;
};

/** struct rp_tag - a tag of an SRQ. @was: its recorded handle; @handle: the local one */
struct rp_tag {
	uint32_t srq;
	uint32_t was;
	uint32_t handle;
	struct rp_tag *next;
};

#define RP_TAG_LISTS 1024u

/** struct rp_scratch - work requests of a post, made from the record. */
struct rp_scratch {
	struct ibv_send_wr *send;
	struct ibv_recv_wr *recv;
	struct ibv_sge *sge;
	uint8_t *bytes; /* data in no MR, such as inline data */
	size_t n_wr, n_sge, n_bytes;
};

/** struct rp_thread - a thread of this process. */
struct rp_thread {
	struct rp_prog *prog;
	struct rp_slot *slot;
	pthread_t id;
	struct vcall_parsed parsed;
	struct vcall_text text;
	char *mapped; /* buffer for the remapped line */
	uint64_t when; /* number by which the current record's call began */
	const struct vt_wc *awaited; /* completion that its poll waits for */
	uint64_t look_ns; /* how long it spins before it sleeps: turn.c */
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
	const uint32_t *n_obj; /* of each kind, ordinals + 1 */
	struct rp_region *region;
	size_t n_regions;
	struct rp_mr *mr;
	uint64_t shadows; /* bytes of all shadows */
	struct rp_cq *cq;
	struct rp_queue *rq, *srq; /* by ordinal of QP, SRQ */
	uint32_t *qp_srq; /* ordinal of the SRQ of a QP */
	struct rp_cqe *free_cqe;
	struct rp_recv *free_recv;
	pthread_mutex_t lock; /* protects objects, CQs and queues */
	struct rp_thread *thread;
	uint32_t n_threads;
	uint32_t first_slot;
	struct rp_file *file; /* of XRC domains */
	struct rp_places
		*places; /* where receives land; NULL: the record has no CRCs of received data */
	struct rp_aside *aside; /* events that came early */
	struct rp_tag *tag[RP_TAG_LISTS];
	uint32_t running;
	struct rp_map *map; /* NULL: the devices are as recorded */
};

/* --- turn.c: order --- */

/** rp_turn_wait() - wait until the record may begin. Returns false: the replay has failed. */
bool rp_turn_wait(struct rp_thread *t, const struct vt_rec *rec);
/** rp_slot_enter() - the thread is at this record now; NULL: at its end. */
void rp_slot_enter(struct rp_thread *t, const struct vt_rec *rec);
/**
 * rp_slot_advance() - publish that the thread's current call ends by number @end: calls that begin
 * before it need not wait for this thread. RP_DONE: the thread has ended.
 */
void rp_slot_advance(struct rp_slot *s, uint64_t end);
/** rp_rec_may_begin() - whether all calls that had ended before @begin have ended here. */
bool rp_rec_may_begin(const struct rp_world *w, const struct rp_slot *mine, uint64_t begin);
/**
 * rp_turn_yield() - let another thread proceed whose current call had ended before @rec ended, or
 * that had begun to post by then: it may bring what @rec waits for. Waits a bounded time. Returns
 * false: there is no such thread.
 */
bool rp_turn_yield(struct rp_thread *t, const struct vt_rec *rec);
/** rp_slots_wake_all() - wake all sleeping threads. */
void rp_slots_wake_all(const struct rp_world *w);

/* --- overlap.c --- */

/**
 * rp_overlap_wait() - before a destructive call: wait for overlapping posts of peers, and for other
 * threads that take an event, which took effect before it in the record.
 */
void rp_overlap_wait(const struct rp_thread *t, const struct vt_rec *rec);

/* --- shared.c --- */

/**
 * rp_diverge() - report a divergence. Only the first one counts. Returns false.
 * @want, @got: both sides
 */
bool rp_diverge(struct rp_thread *t, const struct vt_rec *rec, const char *what, const char *want,
		const char *got);
/**
 * rp_fail_rec() - the replay cannot continue, for a reason that is no divergence. Returns false.
 */
bool rp_fail_rec(struct rp_thread *t, const struct vt_rec *rec, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* --- memory.c --- */

/**
 * rp_memory_init() - map all memory that the program registers. Returns 0 or -errno, with @err set.
 */
int rp_memory_init(struct rp_prog *g, struct vt_error *err);
/** rp_addr_map() - the local address of a recorded one. */
uint64_t rp_addr_map(const struct rp_prog *g, uint64_t addr);
/**
 * rp_addr_unreadable() - an address of unreadable memory, for one that was unreadable in the
 * record.
 */
uint64_t rp_addr_unreadable(uint64_t addr);
/**
 * rp_mr_bind() - an MR was registered or changed; @base and @len are those of the recorded call.
 */
void rp_mr_bind(struct rp_prog *g, uint32_t ord, uint64_t base, uint64_t len, uint8_t *host,
		int64_t delta);
/** rp_mr_unbind() - an MR was deregistered. The caller holds the lock. */
void rp_mr_unbind(struct rp_prog *g, uint32_t ord);
/**
 * rp_mr_at() - the local address of @len bytes at the recorded @addr of an MR. Returns NULL:
 * outside of it.
 */
uint8_t *rp_mr_at(const struct rp_prog *g, uint32_t mr, uint64_t addr, uint64_t len);
/** rp_play_mem() - play VT_MEM. */
bool rp_play_mem(struct rp_thread *t, const struct vt_rec *rec);

/* --- shadow.c: with the lock --- */

/**
 * rp_shadow_new(), rp_shadow_free() - a shadow of @len bytes, and as many for the first contents.
 * NULL: no memory.
 */
uint8_t *rp_shadow_new(struct rp_prog *g, uint64_t len);
void rp_shadow_free(struct rp_prog *g, struct rp_mr *mr);
/** rp_shadow_find_twins() - mark a new MR and the MRs with which it shares memory as twins. */
void rp_shadow_find_twins(struct rp_prog *g, struct rp_mr *mr);
/**
 * rp_shadow_update_twins() - copy recorded contents at @at, in an MR, to the shadows of its twins.
 */
void rp_shadow_update_twins(struct rp_prog *g, uint32_t mr, const uint8_t *at, const uint8_t *bytes,
			    uint64_t len);

/* --- files.c, write_target.c --- */

/** rp_file_fd() - the local descriptor of a recorded file. */
uint64_t rp_file_fd(const struct rp_prog *g, uint64_t file, uint64_t when);
/**
 * rp_mr_differs_in_targets() - whether an MR with a shadow differs from it only where the trace
 * lets peers or receives write, and where the recorded final contents are the first contents.
 */
bool rp_mr_differs_in_targets(const struct rp_prog *g, uint32_t mr);

/* --- received.c: with the lock --- */

/** rp_places_init() - find out where data lands. Returns 0 or -ENOMEM. */
int rp_places_init(struct rp_prog *g);
/**
 * rp_place_taken(), rp_place_left() - a receive was posted, or is not posted any more.
 * rp_place_left() returns whether its bytes can be compared.
 */
void rp_place_taken(struct rp_prog *g, const struct vt_wr *wr);
bool rp_place_left(struct rp_prog *g, const struct vt_wr *wr);
/** rp_place_written() - the replay overwrites received data at a recorded address. */
void rp_place_written(struct rp_prog *g, uint64_t addr, uint64_t len);

/* --- objects.c --- */

int rp_objects_init(struct rp_prog *g);
void *rp_obj(const struct rp_prog *g, enum vobj kind, uint32_t ord);
/** rp_qp_find() - the ordinal of the QP with that number in this run; 0: none. */
uint32_t rp_qp_find(struct rp_prog *g, uint32_t qpn);
/** rp_env() - callbacks for the parser and the walker of calls. */
struct vcall_env rp_env(struct rp_thread *t);
/** rp_key_map(), rp_qpn_map() - the key or number of this run for a recorded one. */
uint32_t rp_key_map(const struct rp_prog *g, uint32_t key, uint64_t when, int64_t *delta);
uint32_t rp_qpn_map(const struct rp_prog *g, uint32_t qpn, uint64_t when);
/**
 * rp_port_map() - the same for a port number. Ports that no identifier was given are the program's
 * choice, and stay.
 */
uint16_t rp_port_map(const struct rp_thread *t, uint16_t port);
/** rp_port_publish() - publish the port of an identifier, if it has one. */
void rp_port_publish(struct rp_prog *g, uint32_t id);
/** rp_handle_map() - the same for the handle by which an object of that kind is imported. */
uint32_t rp_handle_map(const struct rp_prog *g, enum rp_made_kind kind, uint32_t handle,
		       uint64_t when);

/* --- live.c --- */

/**
 * rp_line_is_listen(), rp_line_is_request(), rp_line_is_any() - whether a line is rdma_listen(),
 * took a connection request, is any call.
 */
bool rp_line_is_listen(const char *line);
bool rp_line_is_request(const char *line);
bool rp_line_is_any(const char *line);
/**
 * rp_count_calls() - count the calls of a program that match.
 * @first, @last: set to the numbers by which the first and the last of them ended, if there are
 *	any; or NULL
 */
uint32_t rp_count_calls(const struct vt_program *p, bool (*is)(const char *line), uint64_t *first,
			uint64_t *last);
/**
 * rp_live_count() - count matching calls of programs whose trace is being written to @dir.
 * @played: of the played programs or the real one; otherwise of the live program
 */
uint32_t rp_live_count(const char *dir, bool played, bool (*is)(const char *line));
/**
 * rp_live_find_num() - the live program's key or QP number for a recorded one. Waits until it
 * exists, and sets rp_made.delta. Returns 0: there is none.
 */
uint32_t rp_live_find_num(const struct rp_prog *g, const struct rp_num *n);
/**
 * rp_live_is_running() - whether a program of the live command is running: the command may leave
 * some behind.
 */
bool rp_live_is_running(const char *dir);

/* --- live_exit.c --- */

/** rp_live_set_gone() - tell all players that the live program has ended. @text: how */
void rp_live_set_gone(struct rp_world *w, const char *text);
/**
 * rp_live_is_over() - whether the live program has ended, and what the thread waits for cannot come
 * any more.
 */
bool rp_live_is_over(const struct rp_thread *t);
/**
 * rp_live_fail_wait() - fail with what the thread waits for, and how the live program ended.
 * Returns false.
 */
bool rp_live_fail_wait(struct rp_thread *t, const struct vt_rec *rec, const char *want);

/* --- policy.c --- */

/** rp_policy_set() - set the policy by its name. Returns false: unknown name. */
bool rp_policy_set(struct rp_world *w, const char *name);
/** rp_policy_note() - count an unexpected message or event, and print it if it is put aside. */
void rp_policy_note(struct rp_thread *t, const struct vt_rec *rec, const char *want,
		    const char *got);
/**
 * rp_policy_get_event() - call rdma_get_cm_event() until the event is the one of the recorded
 * result @want.
 */
int rp_policy_get_event(struct rp_thread *t, const struct vt_rec *rec, const char *want,
			struct rdma_event_channel *channel, struct rdma_cm_event **ev);
/**
 * rp_policy_drop_events() - discard events of an identifier, whose destruction would wait for them.
 */
void rp_policy_drop_events(struct rp_prog *g, const struct rdma_cm_id *id);

/* --- the kinds of records --- */

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
/**
 * rp_cq_ack_rest() - acknowledge events that the record never had; destroying @cq would wait for
 * them.
 */
void rp_cq_ack_rest(struct rp_prog *g, const struct ibv_cq *cq);

/** rp_call_invoke() - carry out a call with parsed arguments. Returns its result. */
uint64_t rp_call_invoke(enum vcall call, const uint64_t *args);
/**
 * rp_cq_drain() - take at most @n completions of a CQ into its pool. The caller holds the lock.
 * Returns 0 or the error.
 */
int rp_cq_drain(struct rp_prog *g, struct rp_cq *cq, int n);
/** rp_cqex_drain() - the same for an extended CQ, by ibv_start_poll(). */
int rp_cqex_drain(struct rp_prog *g, struct rp_cq *cq, int n);
/**
 * rp_cqex_refused() - poll an extended CQ with an attribute that it must refuse. Returns minus
 * errno.
 */
int rp_cqex_refused(struct rp_cq *cq);
/**
 * rp_policy_ignore() - exclude a comma-separated list of fields from comparison. Returns false:
 * unknown name.
 */
bool rp_policy_ignore(struct rp_world *w, char *list);
#define RP_FIELDS "wr_id, status, opcode, byte_len, imm, wc_flags, payload, src_qp or memory"
void rp_cq_keep(struct rp_prog *g, struct rp_cq *cq, const struct ibv_wc *wc);

/** rp_play_program() - play a program. Returns the exit status of its process. */
int rp_play_program(struct rp_world *w, uint32_t nth, bool pace, uint64_t timeout);

#endif
