/* SPDX-License-Identifier: MIT */
/**
 * DOC: closing descriptors that came from programs of an isolated fabric, without waiting. See
 * closer.c for the theory of operation.
 */
#ifndef FABRIC_SERVER_CLOSER_H
#define FABRIC_SERVER_CLOSER_H

#include "emulator/types.h"

#include <pthread.h>

#define CLOSER_MAX 256u

/** struct closer_job - a descriptor to close. @err: -errno to answer to its peer first; 0: none */
struct closer_job {
	int fd;
	int err;
};

/**
 * struct closer - what the thread has to do.
 * @job: a ring of those from @tail up to @head
 */
struct closer {
	pthread_mutex_t lock;
	pthread_cond_t more;
	bool started;
	u32 head, tail;
	struct closer_job job[CLOSER_MAX];
};

struct fabric;

/** closer_init() - before the first use. */
void closer_init(struct closer *c);
/** closer_close() - close a descriptor that a program has sent. */
void closer_close(struct fabric *f, int fd);
/**
 * closer_refuse() - answer a connection that is not admitted with @err, and hang up. Requests that
 * it has sent are dropped.
 */
void closer_refuse(struct fabric *f, int fd, int err);
/** closer_hang_up() - close a connection. Requests that it has sent are dropped. */
void closer_hang_up(struct fabric *f, int fd);

#endif
