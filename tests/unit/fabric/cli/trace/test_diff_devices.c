/* SPDX-License-Identifier: MIT */
/* What differs between two traces because their devices do, and what does not. */
#include "fabric/cli/trace/diff_devices.h"
#include "tests/lib/c/cu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CARD                                                                                       \
	"device 0 mlx5_0 0002c90300a1b2c0\n"                                                       \
	"kind 0 0002c90300a1b2c0 0x2c9 4123 0 20.31.1014\n"                                        \
	"port 0 1 Ethernet 0 0 0\n"                                                                \
	"gid 0 1 0 fe800000000000000202c9fffea1b2c0 RoCEv2 4\n"                                    \
	"gid 0 1 3 00000000000000000000ffffc0000202 RoCEv2 4\n"
#define SOFT                                                                                       \
	"device 0 rdmaemu0 0000000000000001\n"                                                     \
	"kind 0 0000000000000001 0x525645 1 1 0.1.0\n"                                             \
	"port 0 1 Ethernet 0 0 0\n"                                                                \
	"gid 0 1 0 fe800000000000000000000000000001 RoCEv2 1\n"                                    \
	"gid 0 1 1 00000000000000000000ffff0a4d0001 RoCEv2 1\n"

static struct diff_devices devices;
static struct vt_program programs[2];
static struct vt_dir dirs[2];

static void describe(u32 i, const char *text)
{
	struct vt_error err;
	char *copy = strdup(text);

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	vt_devices_free(&programs[i].devices);
	CU_ASSERT_EQUAL_FATAL(vt_devices_parse(&programs[i].devices, "F", copy, &err), 0);
	free(copy);
	dirs[i].n_progs = 1;
	dirs[i].prog = &programs[i];
}

/* Traces of programs with these devices. */
static void begin(const char *a, const char *b, bool capabilities)
{
	diff_devices_free(&devices);
	describe(0, a);
	describe(1, b);
	diff_devices_init(&devices, &dirs[0], &dirs[1], capabilities);
	CU_ASSERT_EQUAL_FATAL(diff_devices_map(&devices, &dirs[0], &dirs[1], 0), 0);
}

static bool same(const char *a, const char *b)
{
	return diff_devices_is_same_line(&devices, a, b);
}

/* Whether there is such a note. */
static bool noted(const char *call, const char *field, const char *a, const char *b)
{
	const struct diff_note *n;
	u32 i;

	for (i = 0; i < devices.n_notes; i++) {
		n = &devices.note[i];
		if (!strcmp(n->call, call) && !strcmp(n->field, field) && !strcmp(n->a, a) &&
		    !strcmp(n->b, b))
			return true;
	}
	return false;
}

static void test_names_and_addresses_are_those_of_the_other_trace(void)
{
	begin(CARD, SOFT, false);
	CU_ASSERT(noted("device", "", "mlx5_0", "rdmaemu0"));
	CU_ASSERT(same("ibv_open_device device=\"mlx5_0\" = ctx1",
		       "ibv_open_device device=\"rdmaemu0\" = ctx1"));
	CU_ASSERT(same("rdma_bind_addr id=id1 addr=192.0.2.2:7471 = 0",
		       "rdma_bind_addr id=id1 addr=10.77.0.1:7471 = 0"));
	CU_ASSERT(same("ibv_create_ah pd=pd1 attr.grh.sgid_index=3 = ah1",
		       "ibv_create_ah pd=pd1 attr.grh.sgid_index=1 = ah1"));
	CU_ASSERT_EQUAL(devices.n_notes, 1);
	CU_ASSERT(!same("rdma_bind_addr id=id1 addr=192.0.2.3:7471 = 0",
			"rdma_bind_addr id=id1 addr=10.77.0.1:7471 = 0"));
	CU_ASSERT(same("rdma_getaddrinfo node=\"fe80::202:c9ff:fea1:b2c0%4\" = 0",
		       "rdma_getaddrinfo node=\"fe80::1%1\" = 0"));
	CU_ASSERT(same("rdma_getaddrinfo node=\"fe80::202:c9ff:fea1:b2c0\" = 0",
		       "rdma_getaddrinfo node=\"fe80::1\" = 0"));
}

