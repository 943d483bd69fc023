/* SPDX-License-Identifier: MIT */
/**
 * DOC: completions of real devices that arrive late: `cq delay` of rdmaemu-faults(7).
 *
 * A completion that is late, and those after it, are taken out of the program's array, and polls of
 * the CQ find nothing until it is due. The device's own order stays.
 *
 * Two kinds of polls wait instead, as if the completion had arrived while they ran: those of an
 * extended CQ, whose entries cannot be put back, and those of a CQ with a completion channel, since
 * the device has raised the event of that completion already, or none.
 */
#ifndef LIBTAP_USERS_LATE_FAULTS_H
#define LIBTAP_USERS_LATE_FAULTS_H

#include "libtap/tap.h"

/** struct late_poll - the late completions of one poll; all 0 at first. */
struct late_poll {
	struct late_node *node;
	u64 longest;
};

/** late_faults_start() - the process begins. */
void late_faults_start(void);
/* Those that are kept back, in the order of the polls. */
extern struct late_node *late_nodes;
/** late_faults_wait() - whether completions are kept back: late_fault_answer() has to be asked. */
static inline bool late_faults_wait(void)
{
	return load_relaxed(&late_nodes);
}
/** late_fault_answer() - Return: whether this poll gets what was kept back, or nothing. */
bool late_fault_answer(struct tap_poll *p);
/**
 * late_fault_add() - completion @i of the poll is late by @delay ns, or comes after one that is.
 */
void late_fault_add(struct late_poll *l, const struct tap_poll *p, int i, u64 delay);
/** late_fault_end() - the poll has no more completions. */
void late_fault_end(struct late_poll *l, struct tap_poll *p);
/** late_fault_sleep() - wait for a completion that is late by @delay ns. */
void late_fault_sleep(u64 delay);
/** late_faults_forget_cq() - the CQ is destroyed. */
void late_faults_forget_cq(const struct tap_obj *cq);
/** late_faults_forget_qp() - the queue pair is destroyed or reset, and its completions are gone. */
void late_faults_forget_qp(const struct tap_obj *qp);

#endif
