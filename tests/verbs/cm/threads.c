/* SPDX-License-Identifier: MIT */
/*
 * One event channel of the rdma_cm and many threads: some read events, some accept requests, some
 * create and destroy identifiers.
 *	app_cm_threads [COUNT]
 */
#include "tests/lib/c/rdmacm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READERS	   2
#define DESTROYERS 2
#define CLIENTS	   3
#define ACCEPTORS  3
#define PATIENCE   60 /* s */

static int count = 2000;
static struct rdma_event_channel *ch;
static struct sockaddr_storage to;

/* What identifiers have as their context. */
static int wanted, last;

static void must(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

static bool wait_sem(sem_t *sem)
{
	struct timespec until;
	int ret;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	do
		ret = sem_timedwait(sem, &until);
	while (ret && errno == EINTR);
	return !ret;
}

static struct rdma_cm_id *resolving(struct rdma_event_channel *on, void *context)
{
	struct rdma_cm_id *id;

	must(!rdma_create_id(on, &id, context, RDMA_PS_TCP), "rdma_create_id");
	must(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000), "rdma_resolve_addr");
	return id;
}

/* --- events that are read, while others go with their identifiers --- */

static sem_t told;
static int stop; /* atomic */

static void *reader(void *arg)
{
	struct rdma_cm_event *ev;
	void *context;

	(void)arg;
	do {
		must(!rdma_get_cm_event(ch, &ev), "rdma_get_cm_event");
		context = ev->id->context;
		rdma_ack_cm_event(ev);
		if (context == &wanted)
			sem_post(&told);
	} while (context != &last);
	return NULL;
}

static void *destroyer(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		must(!rdma_destroy_id(resolving(ch, NULL)), "rdma_destroy_id");
	return NULL;
}

static bool nothing_left(void)
{
	struct pollfd fd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	must(!fcntl(ch->fd, F_SETFL, O_NONBLOCK), "fcntl");
	return !poll(&fd, 1, 0) && rdma_get_cm_event(ch, &ev) == -1 && errno == EAGAIN;
}

static void test_destroyed(void)
{
	pthread_t r[READERS], d[DESTROYERS];
	struct rdma_cm_id *id[READERS];
	int i, n;

	sem_init(&told, 0, 0);
	for (i = 0; i < READERS; i++)
		must(!pthread_create(&r[i], NULL, reader, NULL), "pthread_create");
	for (i = 0; i < DESTROYERS; i++)
		must(!pthread_create(&d[i], NULL, destroyer, NULL), "pthread_create");
	for (n = 0; n < count; n++) {
		id[0] = resolving(ch, &wanted);
		if (!wait_sem(&told))
			break;
		must(!rdma_destroy_id(id[0]), "rdma_destroy_id");
	}
	if (!ok(n == count, "identifiers of other threads are destroyed: %d of %d had their event",
		n, count))
		exit(1);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < DESTROYERS; i++)
		pthread_join(d[i], NULL);
	for (i = 0; i < READERS; i++)
		id[i] = resolving(ch, &last);
	for (i = 0; i < READERS; i++)
		pthread_join(r[i], NULL);
	for (i = 0; i < READERS; i++)
		must(!rdma_destroy_id(id[i]), "rdma_destroy_id");
	ok(nothing_left(), "no event is left, nor is the descriptor readable");
}

/* --- one thread accepts, another hears what comes of it --- */

struct conn {
	sem_t accepted; /* rdma_accept() has returned */
};

static struct rdma_cm_id *listener;
/* At most @count of each client; under @asking until it is posted. */
static struct rdma_cm_id *asked[4096];
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static int n_asked;
static int n_taken, n_established, n_ended; /* atomic */
static sem_t requests, ended;

