/* SPDX-License-Identifier: MIT */
/**
 * DOC: waits with a time limit, which a stop of their thread must not make longer (wait.c).
 */
#ifndef LIBSHIM_LEND_WAIT_H
#define LIBSHIM_LEND_WAIT_H

#include "emulator/types.h"

/**
 * lend_wait_rest() - in the handler, for a wait of the calling thread that begins again: how much
 * of its time is left.
 * @object: the first argument of poll(2) or epoll_wait(2); @timeout_ms: their time limit
 * Return: ms, at most @timeout_ms. @timeout_ms itself: the wait began without the wrappers.
 */
s32 lend_wait_rest(u64 object, s32 timeout_ms);

#endif
