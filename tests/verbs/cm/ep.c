/* SPDX-License-Identifier: MIT */
/*
 * Endpoints, and the objects that an identifier gets with its QP: protection domain, CQs, channels,
 * SRQ; the inline calls of rdma/rdma_verbs.h over them. Two threads of one process use synchronous
 * identifiers.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>

#define LEN 4096

static char client_buf[2 * LEN], server_buf[2 * LEN];
static struct rdma_cm_id *listen_id, *server_id;
static bool with_srq;

/** struct window - what the server tells its client of its memory. */
struct window {
	uint64_t addr;
	uint32_t rkey;
};

static bool fails(int ret, int err)
{
	return ret == -1 && errno == err;
}

static struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 5,
			 .max_recv_wr = 5,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 16 },
		.sq_sig_all = 1,
		.qp_type = IBV_QPT_RC,
	};
}

static struct rdma_addrinfo *lookup(const char *port, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *res;

	return ok(!rdma_getaddrinfo("127.0.0.1", port, &hints, &res), "rdma_getaddrinfo") ? res
											  : NULL;
}

static bool completes(int got, const struct ibv_wc *wc, enum ibv_wc_opcode op)
{
	return got == 1 && wc->status == IBV_WC_SUCCESS && wc->opcode == op;
}

/* --- the server's side, in a thread --- */

static bool server_qp(struct rdma_cm_id *id)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = qp_attr();

	if (!with_srq)
		return id->qp;
	return ok(!rdma_create_srq(id, NULL, &srq) && id->srq && srq.attr.max_wr >= 8,
		  "rdma_create_srq") &&
	       ok(!rdma_create_qp(id, NULL, &attr) && id->qp->srq == id->srq,
		  "rdma_create_qp takes the identifier's SRQ");
}

/* The client's last request fails: the QP goes to ERR, which flushes its own receives. */
static void end_connection(struct rdma_cm_id *id)
{
	struct rdma_cm_event *ev;
	struct ibv_wc wc;

	if (with_srq) {
		ok(!rdma_get_cm_event(id->channel, &ev) && ev->event == RDMA_CM_EVENT_DISCONNECTED,
		   "the client disconnects");
		rdma_ack_cm_event(ev);
		return;
	}
	ok(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_WR_FLUSH_ERR,
	   "the client's last request ends the connection");
	ok(!rdma_disconnect(id) && id->event->event == RDMA_CM_EVENT_DISCONNECTED,
	   "rdma_disconnect");
}

static void *serve(void *arg)
{
	struct window win;
	struct ibv_mr *mr, *rmr;
	struct rdma_cm_id *id;
	struct ibv_wc wc;

	if (!ok(!rdma_get_request(listen_id, &server_id), "rdma_get_request"))
		return arg;
	id = server_id;
	ok(id->event && id->event->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
		   id->event->listen_id == listen_id,
	   "the request is the new identifier's event");
	if (!ok(server_qp(id), "the accepted endpoint has a QP")) {
		rdma_reject(id, NULL, 0);
		return arg;
	}
	ok(id->qp->state == IBV_QPS_INIT && id->recv_cq && id->send_cq && id->recv_cq_channel &&
		   id->send_cq_channel && id->pd && id->qp->pd == id->pd,
	   "in INIT, with CQs and channels of its own");
	mr = rdma_reg_msgs(id, server_buf, LEN);
	rmr = rdma_reg_read(id, server_buf + LEN, LEN);
	fill(server_buf + LEN, LEN, 3);
	win.addr = (uintptr_t)server_buf + LEN;
	win.rkey = rmr->rkey;
	ok(!rdma_post_recv(id, (void *)1, server_buf, LEN, mr) &&
		   !rdma_post_recv(id, (void *)3, server_buf, LEN, mr),
	   "rdma_post_recv in INIT");
	if (!ok(!rdma_accept(id, NULL), "rdma_accept"))
		return arg;
	ok(completes(rdma_get_recv_comp(id, &wc), &wc, IBV_WC_RECV) && wc.wr_id == 1 &&
		   wc.byte_len == LEN && filled(server_buf, LEN, 1),
	   "rdma_get_recv_comp: the client's message");
	ok(!rdma_post_send(id, (void *)2, &win, sizeof(win), NULL, IBV_SEND_INLINE) &&
		   completes(rdma_get_send_comp(id, &wc), &wc, IBV_WC_SEND),
	   "rdma_post_send, inline");
	end_connection(id);
	rdma_dereg_mr(mr);
	rdma_dereg_mr(rmr);
	/* Its end is what the client's rdma_disconnect() may be waiting for. */
	rdma_destroy_ep(id);
	server_id = NULL;
	return arg;
}

