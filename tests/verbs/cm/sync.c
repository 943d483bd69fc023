/* SPDX-License-Identifier: MIT */
/*
 * Synchronous identifiers: endpoints, requests, the inline functions of rdma/rdma_verbs.h. The
 * server is a thread, or a process of its own.
 *	app_cm_sync local|remote
 */
#include "tests/lib/c/rc.h"
#include "tests/lib/c/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MSG 512u
#define OFF 4096u /* of what is received */
#define RMA 8192u /* of what the peer reads and writes */

/* State that the two processes share outside of the connection. */
struct common {
	volatile int port[3]; /* of RC, UD, and one that rejects */
};

/* Where the server's buffer is, as it tells the client in a message. */
struct place {
	uint64_t addr;
	uint32_t rkey;
};

static struct common *common;

static void must(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

static struct ibv_qp_init_attr qp_attr(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){
		.cap = { 8, 8, 4, 4, 64 },
		.qp_type = type,
		.sq_sig_all = 1,
	};
}

static struct rdma_cm_id *endpoint(const char *node, int port, int flags, enum rdma_port_space ps)
{
	enum ibv_qp_type type = ps == RDMA_PS_TCP ? IBV_QPT_RC : IBV_QPT_UD;
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = (int)ps }, *res;
	struct ibv_qp_init_attr attr = qp_attr(type);
	struct rdma_cm_id *id = NULL;
	char service[16];

	snprintf(service, sizeof(service), "%d", port);
	must(!rdma_getaddrinfo(node, service, &hints, &res), "rdma_getaddrinfo");
	must(!rdma_create_ep(&id, res, NULL, &attr), "rdma_create_ep");
	rdma_freeaddrinfo(res);
	return id;
}

static struct ibv_mr *region(struct rdma_cm_id *id, uint8_t *buf)
{
	struct ibv_mr *mr = ibv_reg_mr(id->pd, buf, 65536,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					       IBV_ACCESS_REMOTE_READ);

	must(mr, "ibv_reg_mr");
	return mr;
}

static uint8_t *buffer(void)
{
	uint8_t *buf = aligned_alloc(4096, 65536);

	must(!!buf, "aligned_alloc");
	memset(buf, 0, 65536);
	return buf;
}

static bool sent(struct rdma_cm_id *id, const void *context, enum ibv_wc_opcode op)
{
	struct ibv_wc wc;

	return rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS && wc.opcode == op &&
	       wc.wr_id == (uintptr_t)context;
}

static bool received(struct rdma_cm_id *id, const void *context, uint32_t len)
{
	struct ibv_wc wc;

	return rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS &&
	       wc.wr_id == (uintptr_t)context && wc.byte_len == len;
}

static void serve_rc(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = { .private_data = "pong", .private_data_len = 5 };
	const struct rdma_cm_event *ev;
	struct rdma_cm_id *id = NULL;
	uint8_t *buf = buffer();
	struct place *place = (struct place *)(void *)buf;
	struct ibv_mr *mr;

	param.responder_resources = 4;
	param.initiator_depth = 4;
	param.rnr_retry_count = 7;
	must(!rdma_get_request(listener, &id), "rdma_get_request");
	ev = id->event;
	ok(id->qp && id->channel && id->channel != listener->channel && ev,
	   "a request: an identifier with a QP, a channel of its own and its event");
	ok(ev && ev->event == RDMA_CM_EVENT_CONNECT_REQUEST && ev->listen_id == listener &&
		   ev->id == id && !memcmp(ev->param.conn.private_data, "ping", 5),
	   "the request's event is CONNECT_REQUEST with private data");
	mr = region(id, buf);
	ok(!rdma_post_recv(id, buf, buf + OFF, MSG, mr), "rdma_post_recv");
	ok(!rdma_accept(id, &param), "rdma_accept");
	ok(id->event && id->event->event == RDMA_CM_EVENT_ESTABLISHED, "returns when ESTABLISHED");
	ok(received(id, buf, MSG) && filled(buf + OFF, MSG, 1), "a message");
	place->addr = (uintptr_t)buf + RMA;
	place->rkey = mr->rkey;
	fill(buf + RMA, MSG, 2);
	ok(!rdma_post_recv(id, id, buf + OFF, MSG, mr), "rdma_post_recv");
	ok(!rdma_post_send(id, place, buf, sizeof(*place), NULL, IBV_SEND_INLINE),
	   "rdma_post_send, inline");
	ok(sent(id, place, IBV_WC_SEND), "rdma_get_send_comp");
	ok(received(id, id, 2) && filled(buf + RMA + MSG, MSG, 3),
	   "the client's WRITE has arrived");
	/* Blocks until the other side, too, has disconnected. */
	ok(!rdma_disconnect(id), "rdma_disconnect");
	ok(id->event && id->event->event == RDMA_CM_EVENT_DISCONNECTED, "DISCONNECTED");
	ok(!rdma_dereg_mr(mr), "rdma_dereg_mr");
	rdma_destroy_ep(id);
	free(buf);
}

