/* SPDX-License-Identifier: MIT */
/*
 * The fabric process ends, and with it the devices of the rdma_cm's identifiers.
 *	app_cm_removal COMMAND		COMMAND ends the fabric
 */
#include "tests/lib/c/rdmacm.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define A	 0
#define UNBOUND	 1
#define LISTENER 8
#define CH	 0

static const char *ip = "127.0.0.1";

static bool fails(int ret, int wanted)
{
	return ret == -1 && errno == wanted;
}

static void test_calls(struct rdma_event_channel *ch)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	ok(fails(rdma_get_cm_event(ch, &ev), EIO), "after the last event, rdma_get_cm_event: EIO");
	ok(fails(rdma_get_cm_event(ch, &ev), EIO), "rdma_get_cm_event again: EIO");
	ok(fails(rdma_resolve_route(cm_ids[A], 2000), EIO), "rdma_resolve_route: EIO");
	ok(fails(rdma_listen(cm_ids[UNBOUND], 1), EIO), "rdma_listen: EIO");
	ok(fails(rdma_connect(cm_ids[A], &param), EIO), "rdma_connect: EIO");
	ok(fails(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), ENODEV), "rdma_create_id: ENODEV");
	ok(!rdma_create_event_channel() && errno == ENODEV, "rdma_create_event_channel: ENODEV");
}

int main(int argc, char **argv)
{
	struct vb_side *s = vb_local();
	struct pollfd fd = { .events = POLLIN };
	unsigned int port;
	struct cm_ev ev;

	if (argc != 2)
		die("app_cm_removal COMMAND");
	ok(!cm_chan(s, CH), "rdma_create_event_channel");
	port = cm_listening(s, LISTENER, CH, RDMA_PS_TCP, "0.0.0.0", 1);
	cm_resolved(s, A, CH, RDMA_PS_TCP, ip, port);
	ok(!cm_qp(s, A), "an identifier with a QP");
	ok(!cm_create(s, UNBOUND, CH, RDMA_PS_TCP), "one that has no device");
	fd.fd = cm_chans[CH]->fd;
	ok(!poll(&fd, 1, 0), "no event waits");
	ok(!system(argv[1]), "the fabric ends"); /* NOLINT(cert-env33-c) */
	ok(poll(&fd, 1, VB_WAIT) == 1, "the channel is readable");
	cm_expect(s, CH, A, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, &ev, "DEVICE_REMOVAL");
	test_calls(cm_chans[CH]);
	rdma_destroy_qp(cm_ids[A]);
	ok(!cm_destroy(s, A) && !cm_destroy(s, UNBOUND) && !cm_destroy(s, LISTENER),
	   "all identifiers can be destroyed");
	ok(!cm_chan_close(s, CH), "the channel can be destroyed");
	vb_close(s);
	return tap_failed != 0;
}
