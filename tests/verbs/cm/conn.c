/* SPDX-License-Identifier: MIT */
/*
 * Connections and datagram services from their resolution to their end: every event with its order,
 * status, private data and parameters.
 *	app_cm_conn local|remote [IP]
 */
#include "tests/lib/c/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define A	 0 /* connecting identifier */
#define LISTENER 8
#define B	 9 /* its peer */
#define CH_A	 0
#define CH_B	 2

static struct vb_side *a, *b;
static const char *ip;

static int do_qpn(struct vb_side *s, void *arg)
{
	(void)s;
	*(uint32_t *)arg = cm_ids[*(uint32_t *)arg]->qp->qp_num;
	return 0;
}

static uint32_t qpn_of(struct vb_side *s, int i)
{
	uint32_t n = (uint32_t)i;

	vb_call(s, do_qpn, &n, sizeof(n));
	return n;
}

static void resolve(enum rdma_port_space ps, unsigned int port)
{
	ok(!cm_create(a, A, CH_A, ps), "rdma_create_id");
	ok(!cm_resolve(a, A, NULL, ip, port), "rdma_resolve_addr");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, "ADDR_RESOLVED");
	ok(!cm_route(a, A), "rdma_resolve_route");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, "ROUTE_RESOLVED");
	ok(!cm_qp(a, A), "rdma_create_qp");
}

/* The addresses and ports that the side's identifier reports once it is connected. */
struct names {
	int i;
	unsigned int src_port, dst_port;
	bool verbs, paths;
	uint8_t port_num;
};

static int do_names(struct vb_side *s, void *arg)
{
	struct names *n = arg;
	struct rdma_cm_id *id = cm_ids[n->i];

	(void)s;
	n->src_port = ntohs(rdma_get_src_port(id));
	n->dst_port = ntohs(rdma_get_dst_port(id));
	n->verbs = id->verbs && id->qp && id->qp->context == id->verbs && id->pd && id->send_cq;
	n->paths = id->route.num_paths == 1 && id->route.path_rec;
	n->port_num = id->port_num;
	return 0;
}

static void check_names(unsigned int port)
{
	struct names na = { .i = A }, nb = { .i = B };

	vb_call(a, do_names, &na, sizeof(na));
	vb_call(b, do_names, &nb, sizeof(nb));
	ok(na.dst_port == port && nb.src_port == port, "ports: %u and %u of %u", na.dst_port,
	   nb.src_port, port);
	ok(na.src_port && na.src_port == nb.dst_port, "the client's port: %u, %u", na.src_port,
	   nb.dst_port);
	ok(na.verbs && nb.verbs && na.port_num == 1 && nb.port_num == 1,
	   "both identifiers have a device, a port, a PD and CQs");
	ok(na.paths, "the client has a path record");
}

/* Both get DISCONNECTED: who is asked by the message, who asked by its answer. */
static void end(struct vb_side *s, int ch, int i, struct vb_side *peer, int pch, int j)
{
	struct cm_ev ev;

	ok(!cm_disconnect(s, i), "rdma_disconnect");
	ok(cm_qp_state(s, i) == IBV_QPS_ERR, "the QP is in ERR");
	cm_expect(peer, pch, j, RDMA_CM_EVENT_DISCONNECTED, 0, &ev, "the peer: DISCONNECTED");
	ok(ev.len == 0 && ev.data_null, "without data");
	if (ch != pch)
		cm_quiet(s, ch, "no answer before the peer disconnects, too");
	ok(!cm_disconnect(peer, j), "the peer's rdma_disconnect");
	cm_expect(s, ch, i, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, "DISCONNECTED");
	cm_expect(s, ch, i, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, "TIMEWAIT_EXIT");
	cm_expect(peer, pch, j, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, "the peer: TIMEWAIT_EXIT");
}

static void destroy_all(void)
{
	ok(!cm_qp_destroy(a, A) && !cm_destroy(a, A), "rdma_destroy_id");
	ok(!cm_qp_destroy(b, B) && !cm_destroy(b, B), "rdma_destroy_id of the peer");
}

