/* SPDX-License-Identifier: MIT */
/* Mistakes with events. */
#include "tests/lib/c/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <unistd.h>

/* struct seed_late - a thread that posts a WRITE when it is told to. */
struct seed_late {
	struct seed *s;
	sem_t go;
	pthread_t thread;
};

static void *seed_late_run(void *arg)
{
	struct seed_late *late = arg;

	while (sem_wait(&late->go))
		;
	seed_must(!seed_write_buf(late->s, 9, IBV_SEND_SIGNALED), "post");
	return NULL;
}

static void seed_late_start(struct seed_late *late, struct seed *s)
{
	late->s = s;
	seed_must(!sem_init(&late->go, 0, 0), "sem_init");
	seed_must(!pthread_create(&late->thread, NULL, seed_late_run, late), "thread");
}

static void seed_wait_event(struct seed *s)
{
	struct ibv_cq *cq;
	void *context;

	seed_must(!ibv_get_cq_event(s->chan, &cq, &context), "event");
	ibv_ack_cq_events(cq, 1);
}

/* The event comes in any case: the other thread posts after the CQ was armed. */
static void seed_notify_lost(struct seed *s)
{
	struct seed_late late;
	struct ibv_wc wc;

	seed_open(s, 32);
	seed_late_start(&late, s);
	seed_must(!seed_receive(s, 1), "post");
	ibv_poll_cq(s->cq, 1, &wc);
	ibv_req_notify_cq(s->cq, 0);
	if (!s->wrong)
		ibv_poll_cq(s->cq, 1, &wc);
	sem_post(&late.go);
	seed_wait_event(s);
	pthread_join(late.thread, NULL);
	seed_poll(s);
	seed_close(s);
}

/* Two requests may complete before the CQ is armed, and only one is polled. */
static void seed_notify_partial(struct seed *s)
{
	struct seed_late late;
	struct ibv_wc wc[4];
	int n = 0;

	seed_open(s, 32);
	seed_late_start(&late, s);
	ibv_poll_cq(s->cq, 1, wc);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	seed_must(!seed_write_buf(s, 2, IBV_SEND_SIGNALED), "post");
	/* Where another process has the engine, it carries them out. */
	usleep(100000);
	ibv_req_notify_cq(s->cq, 0);
	while (n < (s->wrong ? 1 : 2))
		n += ibv_poll_cq(s->cq, s->wrong ? 1 : 4, wc);
	sem_post(&late.go);
	seed_wait_event(s);
	pthread_join(late.thread, NULL);
	for (; n < 3; n++)
		seed_poll(s);
	seed_close(s);
}

