/* SPDX-License-Identifier: MIT */
/*
 * Event channels in poll, epoll and with O_NONBLOCK; identifiers that change channels; shared
 * receive queues; devices.
 */
#include "tests/lib/c/rdmacm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define A	 0
#define LISTENER 8
#define B	 9
#define CH_A	 0
#define CH_A2	 1
#define CH_B	 2

static struct vb_side *s;
static const char *ip = "127.0.0.1";

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && (p.revents & POLLIN);
}

static void test_nonblock(void)
{
	struct rdma_event_channel *ch = cm_chans[CH_A];
	struct epoll_event ee = { .events = EPOLLIN }, out;
	struct rdma_cm_event *ev;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	errno = 0;
	ok(rdma_get_cm_event(ch, NULL) == -1 && errno == EINVAL, "nowhere to put an event");
	ok(!fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK) &&
		   !epoll_ctl(ep, EPOLL_CTL_ADD, ch->fd, &ee),
	   "O_NONBLOCK, and epoll");
	errno = 0;
	ok(rdma_get_cm_event(ch, &ev) == -1 && errno == EAGAIN, "no event: EAGAIN");
	ok(epoll_wait(ep, &out, 1, 0) == 0, "epoll has nothing");
	ok(!cm_create(s, A, CH_A, RDMA_PS_TCP) && !cm_resolve(s, A, NULL, ip, 1), "an event");
	ok(epoll_wait(ep, &out, 1, VB_WAIT) == 1 && readable(ch->fd, 0),
	   "poll() and epoll report an event");
	ok(epoll_wait(ep, &out, 1, 0) == 1, "they report it until it is read");
	ok(!rdma_get_cm_event(ch, &ev) && ev->event == RDMA_CM_EVENT_ADDR_RESOLVED &&
		   ev->id == cm_ids[A] && ev->id->context == &cm_ids[A],
	   "rdma_get_cm_event returns it");
	ok(epoll_wait(ep, &out, 1, 0) == 0 && !readable(ch->fd, 0), "no more");
	ok(!rdma_ack_cm_event(ev), "rdma_ack_cm_event");
	errno = 0;
	ok(rdma_ack_cm_event(NULL) == -1 && errno == EINVAL, "of no event");
	/* An event that nobody took goes with its identifier. */
	ok(!cm_route(s, A) && readable(ch->fd, VB_WAIT), "another event");
	ok(!cm_destroy(s, A), "rdma_destroy_id");
	errno = 0;
	ok(rdma_get_cm_event(ch, &ev) == -1 && errno == EAGAIN && !readable(ch->fd, 0),
	   "the unread event goes with its identifier");
	fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) & ~O_NONBLOCK);
	close(ep);
}

struct waiter {
	pthread_t thread;
	struct rdma_cm_event *ev;
	int ret;
};

static void *wait_event(void *arg)
{
	struct waiter *w = arg;

	w->ret = rdma_get_cm_event(cm_chans[CH_A], &w->ev);
	return NULL;
}

static void test_blocking(void)
{
	struct waiter w = { .ret = 1 };

	ok(!cm_create(s, A, CH_A, RDMA_PS_TCP), "rdma_create_id");
	pthread_create(&w.thread, NULL, wait_event, &w);
	usleep(50000);
	ok(w.ret == 1, "rdma_get_cm_event blocks");
	ok(!cm_resolve(s, A, NULL, ip, 1), "rdma_resolve_addr meanwhile");
	pthread_join(w.thread, NULL);
	ok(!w.ret && w.ev->event == RDMA_CM_EVENT_ADDR_RESOLVED,
	   "a blocked rdma_get_cm_event returns with the event");
	ok(!rdma_ack_cm_event(w.ev) && !cm_destroy(s, A), "rdma_destroy_id");
}

static void test_migrate(unsigned int port)
{
	struct cm_parm p = cm_parm(0, 0);

	cm_resolved(s, A, CH_A, RDMA_PS_TCP, ip, port);
	ok(!cm_qp(s, A) && !cm_connect(s, A, &p), "rdma_connect");
	cm_expect(s, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, "CONNECT_REQUEST");
	ok(cm_ids[B]->channel == cm_chans[CH_B], "its identifier is on the listener's channel");
	ok(!cm_migrate(s, A, CH_A2) && cm_ids[A]->channel == cm_chans[CH_A2], "rdma_migrate_id");
	ok(!cm_qp(s, B) && !cm_accept(s, B, &p), "rdma_accept");
	ok(readable(cm_chans[CH_A2]->fd, VB_WAIT), "the next event comes on the new channel");
	cm_quiet(s, CH_A, "not on the old one");
	ok(!cm_migrate(s, A, CH_A), "rdma_migrate_id back, with the event pending");
	ok(!readable(cm_chans[CH_A2]->fd, 0), "the pending event moves to the new channel");
	cm_expect(s, CH_A, A, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, "ESTABLISHED");
	cm_expect(s, CH_B, B, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, "the server has its event");
	ok(!cm_migrate(s, B, CH_A2) && !cm_disconnect(s, A), "the server moves; rdma_disconnect");
	cm_expect(s, CH_A2, B, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, "DISCONNECTED there");
	ok(cm_traffic(s, A, s, B) == false, "no message any more");
	ok(!cm_qp_destroy(s, A) && !cm_qp_destroy(s, B) && !cm_destroy(s, A) && !cm_destroy(s, B),
	   "rdma_destroy_id");
}

