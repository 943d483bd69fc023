/* SPDX-License-Identifier: MIT */
/**
 * DOC: how many connections per second two processes set up: for each an identifier, its address
 * and route, a queue pair and the handshake, up to WINDOW of them at a time, as a server with many
 * clients has it. Printed is the whole rate, from the first identifier to the last ESTABLISHED.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW 64
#define MS     5000 /* of the resolving calls */

static struct rdma_event_channel *ch;
static struct ibv_cq *cq;
static in_port_t port; /* that the server listens at */
static struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static void qp_new(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };

	if (!cq)
		cq = ibv_create_cq(id->verbs, 1, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = cq;
	must(!cq || rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
}

static void begin(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = port;
	must(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, MS), "rdma_resolve_addr");
}

/* What comes next for an identifier. Return: 1 when it is connected. */
static int go_on(struct rdma_cm_event *ev)
{
	struct rdma_cm_id *id = ev->id;
	enum rdma_cm_event_type type = ev->event;

	must(ev->status, rdma_event_str(type));
	rdma_ack_cm_event(ev);
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		must(rdma_resolve_route(id, MS), "rdma_resolve_route");
		return 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		qp_new(id);
		must(rdma_connect(id, &param), "rdma_connect");
		return 0;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		qp_new(id);
		must(rdma_accept(id, &param), "rdma_accept");
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		return 1;
	default:
		fprintf(stderr, "unexpected %s\n", rdma_event_str(type));
		exit(1);
	}
}

static int next(void)
{
	struct rdma_cm_event *ev;

	must(rdma_get_cm_event(ch, &ev), "rdma_get_cm_event");
	return go_on(ev);
}

static void serve(int to, int n)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_cm_id *id = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ch = rdma_create_event_channel();
	must(!ch || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) ||
		     rdma_bind_addr(id, (struct sockaddr *)&any) || rdma_listen(id, WINDOW * 2),
	     "listening");
	port = rdma_get_src_port(id);
	must(write(to, &port, sizeof(port)) != sizeof(port), "write");
	while (n)
		n -= next();
	pause();
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, begun, done = 0, fd[2];
	struct timespec t0, t1;
	pid_t pid;

	if (n <= 0) {
		fprintf(stderr, "usage: %s CONNECTIONS\n", argv[0]);
		return 2;
	}
	must(pipe(fd), "pipe");
	pid = fork();
	must(pid < 0, "fork");
	if (!pid)
		serve(fd[1], n);
	must(read(fd[0], &port, sizeof(port)) != sizeof(port), "no server");
	ch = rdma_create_event_channel();
	must(!ch, "rdma_create_event_channel");
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (begun = 0; begun < n && begun < WINDOW; begun++)
		begin();
	while (done < n) {
		if (!next())
			continue;
		done++;
		if (begun < n) {
			begin();
			begun++;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &t1);
	printf("%.0f\n",
	       n / ((double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
