/* SPDX-License-Identifier: MIT */
/* See late_faults.h. Kept back completions are few: a list of them under a lock. */
#include "libtap/users/late_faults.h"
#include "fabric/proto/real_time.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/**
 * struct late_wc - a completion that is kept back.
 * @due: real time; 0: after the one before it
 */
struct late_wc {
	struct ibv_wc wc;
	u64 due;
};

/**
 * struct late_node - those of one poll.
 * @cq: its CQ
 * @kept: how many completions of the poll precede them
 * @next_wc, @n: entries from the first one that the program has not got
 */
struct late_node {
	struct late_node *next;
	const struct tap_obj *cq;
	int kept;
	u32 next_wc, n;
	struct late_wc entry[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct late_node *late_nodes;

void late_faults_start(void)
{
	pthread_mutex_init(&lock, NULL);
	late_nodes = NULL;
}

void late_fault_sleep(u64 delay)
{
	const u64 ns = real_ns() + delay;
	const struct timespec until = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* --- a poll that finds them ------------------------------------------------------------------- */

static bool late_poll_sleeps(const struct tap_poll *p)
{
	return !p->obj || p->cq->channel;
}

void late_fault_add(struct late_poll *l, const struct tap_poll *p, int i, u64 delay)
{
	const u32 room = (u32)(p->ret - i);

	if (delay > l->longest)
		l->longest = delay;
	if (late_poll_sleeps(p))
		return;
	if (!l->node) {
		l->node = calloc(1, sizeof(*l->node) + room * sizeof(l->node->entry[0]));
		if (!l->node)
			return;
		l->node->cq = p->obj;
		l->node->kept = i;
	}
	l->node->entry[l->node->n++] = (struct late_wc){ p->wc[i], delay ? real_ns() + delay : 0 };
}

void late_fault_end(struct late_poll *l, struct tap_poll *p)
{
	struct late_node **at = &late_nodes;

	if (likely(!l->longest))
		return;
	/* Without memory for them they are late all the same. */
	if (!l->node) {
		late_fault_sleep(l->longest);
		return;
	}
	p->ret = l->node->kept;
	pthread_mutex_lock(&lock);
	while (*at)
		at = &(*at)->next;
	store_relaxed(at, l->node);
	pthread_mutex_unlock(&lock);
}

/* --- polls after it --------------------------------------------------------------------------- */

/* Under the lock. */
static struct late_node **late_find(const struct tap_obj *cq)
{
	struct late_node **at = &late_nodes;

	while (*at && (*at)->cq != cq)
		at = &(*at)->next;
	return at;
}

/* Under the lock. */
static void late_free(struct late_node **at)
{
	struct late_node *node = *at;

	store_relaxed(at, node->next);
	free(node);
}

bool late_fault_answer(struct tap_poll *p)
{
	const u64 now = real_ns();
	struct late_node **at;
	struct late_wc *e;
	bool found;

	pthread_mutex_lock(&lock);
	at = late_find(p->obj);
	found = *at;
	for (p->ret = 0; found && p->ret < p->n && (*at)->next_wc < (*at)->n; p->ret++) {
		e = &(*at)->entry[(*at)->next_wc];
		if (e->due > now)
			break;
		p->wc[p->ret] = e->wc;
		(*at)->next_wc++;
	}
	if (found && (*at)->next_wc == (*at)->n)
		late_free(at);
	pthread_mutex_unlock(&lock);
	return found;
}

/* --- objects that go -------------------------------------------------------------------------- */

void late_faults_forget_cq(const struct tap_obj *cq)
{
	struct late_node **at;

	if (!late_faults_wait())
		return;
	pthread_mutex_lock(&lock);
	for (at = late_find(cq); *at; at = late_find(cq))
		late_free(at);
	pthread_mutex_unlock(&lock);
}

/* Under the lock. Remove the completions of one queue pair. */
static void late_node_drop(struct late_node *node, u32 qpn)
{
	u32 i, n = node->next_wc;

	for (i = node->next_wc; i < node->n; i++)
		if (node->entry[i].wc.qp_num != qpn)
			node->entry[n++] = node->entry[i];
	node->n = n;
}

void late_faults_forget_qp(const struct tap_obj *qp)
{
	const struct tap_obj *ctx = qp->ctx_obj;
	struct late_node **at = &late_nodes;
	const u32 qpn = (u32)qp->alias;

	if (!late_faults_wait())
		return;
	pthread_mutex_lock(&lock);
	while (*at) {
		if ((*at)->cq->ctx_obj == ctx)
			late_node_drop(*at, qpn);
		if ((*at)->next_wc == (*at)->n)
			late_free(at);
		else
			at = &(*at)->next;
	}
	pthread_mutex_unlock(&lock);
}
