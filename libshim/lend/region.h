/* SPDX-License-Identifier: MIT */
/**
 * DOC: lent memory: whole pages of registered memory lie in a memory file of the process.
 *
 * docs/design/lent-memory.md has the problem, the invariant and the table of what happens when.
 * The files of this folder:
 *
 *	mode.c		what RDMAEMU_LEND asks for
 *	lock.c		the folder's lock
 *	region.c	the registered regions; lends pages for one, takes them back after it
 *	cache.c		ranges that no region lies on any more
 *	range.c		the lent ranges, and their places in the memory file
 *	cost.c		what lending may cost a program that has not asked for it
 *	pages.c		exchanges pages: private ones for those of the file, and back
 *	threads.c	stops the program's other threads meanwhile
 *	call.c		system calls that such a stop interrupts
 *	due.c		the program's own signals that come meanwhile
 *	wait.c		how long the waits among them still last
 *	quiet.c		whether anything else may write to memory
 *	fork.c		children of fork() get copies of their own
 *	hooks.c		functions of libc that need private memory, or one thread
 *	signal_sets.c	functions of libc that block signals, or wait for them
 */
#ifndef LIBSHIM_LEND_REGION_H
#define LIBSHIM_LEND_REGION_H

#include "emulator/seg.h"

#include <signal.h>

/* --- mode.c --- */

/** lend_is_on() - whether memory may be lent at all. */
bool lend_is_on(void);
/** lend_is_asked() - whether RDMAEMU_LEND asks for as much as possible, whatever it costs. */
bool lend_is_asked(void);

/* --- lock.c --- */

/**
 * lend_lock() - take the folder's lock, with all signals blocked: a handler that writes to a page
 * while it is exchanged would lose that write. For threads of the shim, too, that copy to or from
 * registered memory without the engine token. @before: for lend_unlock()
 */
void lend_lock(sigset_t *before);
void lend_unlock(const sigset_t *before);
/**
 * lend_lock_while() - the same for a thread that the lock's owner may wait for. During its wait,
 * @go_on is called again and again. Return: false: that returned false, and the lock is not taken.
 */
bool lend_lock_while(sigset_t *before, bool (*go_on)(void));
/** lend_lock_unless_held() - the same. Return: false: this thread has it. */
bool lend_lock_unless_held(sigset_t *before);

/* --- region.c --- */

/**
 * lend_region_add() - note a region that is about to be registered, and lend its memory.
 * @may_lend: false: only note it, so that later regions do not lend the same pages
 *
 * Lending is an attempt: the region works in any case. Every region of the program's memory must be
 * noted before the HCA knows it. Call this even if lending is off: it does nothing then.
 * Return: a number for lend_region_drop(); 0: nothing was noted.
 */
u64 lend_region_add(u64 addr, u64 len, bool may_lend);
/**
 * lend_region_drop() - forget a region that the HCA does not know, or no longer. Its pages stay
 * lent for a while. Numbers of a parent process, and 0, are ignored.
 */
void lend_region_drop(u64 number);
/**
 * lend_give_back() - make lent ranges that overlap [addr, addr + len) private again, although they
 * are registered. Return: 0, or -errno: some are still lent.
 */
int lend_give_back(u64 addr, u64 len);
/**
 * lend_give_back_quiet() - the same for all ranges, as far as possible, unless the kernel may write
 * to memory at any time.
 */
void lend_give_back_quiet(void);
/** lend_give_back_idle() - the same for all ranges that are not registered, as far as possible. */
void lend_give_back_idle(void);

/**
 * lend_no_more() - never lend again: a process that the program makes will share its memory without
 * being one of its threads. Return: 0.
 */
int lend_no_more(void);

/* --- cache.c --- */

/**
 * lend_discard() - private memory without content takes the place of lent pages in [addr, addr +
 * len): the program does not need what is there. No thread is stopped, for none can tell this from
 * MADV_DONTNEED of private memory. Return: 0 or -errno.
 */
int lend_discard(u64 addr, u64 len);

/* --- quiet.c --- */

/** lend_own_threads() - the shim has started (@n = 1) a thread, or one of its own ends (-1). */
void lend_own_threads(int n);

/* --- range.c --- */

/**
 * struct lend_client - what lending needs of this process as a client of its fabric.
 * @table: in its segment: tells other processes what is lent
 * @hold: keeps them from copying its registered memory, and from reading @table. 0 or -errno
 * @release: ends what a successful @hold has begun
 * @offer: hands the memory file @fd to the fabric process. Return: the number that the descriptor
 *	has then, or -errno: it is closed
 */
struct lend_client {
	struct seg_lent_table *table;
	int (*hold)(void);
	void (*release)(void);
	int (*offer)(int fd);
};

/** lend_set_client() - this process is a client now. NULL: it is not any more. */
void lend_set_client(const struct lend_client *client);

/* --- fork.c --- */

/*
 * In the handlers of pthread_atfork(3). Before the fork; in the parent, where it waits for the
 * child's copies; in the child, which makes them.
 */
void lend_fork_prepare(void);
void lend_fork_parent(void);
void lend_fork_child(void);

#endif
