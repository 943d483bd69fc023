/* SPDX-License-Identifier: MIT */
/*
 * Calls on identifiers and channels that are destroyed answer as the kernel does: ENOENT for an
 * identifier that it does not find, EBADF for the closed descriptor of a channel.
 */
#include "tests/lib/c/rdmacm.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static struct rdma_event_channel *ch;
static struct sockaddr *addr;

#define FAILS(call, want)                                                                          \
	do {                                                                                       \
		int ret_;                                                                          \
		errno = 0;                                                                         \
		ret_ = (call);                                                                     \
		if (!ok(ret_ == -1 && errno == (want), "%s: %s", #call, strerrorname_np(want)))    \
			note("returned %d, errno %d", ret_, errno);                                \
	} while (0)

static struct rdma_cm_id *id_new(struct rdma_event_channel *on)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(on, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id: %s", strerror(errno));
	return id;
}

/* Calls that the library passes on without a look at other fields of the identifier. */
static void test_calls(struct rdma_cm_id *id, int want)
{
	struct rdma_conn_param p = { .retry_count = 7 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	uint8_t tos = 0;
	int mask;

	FAILS(rdma_bind_addr(id, addr), want);
	FAILS(rdma_resolve_addr(id, NULL, addr, 2000), want);
	FAILS(rdma_resolve_route(id, 2000), want);
	FAILS(rdma_listen(id, 1), want);
	FAILS(rdma_reject(id, NULL, 0), want);
	FAILS(rdma_notify(id, IBV_EVENT_COMM_EST), want);
	FAILS(rdma_init_qp_attr(id, &attr, &mask), want);
	FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), want);
	FAILS(rdma_join_multicast(id, addr, NULL), want);
	FAILS(rdma_destroy_id(id), want);
	if (want != ENOENT)
		return;
	FAILS(rdma_connect(id, &p), want);
	FAILS(rdma_accept(id, &p), want);
	FAILS(rdma_disconnect(id), want);
}

static void test_destroyed_id(void)
{
	int (*put)(struct rdma_cm_id *, int, int, uint64_t) =
		(__typeof__(put))dlsym(RTLD_DEFAULT, "rdma_write_cm_event");
	struct rdma_cm_id *id = id_new(ch);

	ok(!rdma_destroy_id(id), "destroyed once");
	test_calls(id, ENOENT);
	FAILS(rdma_migrate_id(id, ch), ENOENT);
	FAILS(put(id, 18, 0, 0), ENOENT);
	FAILS(put(id, 0, 0, 0), EINVAL);
	FAILS(rdma_destroy_id(NULL), EINVAL);
}

static void test_destroyed_channel(void)
{
	struct rdma_event_channel *gone = rdma_create_event_channel();
	struct rdma_cm_id *id = id_new(gone), *live = id_new(ch);
	struct rdma_cm_id *none;
	struct rdma_cm_event *ev;

	rdma_destroy_event_channel(gone);
	FAILS(rdma_get_cm_event(gone, &ev), EBADF);
	FAILS(rdma_get_cm_event(gone, NULL), EINVAL);
	FAILS(rdma_create_id(gone, &none, NULL, RDMA_PS_TCP), EBADF);
	FAILS(rdma_migrate_id(live, gone), EBADF);
	test_calls(id, EBADF);
	FAILS(rdma_migrate_id(id, ch), ENOENT);
	rdma_destroy_event_channel(gone);
	ok(!rdma_destroy_id(live), "a live identifier is as it was");
}

int main(void)
{
	struct sockaddr_storage ss;

	cm_addr("127.0.0.1", 0, &ss);
	addr = (struct sockaddr *)&ss;
	ch = rdma_create_event_channel();
	if (!ok(ch, "a channel"))
		return 1;
	test_destroyed_id();
	test_destroyed_channel();
	rdma_destroy_event_channel(ch);
	return tap_failed != 0;
}
