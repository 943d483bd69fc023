/* SPDX-License-Identifier: MIT */
/* When a poller takes its CPU for shared, with a clock and preemptions of the test's own. */
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/wire_receive.h"
#include "libshim/interpose/syscall.h"
#include "tests/lib/c/cu.h"

#include <stdlib.h>

static u64 now, preempted, slept;

static u64 test_now(void)
{
	return now;
}

static u64 test_preempted(void)
{
	return preempted;
}

static void test_sleep(u64 ns)
{
	now += ns;
	slept += ns;
}

static enum wire_look look;

static u32 paths;

static enum wire_look test_wire_look(u32 of_paths, u64 at)
{
	CU_ASSERT_EQUAL(at, now);
	paths = of_paths;
	return look;
}

/* A sleep until something is delivered, for the whole time. */
static int test_futex_wait(const u32 *word, u32 value, u64 ns, int flags)
{
	(void)word;
	(void)value;
	(void)flags;
	test_sleep(ns);
	return 0;
}

static int test_yield(void)
{
	now += 1000;
	return 0;
}

static void test_nothing(void)
{
}

#define sys_now		   test_now
#define sys_preempted	   test_preempted
#define sys_sleep	   test_sleep
#define sys_futex_wait	   test_futex_wait
#define shim_wire_look	   test_wire_look
#define shim_wire_look_end test_nothing
#define shim_engine_drain  test_nothing
#define sched_yield	   test_yield
/* NOLINTBEGIN(bugprone-suspicious-include): with the calls that are replaced above */
#include "libshim/client/own_paths.c"
#include "libshim/client/poll_idle.c"
/* NOLINTEND(bugprone-suspicious-include) */

struct shim_client shim;

#define US 1000ull
#define MS 1000000ull

#define PEER_DEV 5u /* the device that stands for a host outside */

static struct poll_shared s;
static u32 cons;

/* The poller looks after @ns, in which it was preempted @times and found @entries. */
static bool look_after(u64 ns, u64 times, u32 entries)
{
	now += ns;
	preempted += times;
	cons += entries;
	return shim_poll_shared(&s, cons);
}

static void begin(void)
{
	s = (struct poll_shared){ 0 };
	now = MS;
	cons = 0;
	preempted = slept = 0;
	CU_ASSERT_FALSE(look_after(0, 0, 0));
	CU_ASSERT_FALSE(look_after(3 * US, 0, 0));
}

static void test_alone(void)
{
	u32 i;

	begin();
	for (i = 0; i < 1000; i++)
		CU_ASSERT_FALSE(look_after(3 * US, 0, i % 3));
	/* A gap without preemption: the program did something else. */
	CU_ASSERT_FALSE(look_after(10 * MS, 0, 1));
	CU_ASSERT_FALSE(look_after(3 * US, 0, 0));
}

/* The peer of a ping-pong has had the CPU for a time slice. */
static void test_shared(void)
{
	u32 n;

	begin();
	CU_ASSERT_FALSE(look_after(3 * MS, 1, 1));
	CU_ASSERT_FALSE(look_after(3 * US, 0, 1));
	CU_ASSERT_TRUE(look_after(3 * US, 0, 0));
	for (n = 0; n < 20000; n++)
		(void)look_after(3 * US, 0, 0);
	CU_ASSERT_TRUE(slept > 30 * MS && slept < 50 * MS);
}

/*
 * Two pollers with a CPU each, which both slept for a while when the other one was not there. Each
 * answers when it is awake. Sleeps take longer than asked for.
 */
static void test_both_sleep(void)
{
	struct poll_shared side[2] = { { .until = 100 * MS }, { .until = 100 * MS } };
	u64 awake_at[2] = { MS, MS + 35 * US };
	u32 entries[2] = { 1, 0 }, i, answers = 0;
	bool has_message[2] = { true, false };

	now = MS;
	for (; now < 6 * MS; now += 3 * US) {
		for (i = 0; i < 2; i++) {
			if (now < awake_at[i])
				continue;
			if (has_message[i]) {
				has_message[i] = false;
				has_message[!i] = true;
				entries[!i]++;
				answers += now > 5 * MS;
			}
			slept = 0;
			if (shim_poll_shared(&side[i], entries[i]))
				awake_at[i] = now + 20 * US;
			now -= slept;
		}
	}
	CU_ASSERT_TRUE(answers > 300);
}

/* In a stream a poller finds entries and looks rarely: a gap is no time slice of another. */
static void test_stream_gap(void)
{
	begin();
	CU_ASSERT_FALSE(look_after(3 * MS, 1, 5000));
	CU_ASSERT_FALSE(look_after(2 * MS, 0, 0));
	CU_ASSERT_FALSE(look_after(3 * US, 0, 0));
	CU_ASSERT_EQUAL(slept, 0);
}

/* A sender waits for the RNR timer: the poller has to be there when it goes on. */
static void test_stream_pause(void)
{
	u32 i;

	begin();
	CU_ASSERT_FALSE(look_after(3 * MS, 1, 1));
	CU_ASSERT_FALSE(look_after(100 * US, 0, 512));
	for (i = 0; i < 200; i++)
		CU_ASSERT_FALSE(look_after(3 * US, 0, 0));
	CU_ASSERT_FALSE(look_after(3 * US, 0, 512));
	/* The stream has ended. */
	for (i = 0; i < 400 && !look_after(3 * US, 0, 0); i++)
		;
	CU_ASSERT_TRUE(i > 300 && i < 400);
}