static void test_rc(unsigned int port, bool passive_ends)
{
	struct cm_parm p = cm_parm(10, 1), q = cm_parm(20, 2);
	struct cm_ev ev;

	resolve(RDMA_PS_TCP, port);
	ok(cm_qp_state(a, A) == IBV_QPS_INIT, "a new QP is in INIT");
	p.responder_resources = 3;
	p.initiator_depth = 2;
	p.flow_control = 1;
	p.retry_count = 5;
	p.rnr_retry_count = 6;
	ok(!cm_connect(a, A, &p), "rdma_connect");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	ok(ev.listen == LISTENER, "of the listener");
	ok(cm_data(&ev, 10, 1, 56), "private data of 56 bytes");
	ok(ev.responder_resources == 2 && ev.initiator_depth == 3,
	   "resources %u and depth %u: the client's, crosswise", ev.responder_resources,
	   ev.initiator_depth);
	ok(ev.flow_control == 1 && ev.retry_count == 5 && ev.rnr_retry_count == 6 && ev.srq == 0,
	   "flow control %u, retries %u, RNR retries %u, SRQ %u", ev.flow_control, ev.retry_count,
	   ev.rnr_retry_count, ev.srq);
	ok(ev.qpn == qpn_of(a, A), "the client's QP");
	ok(!cm_qp(b, B), "rdma_create_qp");
	q.responder_resources = 2;
	q.initiator_depth = 3;
	q.flow_control = 1;
	q.rnr_retry_count = 4;
	ok(!cm_accept(b, B, &q), "rdma_accept");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_ESTABLISHED, 0, &ev, "the client: ESTABLISHED");
	ok(cm_data(&ev, 20, 2, 196), "private data of 196 bytes");
	ok(ev.responder_resources == 3 && ev.initiator_depth == 2,
	   "resources %u and depth %u: the server's, crosswise", ev.responder_resources,
	   ev.initiator_depth);
	ok(ev.flow_control == 1 && ev.rnr_retry_count == 4 && ev.srq == 0,
	   "flow control %u, RNR retries %u, SRQ %u", ev.flow_control, ev.rnr_retry_count, ev.srq);
	ok(ev.qpn == qpn_of(b, B), "the server's QP");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_ESTABLISHED, 0, &ev, "the server: ESTABLISHED");
	ok(ev.len == 0 && ev.data_null, "without data");
	ok(cm_qp_state(a, A) == IBV_QPS_RTS && cm_qp_state(b, B) == IBV_QPS_RTS,
	   "both QPs are in RTS");
	check_names(port);
	ok(cm_traffic(a, A, b, B) && cm_traffic(b, B, a, A), "a message each way");
	if (passive_ends)
		end(b, CH_B, B, a, CH_A, A);
	else
		end(a, CH_A, A, b, CH_B, B);
	destroy_all();
}

/* The attributes of both QPs come from the parameters. */
static int do_attr(struct vb_side *s, void *arg)
{
	struct ibv_qp_attr *attr = arg;
	struct ibv_qp_init_attr init;
	int i = (int)attr->qkey;

	(void)s;
	return ibv_query_qp(cm_ids[i]->qp, attr, 0xffffff, &init);
}

