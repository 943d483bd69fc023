/* SPDX-License-Identifier: MIT */
/*
 * Address lookup that ends in an event: rdma_resolve_addrinfo(3), rdma_query_addrinfo(3), which
 * installed headers and libraries may lack.
 */
#include "tests/lib/c/rc.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>

#define FLAG_SA	       0x10
#define FLAG_DNS       0x20
#define EVENT_RESOLVED 16
#define EVENT_ERROR    17

static int (*resolve)(struct rdma_cm_id *, const char *, const char *,
		      const struct rdma_addrinfo *);
static int (*query)(struct rdma_cm_id *, struct rdma_addrinfo **);

static bool fails(int ret, int err)
{
	return ret == -1 && errno == err;
}

static int next_event(struct rdma_event_channel *ch, int *status)
{
	struct rdma_cm_event *ev;
	int type;

	if (rdma_get_cm_event(ch, &ev))
		return -1;
	type = (int)ev->event;
	*status = ev->status;
	rdma_ack_cm_event(ev);
	return type;
}

static void test_async(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	struct rdma_addrinfo hints = { .ai_flags = FLAG_DNS, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *res = NULL;
	int status = -1;

	ok(fails(query(id, &res), ENOENT), "before a lookup: ENOENT");
	ok(!resolve(id, "127.0.0.1", "7471", &hints) && next_event(ch, &status) == EVENT_RESOLVED &&
		   !status,
	   "a lookup ends in its event");
	ok(fails(resolve(id, "127.0.0.1", "7471", &hints), EBUSY),
	   "another lookup while its result is there: EBUSY");
	ok(fails(query(id, NULL), EINVAL), "a result to nowhere: EINVAL");
	if (ok(!query(id, &res), "rdma_query_addrinfo"))
		ok(res->ai_family == AF_INET && res->ai_dst_len && res->ai_qp_type == IBV_QPT_RC,
		   "has what was found");
	rdma_freeaddrinfo(res);
	ok(fails(query(id, &res), ENOENT), "once");
	hints.ai_flags |= RAI_NUMERICHOST;
	ok(!resolve(id, "localhost", "7471", &hints), "a lookup that fails");
	ok(fails(resolve(id, "127.0.0.1", "7471", NULL), EBUSY), "is not over before its event");
	ok(next_event(ch, &status) == EVENT_ERROR && status == EAI_NONAME, "which says why");
	ok(fails(query(id, &res), ENOENT), "a failed lookup leaves no result");
	ok(!resolve(id, "127.0.0.1", "7471", NULL) && next_event(ch, &status) == EVENT_RESOLVED &&
		   !query(id, &res),
	   "and another lookup is possible");
	rdma_freeaddrinfo(res);
}

static void test_refused(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	struct rdma_addrinfo hints = { .ai_flags = FLAG_DNS | FLAG_SA };
	int status;

	ok(fails(resolve(id, NULL, "7471", &hints), ENOTSUP),
	   "DNS and service records at once: ENOTSUP");
	hints.ai_flags = FLAG_SA;
	ok(fails(resolve(id, "127.0.0.1", "7471", &hints), ENOTSUP),
	   "service records of a host: ENOTSUP");
	ok(fails(resolve(id, NULL, NULL, &hints), EINVAL), "of no service: EINVAL");
	ok(fails(resolve(id, NULL, "7471", &hints), EOPNOTSUPP), "service records: EOPNOTSUPP");
	ok(fails(resolve(id, NULL, NULL, NULL), EINVAL), "nothing at all: EINVAL");
	ok(fails(resolve(NULL, "127.0.0.1", NULL, NULL), EINVAL), "of no identifier: EINVAL");
	/* A result that nobody takes goes with its identifier. */
	ok(!resolve(id, "127.0.0.1", "7471", NULL) && next_event(ch, &status) == EVENT_RESOLVED,
	   "a refused lookup is in nobody's way");
}

static void test_service_records(void)
{
	struct rdma_addrinfo hints = { .ai_flags = FLAG_SA }, *res;

	ok(fails(rdma_getaddrinfo(NULL, "7471", &hints, &res), ENOENT),
	   "rdma_getaddrinfo of a service record: ENOENT");
	ok(fails(rdma_getaddrinfo(NULL, NULL, &hints, &res), EINVAL), "of no service: EINVAL");
	ok(fails(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &res), EOPNOTSUPP),
	   "of a host: EOPNOTSUPP");
	hints.ai_flags |= FLAG_DNS;
	ok(fails(rdma_getaddrinfo(NULL, "7471", &hints, &res), EOPNOTSUPP),
	   "or of DNS: EOPNOTSUPP");
}

int main(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id;

	resolve = (__typeof__(resolve))dlsym(RTLD_DEFAULT, "rdma_resolve_addrinfo");
	query = (__typeof__(query))dlsym(RTLD_DEFAULT, "rdma_query_addrinfo");
	if (!ok(resolve && query, "the functions are there") || !ok(ch, "an event channel"))
		return 1;
	if (ok(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "an identifier")) {
		test_async(ch, id);
		test_refused(ch, id);
		rdma_destroy_id(id);
	}
	if (ok(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), "a synchronous one")) {
		ok(!resolve(id, "127.0.0.1", "7471", NULL) && id->event &&
			   (int)id->event->event == EVENT_RESOLVED,
		   "waits for its event");
		rdma_destroy_id(id);
	}
	test_service_records();
	rdma_destroy_event_channel(ch);
	return 0;
}
