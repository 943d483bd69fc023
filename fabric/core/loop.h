/* SPDX-License-Identifier: MIT */
/**
 * DOC: descriptors that the fabric process waits for.
 *
 * One thread serves one epoll set. Every module registers its descriptors here, with the function
 * that handles their events. The loop itself is in server/loop.c, which knows all modules and which
 * none of them calls.
 */
#ifndef FABRIC_CORE_LOOP_H
#define FABRIC_CORE_LOOP_H

#include "emulator/types.h"

struct fabric;

/** struct watch - a descriptor in the epoll set, and its handler. */
struct watch {
	int fd; /* -1: not in use */
	void (*fn)(struct fabric *f, struct watch *w, u32 events);
};

/** struct loop - what the loop waits for. */
struct loop {
	int epoll;
	struct watch kick; /* eventfd: threads of this process write to it when there is work */
	struct watch timer;
	u64 timer_at; /* real time that the timer is set to, or NEVER */
	bool kicked; /* look for engine work now */
};

/** loop_watch_add() - put a descriptor into the epoll set. Return: 0 or -errno. */
int loop_watch_add(struct fabric *f, struct watch *w, int fd,
		   void (*fn)(struct fabric *f, struct watch *w, u32 events));
/** loop_watch_events() - wait for other events than EPOLLIN: EPOLL* bits. */
void loop_watch_events(struct fabric *f, struct watch *w, u32 events);
/** loop_watch_remove() - take a descriptor out of the set that another process holds as well. */
void loop_watch_remove(struct fabric *f, struct watch *w);
/** loop_watch_close() - close a descriptor: it leaves the set if no other process holds it. */
void loop_watch_close(struct watch *w);

#endif