/* A shared receive queue: the program's own, or one of the identifier's. */
static void test_srq(unsigned int port, bool own)
{
	struct ibv_srq_init_attr sattr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = {
		.cap = { 8, 1, 1, 1, 0 }, /* the size of the receive CQ that is made */
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct cm_parm p = cm_parm(0, 0);
	struct ibv_srq *srq = NULL;
	struct cm_ev ev;

	cm_resolved(s, A, CH_A, RDMA_PS_TCP, ip, port);
	if (own) {
		srq = ibv_create_srq(cm_ids[A]->pd, &sattr);
		attr.srq = srq;
		ok(srq, "ibv_create_srq");
	} else {
		ok(!rdma_create_srq(cm_ids[A], NULL, &sattr) && cm_ids[A]->srq, "rdma_create_srq");
	}
	ok(!rdma_create_qp(cm_ids[A], NULL, &attr), "rdma_create_qp");
	ok(cm_ids[A]->qp->srq == (own ? srq : cm_ids[A]->srq), "a QP on it");
	ok(!cm_connect(s, A, &p), "rdma_connect");
	cm_expect(s, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	ok(ev.srq == 1, "tells of it");
	ok(!cm_reject(s, B, 0, 0) && !cm_destroy(s, B), "rdma_reject");
	cm_expect(s, CH_A, A, RDMA_CM_EVENT_REJECTED, 28, NULL, "REJECTED");
	ok(!cm_qp_destroy(s, A), "rdma_destroy_qp");
	if (own) {
		ok(!ibv_destroy_srq(srq), "ibv_destroy_srq");
	} else {
		rdma_destroy_srq(cm_ids[A]);
		ok(!cm_ids[A]->srq, "rdma_destroy_srq");
	}
	ok(!cm_destroy(s, A), "rdma_destroy_id");
}

static void test_devices(void)
{
	struct ibv_context **list, **again;
	int n = 0, m = 0;

	list = rdma_get_devices(&n);
	ok(list && n > 0 && list[0] && !list[n], "rdma_get_devices: %d", n);
	if (!list)
		return;
	again = rdma_get_devices(&m);
	ok(again && m == n && again[0] == list[0], "the same contexts again");
	cm_resolved(s, A, CH_A, RDMA_PS_TCP, ip, 1);
	ok(cm_ids[A]->verbs == list[0], "identifiers use the contexts of rdma_get_devices");
	ok(!cm_destroy(s, A), "rdma_destroy_id");
	rdma_free_devices(list);
	rdma_free_devices(again);
	ok(!strcmp(rdma_event_str(RDMA_CM_EVENT_ESTABLISHED), "RDMA_CM_EVENT_ESTABLISHED") &&
		   !strcmp(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			   "RDMA_CM_EVENT_TIMEWAIT_EXIT") &&
		   !strcmp(rdma_event_str((enum rdma_cm_event_type)99), "UNKNOWN EVENT"),
	   "rdma_event_str");
}

/* Many identifiers of which each has its event. */
static void test_many(void)
{
	static struct rdma_cm_id *ids[500];
	struct sockaddr_storage to;
	struct rdma_cm_event *ev;
	int n = 0, good = 0;

	cm_addr(ip, 1, &to);
	while (n < 500 && !rdma_create_id(cm_chans[CH_A], &ids[n], &ids[n], RDMA_PS_TCP) &&
	       !rdma_resolve_addr(ids[n], NULL, (struct sockaddr *)&to, 2000))
		n++;
	for (int i = 0; i < n && !rdma_get_cm_event(cm_chans[CH_A], &ev); i++) {
		/* In the order in which they came. */
		good += ev->id == ids[i] && ev->event == RDMA_CM_EVENT_ADDR_RESOLVED && !ev->status;
		rdma_ack_cm_event(ev);
	}
	ok(n == 500 && good == n, "%d identifiers, %d events in order", n, good);
	while (n-- > 0)
		good -= !rdma_destroy_id(ids[n]);
	ok(!good, "all identifiers are destroyed");
}

/*
 * No descriptor is left for the channel of a synchronous identifier, nor does one get lost by that.
 */
static void test_descriptors(void)
{
	struct rlimit old, none;
	struct rdma_cm_id *id;
	int next = dup(0), after;

	close(next);
	getrlimit(RLIMIT_NOFILE, &old);
	none = (struct rlimit){ (rlim_t)next, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	errno = 0;
	ok(!rdma_create_event_channel() && errno == EMFILE, "no descriptors: no channel");
	errno = 0;
	ok(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) == -1 && errno == ENOMEM,
	   "nor an identifier with one of its own: ENOMEM");
	setrlimit(RLIMIT_NOFILE, &old);
	after = dup(0);
	close(after);
	ok(after == next, "none is lost");
	ok(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) && !rdma_destroy_id(id),
	   "rdma_get_devices returns devices again");
}

int main(void)
{
	unsigned int port;

	s = vb_local();
	ok(!cm_chan(s, CH_A) && !cm_chan(s, CH_A2) && !cm_chan(s, CH_B),
	   "rdma_create_event_channel");
	test_devices();
	test_nonblock();
	test_blocking();
	port = cm_listening(s, LISTENER, CH_B, RDMA_PS_TCP, "0.0.0.0", 8);
	test_migrate(port);
	test_srq(port, true);
	test_srq(port, false);
	test_many();
	test_descriptors();
	ok(!cm_destroy(s, LISTENER), "the listener goes");
	for (int i = 0; i < 3; i++)
		cm_chan_close(s, i);
	vb_close(s);
	return tap_failed != 0;
}
