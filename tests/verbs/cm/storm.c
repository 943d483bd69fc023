/* SPDX-License-Identifier: MIT */
/*
 * Connections that are opened and killed at random.
 *	app_cm_storm COUNT SEED		the test: ends after COUNT connection requests
 *	app_cm_storm client PORT	a victim: connects in a loop
 *	app_cm_storm server FD		a victim: writes its port to FD, accepts in a loop
 *
 * Half of the victims are clients, half are servers. The survivor destroys the identifier of each
 * event that it receives; in the end it must have received an event for each of its connections.
 */
#include "tests/lib/c/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPEN_MAX_ 40 /* connections that one client has at a time */
#define IDLE_MAX  100 /* victims in succession that are killed before anyone asks for a connection */

static struct rdma_event_channel *ch;
static int live; /* identifiers that are connected, or have sent a request */
static long requests, established, ended, refused;
static uint64_t rng;

static void must(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

static int qp_make(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .cap = { 2, 2, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	return rdma_create_qp(id, NULL, &attr);
}

static void drop(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	must(!rdma_destroy_id(id), "rdma_destroy_id");
	live--;
}

static void ask(const char *ip, unsigned int port)
{
	struct sockaddr_storage to;
	struct rdma_cm_id *id;

	cm_addr(ip, port, &to);
	must(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000), "rdma_resolve_addr");
	live++;
}

/* The request that an event has brought: accepted, rejected, or left to its fate. */
static void answer(struct rdma_cm_id *id)
{
	struct rdma_conn_param p = { .retry_count = 7, .rnr_retry_count = 7 };

	live++;
	requests++;
	if (rnd(&rng) % 10 == 0) {
		rdma_reject(id, NULL, 0);
		drop(id);
	} else if (qp_make(id) || rdma_accept(id, &p)) {
		/* Who asked is not there any more. */
		must(errno == EINVAL, "rdma_create_qp or rdma_accept");
		refused++;
		drop(id);
	}
}

/* Handle one event. Return: false when there was none within @ms. */
static bool step(int ms)
{
	struct rdma_conn_param p = { .retry_count = 7, .rnr_retry_count = 7 };
	struct pollfd pfd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	enum rdma_cm_event_type type;

	if (poll(&pfd, 1, ms) != 1)
		return false;
	must(!rdma_get_cm_event(ch, &ev), "rdma_get_cm_event");
	id = ev->id;
	type = ev->event;
	rdma_ack_cm_event(ev);
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		must(!rdma_resolve_route(id, 2000), "rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		must(!qp_make(id), "rdma_create_qp");
		must(!rdma_connect(id, &p), "rdma_connect");
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		answer(id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established++;
		/* Some are ended at once. */
		if (rnd(&rng) % 4 == 0)
			drop(id);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		/* DISCONNECTED, REJECTED, UNREACHABLE, CONNECT_ERROR */
		ended++;
		drop(id);
	}
	return true;
}

static unsigned int serve(struct rdma_cm_id **listener)
{
	struct sockaddr_storage any;

	cm_addr("0.0.0.0", 0, &any);
	must(!rdma_create_id(ch, listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(!rdma_bind_addr(*listener, (struct sockaddr *)&any), "rdma_bind_addr");
	must(!rdma_listen(*listener, 0), "rdma_listen");
	return ntohs(rdma_get_src_port(*listener));
}

static void victim(const char *what, int arg)
{
	struct rdma_cm_id *listener;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng = (uint64_t)getpid();
	if (!strcmp(what, "server")) {
		unsigned int port = serve(&listener);

		must(write(arg, &port, sizeof(port)) == sizeof(port), "write");
	}
	for (;;) {
		while (!strcmp(what, "client") && live < OPEN_MAX_)
			ask(here_addr(false), (unsigned int)arg);
		step(1000);
	}
}

static pid_t start(const char *what, int arg)
{
	char text[16];
	pid_t pid;

	snprintf(text, sizeof(text), "%d", arg);
	pid = fork();
	if (!pid) {
		peer_enter();
		execl("/proc/self/exe", "app_cm_storm", what, text, (char *)NULL);
		_exit(127);
	}
	must(pid > 0, "fork");
	return pid;
}

/* Some work of this side's own while the victim lives, for a random time. */
static void live_on(uint64_t ns, unsigned int port)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until) {
		if (port && live < OPEN_MAX_) {
			ask(peer_addr(false), port);
			requests++;
		}
		step(1);
	}
}

static void one_round(unsigned int port)
{
	int fds[2], status;
	unsigned int his = 0;
	pid_t pid;

	if (rnd(&rng) % 2) {
		long before = requests;

		pid = start("client", (int)port);
		/* From its first request on. */
		while (requests == before && step(20000))
			;
	} else {
		must(!pipe(fds), "pipe");
		pid = start("server", fds[1]);
		close(fds[1]);
		must(read(fds[0], &his, sizeof(his)) == sizeof(his), "the server's port");
		close(fds[0]);
	}
	live_on(rnd(&rng) % 20000000, his);
	kill(pid, SIGKILL);
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a %s is killed",
	   his ? "server" : "client");
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener;
	unsigned int port;
	uint64_t until;
	long count;

	if (argc != 3)
		die("app_cm_storm COUNT SEED");
	ch = rdma_create_event_channel();
	must(ch, "rdma_create_event_channel");
	if (!strcmp(argv[1], "client") || !strcmp(argv[1], "server"))
		victim(argv[1], atoi(argv[2]));
	count = atol(argv[1]);
	rng = strtoull(argv[2], NULL, 0) * 2 + 1;
	port = serve(&listener);
	/* On a busy machine a victim dies after one or two requests. */
	for (int idle = 0; requests < count && idle < IDLE_MAX; idle++) {
		long before = requests;

		one_round(port);
		if (requests != before)
			idle = 0;
	}
	ok(requests >= count, "%ld connections asked for", requests);
	/* Each connection that is still open ends with an event. */
	until = now_ns() + VB_WAIT * 2000000ull;
	while (live && now_ns() < until)
		step(100);
	note("%ld established, %ld ended or rejected, %ld not there any more when accepted",
	     established, ended, refused);
	ok(!live, "%d of them are left", live);
	ok(!rdma_destroy_id(listener), "the listener goes");
	rdma_destroy_event_channel(ch);
	return tap_failed != 0;
}
