/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous events, as a program waits for them: prints each, and what has become of its
 * objects.
 *	app_fault_raised poll|epoll|block|twice|children N
 * It has two connected queue pairs, a and b, and an SRQ with a limit, prints `ready` with the
 * numbers of the queue pairs, and gets N events. poll, epoll: the descriptor says when; block: the
 * call waits; twice: as poll, by one of two contexts; children: by one
 * whose descriptor children of vfork() and fork() have closed. The last event about a queue pair is
 * acknowledged while another thread destroys that.
 */
#include "tests/lib/c/rc_load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 120000 /* ms */
#define NAP	 100000000 /* ns */

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *a, *b;
static atomic_bool destroyed;

static struct ibv_qp *qp_new(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = { 2, 2, 1, 1, 0 }, .qp_type = IBV_QPT_RC
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp)
		die("ibv_create_qp: %s", strerror(errno));
	return qp;
}

static void objects_make(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct rc_addr at[2] = { { .psn = 7 }, { .psn = 7 } };
	int gid_index = rc_gid(ctx, &(union ibv_gid){ 0 });
	struct rc_opts o = rc_defaults;

	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	srq = pd ? ibv_create_srq(pd, &init) : NULL;
	if (!cq || !srq || ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) || gid_index < 0 ||
	    ibv_query_gid(ctx, 1, gid_index, &at[0].gid))
		die("verbs objects: %s", strerror(errno));
	a = qp_new();
	b = qp_new();
	at[1].gid = at[0].gid;
	at[0].qpn = a->qp_num;
	at[1].qpn = b->qp_num;
	if (rc_up(a, &o, &at[1], gid_index, 7) || rc_up(b, &o, &at[0], gid_index, 7))
		die("QPs do not connect");
}

/* --- waiting --- */

static bool event_is_there(int ms)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };

	return poll(&fd, 1, ms) == 1 && fd.revents == POLLIN;
}

static void event_wait(const char *how)
{
	static struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	static int set = -1;

	if (!strcmp(how, "block"))
		return;
	if (strcmp(how, "epoll") != 0) {
		if (!event_is_there(PATIENCE))
			die("no event");
		return;
	}
	if (set < 0) {
		set = epoll_create1(0);
		if (epoll_ctl(set, EPOLL_CTL_ADD, ctx->async_fd, &ev))
			die("epoll_ctl: %s", strerror(errno));
	}
	/* An event that came with the last one has no edge of its own. */
	if (!event_is_there(0) && epoll_wait(set, &ev, 1, PATIENCE) != 1)
		die("no event");
}

/* --- showing --- */

/* The text of ibv_event_type_str() depends on the library. */
static const char *event_name(enum ibv_event_type type)
{
#define NAME(event) [IBV_EVENT_##event] = #event
	static const char *const names[] = {
		NAME(QP_FATAL),		 NAME(QP_REQ_ERR),   NAME(QP_ACCESS_ERR),
		NAME(COMM_EST),		 NAME(SQ_DRAINED),   NAME(PATH_MIG),
		NAME(PATH_MIG_ERR),	 NAME(DEVICE_FATAL), NAME(PORT_ACTIVE),
		NAME(PORT_ERR),		 NAME(LID_CHANGE),   NAME(PKEY_CHANGE),
		NAME(SM_CHANGE),	 NAME(GID_CHANGE),   NAME(CLIENT_REREGISTER),
		NAME(SRQ_LIMIT_REACHED),
	};

	return type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "another event";
}

static void event_show(const struct ibv_async_event *e)
{
	char port[16];
	const char *what = "device";

	snprintf(port, sizeof(port), "port %d", e->element.port_num);
	switch (e->event_type) {
	case IBV_EVENT_DEVICE_FATAL:
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		what = e->element.srq == srq ? "srq" : "another SRQ";
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
		what = port;
		break;
	default:
		what = e->element.qp == a ? "a" : e->element.qp == b ? "b" : "another QP";
	}
	printf("%s: %s\n", event_name(e->event_type), what);
	fflush(stdout);
}

