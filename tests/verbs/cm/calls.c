/* SPDX-License-Identifier: MIT */
/*
 * Fault rules make each call that can fail do so once, in the order in which a program calls them.
 * Checks what the call returns, that it has no other effect, and that the next one works.
 *	app_cm_calls rules: print the fault rules that this needs, one per line
 *	app_cm_calls: run under them. At the end, with all destroyed, wait for a line on stdin.
 */
#include "tests/lib/c/calls.h"

#include <rdma/rdma_verbs.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_ADDRINFO_RESOLVED ((enum rdma_cm_event_type)16)
#define EVENT_USER		((enum rdma_cm_event_type)18)

static struct rdma_event_channel *ch;

int calls_errno(enum call_id id)
{
	const struct call_desc *d = &call_descs[id];
	u32 n = 0, i, at;

	while (n < CALL_ERRNOS && d->err[n])
		n++;
	/* Inline functions of verbs.h take some for a reason to try in another way. */
	for (i = 0; i < n; i++) {
		at = (id + i) % n;
		if (d->err[at] != EOPNOTSUPP && d->err[at] != ENOSYS && d->err[at] != ENOENT)
			return d->err[at];
	}
	return d->err[0];
}

static int print_rules(void)
{
	u32 i;

	for (i = 0; i < CALL_COUNT; i++)
		printf("fail call=%s errno=%s nth=1\n", call_descs[i].name,
		       strerrorname_np(calls_errno(i)));
	return 0;
}

/* The next event, which is to be this one. Return: its identifier; it is acknowledged. */
static struct rdma_cm_id *event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(ch, &ev))
		die("rdma_get_cm_event: %s", strerror(errno));
	id = ev->id;
	ok(ev->event == type, "%s", rdma_event_str(type));
	if (ev->event != type)
		die("%s, status %d", rdma_event_str(ev->event), ev->status);
	rdma_ack_cm_event(ev);
	return id;
}

static struct sockaddr *loopback(struct sockaddr_in *sin, __be16 port)
{
	*sin = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (struct sockaddr *)sin;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	if (rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp: %s", strerror(errno));
}

/* An identifier whose route to the listener is known. */
static struct rdma_cm_id *client(__be16 port)
{
	struct sockaddr_in sin;
	struct rdma_cm_id *id;

	if (rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, loopback(&sin, port), 2000))
		die("resolve: %s", strerror(errno));
	event(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, 2000))
		die("resolve: %s", strerror(errno));
	event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

static void end(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (rdma_destroy_id(id))
		die("rdma_destroy_id: %s", strerror(errno));
}

/* Before there is anything. */
static struct rdma_cm_id *begin(void)
{
	int tos = 0x20;
	struct rdma_addrinfo *res;
	struct ibv_context **devs;
	struct sockaddr_in sin;
	struct rdma_cm_id *id;

	ch = MAKE(rdma_create_event_channel, rdma_create_event_channel());
	devs = MAKE(rdma_get_devices, rdma_get_devices(NULL));
	rdma_free_devices(devs);
	TELL(rdma_getaddrinfo, rdma_getaddrinfo("127.0.0.1", "7471", NULL, &res));
	rdma_freeaddrinfo(res);
	TELL(rdma_create_id, rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	TELL(rdma_migrate_id, rdma_migrate_id(id, ch));
	TELL(rdma_set_option, rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1));
	TELL(rdma_bind_addr, rdma_bind_addr(id, loopback(&sin, 0)));
	TELL(rdma_listen, rdma_listen(id, 8));
	return id;
}

static void resolve(__be16 port)
{
	struct rdma_cm_event *ev = NULL;
	struct ibv_ece ece = { .vendor_id = 0x15b3 };
	struct sockaddr_in sin;
	struct rdma_cm_id *id;

	rdma_create_id(ch, &id, NULL, RDMA_PS_TCP);
	TELL(rdma_resolve_addr, rdma_resolve_addr(id, NULL, loopback(&sin, port), 2000));
	TELL(rdma_get_cm_event, rdma_get_cm_event(ch, &ev));
	ok(ev && ev->event == RDMA_CM_EVENT_ADDR_RESOLVED, "one event");
	TELL(rdma_ack_cm_event, rdma_ack_cm_event(ev));
	TELL(rdma_resolve_route, rdma_resolve_route(id, 2000));
	event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	TELL(rdma_set_local_ece, rdma_set_local_ece(id, &ece));
	TELL(rdma_destroy_id, rdma_destroy_id(id));
}

/* Calls that make others of librdmacm come behind those. */
static void queues(__be16 port)
{
	struct ibv_qp_init_attr_ex xa = { .cap = { 4, 4, 1, 1, 0 },
					  .qp_type = IBV_QPT_RC,
					  .comp_mask = IBV_QP_INIT_ATTR_PD };
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_srq_init_attr_ex sx = { .attr = { 4, 1, 0 },
					   .comp_mask =
						   IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					   .srq_type = IBV_SRQT_BASIC };
	struct ibv_srq_init_attr sa = { .attr = { 4, 1, 0 } };
	struct ibv_qp_attr qa = { .qp_state = IBV_QPS_INIT };
	struct rdma_cm_id *id = client(port);
	int mask;

	xa.pd = sx.pd = id->pd;
	TELL(rdma_create_srq_ex, rdma_create_srq_ex(id, &sx));
	rdma_destroy_srq(id);
	TELL(rdma_create_srq, rdma_create_srq(id, id->pd, &sa));
	rdma_destroy_srq(id);
	TELL(rdma_create_qp_ex, rdma_create_qp_ex(id, &xa));
	rdma_destroy_qp(id);
	TELL(rdma_create_qp, rdma_create_qp(id, id->pd, &attr));
	TELL(rdma_init_qp_attr, rdma_init_qp_attr(id, &qa, &mask));
	end(id);
}