static void serve_ud(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = { .private_data = "pong", .private_data_len = 5 };
	struct rdma_cm_id *id = NULL;
	uint8_t *buf = buffer();
	struct ibv_mr *mr;

	must(!rdma_get_request(listener, &id), "rdma_get_request");
	ok(id->qp && id->qp->qp_type == IBV_QPT_UD, "a datagram request has a QP");
	param.qp_num = id->qp->qp_num;
	mr = region(id, buf);
	ok(!rdma_post_recv(id, buf, buf + OFF, MSG + VB_GRH, mr), "rdma_post_recv");
	ok(!rdma_accept(id, &param), "rdma_accept");
	ok(received(id, buf, MSG + VB_GRH) && filled(buf + OFF + VB_GRH, MSG, 4), "a datagram");
	ok(!rdma_dereg_mr(mr), "rdma_dereg_mr");
	rdma_destroy_ep(id);
	free(buf);
}

static void serve_reject(struct rdma_cm_id *listener)
{
	struct rdma_cm_id *id = NULL;

	must(!rdma_get_request(listener, &id), "rdma_get_request");
	ok(!rdma_reject(id, "no", 3), "rdma_reject");
	rdma_destroy_ep(id);
}

static void *server(void *arg)
{
	static void (*const serve[])(struct rdma_cm_id *) = { serve_rc, serve_ud, serve_reject };
	struct rdma_cm_id *listener[3];

	(void)arg;
	for (int i = 0; i < 3; i++) {
		listener[i] = endpoint(NULL, 0, RAI_PASSIVE, i == 1 ? RDMA_PS_UDP : RDMA_PS_TCP);
		ok(listener[i]->qp == NULL && rdma_get_src_port(listener[i]) != 0,
		   "a passive endpoint is bound and has no QP");
		must(!rdma_listen(listener[i], 4), "rdma_listen");
		common->port[i] = ntohs(rdma_get_src_port(listener[i]));
	}
	for (int i = 0; i < 3; i++)
		serve[i](listener[i]);
	for (int i = 0; i < 3; i++)
		rdma_destroy_ep(listener[i]);
	return NULL;
}

/* One-sided work by the inlines, with one entry and with lists. */
static void one_sided(struct rdma_cm_id *id, struct ibv_mr *mr, uint8_t *buf,
		      const struct place *place)
{
	struct ibv_sge two[2] = {
		{ (uintptr_t)buf, MSG / 2, mr->lkey },
		{ (uintptr_t)buf + MSG / 2, MSG / 2, mr->lkey },
	};

	ok(!rdma_post_read(id, mr, buf + OFF, MSG, mr, 0, place->addr, place->rkey) &&
		   sent(id, mr, IBV_WC_RDMA_READ) && filled(buf + OFF, MSG, 2),
	   "rdma_post_read");
	fill(buf, MSG, 3);
	ok(!rdma_post_write(id, mr, buf, 64, NULL, IBV_SEND_INLINE, place->addr + MSG,
			    place->rkey) &&
		   sent(id, mr, IBV_WC_RDMA_WRITE),
	   "rdma_post_write, inline");
	ok(!rdma_post_writev(id, buf, two, 2, 0, place->addr + MSG, place->rkey) &&
		   sent(id, buf, IBV_WC_RDMA_WRITE),
	   "rdma_post_writev");
	memset(buf, 0, MSG);
	ok(!rdma_post_readv(id, buf, two, 2, 0, place->addr, place->rkey) &&
		   sent(id, buf, IBV_WC_RDMA_READ) && filled(buf, MSG, 2),
	   "rdma_post_readv");
	two[0].length = two[1].length = 1;
	ok(!rdma_post_sendv(id, two, two, 2, 0) && sent(id, two, IBV_WC_SEND), "rdma_post_sendv");
}