static int state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ? -1 : (int)attr.qp_state;
}

/* A send of one that has failed is flushed. */
static void qp_show(const char *name, struct ibv_qp *qp)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint64_t end = now_ns() + 1000000ull * PATIENCE;
	int state = state_of(qp), n = 0;
	struct ibv_wc wc = { 0 };

	printf("%s: %s", name, state == IBV_QPS_ERR ? "ERR" : state == IBV_QPS_RTS ? "RTS" : "?");
	if (state == IBV_QPS_ERR && !ibv_post_send(qp, &send, &bad)) {
		while (!(n = ibv_poll_cq(cq, 1, &wc)) && now_ns() < end)
			;
		printf(", %s", n == 1 ? ibv_wc_status_str(wc.status) : "no completion");
	}
	printf("\n");
}

static void *qp_destroy(void *qp)
{
	if (ibv_destroy_qp(qp))
		die("ibv_destroy_qp");
	destroyed = true;
	return NULL;
}

/* The queue pair of an event is there until that is acknowledged. */
static void ack_late(struct ibv_async_event *e)
{
	struct ibv_qp *qp = e->element.qp;
	pthread_t thread;

	qp_show("a", a);
	qp_show("b", b);
	pthread_create(&thread, NULL, qp_destroy, qp);
	nanosleep(&(struct timespec){ .tv_nsec = NAP }, NULL);
	printf("%s\n", destroyed ? "destroyed before" : "waits for the acknowledgement");
	ibv_ack_async_event(e);
	pthread_join(thread, NULL);
	if (qp == a)
		a = NULL;
	else
		b = NULL;
}

/* Neither takes anything from this process, and the child's number is of its own file then. */
static void children_close(void)
{
	char byte = 1;
	int status;

	/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	if (!vfork()) {
		close(ctx->async_fd); /* as programs do */
		_exit(0);
	}
	/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	wait(&status);
	if (!fork()) {
		close(ctx->async_fd);
		if (dup2(open("/dev/zero", O_RDONLY), ctx->async_fd) != ctx->async_fd)
			_exit(1);
		_exit(read(ctx->async_fd, &byte, 1) != 1 || byte);
	}
	if (wait(&status) < 0 || status)
		die("a child that closes the descriptor");
}

static bool is_of_qp(const struct ibv_async_event *e)
{
	return e->element.qp == a || e->element.qp == b;
}

static void objects_destroy(void)
{
	struct ibv_qp *late = qp_new();

	if (ibv_destroy_qp(late) || (a && ibv_destroy_qp(a)) || (b && ibv_destroy_qp(b)) ||
	    ibv_destroy_srq(srq) || ibv_destroy_cq(cq) || ibv_dealloc_pd(pd) ||
	    ibv_close_device(ctx))
		die("objects are not destroyed");
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	int i, n = argc > 2 ? atoi(argv[2]) : 0;
	struct ibv_context *other = NULL;
	struct ibv_async_event e;

	if (!strcmp(how, "twice"))
		other = rc_open_first();
	ctx = rc_open_first();
	objects_make();
	if (!strcmp(how, "children"))
		children_close();
	printf("ready %u %u\n", a->qp_num, b->qp_num);
	fflush(stdout);
	for (i = 1; i <= n; i++) {
		event_wait(how);
		if (ibv_get_async_event(ctx, &e))
			die("ibv_get_async_event: %s", strerror(errno));
		event_show(&e);
		if (i == n && is_of_qp(&e))
			ack_late(&e);
		else
			ibv_ack_async_event(&e);
	}
	if (fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK) || event_is_there(0) ||
	    !ibv_get_async_event(ctx, &e) || errno != EAGAIN)
		die("there is more");
	objects_destroy();
	if (other && ibv_close_device(other))
		die("the other context is not closed");
	printf("done\n");
	return 0;
}