static struct seg_hdr seg;
static struct hca *hca;

static void via_begin(struct poll_idle *idle)
{
	*idle = (struct poll_idle){ 0 };
	hca = hca ? hca : calloc(1, sizeof(*hca));
	CU_ASSERT_PTR_NOT_NULL_FATAL(hca);
	shim.hca = hca;
	shim.seg = &seg;
	shim.engine.leaves = true;
	hca->tab[TAB_QP].high = 0;
	hca->wires.n_peers = 1;
	hca->wires.first_peer = PEER_DEV;
	now += 1000 * MS;
	slept = 0;
	look = WIRE_NOTHING;
	hca->wires.deferred = 0;
	seg.brought++;
}

static void test_reads_wire(void)
{
	struct poll_idle idle;
	bool again;
	u32 i;

	via_begin(&idle);
	hca->wires.deferred = 1;
	for (i = 0; i < 1000; i++, now += US)
		CU_ASSERT_TRUE(!shim_poll_via(&idle, &again) && !again);
	look = WIRE_FOUND;
	CU_ASSERT_TRUE(shim_poll_via(&idle, &again) && again);
	CU_ASSERT_EQUAL(slept, 0);
}

/* A queue pair of this program, or another's, which is connected with a device. */
static struct hca_qp *qp_add(u32 client, u32 type, u32 dst_dev)
{
	struct hca_qp *qp = &hca->qp[hca->tab[TAB_QP].high++];

	*qp = (struct hca_qp){ .client = client + 1, .state = QPS_RTS };
	qp->type = type;
	qp->path.dst_dev = dst_dev;
	qp->path.via = dst_dev == PEER_DEV;
	return qp;
}

/* The paths that a poller finds when it searches for them again. */
static u32 paths_found(void)
{
	struct poll_idle idle = { 0 };
	bool again;

	now += 11 * MS;
	(void)shim_poll_via(&idle, &again);
	return paths;
}

static void test_paths(void)
{
	struct poll_idle idle;
	struct hca_qp *qp;

	via_begin(&idle);
	CU_ASSERT_EQUAL(paths_found(), 0);
	qp_add(shim.id + 1, QPT_RC, 0);
	qp_add(shim.id + 1, QPT_RC, PEER_DEV);
	CU_ASSERT_EQUAL(paths_found(), 0);
	qp = qp_add(shim.id, QPT_RC, 0);
	CU_ASSERT_EQUAL(paths_found(), OWN_PATH_DIRECT);
	qp->path.via = true;
	CU_ASSERT_EQUAL(paths_found(), 0);
	qp_add(shim.id, QPT_RC, PEER_DEV)->state = QPS_INIT;
	CU_ASSERT_EQUAL(paths_found(), 0);
	qp_add(shim.id, QPT_UD, 0);
	CU_ASSERT_EQUAL(paths_found(), OWN_PATH_WIRE);
	qp_add(shim.id, QPT_RC, 0);
	CU_ASSERT_EQUAL(paths_found(), OWN_PATH_DIRECT | OWN_PATH_WIRE);
	hca->tab[TAB_QP].high = 4;
	qp_add(shim.id, QPT_UC, PEER_DEV);
	CU_ASSERT_EQUAL(paths_found(), OWN_PATH_WIRE);
	/* The answer is kept for a while. */
	hca->tab[TAB_QP].high = 0;
	now += 5 * MS;
	CU_ASSERT_EQUAL(shim_own_paths(now), OWN_PATH_WIRE);
	CU_ASSERT_EQUAL(paths_found(), 0);
}

static void test_has_direct(void)
{
	struct poll_idle idle;
	bool again;
	u32 i;

	via_begin(&idle);
	qp_add(shim.id, QPT_RC, 0);
	for (i = 0; i < 1000; i++, now += US)
		CU_ASSERT_TRUE(!shim_poll_via(&idle, &again) && !again);
	CU_ASSERT_EQUAL(slept, 0);
}

static void test_leaves_wire(void)
{
	struct poll_idle idle;
	bool again;
	u32 i;

	via_begin(&idle);
	for (i = 0; i < 1000; i++, now += US)
		CU_ASSERT_TRUE(shim_poll_via(&idle, &again));
	CU_ASSERT_TRUE(slept > 0);
}

static const struct cu_test tests[] = {
	{ "a poller that reads the wire does not sleep", test_reads_wire },
	{ "a poller sleeps while the fabric process reads the wire", test_leaves_wire },
	{ "a poller knows the paths of its own queue pairs", test_paths },
	{ "a poller whose peer delivers does not sleep", test_has_direct },
	{ "a poller with a CPU of its own does not sleep", test_alone },
	{ "a poller that was preempted sleeps, for 50 ms", test_shared },
	{ "two pollers do not sleep for each other for long", test_both_sleep },
	{ "a gap between two looks of a stream is no preemption", test_stream_gap },
	{ "a poller does not sleep in a pause of a stream", test_stream_pause },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("poll_idle", tests);
}