static void rejections(__be16 port)
{
	struct rdma_conn_param p = { .retry_count = 1 };
	struct rdma_cm_id *id = client(port), *req;
	struct ibv_ece ece;

	make_qp(id);
	TELL(rdma_connect, rdma_connect(id, &p));
	req = event(RDMA_CM_EVENT_CONNECT_REQUEST);
	TELL(rdma_get_remote_ece, rdma_get_remote_ece(req, &ece));
	TELL(rdma_reject, rdma_reject(req, NULL, 0));
	event(RDMA_CM_EVENT_REJECTED);
	end(req);
	end(id);
	id = client(port);
	make_qp(id);
	rdma_connect(id, &p);
	req = event(RDMA_CM_EVENT_CONNECT_REQUEST);
	TELL(rdma_reject_ece, rdma_reject_ece(req, NULL, 0));
	event(RDMA_CM_EVENT_REJECTED);
	end(req);
	end(id);
}

static void connections(__be16 port)
{
	struct rdma_conn_param p = { .retry_count = 1 };
	struct rdma_cm_id *id = client(port), *req;

	make_qp(id);
	rdma_connect(id, &p);
	req = event(RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(req);
	TELL(rdma_accept, rdma_accept(req, &p));
	event(RDMA_CM_EVENT_ESTABLISHED);
	event(RDMA_CM_EVENT_ESTABLISHED);
	TELL_ANY(rdma_notify, rdma_notify(req, IBV_EVENT_COMM_EST));
	TELL(rdma_disconnect, rdma_disconnect(id));
	event(RDMA_CM_EVENT_DISCONNECTED);
	end(id);
	end(req);
	/* A client whose queue pair is its own business. */
	id = client(port);
	p.qp_num = 0x123;
	rdma_connect(id, &p);
	req = event(RDMA_CM_EVENT_CONNECT_REQUEST);
	p.qp_num = 0x456;
	rdma_accept(req, &p);
	event(RDMA_CM_EVENT_CONNECT_RESPONSE);
	TELL(rdma_establish, rdma_establish(id));
	event(RDMA_CM_EVENT_ESTABLISHED);
	end(id);
	end(req);
}

static void groups(void)
{
	struct rdma_cm_join_mc_attr_ex ex = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
	};
	struct sockaddr_in group = { .sin_family = AF_INET };
	struct sockaddr *to = (struct sockaddr *)&group;
	struct rdma_cm_id *id;

	group.sin_addr.s_addr = htonl(0xef010203);
	ex.addr = to;
	if (rdma_create_id(ch, &id, NULL, RDMA_PS_UDP) || rdma_resolve_addr(id, NULL, to, 2000))
		die("resolve: %s", strerror(errno));
	event(RDMA_CM_EVENT_ADDR_RESOLVED);
	TELL(rdma_join_multicast, rdma_join_multicast(id, to, NULL));
	event(RDMA_CM_EVENT_MULTICAST_JOIN);
	TELL(rdma_leave_multicast, rdma_leave_multicast(id, to));
	TELL(rdma_join_multicast_ex, rdma_join_multicast_ex(id, &ex, NULL));
	event(RDMA_CM_EVENT_MULTICAST_JOIN);
	rdma_leave_multicast(id, to);
	end(id);
}

static void endpoints(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct rdma_cm_id *id, *req;
	struct rdma_addrinfo *res;

	if (rdma_getaddrinfo(NULL, "0", &hints, &res))
		die("rdma_getaddrinfo: %s", strerror(errno));
	TELL(rdma_create_ep, rdma_create_ep(&id, res, NULL, NULL));
	rdma_freeaddrinfo(res);
	rdma_listen(id, 1);
	fcntl(id->channel->fd, F_SETFL, O_NONBLOCK);
	ok(TELL_ANY(rdma_get_request, rdma_get_request(id, &req)) == -1 && errno == EAGAIN,
	   "without a request: EAGAIN");
	rdma_destroy_ep(id);
}

/* Newer than the library that we are built with may be; the emulator has them. */
static void newer(void)
{
	int (*resolve_ai)(struct rdma_cm_id * id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints) =
		dlsym(RTLD_DEFAULT, "rdma_resolve_addrinfo");
	int (*query_ai)(struct rdma_cm_id * id, struct rdma_addrinfo * *info) =
		dlsym(RTLD_DEFAULT, "rdma_query_addrinfo");
	int (*write_event)(struct rdma_cm_id * id, enum rdma_cm_event_type event, int status,
			   uint64_t arg) = dlsym(RTLD_DEFAULT, "rdma_write_cm_event");
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;

	if (!resolve_ai || !query_ai || !write_event || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP))
		die("newer calls");
	TELL(rdma_resolve_addrinfo, resolve_ai(id, "127.0.0.1", "7471", NULL));
	event(EVENT_ADDRINFO_RESOLVED);
	TELL(rdma_query_addrinfo, query_ai(id, &res));
	rdma_freeaddrinfo(res);
	TELL(rdma_write_cm_event, write_event(id, EVENT_USER, 0, 1));
	event(EVENT_USER);
	end(id);
}

static void calls_cm(void)
{
	struct rdma_cm_id *listener = begin();
	__be16 port = rdma_get_src_port(listener);

	resolve(port);
	queues(port);
	rejections(port);
	connections(port);
	groups();
	endpoints();
	newer();
	end(listener);
	rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "rules"))
		return print_rules();
	calls_verbs();
	calls_cm();
	printf("# destroyed\n");
	fflush(stdout);
	getchar();
	return tap_failed != 0;
}
