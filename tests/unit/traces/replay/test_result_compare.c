/* SPDX-License-Identifier: MIT */
/* Which results of calls count as the recorded ones. */
#include "tests/lib/c/cu.h"
#include "traces/replay/objects.h"
#include "traces/replay/play.h"
#include "traces/replay/replay.h"

static struct rp_prog prog;
static struct rp_thread thread = { .prog = &prog };

/* Ports are those of the record. */
uint16_t rp_port_map(const struct rp_thread *t, uint16_t value)
{
	(void)t;
	return value;
}

static bool same(enum vcall call, const char *want, const char *got)
{
	thread.parsed.call = call;
	return rp_result_is_same(&thread, "", want, got);
}

/* The event of an identifier that gets a device may be taken before or after the call returns. */
static void test_an_identifier_gets_its_device_by_an_event(void)
{
	static const char before[] = "0 id.ps=RDMA_PS_TCP id.dst=10.77.0.1:~";
	static const char after[] = "0 id.verbs=ctx1 id.port_num=1 id.ps=RDMA_PS_TCP id.pd=pd1 "
				    "id.src=10.77.0.2:~ id.dst=10.77.0.1:~";
	static const char other[] = "0 id.verbs=ctx2 id.port_num=1 id.ps=RDMA_PS_TCP id.pd=pd1 "
				    "id.src=10.77.0.2:~ id.dst=10.77.0.1:~";

	CU_ASSERT(same(VCALL_rdma_resolve_addr, before, after));
	CU_ASSERT(same(VCALL_rdma_resolve_addr, after, before));
	CU_ASSERT(!same(VCALL_rdma_resolve_addr, after, other));
	/* rdma_bind_addr() itself binds to the device. */
	CU_ASSERT(!same(VCALL_rdma_bind_addr, before, after));
	CU_ASSERT(!same(VCALL_rdma_bind_addr, after, before));
}

static void test_results_differ(void)
{
	CU_ASSERT(same(VCALL_rdma_listen, "0", "0"));
	CU_ASSERT(!same(VCALL_rdma_listen, "0", "-1 errno=EINVAL"));
	CU_ASSERT(!same(VCALL_ibv_create_cq, "cq0 cqe=15", "cq0 cqe=31"));
	/* An object that the recorder did not know. */
	CU_ASSERT(same(VCALL_ibv_create_cq, "0 cq=?", "0 cq=cq1"));
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "an identifier gets its device by an event",
		  test_an_identifier_gets_its_device_by_an_event },
		{ "results differ", test_results_differ },
		{ NULL, NULL },
	};

	return cu_run("result_compare", tests);
}
