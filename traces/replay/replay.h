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

#include "traces/calls/calls.h"
#include "traces/replay/world.h"

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
	bool reported; /* reported as unexpected */
	struct rp_cqe *next;
};

struct rp_cq {
	struct ibv_cq *cq;
	struct rp_cqe *first, **last;
	uint32_t events; /* taken and not acknowledged */
	uint32_t pending; /* taken ahead of the record */
	uint32_t missed; /* events of the record that need not come: event.c */
	bool armed; /* and no event has been taken since */
	bool excused; /* this arming is counted in @missed */
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
	struct rp_sent *sent; /* completions of sends: unreceived.c */
	size_t n_sent;
	struct rp_aside *aside; /* events that came early */
	struct rp_tag *tag[RP_TAG_LISTS];
	uint32_t running;
	struct cmp_map *map; /* NULL: the devices are as recorded */
};

#endif
