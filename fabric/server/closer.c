/* SPDX-License-Identifier: MIT */
/**
 * DOC: closing descriptors that came from programs of an isolated fabric, without waiting.
 *
 * A program may send any descriptor with a request. close(2) waits for whom it leads to: a socket
 * with SO_LINGER waits for its peer, a file of FUSE for the process that serves it, a file of NFS
 * for its server. Descriptors in requests that were not read yet are closed with the connection. So
 * a thread closes them, which may wait as long as a program likes.
 *
 * While it waits, up to CLOSER_MAX descriptors wait for it. More stay open until the fabric ends:
 * the log says so once. Connections whose requests have all been read are closed at once, and so
 * are all descriptors of a direct fabric, whose programs are trusted.
 */
#include "fabric/server/closer.h"
#include "fabric/server/server.h"

#include <sys/socket.h>
#include <unistd.h>

/*
 * The peer, which may have sent its request or not, reads why: unread requests would turn the
 * answer into ECONNRESET.
 */
static void connection_refuse(int fd, int err)
{
	struct proto_msg m = { .magic = PROTO_MAGIC, .ret = err };

	while (recv(fd, &m.lease, sizeof(m.lease), MSG_DONTWAIT) > 0)
		;
	memset(&m.lease, 0, sizeof(m.lease));
	send(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

static void closer_run(const struct closer_job *j)
{
	if (j->err)
		connection_refuse(j->fd, j->err);
	else
		close(j->fd);
}

static void *closer_main(void *arg)
{
	struct closer *c = arg;
	struct closer_job j;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (c->head == c->tail)
			pthread_cond_wait(&c->more, &c->lock);
		j = c->job[c->tail++ % CLOSER_MAX];
		pthread_mutex_unlock(&c->lock);
		closer_run(&j);
		pthread_mutex_lock(&c->lock);
	}
	return NULL;
}

void closer_init(struct closer *c)
{
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->more, NULL);
}

/* Start the thread, which blocks all signals as its creator does. Return: 0 or -errno. */
static int closer_start(struct closer *c)
{
	pthread_t thread;
	int ret;

	if (c->started)
		return 0;
	ret = pthread_create(&thread, NULL, closer_main, c);
	if (ret)
		return -ret;
	pthread_detach(thread);
	c->started = true;
	return 0;
}

static void closer_add(struct fabric *f, struct closer_job j)
{
	struct closer *c = &f->server->closer;
	bool added;

	if (!f->isolated || closer_start(c)) {
		closer_run(&j);
		return;
	}
	pthread_mutex_lock(&c->lock);
	added = c->head - c->tail < CLOSER_MAX;
	if (added) {
		c->job[c->head++ % CLOSER_MAX] = j;
		pthread_cond_signal(&c->more);
	}
	pthread_mutex_unlock(&c->lock);
	if (!added && !f->server->closer_full)
		fabric_note(f, "descriptors that programs have sent cannot be closed: %u wait",
			    CLOSER_MAX);
	f->server->closer_full |= !added;
}

void closer_close(struct fabric *f, int fd)
{
	if (fd >= 0)
		closer_add(f, (struct closer_job){ .fd = fd });
}

static bool connection_has_unread(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void closer_refuse(struct fabric *f, int fd, int err)
{
	struct closer_job j = { .fd = fd, .err = err };

	if (connection_has_unread(fd))
		closer_add(f, j);
	else
		closer_run(&j);
}

void closer_hang_up(struct fabric *f, int fd)
{
	if (fd < 0)
		return;
	/* The peer sees the end now, and can send no more. */
	shutdown(fd, SHUT_RDWR);
	if (connection_has_unread(fd))
		closer_add(f, (struct closer_job){ .fd = fd });
	else
		close(fd);
}