static void test_rc(void)
{
	struct rdma_cm_id *id = endpoint(peer_addr(false), common->port[0], 0, RDMA_PS_TCP);
	struct rdma_conn_param param = { .private_data = "ping", .private_data_len = 5 };
	uint8_t *buf = buffer();
	struct ibv_mr *mr = region(id, buf), *msgs;
	struct ibv_sge many[64] = { { 0 } };
	struct place place;

	param.responder_resources = 4;
	param.initiator_depth = 4;
	param.retry_count = 7;
	param.rnr_retry_count = 7;
	ok(id->qp && id->verbs && id->channel && id->route.num_paths == 1,
	   "an active endpoint is resolved and has a QP");
	ok(!rdma_post_recv(id, id, buf + OFF, MSG, mr), "rdma_post_recv");
	ok(!rdma_connect(id, &param), "rdma_connect");
	ok(id->event && id->event->event == RDMA_CM_EVENT_ESTABLISHED &&
		   !memcmp(id->event->param.conn.private_data, "pong", 5),
	   "returns when ESTABLISHED, with private data");
	msgs = rdma_reg_msgs(id, buf, MSG);
	fill(buf, MSG, 1);
	ok(msgs && !rdma_post_send(id, buf, buf, MSG, msgs, 0) && sent(id, buf, IBV_WC_SEND),
	   "rdma_post_send");
	ok(!rdma_dereg_mr(msgs), "rdma_dereg_mr");
	ok(received(id, id, sizeof(place)), "the server's answer");
	memcpy(&place, buf + OFF, sizeof(place));
	errno = 0;
	ok(rdma_post_sendv(id, NULL, many, 64, 0) == -1 && errno == EINVAL,
	   "64 entries: -1 and EINVAL");
	errno = 0;
	ok(rdma_post_recvv(id, NULL, many, 64) == -1 && errno == EINVAL,
	   "64 entries to receive into: -1 and EINVAL");
	one_sided(id, mr, buf, &place);
	ok(!rdma_disconnect(id), "rdma_disconnect");
	ok(!rdma_dereg_mr(mr), "rdma_dereg_mr");
	rdma_destroy_ep(id);
	free(buf);
}

static void test_ud(void)
{
	struct rdma_cm_id *id = endpoint(peer_addr(false), common->port[1], 0, RDMA_PS_UDP);
	struct rdma_conn_param param = { .private_data = "ping", .private_data_len = 5 };
	uint8_t *buf = buffer();
	struct ibv_mr *mr = region(id, buf);
	struct rdma_ud_param *ud;
	struct ibv_ah *ah;

	param.qp_num = id->qp->qp_num;
	ok(!rdma_connect(id, &param), "rdma_connect of datagrams");
	must(id->event && id->event->event == RDMA_CM_EVENT_ESTABLISHED, "no ESTABLISHED");
	ud = &id->event->param.ud;
	ah = ibv_create_ah(id->pd, &ud->ah_attr);
	ok(ah && !memcmp(ud->private_data, "pong", 5), "with private data and an address");
	fill(buf, MSG, 4);
	ok(!rdma_post_ud_send(id, buf, buf, MSG, mr, 0, ah, ud->qp_num) &&
		   sent(id, buf, IBV_WC_SEND),
	   "rdma_post_ud_send");
	ok(!ibv_destroy_ah(ah) && !rdma_dereg_mr(mr), "ibv_destroy_ah");
	rdma_destroy_ep(id);
	free(buf);
}

