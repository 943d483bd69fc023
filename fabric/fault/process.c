/* SPDX-License-Identifier: MIT */
/**
 * DOC: processes that rules kill, pause and resume.
 *
 * Signals go to clients of the fabric only, by pidfd: never to a process that reuses the pid of
 * one. The token is held meanwhile, so that no process is stopped inside the engine, where all
 * others would wait for it. A paused process is resumed when the rule's time is over, when the rule
 * is removed, or when the fabric ends.
 */
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"
#include "fabric/core/fabric.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Return: whether the signal was sent. */
static bool process_signal(struct fabric *f, const struct fault_rule *r, const struct client *cl,
			   int signo)
{
	const struct hca_client *h = &f->hca->client[cl->id];

	if (cl->exit.fd < 0) {
		fabric_note(f, "fault %s: process %d (%s) cannot be signalled: it has no pidfd",
			    r->name, h->fabric_pid, h->name);
		return false;
	}
	if (syscall(SYS_pidfd_send_signal, cl->exit.fd, signo, NULL, 0)) {
		if (errno != ESRCH)
			fabric_note(f, "fault %s: process %d (%s): %s", r->name, h->fabric_pid,
				    h->name, strerror(errno));
		return false;
	}
	fabric_note(f, "fault %s: SIG%s to process %d (%s)", r->name, sigabbrev_np(signo),
		    h->fabric_pid, h->name);
	return true;
}

static bool rule_is_on_process(struct fabric *f, const struct fault_rule *r,
			       const struct client *cl)
{
	return !cl->dead && !cl->exited && fault_rule_is_on_client(f, &r->where, cl->id);
}

bool fault_process_is_there(struct fabric *f, const struct fault_rule *r)
{
	const struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next)
		if (rule_is_on_process(f, r, cl))
			return true;
	return false;
}

bool fault_kill_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	struct client *cl;
	bool done = false;

	(void)p;
	for (cl = f->clients.list; cl; cl = cl->next)
		if (rule_is_on_process(f, r, cl))
			done |= process_signal(f, r, cl, r->what.signo ? r->what.signo : SIGKILL);
	return done;
}

static bool process_resume(struct fabric *f, struct fault_rule *r, struct client *cl)
{
	cl->paused_by = 0;
	return process_signal(f, r, cl, SIGCONT);
}

void fault_pause_removed(struct fabric *f, struct fault_rule *r)
{
	struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next)
		if (cl->paused_by == r->id && !cl->dead)
			process_resume(f, r, cl);
	r->phase = 0;
}

bool fault_pause_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	struct client *cl;
	bool done = false;

	(void)p;
	if (r->phase) {
		fault_pause_removed(f, r);
		return false;
	}
	for (cl = f->clients.list; cl; cl = cl->next)
		if (rule_is_on_process(f, r, cl) && !cl->paused_by &&
		    process_signal(f, r, cl, SIGSTOP)) {
			cl->paused_by = r->id;
			done = true;
		}
	if (done && r->when.for_ns) {
		r->phase = 1;
		fault_rule_set_due(f, r, fabric_engine_now(f) + r->when.for_ns);
	}
	return done;
}

bool fault_resume_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	struct client *cl;
	bool done = false;

	(void)p;
	for (cl = f->clients.list; cl; cl = cl->next)
		if (rule_is_on_process(f, r, cl) && cl->paused_by)
			done |= process_resume(f, r, cl);
	return done;
}

void fault_resume_all(struct fabric *f)
{
	struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next)
		if (cl->paused_by && !cl->dead && cl->exit.fd >= 0)
			syscall(SYS_pidfd_send_signal, cl->exit.fd, SIGCONT, NULL, 0);
}