static void *acceptor(void *arg)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1 };
	struct ibv_qp_init_attr attr;
	struct rdma_cm_id *id;
	struct conn *conn;

	(void)arg;
	for (;;) {
		while (sem_wait(&requests))
			;
		id = asked[__atomic_fetch_add(&n_taken, 1, __ATOMIC_SEQ_CST)];
		if (!id)
			return NULL;
		conn = id->context;
		attr = (struct ibv_qp_init_attr){ .cap = { 2, 2, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
		must(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
		must(!rdma_accept(id, &p), "rdma_accept");
		sem_post(&conn->accepted);
	}
}

/*
 * Requests are added in order: a thread that is woken for the n-th finds it, even if several are
 * added at once.
 */
static void add_request(struct rdma_cm_id *id)
{
	pthread_mutex_lock(&asking);
	asked[n_asked++] = id;
	sem_post(&requests);
	pthread_mutex_unlock(&asking);
}

static void handle(struct rdma_cm_event *ev)
{
	enum rdma_cm_event_type type = ev->event;
	struct rdma_cm_id *id = ev->id;
	struct conn *conn = id->context;

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		conn = calloc(1, sizeof(*conn));
		must(conn, "calloc");
		sem_init(&conn->accepted, 0, 0);
		id->context = conn;
		rdma_ack_cm_event(ev);
		add_request(id);
		return;
	}
	/* Before the event is acknowledged: rdma_destroy_id() waits for that. */
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		__atomic_fetch_add(&n_established, 1, __ATOMIC_SEQ_CST);
	rdma_ack_cm_event(ev);
	if (type != RDMA_CM_EVENT_DISCONNECTED)
		return;
	must(wait_sem(&conn->accepted), "the acceptor");
	rdma_destroy_qp(id);
	must(!rdma_destroy_id(id), "rdma_destroy_id");
	free(conn);
	__atomic_fetch_add(&n_ended, 1, __ATOMIC_SEQ_CST);
	sem_post(&ended);
}

/* The channel is O_NONBLOCK, and its readers are woken for events that another one takes. */
static void *events(void *arg)
{
	struct pollfd fd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (poll(&fd, 1, 100) <= 0)
			continue;
		if (!rdma_get_cm_event(ch, &ev))
			handle(ev);
		else
			must(errno == EAGAIN, "rdma_get_cm_event");
	}
	return NULL;
}

static void *client(void *arg)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1 };
	struct ibv_qp_init_attr attr;
	struct rdma_cm_id *id;
	long n = (long)arg;

	while (n--) {
		id = resolving(NULL, NULL);
		must(!rdma_resolve_route(id, 2000), "rdma_resolve_route");
		attr = (struct ibv_qp_init_attr){ .cap = { 2, 2, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
		must(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
		must(!rdma_connect(id, &p), "rdma_connect");
		must(id->event && id->event->event == RDMA_CM_EVENT_ESTABLISHED, "ESTABLISHED");
		/* Half of them leave without a word. */
		if (n & 1)
			must(!rdma_disconnect(id), "rdma_disconnect");
		rdma_destroy_ep(id);
	}
	return NULL;
}

static void test_accepting(void)
{
	pthread_t e[READERS], a[ACCEPTORS], c[CLIENTS];
	long each = count / 10 < 1000 ? count / 10 : 1000;
	int i, all = CLIENTS * (int)each;

	sem_init(&requests, 0, 0);
	sem_init(&ended, 0, 0);
	stop = 0;
	for (i = 0; i < READERS; i++)
		must(!pthread_create(&e[i], NULL, events, NULL), "pthread_create");
	for (i = 0; i < ACCEPTORS; i++)
		must(!pthread_create(&a[i], NULL, acceptor, NULL), "pthread_create");
	for (i = 0; i < CLIENTS; i++)
		must(!pthread_create(&c[i], NULL, client, (void *)each), "pthread_create");
	for (i = 0; i < CLIENTS; i++)
		pthread_join(c[i], NULL);
	for (i = 0; i < all && wait_sem(&ended); i++)
		;
	ok(n_asked == all && n_established == all && n_ended == all,
	   "%d connections: %d requests, %d established, %d ended", all, n_asked, n_established,
	   n_ended);
	for (i = 0; i < ACCEPTORS; i++)
		add_request(NULL);
	for (i = 0; i < ACCEPTORS; i++)
		pthread_join(a[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++)
		pthread_join(e[i], NULL);
	ok(nothing_left(), "no event is left, nor is the descriptor readable");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		count = atoi(argv[1]);
	ch = rdma_create_event_channel();
	must(ch, "rdma_create_event_channel");
	cm_addr("127.0.0.1", 0, &to);
	must(!rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(!rdma_bind_addr(listener, (struct sockaddr *)&to), "rdma_bind_addr");
	must(!rdma_listen(listener, 0), "rdma_listen");
	cm_addr("127.0.0.1", ntohs(rdma_get_src_port(listener)), &to);
	test_destroyed();
	test_accepting();
	ok(!rdma_destroy_id(listener), "the listener goes");
	rdma_destroy_event_channel(ch);
	return tap_failed != 0;
}
