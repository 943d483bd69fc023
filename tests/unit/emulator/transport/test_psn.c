/* SPDX-License-Identifier: MIT */
/* The arithmetic: PSNs, timers, packets, splitting of bursts. */
#include "tests/lib/c/cu.h"
#include "emulator/burst.h"

static void test_psn(void)
{
	CU_ASSERT_EQUAL(psn_add(0xffffff, 1), 0);
	CU_ASSERT_EQUAL(psn_add(5, 0xffffff), 4);
	CU_ASSERT_EQUAL(psn_diff(0, 0xffffff), 1);
	CU_ASSERT_EQUAL(psn_diff(0xffffff, 0), -1);
	CU_ASSERT_EQUAL(psn_diff(0x7fffff, 0), 0x7fffff);
	CU_ASSERT_EQUAL(psn_diff(0x800000, 0), -0x800000);
	CU_ASSERT_EQUAL(psn_diff(0x123456, 0x123456), 0);
}

static void test_timers(void)
{
	/* IBTA table 45, in units of 10 us. */
	static const u32 rnr[32] = { 65536, 1,	  2,	3,     4,     6,     8,	    12,
				     16,    24,	  32,	48,    64,    96,    128,   192,
				     256,   384,  512,	768,   1024,  1536,  2048,  3072,
				     4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152 };

	for (u32 i = 0; i < 32; i++)
		CU_ASSERT_EQUAL(ib_rnr_timer_ns(i), rnr[i] * 10000ULL);
	CU_ASSERT_EQUAL(ib_ack_timeout_ns(0), 0);
	CU_ASSERT_EQUAL(ib_ack_timeout_ns(1), 8192);
	CU_ASSERT_EQUAL(ib_ack_timeout_ns(14), 67108864);
	CU_ASSERT_EQUAL(ib_ack_timeout_ns(31), 4096ULL << 31);
}

static void test_packets(void)
{
	CU_ASSERT_EQUAL(packets_of(0, 1024), 1);
	CU_ASSERT_EQUAL(packets_of(1, 1024), 1);
	CU_ASSERT_EQUAL(packets_of(1024, 1024), 1);
	CU_ASSERT_EQUAL(packets_of(1025, 1024), 2);
	CU_ASSERT_EQUAL(packets_of(1u << 30, 256), 1u << 22);
}

static void test_split(void)
{
	const struct hca_mem mem = { .n = 1 };
	const u8 tail = BF_LAST | BF_IMM | BF_SOLICITED | BF_ACK_REQ;
	const struct burst b = { .op = BOP_SEND,
				 .flags = BF_FIRST | tail,
				 .psn = 0xfffffe,
				 .npkts = 5,
				 .mtu = 1024,
				 .len = 4500,
				 .off = 100,
				 .mem = &mem };
	struct burst p;
	u64 total = 0;

	for (u32 i = 0; i < 5; i++) {
		burst_split(&b, i, 1, &p);
		CU_ASSERT_EQUAL(p.psn, psn_add(0xfffffe, i));
		CU_ASSERT_EQUAL(p.npkts, 1);
		CU_ASSERT_EQUAL(p.off, 100 + i * 1024);
		CU_ASSERT_EQUAL(p.len, i == 4 ? 404 : 1024);
		CU_ASSERT_EQUAL(p.flags, (i ? 0 : BF_FIRST) | (i == 4 ? tail : 0));
		total += p.len;
	}
	CU_ASSERT_EQUAL(total, b.len);
	burst_split(&b, 1, 4, &p);
	CU_ASSERT_EQUAL(p.len, 4500 - 1024);
	CU_ASSERT_EQUAL(p.flags, tail);
	burst_split(&b, 0, 5, &p);
	CU_ASSERT_EQUAL(p.len, b.len);
	CU_ASSERT_EQUAL(p.flags, b.flags);
}

static const struct cu_test tests[] = {
	{ "PSN arithmetic wraps at 2^24", test_psn },
	{ "RNR and ack timers", test_timers },
	{ "packets of a message", test_packets },
	{ "a burst is split without loss", test_split },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("arithmetic", tests);
}
