/* SPDX-License-Identifier: MIT */
/*
 * Messages of the lengths in the arguments; a server that receives until one has a single byte. For
 * replays against a live program.
 *	app_cm_lengths server PORT
 *	app_cm_lengths client ADDRESS PORT LENGTH|also...	also: try a second connection
 *	app_cm_lengths mrs N PROGRAM ARG...	register N regions, and become the program's parent
 */
#include "tests/lib/c/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOT  512u
#define SLOTS 16u

static char buf[SLOTS * SLOT];

static void must(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

static struct ibv_qp_init_attr attributes(void)
{
	return (struct ibv_qp_init_attr){ .cap = { .max_send_wr = SLOTS,
						   .max_recv_wr = SLOTS,
						   .max_send_sge = 1,
						   .max_recv_sge = 1 },
					  .qp_type = IBV_QPT_RC };
}

static struct rdma_cm_id *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	must(!rdma_get_cm_event(ch, &ev), "rdma_get_cm_event");
	if (ev->event != type)
		die("%s, not %s", rdma_event_str(ev->event), rdma_event_str(type));
	id = ev->id;
	rdma_ack_cm_event(ev);
	return id;
}

static int server(int port)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct ibv_qp_init_attr attr = attributes();
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct rdma_cm_id *listen = NULL, *id;
	struct ibv_wc wc = { 0 };
	struct ibv_mr *mr;
	uint32_t i;

	must(ch && !rdma_create_id(ch, &listen, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(!rdma_bind_addr(listen, (struct sockaddr *)&any), "rdma_bind_addr");
	must(!rdma_listen(listen, 4), "rdma_listen");
	id = expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	must(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	must(mr, "rdma_reg_msgs");
	for (i = 0; i < SLOTS / 2; i++)
		must(!rdma_post_recv(id, (void *)(uintptr_t)(i + 1), buf + i * SLOT, SLOT, mr),
		     "rdma_post_recv");
	must(!rdma_accept(id, &param), "rdma_accept");
	expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	while (wc.byte_len != 1) {
		while (!ibv_poll_cq(id->recv_cq, 1, &wc))
			usleep(100);
		must(wc.status == IBV_WC_SUCCESS, "a receive");
		printf("%u\n", wc.byte_len);
	}
	expect(ch, RDMA_CM_EVENT_DISCONNECTED);
	rdma_dereg_mr(mr);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	rdma_destroy_id(listen);
	rdma_destroy_event_channel(ch);
	return 0;
}

static struct rdma_cm_id *connected(char **argv)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct ibv_qp_init_attr attr = attributes();
	struct rdma_cm_id *id;

	attr.sq_sig_all = 1;
	must(!rdma_getaddrinfo(argv[0], argv[1], &hints, &res), "rdma_getaddrinfo");
	must(!rdma_create_ep(&id, res, NULL, &attr), "rdma_create_ep");
	rdma_freeaddrinfo(res);
	if (!rdma_connect(id, NULL))
		return id;
	rdma_destroy_ep(id);
	return NULL;
}

static int client(char **argv)
{
	char **where = argv;
	struct rdma_cm_id *id = connected(where), *second;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	uint32_t len;

	must(id, "rdma_connect");
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	must(mr, "rdma_reg_msgs");
	for (argv += 2; *argv; argv++) {
		if (!strcmp(*argv, "also")) {
			second = connected(where);
			printf("%s\n", second ? "accepted" : "refused");
			continue;
		}
		len = (uint32_t)atoi(*argv);
		memset(buf, (int)len, len);
		must(!rdma_post_send(id, NULL, buf, len, mr, 0), "rdma_post_send");
		must(rdma_get_send_comp(id, &wc) == 1, "rdma_get_send_comp");
		if (wc.status != IBV_WC_SUCCESS)
			die("a send: %s", ibv_wc_status_str(wc.status));
	}
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return 0;
}

/* Keys that another program has before the one that is tested. */
static int mrs(int n, char **argv)
{
	struct ibv_context **ctx = rdma_get_devices(NULL);
	struct ibv_pd *pd = ctx && ctx[0] ? ibv_alloc_pd(ctx[0]) : NULL;
	int status = 0;
	pid_t pid;

	must(pd, "ibv_alloc_pd");
	while (n--)
		must(ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
	pid = fork();
	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid, "a child");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "server"))
		return server(atoi(argv[2]));
	if (argc > 4 && !strcmp(argv[1], "client"))
		return client(argv + 2);
	if (argc > 3 && !strcmp(argv[1], "mrs"))
		return mrs(atoi(argv[2]), argv + 3);
	die("usage: app_cm_lengths server PORT | client ADDRESS PORT LENGTH... | mrs N PROGRAM...");
}