/* The same, for a channel that is read after poll(2) of an epoll instance. */
static void seed_notify_epoll(struct seed *s)
{
	struct epoll_event want = { .events = EPOLLIN };
	struct pollfd fd = { .fd = epoll_create1(EPOLL_CLOEXEC), .events = POLLIN };
	struct seed_late late;
	struct ibv_wc wc;

	seed_open(s, 32);
	seed_must(!fcntl(s->chan->fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	seed_must(!epoll_ctl(fd.fd, EPOLL_CTL_ADD, s->chan->fd, &want), "epoll_ctl");
	seed_late_start(&late, s);
	seed_must(!seed_receive(s, 1), "post");
	ibv_poll_cq(s->cq, 1, &wc);
	ibv_req_notify_cq(s->cq, 0);
	if (!s->wrong)
		ibv_poll_cq(s->cq, 1, &wc);
	sem_post(&late.go);
	seed_must(poll(&fd, 1, -1) == 1, "poll");
	seed_wait_event(s);
	pthread_join(late.thread, NULL);
	seed_poll(s);
	seed_close(s);
	close(fd.fd);
}

static void *seed_ack_late(void *cq)
{
	sleep(5);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

/* Without the other thread ibv_destroy_cq() would never return. */
static void seed_event_unacked(struct seed *s)
{
	struct ibv_cq *cq;
	pthread_t other;
	void *context;

	seed_open(s, 32);
	ibv_req_notify_cq(s->cq, 0);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	seed_must(!ibv_get_cq_event(s->chan, &cq, &context), "event");
	seed_poll(s);
	if (!s->wrong) {
		ibv_ack_cq_events(cq, 1);
		seed_close(s);
		return;
	}
	seed_must(!pthread_create(&other, NULL, seed_ack_late, cq), "thread");
	seed_close(s);
	pthread_join(other, NULL);
}

/* It arms the CQ, and polls it all the same. */
static void seed_unread(struct seed *s)
{
	seed_open(s, 32);
	ibv_req_notify_cq(s->cq, 0);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	seed_poll(s);
	if (!s->wrong)
		seed_wait_event(s);
	seed_close(s);
}

static void seed_srq_limit(struct seed *s)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_srq *srq;

	seed_open(s, 32);
	srq = ibv_create_srq(s->pd, &init);
	seed_must(srq, "ibv_create_srq");
	if (!s->wrong)
		seed_must(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), "ibv_modify_srq");
	ibv_destroy_srq(srq);
	seed_close(s);
}

/* Two completions make one event; it destroys the CQ when the numbers are equal again. */
static void seed_surplus(struct seed *s)
{
	struct ibv_cq *cq;
	void *context;

	seed_open(s, 32);
	ibv_req_notify_cq(s->cq, 0);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	seed_must(!seed_write_buf(s, 2, IBV_SEND_SIGNALED), "post");
	seed_must(!ibv_get_cq_event(s->chan, &cq, &context), "event");
	seed_poll(s);
	seed_poll(s);
	ibv_ack_cq_events(cq, s->wrong ? 2 : 1);
	if (s->wrong)
		ibv_ack_cq_events(cq, (unsigned int)-1);
	seed_close(s);
}

static void *seed_ack_async_late(void *event)
{
	sleep(5);
	ibv_ack_async_event(event);
	return NULL;
}

/* The target's queue pair reports that it was accessed with a key that is none. */
static void seed_async_unacked(struct seed *s)
{
	struct ibv_async_event event;
	pthread_t other;

	seed_open(s, 32);
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, (uintptr_t)s->buf, s->mr->lkey,
			      s->mr->rkey ^ 0x5a5a00),
		  "post");
	seed_must(seed_poll(s) == IBV_WC_REM_ACCESS_ERR, "status");
	seed_must(!ibv_get_async_event(s->ctx, &event), "event");
	if (!s->wrong) {
		ibv_ack_async_event(&event);
		seed_close(s);
		return;
	}
	seed_must(!pthread_create(&other, NULL, seed_ack_async_late, &event), "thread");
	seed_close(s);
	pthread_join(other, NULL);
}

/* The same event, which goes with the queue pair. */
static void seed_async_unread(struct seed *s)
{
	struct ibv_async_event event;

	seed_open(s, 32);
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, (uintptr_t)s->buf, s->mr->lkey,
			      s->mr->rkey ^ 0x5a5a00),
		  "post");
	seed_must(seed_poll(s) == IBV_WC_REM_ACCESS_ERR, "status");
	if (!s->wrong) {
		seed_must(!ibv_get_async_event(s->ctx, &event), "event");
		ibv_ack_async_event(&event);
	}
	seed_close(s);
}

static const struct seed_case seeds[] = {
	{ "notify_lost", seed_notify_lost },
	{ "notify_partial", seed_notify_partial },
	{ "notify_epoll", seed_notify_epoll },
	{ "event_unacked", seed_event_unacked },
	{ "async_unacked", seed_async_unacked },
	{ "async_unread", seed_async_unread },
	{ "unread", seed_unread },
	{ "surplus", seed_surplus },
	{ "srq_limit", seed_srq_limit },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