static void test_refused(int port, const char *why)
{
	struct rdma_cm_id *id = endpoint(peer_addr(false), port, 0, RDMA_PS_TCP);

	errno = 0;
	ok(rdma_connect(id, NULL) == -1 && errno == ECONNREFUSED, "%s: ECONNREFUSED", why);
	ok(id->event && id->event->event == RDMA_CM_EVENT_REJECTED, "by REJECTED");
	rdma_destroy_ep(id);
}

/* rdma_get_request() of an identifier whose own connection is rejected. */
static void test_request_refused(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_conn_param param = { .qp_num = 0x99, .retry_count = 7 };
	struct rdma_cm_id *id = NULL, *none = NULL;
	struct sockaddr_storage to;

	/* Nobody listens there. */
	cm_addr(peer_addr(false), 1, &to);
	must(ch && !rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000) &&
		     !rdma_resolve_route(id, 2000),
	     "resolving");
	ok(!rdma_migrate_id(id, ch) && !rdma_connect(id, &param) && !rdma_migrate_id(id, NULL),
	   "a connection whose event is not read");
	errno = 0;
	ok(rdma_get_request(id, &none) == -1 && errno == ECONNREFUSED && !none,
	   "rdma_get_request: ECONNREFUSED");
	ok(id->event && id->event->event == RDMA_CM_EVENT_REJECTED && id->event->status == 8,
	   "by REJECTED, 8");
	ok(!rdma_destroy_id(id), "rdma_destroy_id");
	rdma_destroy_event_channel(ch);
}

static void test_ids(void)
{
	struct sockaddr_storage to;
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = NULL, *none = NULL;

	must(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	errno = 0;
	ok(rdma_get_request(id, &none) == -1 && errno == EINVAL,
	   "rdma_get_request of an asynchronous identifier");
	ok(!rdma_migrate_id(id, NULL) && id->channel && id->channel != ch,
	   "rdma_migrate_id to none: synchronous");
	cm_addr(peer_addr(false), 1, &to);
	ok(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000) && id->verbs &&
		   id->event->event == RDMA_CM_EVENT_ADDR_RESOLVED,
	   "rdma_resolve_addr has resolved");
	ok(!rdma_resolve_route(id, 2000) && id->event->event == RDMA_CM_EVENT_ROUTE_RESOLVED,
	   "rdma_resolve_route");
	ok(!rdma_migrate_id(id, ch) && id->channel == ch, "migrated back to a channel");
	ok(!rdma_destroy_id(id), "rdma_destroy_id");
	rdma_destroy_event_channel(ch);

	/* A wire asks nobody whether a host has an address. */
	if (rc_by_wire())
		return;
	must(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	cm_addr("192.0.2.77", 1, &to);
	errno = 0;
	ok(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000) == -1 && errno > 0,
	   "an address of nobody: %s", strerror(errno));
	ok(id->event && id->event->event == RDMA_CM_EVENT_ADDR_ERROR, "ADDR_ERROR");
	ok(!rdma_destroy_id(id), "rdma_destroy_id");
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t pid = -1;
	int status = 0;

	if (argc != 2)
		die("app_cm_sync local|remote");
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(common != MAP_FAILED, "mmap");
	if (!strcmp(argv[1], "remote"))
		pid = fork();
	if (!pid) {
		peer_enter();
		server(NULL);
		fflush(stdout);
		_exit(tap_failed != 0);
	}
	if (pid < 0)
		must(!pthread_create(&thread, NULL, server, NULL), "pthread_create");
	while (!common->port[2])
		usleep(1000);
	test_rc();
	test_ud();
	test_refused(common->port[2], "a request that is rejected");
	if (pid < 0)
		pthread_join(thread, NULL);
	else
		waitpid(pid, &status, 0);
	ok(!status, "the server ends");
	test_refused(common->port[2], "nobody listens");
	test_ids();
	test_request_refused();
	return tap_failed != 0;
}
