/* SPDX-License-Identifier: MIT */
/*
 * What each of the four suites tests. A suite includes its framework's header first, then this one,
 * and defines EXPECT(condition), an assertion of that framework.
 */
#include "loopback.h"

#include <errno.h>
#include <rdmaemu-test.h>
#include <string.h>

static void case_write(void)
{
	struct rdmaemu_test t;
	struct loopback l;

	RDMAEMU_TEST_BEGIN(&t);
	EXPECT(!loopback_begin(&l));
	strcpy(l.memory[0], "hello");
	EXPECT(loopback_write(&l) == IBV_WC_SUCCESS);
	EXPECT(!strcmp(l.memory[1], "hello"));
	loopback_end(&l);
	RDMAEMU_ASSERT_NO_ERROR(&t);
	RDMAEMU_ASSERT_NO_LEAK(&t);
	RDMAEMU_TEST_END(&t);
}

/* One packet is lost, and sent again. */
static void case_lost_packet(void)
{
	struct rdmaemu_test t;
	struct loopback l;

	RDMAEMU_TEST_BEGIN(&t);
	RDMAEMU_TEST_FAULT(&t, "drop opcode=RDMA_WRITE nth=1");
	EXPECT(!loopback_begin(&l));
	EXPECT(loopback_write(&l) == IBV_WC_SUCCESS);
	loopback_end(&l);
	RDMAEMU_ASSERT_NO_ERROR(&t);
	RDMAEMU_TEST_END(&t);
}

/* All packets are lost: the retries run out. */
static void case_dead_link(void)
{
	struct rdmaemu_test t;
	struct loopback l;

	RDMAEMU_TEST_BEGIN(&t);
	RDMAEMU_TEST_FAULT(&t, "drop opcode=RDMA_WRITE");
	EXPECT(!loopback_begin(&l));
	EXPECT(loopback_write(&l) == IBV_WC_RETRY_EXC_ERR);
	loopback_end(&l);
	RDMAEMU_ASSERT_ERROR(&t, "IBV_WC_RETRY_EXC_ERR");
	RDMAEMU_ASSERT_NO_LEAK(&t);
	RDMAEMU_TEST_END(&t);
}

/* Each call that can fail fails once: nothing may be left. */
static void case_no_resources(void)
{
	static const char *const calls[] = { "ibv_alloc_pd", "ibv_create_cq", "ibv_reg_mr",
					     "ibv_create_qp" };
	struct rdmaemu_test t;
	struct loopback l;
	char rule[80];
	unsigned int i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		RDMAEMU_TEST_BEGIN(&t);
		snprintf(rule, sizeof(rule), "fail call=%s errno=ENOMEM nth=1", calls[i]);
		RDMAEMU_TEST_FAULT(&t, rule);
		EXPECT(loopback_begin(&l) == -1 && errno == ENOMEM);
		loopback_end(&l);
		RDMAEMU_ASSERT_ERROR(&t, "ENOMEM");
		RDMAEMU_ASSERT_NO_LEAK(&t);
		RDMAEMU_TEST_END(&t);
	}
}
