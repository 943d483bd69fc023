/* SPDX-License-Identifier: MIT */
/*
 * Events of the rdma_cm that fault rules raise, or put in the place of a call's event.
 *	app_cm_fault [manual]
 * With `manual` the fabric has a manual clock, which starts at 0, and rules have their times on it.
 * Environment: RDMAEMU_BIN, the command that sets rules.
 */
#include "tests/lib/c/fault.h"
#include "tests/lib/c/rc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#define WAIT 20000

static struct rdma_event_channel *ch;

/* The next event: whether it is this one, of @id (NULL: any). *got: its identifier. */
static bool event(enum rdma_cm_event_type type, int status, struct rdma_cm_id *id,
		  struct rdma_cm_id **got)
{
	struct pollfd p = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	bool good;

	if (poll(&p, 1, WAIT) != 1 || rdma_get_cm_event(ch, &ev))
		return false;
	good = ev->event == type && ev->status == status && (!id || ev->id == id);
	if (got)
		*got = ev->id;
	rdma_ack_cm_event(ev);
	return good;
}

static bool quiet(void)
{
	struct pollfd p = { .fd = ch->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static struct sockaddr *loopback(struct sockaddr_in *sin, __be16 port)
{
	*sin = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (struct sockaddr *)sin;
}

static struct rdma_cm_id *make(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(ch, &id, NULL, ps))
		die("rdma_create_id: %s", strerror(errno));
	return id;
}

static bool resolve(struct rdma_cm_id *id, __be16 port)
{
	struct sockaddr_in sin;

	return !rdma_resolve_addr(id, NULL, loopback(&sin, port), 2000);
}

static struct rdma_cm_id *client(__be16 port)
{
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	if (!resolve(id, port) || !event(RDMA_CM_EVENT_ADDR_RESOLVED, 0, id, NULL) ||
	    rdma_resolve_route(id, 2000) || !event(RDMA_CM_EVENT_ROUTE_RESOLVED, 0, id, NULL))
		die("cannot resolve");
	return id;
}

/* A rule takes the event of a call that the program makes; the next call's event arrives. */
static void test_calls(__be16 port)
{
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	fault_add("event RDMA_CM_EVENT_ADDR_ERROR nth=1");
	ok(resolve(id, port) && event(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, id, NULL) && quiet(),
	   "ADDR_ERROR, -ETIMEDOUT");
	ok(resolve(id, port) && event(RDMA_CM_EVENT_ADDR_RESOLVED, 0, id, NULL),
	   "the next call: ADDR_RESOLVED");
	ok(fault_hits() == 1, "one hit");
	fault_add("event ROUTE_ERROR nth=1");
	ok(!rdma_resolve_route(id, 2000) &&
		   event(RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, id, NULL) && quiet(),
	   "ROUTE_ERROR, -ETIMEDOUT");
	ok(!rdma_resolve_route(id, 2000) && event(RDMA_CM_EVENT_ROUTE_RESOLVED, 0, id, NULL),
	   "the next call: ROUTE_RESOLVED");
	rdma_destroy_id(id);
	fault_clear();
}

static void test_multicast(void)
{
	struct rdma_cm_id *id = make(RDMA_PS_UDP);
	struct sockaddr_in group = { .sin_family = AF_INET };
	struct sockaddr *to = (struct sockaddr *)&group;

	group.sin_addr.s_addr = htonl(0xef010203);
	if (rdma_resolve_addr(id, NULL, to, 2000) ||
	    !event(RDMA_CM_EVENT_ADDR_RESOLVED, 0, id, NULL))
		die("cannot resolve");
	fault_add("event MULTICAST_ERROR nth=1");
	ok(!rdma_join_multicast(id, to, NULL) &&
		   event(RDMA_CM_EVENT_MULTICAST_ERROR, -ETIMEDOUT, id, NULL) && quiet(),
	   "MULTICAST_ERROR, -ETIMEDOUT");
	ok(!rdma_leave_multicast(id, to), "a group whose join failed can be left");
	ok(!rdma_join_multicast(id, to, NULL) && event(RDMA_CM_EVENT_MULTICAST_JOIN, 0, id, NULL),
	   "the next join succeeds");
	rdma_destroy_id(id);
	fault_clear();
}

/* By the time alone: of whoever is in a state for it. */
static void test_raised(__be16 port)
{
	struct rdma_conn_param p = { .retry_count = 1, .qp_num = 0x123 };
	struct rdma_cm_id *id = client(port), *req = NULL;

	fault_add("event RDMA_CM_EVENT_UNREACHABLE");
	ok(fault_hits() == 0 && quiet(), "UNREACHABLE: nobody waits for an answer");
	ok(!rdma_connect(id, &p) && event(RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, &req),
	   "rdma_connect");
	fault_add("event RDMA_CM_EVENT_UNREACHABLE");
	ok(event(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, id, NULL), "UNREACHABLE, -ETIMEDOUT");
	ok(fault_hits() == 1, "one hit");
	rdma_destroy_id(req);
	ok(quiet(), "a client that had UNREACHABLE has no REJECTED");
	fault_add("event RDMA_CM_EVENT_ADDR_CHANGE");
	ok(event(RDMA_CM_EVENT_ADDR_CHANGE, 0, id, NULL) && quiet(), "ADDR_CHANGE");
	fault_add("event RDMA_CM_EVENT_DEVICE_REMOVAL");
	ok(event(RDMA_CM_EVENT_DEVICE_REMOVAL, 0, id, NULL) && quiet(), "DEVICE_REMOVAL");
	ok(!rdma_destroy_id(id), "its identifier can be destroyed");
	fault_clear();
}

static struct rdma_cm_id *connected(__be16 port, struct rdma_cm_id **server)
{
	struct rdma_conn_param p = { .retry_count = 1, .qp_num = 0x123 };
	struct rdma_cm_id *id = client(port);

	if (rdma_connect(id, &p) || !event(RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, server))
		die("no request");
	p.qp_num = 0x124;
	if (rdma_accept(*server, &p) || !event(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, id, NULL) ||
	    rdma_establish(id) || !event(RDMA_CM_EVENT_ESTABLISHED, 0, *server, NULL))
		die("no connection");
	return id;
}

/*
 * TIMEWAIT_EXIT of a disconnected pair, by a rule, long before its time: the manual clock stands
 * still.
 */
static void test_timewait(__be16 port)
{
	struct rdma_cm_id *server, *id = connected(port, &server);
	int i;

	fault_add("event RDMA_CM_EVENT_TIMEWAIT_EXIT");
	ok(fault_hits() == 0 && quiet(), "TIMEWAIT_EXIT: nobody has disconnected");
	ok(!rdma_disconnect(id) && event(RDMA_CM_EVENT_DISCONNECTED, 0, server, NULL) &&
		   !rdma_disconnect(server) && event(RDMA_CM_EVENT_DISCONNECTED, 0, id, NULL),
	   "rdma_disconnect on both sides");
	fault_add("event RDMA_CM_EVENT_TIMEWAIT_EXIT at=500us");
	fault_advance_us(499);
	ok(fault_hits() == 0 && quiet(), "TIMEWAIT_EXIT: not before its time");
	fault_advance_us(1);
	for (i = 0; i < 2; i++)
		ok(event(RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, NULL), "TIMEWAIT_EXIT of one");
	ok(quiet(), "no further event");
	ok(fault_hits() == 1, "one hit");
	fault_clear();
	fault_advance_us(60000000);
	ok(quiet(), "TIMEWAIT_EXIT comes once");
	ok(!rdma_destroy_id(id) && !rdma_destroy_id(server), "both identifiers can be destroyed");
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener;
	struct sockaddr_in sin;

	ch = rdma_create_event_channel();
	if (!ch)
		die("rdma_create_event_channel: %s", strerror(errno));
	listener = make(RDMA_PS_TCP);
	loopback(&sin, 0)->sa_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_ANY);
	if (rdma_bind_addr(listener, (struct sockaddr *)&sin) || rdma_listen(listener, 8))
		die("listen: %s", strerror(errno));
	test_calls(rdma_get_src_port(listener));
	test_multicast();
	test_raised(rdma_get_src_port(listener));
	if (argc > 1 && !strcmp(argv[1], "manual"))
		test_timewait(rdma_get_src_port(listener));
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(ch);
	return tap_failed != 0;
}
