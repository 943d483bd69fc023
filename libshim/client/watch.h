/* SPDX-License-Identifier: MIT */
/**
 * DOC: the watcher thread, and what the layers above have it do when the fabric process has ended.
 */
#ifndef LIBSHIM_CLIENT_WATCH_H
#define LIBSHIM_CLIENT_WATCH_H

/** enum fatal_step - what the watcher calls when the fabric process has ended, in this order. */
enum fatal_step {
	FATAL_FLUSH, /* flush the QPs of this process without an engine: isolated mode only */
	FATAL_VERBS, /* IBV_EVENT_DEVICE_FATAL on every open context */
	FATAL_CM, /* wake the readers of rdma_cm event channels */
	FATAL_STEPS,
};

/* --- watch.c --- */

/** shim_watch_on_fatal() - register @fn for @step. Idempotent, thread-safe. */
void shim_watch_on_fatal(enum fatal_step step, void (*fn)(void));
/** shim_watch_start() - start the watcher unless it runs. Return: 0 or -errno. */
int shim_watch_start(void);
void shim_watch_forked(void);

#endif
