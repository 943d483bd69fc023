/* SPDX-License-Identifier: MIT */
/**
 * DOC: commands, doorbells, and the engine's work that this process does.
 */
#ifndef LIBSHIM_CLIENT_COMMAND_H
#define LIBSHIM_CLIENT_COMMAND_H

#include "emulator/verbs/cmd.h"

/* --- command.c --- */

/**
 * shim_cmd_exec() - execute a command, directly or through the command ring. Return: 0 or -errno.
 */
int shim_cmd_exec(struct hca_cmd *cmd);
/**
 * shim_cmd_hold() - keep every process from copying registered memory, by the engine token. Not in
 * isolated mode. Return: 0 or -EDEADLK: this thread is in the engine.
 */
int shim_cmd_hold(void);
/** shim_cmd_release() - end what a successful shim_cmd_hold() has begun. */
void shim_cmd_release(void);
/** shim_cmd_wake() - the fabric process has ended: wake the threads that wait for a command. */
void shim_cmd_wake(void);
void shim_cmd_forked(void);
/** shim_doorbell_ring() - work was posted on the QP in slot @slot. */
void shim_doorbell_ring(u32 slot);
/** shim_engine_poke() - a poller found nothing: do pending work. Return: whether it did some. */
bool shim_engine_poke(void);
/** shim_engine_drain() - before the caller sleeps: do everything that this process has pending. */
void shim_engine_drain(void);
/**
 * shim_sends_settle() - give the fabric process time to begin what only it can send, within limits.
 * @slot: slot of the QP; ANY_SLOT: all QPs of this process; ANY_UD_SLOT: its UD QPs
 */
#define ANY_SLOT    (~0u)
#define ANY_UD_SLOT (~1u)
void shim_sends_settle(u32 slot);

#endif