static void test_answers_of_devices_are_noted(void)
{
	begin(CARD, SOFT, false);
	CU_ASSERT(same("ibv_query_device context=ctx1 = 0 attr.max_qp=20000 attr.max_sge=30",
		       "ibv_query_device context=ctx1 = 0 attr.hw_ver=1 attr.max_qp=9 "
		       "attr.max_sge=30"));
	CU_ASSERT(noted("ibv_query_device", "attr.max_qp", "20000", "9"));
	CU_ASSERT(noted("ibv_query_device", "attr.hw_ver", "0", "1"));
	CU_ASSERT_EQUAL(devices.n_notes, 3);
	CU_ASSERT(same("ibv_query_port context=ctx1 port_num=1 = 0 attr.active_mtu=IBV_MTU_4096",
		       "ibv_query_port context=ctx1 port_num=1 = 0 attr.active_mtu=IBV_MTU_1024"));
	CU_ASSERT(same("ibv_query_port context=ctx1 port_num=1 = 0 attr.active_mtu=IBV_MTU_512",
		       "ibv_query_port context=ctx1 port_num=1 = 0 attr.active_mtu=IBV_MTU_1024"));
	CU_ASSERT(same("ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=127",
		       "ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=128"));
	CU_ASSERT(same("ibv_set_ece qp=qp1 ece.vendor_id=0x2c9 = 0",
		       "ibv_set_ece qp=qp1 ece.vendor_id=0x2c9 = EOPNOTSUPP"));
	/* A question that fails on both. */
	CU_ASSERT(same("ibv_reg_dmabuf_mr pd=pd1 length=4096 = NULL EOPNOTSUPP",
		       "ibv_reg_dmabuf_mr pd=pd1 length=4096 = NULL EBADF"));
	CU_ASSERT(!same("ibv_reg_dmabuf_mr pd=pd1 length=4096 = mr1",
			"ibv_reg_dmabuf_mr pd=pd1 length=4096 = NULL EOPNOTSUPP"));
	/* Whether it succeeds is no capability. */
	CU_ASSERT(!same("ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=127",
			"ibv_create_cq context=ctx1 cqe=100 = NULL EINVAL"));
	CU_ASSERT(!same("ibv_query_port context=ctx1 port_num=1 = 0 attr.state=IBV_PORT_ACTIVE",
			"ibv_query_port context=ctx1 port_num=1 = 0 attr.state=IBV_PORT_DOWN"));
}

static void test_a_line_that_differs_leaves_no_note(void)
{
	begin(CARD, SOFT, false);
	CU_ASSERT(!same("ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=127",
			"ibv_create_cq context=ctx1 cqe=200 = cq1 cqe=255"));
	CU_ASSERT_EQUAL(devices.n_notes, 1);
}

static void test_an_input_may_be_an_answer_passed_on(void)
{
	static const char on_card[] = "ibv_modify_qp qp=qp1 attr.max_dest_rd_atomic=128 = 0";
	static const char on_soft[] = "ibv_modify_qp qp=qp1 attr.max_dest_rd_atomic=16 = 0";

	begin(CARD, SOFT, false);
	CU_ASSERT(!same(on_card, on_soft));
	CU_ASSERT(same("ibv_query_device context=ctx1 = 0 attr.max_qp_rd_atom=128 attr.max_ee=1",
		       "ibv_query_device context=ctx1 = 0 attr.max_qp_rd_atom=16"));
	CU_ASSERT(same(on_card, on_soft));
	CU_ASSERT(noted("ibv_modify_qp", "attr.max_dest_rd_atomic", "128", "16"));
	CU_ASSERT(!same(on_card, "ibv_modify_qp qp=qp1 attr.max_dest_rd_atomic=15 = 0"));
	/* 0 and 1 are in many fields. */
	CU_ASSERT(!same("ibv_create_qp pd=pd1 attr.sq_sig_all=1 = qp1",
			"ibv_create_qp pd=pd1 = qp1"));
}

/* A packet to the card's address, as rdma_rxe describes it, and one to the emulator's. */
#define AH_FROM(imm, sl, id, sum, to)                                                              \
	"ibv_create_ah_from_wc pd=pd1 wc.status=IBV_WC_SUCCESS wc.byte_len=140 wc.imm_data=" imm   \
	" wc.wc_flags=IBV_WC_GRH|IBV_WC_WITH_IMM" sl                                               \
	" grh.sgid=0000000000000000000000004500009c grh.dgid=" id "4000" sum to                    \
	" port_num=1 = ah1"

