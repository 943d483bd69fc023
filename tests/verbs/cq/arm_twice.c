/* SPDX-License-Identifier: MIT */
/*
 * A CQ that is armed again before the program takes the event of the first arming: each has its own
 * event.
 */
#include "tests/lib/c/rc.h"

#include <pthread.h>
#include <semaphore.h>

#define WAIT 20000

static struct end *a, *b;
static sem_t go, sent;

/* Posts a message each time that it may. */
static void *send_two(void *arg)
{
	struct rc_wr wr = wr_make(IBV_WR_SEND, 1, a, a->buf, 8, NULL, NULL);
	bool *good = arg;

	for (int i = 0; i < 2; i++) {
		sem_wait(&go);
		*good = !end_send(a, &wr) && *good;
		sem_post(&sent);
	}
	return NULL;
}

static bool message_sent(void)
{
	sem_post(&go);
	return !sem_wait(&sent);
}

int main(void)
{
	struct rc_opts o = rc_defaults;
	bool good = true;
	pthread_t thread;
	struct rc_wr wr;
	struct ibv_wc wc;

	a = end_local();
	b = end_local();
	end_open(a);
	end_open(b);
	o.chan = true;
	pair_up(a, b, &o, &o);
	wr = wr_make(IBV_WR_SEND, 2, b, b->buf, 64, NULL, NULL);
	ok(!end_recv(b, &wr), "a receive");
	ok(!end_recv(b, &wr), "another one");
	pthread_create(&thread, NULL, send_two, &good);
	ok(!end_arm(b, 1, false) && message_sent(), "armed, and a message has come");
	ok(!end_arm(b, 1, false) && message_sent(), "armed again, and another has come");
	pthread_join(thread, NULL);
	ok(good, "both are posted");
	ok(end_comp(b, WAIT) == 1, "an event");
	ok(end_comp(b, WAIT) == 1, "another one");
	for (int i = 0; i < 2; i++)
		good = end_poll(a, 0, WAIT, &wc) && !wc.status && end_poll(b, 1, WAIT, &wc) &&
		       !wc.status && good;
	ok(good, "and both completions at either side");
	return tap_failed != 0;
}