/* --- the client's --- */

static void one_sided(struct rdma_cm_id *id, struct ibv_mr *mr, const struct window *win)
{
	struct ibv_sge sge[2] = { { (uintptr_t)client_buf, 100, mr->lkey },
				  { (uintptr_t)client_buf + 200, LEN - 100, mr->lkey } };
	struct ibv_wc wc;

	ok(!rdma_post_readv(id, (void *)7, sge, 2, 0, win->addr, win->rkey) &&
		   completes(rdma_get_send_comp(id, &wc), &wc, IBV_WC_RDMA_READ) && wc.wr_id == 7,
	   "rdma_post_readv");
	memmove(client_buf + 100, client_buf + 200, LEN - 100);
	ok(filled(client_buf, LEN, 3), "the READ has the server's data");
	ok(!rdma_post_write(id, (void *)8, client_buf, 8, mr, 0, win->addr, win->rkey) &&
		   rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_REM_ACCESS_ERR,
	   "rdma_post_write to memory that may only be read: REM_ACCESS_ERR");
}

static void talk(struct rdma_cm_id *id)
{
	struct window win;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	mr = rdma_reg_msgs(id, client_buf, sizeof(client_buf));
	if (!ok(mr, "rdma_reg_msgs"))
		return;
	fill(client_buf, LEN, 1);
	ok(fails(rdma_post_send(id, NULL, client_buf, LEN, mr, 0), EINVAL),
	   "rdma_post_send before it is connected: -1, EINVAL");
	ok(!rdma_post_recv(id, (void *)4, client_buf + LEN, LEN, mr), "rdma_post_recv");
	if (!ok(!rdma_connect(id, NULL), "rdma_connect"))
		return;
	ok(id->event && id->event->event == RDMA_CM_EVENT_ESTABLISHED &&
		   id->qp->state == IBV_QPS_RTS,
	   "established, in RTS");
	ok(!rdma_post_send(id, (void *)5, client_buf, LEN, mr, 0) &&
		   completes(rdma_get_send_comp(id, &wc), &wc, IBV_WC_SEND) && wc.wr_id == 5,
	   "rdma_post_send, rdma_get_send_comp");
	if (ok(completes(rdma_get_recv_comp(id, &wc), &wc, IBV_WC_RECV) && wc.wr_id == 4 &&
		       wc.byte_len == sizeof(win),
	       "rdma_get_recv_comp")) {
		memcpy(&win, client_buf + LEN, sizeof(win));
		one_sided(id, mr, &win);
	}
	ok(!rdma_disconnect(id) && id->event->event == RDMA_CM_EVENT_DISCONNECTED,
	   "rdma_disconnect");
	rdma_dereg_mr(mr);
}

static void test_defaults(struct rdma_cm_id *id, const struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr again = qp_attr();
	struct ibv_qp_attr qa = { .qp_state = IBV_QPS_INIT };
	int mask = 0;

	ok(id->qp && id->send_cq && id->recv_cq && id->send_cq != id->recv_cq &&
		   id->send_cq_channel && id->recv_cq_channel && id->qp->send_cq == id->send_cq &&
		   id->qp->recv_cq == id->recv_cq && id->send_cq->cq_context == id,
	   "QP, CQs and channels are the identifier's");
	if (!id->qp)
		return;
	ok(attr->cap.max_send_wr >= 5 && attr->cap.max_recv_wr >= 5 &&
		   attr->cap.max_inline_data >= 16 && attr->send_cq == id->send_cq,
	   "attributes are written back");
	ok(id->pd && id->qp->pd == id->pd && id->pd->context == id->verbs,
	   "on the device's default protection domain");
	ok(fails(rdma_create_qp(id, NULL, &again), EINVAL), "a second QP: EINVAL");
	ok(!rdma_init_qp_attr(id, &qa, &mask) && qa.qp_state == IBV_QPS_INIT &&
		   mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) &&
		   qa.port_num == id->port_num && !qa.qp_access_flags,
	   "rdma_init_qp_attr: INIT");
}

