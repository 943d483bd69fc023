/* SPDX-License-Identifier: MIT */
/*
 * rdma_resolve_addr() allocates the identifier's PD: what it answers when the device has none left.
 *	app_cm_no_pd: with a profile of few PDs
 */
#include "tests/lib/c/rc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#define MAX_PDS 64

static struct ibv_pd *pds[MAX_PDS];

static void take_pds(struct ibv_context *ctx)
{
	int n = 0;

	while (n < MAX_PDS && (pds[n] = ibv_alloc_pd(ctx)))
		n++;
	ok(n > 0 && n < MAX_PDS && errno == ENOMEM, "the device has %d PDs", n);
}

static void return_pds(void)
{
	for (int i = 0; i < MAX_PDS && pds[i]; i++)
		ibv_dealloc_pd(pds[i]);
}

/* Return: 0, or errno. */
static int resolve(struct rdma_cm_id *id)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7471) };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	errno = 0;
	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000) ? errno : 0;
}

static int resolve_sync(void)
{
	struct rdma_cm_id *id;
	int ret;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id: %s", strerror(errno));
	ret = resolve(id);
	rdma_destroy_id(id);
	return ret;
}

static void test_event(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_event *ev = NULL;
	struct rdma_cm_id *id;

	if (!ch || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id: %s", strerror(errno));
	ok(!resolve(id) && !rdma_get_cm_event(ch, &ev) && ev->event == RDMA_CM_EVENT_ADDR_ERROR &&
		   ev->status == -ENOMEM,
	   "without a PD left: ADDR_ERROR, -ENOMEM");
	if (ev)
		rdma_ack_cm_event(ev);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(ch);
}

int main(void)
{
	struct ibv_context *ctx = rc_open_first();
	int ret;

	take_pds(ctx);
	ret = resolve_sync();
	ok(ret == ENOMEM, "rdma_resolve_addr() without a PD left: ENOMEM (%s)", strerror(ret));
	test_event();
	return_pds();
	ok(!resolve_sync(), "and with one: it resolves");
	ibv_close_device(ctx);
	return tap_failed != 0;
}