static void test_attrs(unsigned int port)
{
	struct cm_parm p = cm_parm(0, 0), q = cm_parm(0, 0);
	struct ibv_qp_attr at = { .qkey = A }, bt = { .qkey = B };
	struct cm_ev ev;

	cm_resolved(a, A, CH_A, RDMA_PS_TCP, ip, port);
	ok(!cm_qp(a, A), "rdma_create_qp");
	p.responder_resources = 4;
	p.initiator_depth = 2;
	p.retry_count = 3;
	p.rnr_retry_count = 5;
	ok(!cm_connect(a, A, &p), "rdma_connect without data");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	ok(cm_data(&ev, 0, 0, 56), "56 bytes of zeros");
	ok(!cm_qp(b, B), "rdma_create_qp");
	q.responder_resources = 2;
	q.initiator_depth = 4;
	q.rnr_retry_count = 6;
	ok(!cm_accept(b, B, &q), "rdma_accept");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, "ESTABLISHED");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, "ESTABLISHED at the server");
	ok(!vb_call(a, do_attr, &at, sizeof(at)) && !vb_call(b, do_attr, &bt, sizeof(bt)),
	   "ibv_query_qp");
	ok(at.dest_qp_num == qpn_of(b, B) && bt.dest_qp_num == qpn_of(a, A),
	   "each is the other's peer");
	ok(at.sq_psn == bt.rq_psn && at.rq_psn == bt.sq_psn,
	   "each QP expects the other's first PSN");
	ok(at.max_rd_atomic == 2 && bt.max_dest_rd_atomic == 2 && at.max_dest_rd_atomic == 4 &&
		   bt.max_rd_atomic == 4,
	   "READs: %u to %u, %u to %u", at.max_rd_atomic, bt.max_dest_rd_atomic, bt.max_rd_atomic,
	   at.max_dest_rd_atomic);
	ok(at.retry_cnt == 3 && bt.retry_cnt == 3, "retries: %u, %u: the client's", at.retry_cnt,
	   bt.retry_cnt);
	/*
	 * Each is told how often it may try again by its peer: the server's own comes in the REQ.
	 */
	ok(at.rnr_retry == 6 && bt.rnr_retry == 5, "RNR retries: %u, %u", at.rnr_retry,
	   bt.rnr_retry);
	ok(at.path_mtu == bt.path_mtu && at.ah_attr.is_global && at.ah_attr.port_num == 1,
	   "path MTU, addresses");
	end(a, CH_A, A, b, CH_B, B);
	destroy_all();
}

static void test_lengths(unsigned int port)
{
	struct cm_parm p = cm_parm(57, 1), q = cm_parm(196, 2);
	struct cm_ev ev;

	cm_resolved(a, A, CH_A, RDMA_PS_TCP, ip, port);
	ok(!cm_qp(a, A), "rdma_create_qp");
	is_errno(cm_connect(a, A, &p), EINVAL, "57 bytes to rdma_connect");
	p = cm_parm(56, 3);
	ok(!cm_connect(a, A, &p), "56 bytes");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	ok(cm_data(&ev, 56, 3, 56), "56 bytes of private data arrive with the request");
	ok(!cm_qp(b, B) && !cm_accept(b, B, &q), "196 bytes to rdma_accept");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_ESTABLISHED, 0, &ev, "ESTABLISHED");
	ok(cm_data(&ev, 196, 2, 196), "196 bytes of private data arrive with the reply");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, "ESTABLISHED at the server");
	end(b, CH_B, B, a, CH_A, A);
	destroy_all();

	/* An accept that fails rejects the request. */
	cm_resolved(a, A, CH_A, RDMA_PS_TCP, ip, port);
	p = cm_parm(0, 0);
	q = cm_parm(197, 2);
	ok(!cm_qp(a, A) && !cm_connect(a, A, &p), "rdma_connect");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	ok(!cm_qp(b, B), "rdma_create_qp");
	is_errno(cm_accept(b, B, &q), EINVAL, "197 bytes to rdma_accept");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 28, NULL, "the client: REJECTED, 28");
	destroy_all();
	cm_quiet(a, CH_A, "nothing else for the client");
	cm_quiet(b, CH_B, "nor for the server");
}