static void test_headers_of_packets_are_those_of_devices(void)
{
	const char *card = AH_FROM("0x301", "", "c362", "40110000", "c0000202c0000202");

	begin(CARD, SOFT, false);
	CU_ASSERT_TRUE(
		same(card, AH_FROM("0x11", " wc.sl=2", "0000", "4011b64e", "0a4d00010a4d0001")));
	CU_ASSERT_TRUE(noted("ibv_create_ah_from_wc", "wc.imm_data", "0x301", "0x11"));
	/* Another address, protocol or length. */
	CU_ASSERT_FALSE(same(card, AH_FROM("0x11", "", "0000", "40110000", "0a4d00010a4d0002")));
	CU_ASSERT_FALSE(same(card, AH_FROM("0x11", "", "0000", "40060000", "0a4d00010a4d0001")));
	CU_ASSERT_FALSE(same("ibv_create_ah_from_wc pd=pd1 wc.byte_len=140 = ah1",
			     "ibv_create_ah_from_wc pd=pd1 wc.byte_len=141 = ah1"));
	CU_ASSERT_FALSE(same("ibv_create_ah pd=pd1 attr.sl=1 = ah1", "ibv_create_ah pd=pd1 = ah1"));
}

static void test_questions_may_be_more_in_one_trace(void)
{
	static const char gid[] = "ibv_query_gid context=ctx1 port_num=1 index=7 = -1 errno=EINVAL";
	static const char pd[] = "ibv_alloc_pd context=ctx1 = pd1";

	begin(CARD, SOFT, false);
	CU_ASSERT_EQUAL(diff_devices_skip(&devices, gid, pd), -1);
	CU_ASSERT_EQUAL(diff_devices_skip(&devices, pd, gid), 1);
	CU_ASSERT_EQUAL(diff_devices_skip(&devices, gid, NULL), -1);
	CU_ASSERT_EQUAL(diff_devices_skip(&devices, gid, gid), 0);
	CU_ASSERT_EQUAL(diff_devices_skip(&devices, pd, NULL), 0);
	CU_ASSERT(noted("ibv_query_gid", "", "asked", "not asked"));
	begin(SOFT, SOFT, false);
	CU_ASSERT_EQUAL(diff_devices_skip(&devices, gid, pd), 0);
}

static void test_capabilities_are_compared_if_wanted(void)
{
	begin(CARD, SOFT, true);
	CU_ASSERT(same("ibv_open_device device=\"mlx5_0\" = ctx1",
		       "ibv_open_device device=\"rdmaemu0\" = ctx1"));
	CU_ASSERT(!same("ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=127",
			"ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=128"));
}

static void test_equal_devices_leave_lines_as_they_are(void)
{
	static char yes[] = "yes";
	static struct vt_info_entry real = { .key = "real", .value = yes };

	begin(SOFT, SOFT, false);
	CU_ASSERT_PTR_NULL(devices.map);
	CU_ASSERT_EQUAL(devices.n_notes, 0);
	CU_ASSERT(!same("ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=127",
			"ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=128"));
	/* A trace of hardware and one of the emulator, with the same identity. */
	dirs[0].about = (struct vt_info){ .n = 1, .entry = &real };
	begin(SOFT, SOFT, false);
	CU_ASSERT(same("ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=127",
		       "ibv_create_cq context=ctx1 cqe=100 = cq1 cqe=128"));
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "names and addresses are those of the other trace",
		  test_names_and_addresses_are_those_of_the_other_trace },
		{ "answers of devices are noted", test_answers_of_devices_are_noted },
		{ "a line that differs leaves no note", test_a_line_that_differs_leaves_no_note },
		{ "an input may be an answer passed on", test_an_input_may_be_an_answer_passed_on },
		{ "headers of packets are those of devices",
		  test_headers_of_packets_are_those_of_devices },
		{ "questions may be more in one trace", test_questions_may_be_more_in_one_trace },
		{ "capabilities are compared if wanted", test_capabilities_are_compared_if_wanted },
		{ "equal devices leave lines as they are",
		  test_equal_devices_leave_lines_as_they_are },
		{ NULL, NULL },
	};

	return cu_run("diff_devices", tests);
}