static void connect_once(const char *port)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo *res = lookup(port, 0);
	struct rdma_cm_id *id;
	pthread_t thread;

	if (!res || !ok(!rdma_create_ep(&id, res, NULL, &attr), "rdma_create_ep, active"))
		return;
	rdma_freeaddrinfo(res);
	test_defaults(id, &attr);
	pthread_create(&thread, NULL, serve, NULL);
	talk(id);
	pthread_join(thread, NULL);
	rdma_destroy_ep(id);
	if (server_id)
		rdma_destroy_ep(server_id);
	server_id = NULL;
}

static void test_connection(bool srq)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo *res = lookup("0", RAI_PASSIVE);
	char port[8];

	with_srq = srq;
	if (!res || !ok(!rdma_create_ep(&listen_id, res, NULL, srq ? NULL : &attr),
			"rdma_create_ep, passive"))
		return;
	rdma_freeaddrinfo(res);
	ok(!rdma_listen(listen_id, 0), "rdma_listen");
	snprintf(port, sizeof(port), "%u", ntohs(rdma_get_src_port(listen_id)));
	connect_once(port);
	rdma_destroy_ep(listen_id);
}

/* --- refusals --- */

/* One that has been bound to a device. */
static struct rdma_cm_id *bound(struct rdma_event_channel *ch, enum rdma_port_space ps)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = 1,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	bool good;

	if (rdma_create_id(ch, &id, NULL, ps))
		return NULL;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&sin, 2000) ||
	    rdma_get_cm_event(ch, &ev)) {
		rdma_destroy_id(id);
		return NULL;
	}
	good = ok(ev->event == RDMA_CM_EVENT_ADDR_RESOLVED && id->verbs && id->pd,
		  "an identifier that is bound to a device");
	rdma_ack_cm_event(ev);
	return good ? id : NULL;
}

static void test_refused(struct rdma_event_channel *ch)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id, *none;
	struct ibv_pd *pd;

	if (!ok(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP),
		"an identifier that is bound to nothing"))
		return;
	ok(fails(rdma_create_qp(id, NULL, &attr), EINVAL) && !id->qp, "rdma_create_qp: EINVAL");
	ok(fails(rdma_get_request(id, &none), EINVAL), "rdma_get_request, not synchronous: EINVAL");
	rdma_destroy_id(id);
	id = bound(ch, RDMA_PS_TCP);
	if (!id)
		return;
	attr.cap.max_send_wr = 1u << 30;
	ok(rdma_create_qp(id, NULL, &attr) == -1 && errno == EINVAL && !id->qp && !id->send_cq &&
		   !id->recv_cq && !id->send_cq_channel && !id->recv_cq_channel,
	   "a QP that is too large: EINVAL, and nothing is left of it");
	attr = qp_attr();
	pd = ibv_alloc_pd(id->verbs);
	ok(pd && !rdma_create_qp(id, pd, &attr) && id->qp->pd == pd && id->pd == pd,
	   "the program's protection domain");
	rdma_destroy_qp(id);
	ok(!id->qp && !id->send_cq && !id->recv_cq, "rdma_destroy_qp");
	ok(!rdma_destroy_id(id) && !ibv_dealloc_pd(pd), "destroyed");
}

static void test_datagram(struct rdma_event_channel *ch)
{
	struct ibv_qp_init_attr attr = qp_attr(), init;
	struct rdma_cm_id *id = bound(ch, RDMA_PS_UDP);
	struct ibv_qp_attr qa;

	attr.qp_type = IBV_QPT_UD;
	ok(id && !rdma_create_qp(id, NULL, &attr), "a datagram QP");
	if (!id || !id->qp)
		return;
	ok(!ibv_query_qp(id->qp, &qa, IBV_QP_STATE | IBV_QP_QKEY, &init) &&
		   qa.qp_state == IBV_QPS_RTS && qa.qkey == RDMA_UDP_QKEY,
	   "is ready to send, with the rdma_cm's Q_Key");
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

int main(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();

	if (!ok(ch, "an event channel"))
		return 1;
	test_refused(ch);
	test_datagram(ch);
	test_connection(false);
	test_connection(true);
	rdma_destroy_event_channel(ch);
	return 0;
}