static void test_ud(unsigned int port)
{
	struct cm_parm p = cm_parm(181, 1), q = cm_parm(136, 2);
	struct cm_ev ev;

	resolve(RDMA_PS_UDP, port);
	ok(cm_qp_state(a, A) == IBV_QPS_RTS, "a new datagram QP is in RTS");
	is_errno(cm_connect(a, A, &p), EINVAL, "181 bytes to rdma_connect");
	p = cm_parm(180, 3);
	ok(!cm_connect(a, A, &p), "180 bytes");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	ok(ev.ud && ev.listen == LISTENER && cm_data(&ev, 180, 3, 180), "with all of them");
	ok(!cm_qp(b, B) && !cm_accept(b, B, &q), "136 bytes to rdma_accept");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_ESTABLISHED, 0, &ev, "the client: ESTABLISHED");
	ok(ev.ud && cm_data(&ev, 136, 2, 136), "with all of them");
	ok(ev.qpn == qpn_of(b, B) && ev.qkey == RDMA_UDP_QKEY, "QP %u, Q_Key %#x", ev.qpn, ev.qkey);
	ok(ev.ah.is_global && ev.ah.port_num == 1, "an address");
	cm_quiet(b, CH_B, "the server is told nothing more");
	destroy_all();

	cm_resolved(a, A, CH_A, RDMA_PS_UDP, ip, port);
	p = cm_parm(0, 0);
	ok(!cm_qp(a, A) && !cm_connect(a, A, &p), "rdma_connect");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	ok(cm_data(&ev, 0, 0, 180), "180 bytes of zeros");
	ok(!cm_qp(b, B), "rdma_create_qp");
	q = cm_parm(137, 2);
	is_errno(cm_accept(b, B, &q), EINVAL, "137 bytes to rdma_accept");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_UNREACHABLE, 2, NULL, "UNREACHABLE, 2: rejected");
	destroy_all();
}

struct waiter {
	pthread_t thread;
	volatile bool done;
	int ret;
};

static void *destroyer(void *arg)
{
	struct waiter *w = arg;

	w->ret = rdma_destroy_id(cm_ids[A]);
	w->done = true;
	return NULL;
}

static void *migrator(void *arg)
{
	struct waiter *w = arg;

	w->ret = rdma_migrate_id(cm_ids[A], cm_chans[1]);
	w->done = true;
	return NULL;
}

/*
 * An identifier with an event that was not acknowledged: destroying it waits, and so does moving
 * it.
 */
static void test_ack(void *(*fn)(void *), const char *what)
{
	struct waiter w = { .done = false };
	struct cm_ev ev;

	ok(!cm_create(a, A, CH_A, RDMA_PS_TCP) && !cm_resolve(a, A, NULL, ip, 1),
	   "an identifier that resolves an address");
	ok(cm_event_keep(a, CH_A, VB_WAIT, CM_NONE, &ev), "an event without an acknowledgement");
	pthread_create(&w.thread, NULL, fn, &w);
	usleep(100000);
	ok(!w.done, "%s waits for the acknowledgement", what);
	ok(!cm_ack(a), "the event is acknowledged");
	pthread_join(w.thread, NULL);
	ok(!w.ret, "rdma_destroy_id returns once it is");
	if (fn == migrator)
		ok(!cm_destroy(a, A), "rdma_destroy_id");
}

int main(int argc, char **argv)
{
	unsigned int port;

	if (argc < 2)
		die("app_cm_conn local|remote [IP]");
	if (argc > 2)
		ip = argv[2];
	cm_sides(argv[1], &a, &b);
	if (!ip)
		ip = vb_addr(b, false);
	ok(!cm_chan(a, CH_A) && !cm_chan(a, 1) && !cm_chan(b, CH_B), "rdma_create_event_channel");
	port = cm_listening(b, LISTENER, CH_B, RDMA_PS_TCP, strchr(ip, ':') ? "::" : "0.0.0.0", 8);
	test_rc(port, false);
	test_rc(port, true);
	test_attrs(port);
	test_lengths(port);
	ok(!cm_destroy(b, LISTENER), "the listener goes");
	port = cm_listening(b, LISTENER, CH_B, RDMA_PS_UDP, ip, 8);
	test_ud(port);
	ok(!cm_destroy(b, LISTENER), "the listener goes");
	if (a == b) {
		test_ack(destroyer, "rdma_destroy_id");
		test_ack(migrator, "rdma_migrate_id");
	}
	ok(!cm_chan_close(a, CH_A) && !cm_chan_close(a, 1) && !cm_chan_close(b, CH_B),
	   "rdma_destroy_event_channel");
	cm_sides_end(a, b);
	return tap_failed != 0;
}
