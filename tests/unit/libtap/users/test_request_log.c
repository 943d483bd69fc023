/* SPDX-License-Identifier: MIT */
/* The journal describes a failed request by its wr_id: which ones it finds, and their text. */
#include "fabric/proto/env.h"
#include "libtap/users/request_log.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/c/tap_stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No library is below. */
const struct stub_fn stub_fns[] = { { NULL, NULL } };

static struct request_log requests;
static struct request_found found;
static char text[128];

static void begin(const char *keep, u32 sends, u32 recvs)
{
	const struct ibv_qp_cap cap = { .max_send_wr = sends, .max_recv_wr = recvs };

	setenv(PROTO_REAL_REQUESTS_ENV, keep, 1);
	request_log_start();
	request_log_make(&requests, &cap);
}

static void post_send(u64 wr_id, enum ibv_wr_opcode opcode, u32 bytes)
{
	struct ibv_sge sge[2] = { { .length = bytes, .lkey = 0x11 },
				  { .length = 1, .lkey = 0x12 } };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = 2, .opcode = opcode };
	const struct tap_post p = { .queue = TAP_SEND, .send = &wr };

	wr.wr.rdma.remote_addr = 0x4000;
	wr.wr.rdma.rkey = 0x22;
	request_log_post(&requests, &p);
}

static void post_receive(u64 wr_id, u32 bytes)
{
	struct ibv_sge sge = { .length = bytes, .lkey = 0x13 };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	const struct tap_post p = { .queue = TAP_RECV, .recv = &wr };

	request_log_post(&requests, &p);
}

/* The text up to the age, which depends on the clock; NULL: nothing is found. */
static const char *told(u64 wr_id, enum ibv_wc_status status)
{
	char *age;

	if (!request_log_find(&requests, wr_id, status, &found, text, sizeof(text)))
		return NULL;
	age = strstr(text, " age=");
	CU_ASSERT_PTR_NOT_NULL_FATAL(age);
	*age = '\0';
	return text;
}

static void test_a_request_is_found_by_its_wr_id(void)
{
	begin("1", 8, 8);
	post_send(5, IBV_WR_RDMA_WRITE, 100);
	post_send(6, IBV_WR_SEND, 7);
	post_receive(9, 64);
	CU_ASSERT_STRING_EQUAL(told(5, IBV_WC_RETRY_EXC_ERR),
			       "bytes=101 entries=2 lkey=0x11 rkey=0x22 addr=0x4000 post=1");
	CU_ASSERT(!found.recv && found.opcode == IBV_WR_RDMA_WRITE && found.bytes == 101);
	CU_ASSERT_STRING_EQUAL(told(6, IBV_WC_RETRY_EXC_ERR), "bytes=8 entries=2 lkey=0x11 post=2");
	CU_ASSERT_STRING_EQUAL(told(9, IBV_WC_LOC_LEN_ERR), "bytes=64 entries=1 lkey=0x13 post=1");
	CU_ASSERT(found.recv);
	CU_ASSERT_PTR_NULL(told(7, IBV_WC_RETRY_EXC_ERR));
}

/* The last ones that fit; those before them have completed. */
static void test_old_requests_are_forgotten(void)
{
	u64 i;

	begin("1", 4, 0);
	for (i = 1; i <= 6; i++)
		post_send(i, IBV_WR_SEND, 10);
	CU_ASSERT_PTR_NULL(told(2, IBV_WC_RETRY_EXC_ERR));
	CU_ASSERT_STRING_EQUAL(told(3, IBV_WC_RETRY_EXC_ERR),
			       "bytes=11 entries=2 lkey=0x11 post=3");
	post_receive(1, 1);
	CU_ASSERT_PTR_NULL(told(1, IBV_WC_LOC_LEN_ERR));
}

static void test_several_of_a_wr_id_tell_what_they_share(void)
{
	begin("1", 8, 8);
	post_send(0, IBV_WR_SEND, 10);
	post_send(0, IBV_WR_SEND, 10);
	CU_ASSERT_STRING_EQUAL(told(0, IBV_WC_RETRY_EXC_ERR),
			       "bytes=11 entries=2 lkey=0x11 post=1..2");
	post_send(0, IBV_WR_SEND, 20);
	CU_ASSERT_STRING_EQUAL(told(0, IBV_WC_RETRY_EXC_ERR), "entries=2 lkey=0x11 post=1..3");
	/* A receive of the same wr_id: only a status of requesters tells which it was. */
	post_receive(0, 10);
	CU_ASSERT_PTR_NULL(told(0, IBV_WC_LOC_PROT_ERR));
	CU_ASSERT_STRING_EQUAL(told(0, IBV_WC_REM_ACCESS_ERR), "entries=2 lkey=0x11 post=1..3");
	post_send(0, IBV_WR_RDMA_READ, 20);
	CU_ASSERT_PTR_NULL(told(0, IBV_WC_REM_ACCESS_ERR));
}

static void test_batches_are_known_too(void)
{
	static const struct ibv_sge sge = { .length = 300, .lkey = 0x31 };
	const struct ibv_qp_ex ex = { .wr_id = 77 };
	const struct tap_wr_op read = {
		.what = TAP_WR_OP, .opcode = IBV_WR_RDMA_READ, .key = 0x41, .addr = 0x5000
	};
	const struct tap_wr_op entry = { .what = TAP_WR_SGE, .n = 1, .sge = &sge };

	begin("1", 8, 8);
	request_log_wr(&requests, &ex, &read);
	request_log_wr(&requests, &ex, &entry);
	CU_ASSERT_STRING_EQUAL(told(77, IBV_WC_REM_ACCESS_ERR),
			       "bytes=300 entries=1 lkey=0x31 rkey=0x41 addr=0x5000 post=1");
	CU_ASSERT_EQUAL(found.opcode, IBV_WR_RDMA_READ);
}

static void test_nothing_is_kept_unless_wanted(void)
{
	begin("0", 8, 8);
	post_send(5, IBV_WR_SEND, 100);
	post_receive(6, 100);
	CU_ASSERT_PTR_NULL(told(5, IBV_WC_RETRY_EXC_ERR));
	CU_ASSERT_PTR_NULL(told(6, IBV_WC_LOC_LEN_ERR));
	CU_ASSERT_PTR_NULL(requests.sends.entry);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a request is found by its wr_id", test_a_request_is_found_by_its_wr_id },
		{ "old requests are forgotten", test_old_requests_are_forgotten },
		{ "several of a wr_id tell what they share",
		  test_several_of_a_wr_id_tell_what_they_share },
		{ "batches are known, too", test_batches_are_known_too },
		{ "nothing is kept unless wanted", test_nothing_is_kept_unless_wanted },
		{ NULL, NULL },
	};

	return cu_run("request_log", tests);
}
