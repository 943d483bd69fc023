/* SPDX-License-Identifier: MIT */
/* Frames that are wrong: what the parser says of each. */
#include "tests/lib/c/cu.h"
#include "tests/unit/traces/formats/roce_any.h"

#include <errno.h>

static u8 frame[ROCE_FRAME_MAX + 16];

/** struct edit - bytes @at of a frame become @to (@n of them), or it is @len long. */
struct edit {
	u32 net, at, n;
	u64 to;
	u32 len;
	int ret;
	u32 wrong;
};

/*
 * A SEND of 5 bytes: 14 + 20 + 8 + 12 + 8 + 4 bytes of the frame in IPv4, with its Ethernet header.
 */
static const struct edit edits[] = {
	{ ROCE_IP4, 12, 2, 0x0806, 0, -ENOMSG, 0 },
	{ ROCE_IP4, 14, 1, 0x55, 0, -ENOMSG, 0 },
	{ ROCE_IP4, 14, 1, 0x44, 0, -EBADMSG, ROCE_BAD_LEN },
	{ ROCE_IP4, 16, 2, 0xffff, 0, -EBADMSG, ROCE_BAD_LEN },
	{ ROCE_IP4, 16, 2, 8, 0, -EBADMSG, ROCE_BAD_LEN },
	{ ROCE_IP4, 20, 2, 1, 0, -ENOMSG, 0 },
	{ ROCE_IP4, 22, 1, 1, 0, 0, ROCE_BAD_IP_CSUM },
	{ ROCE_IP4, 23, 1, 6, 0, -ENOMSG, 0 },
	{ ROCE_IP4, 36, 2, 4790, 0, -ENOMSG, 0 },
	{ ROCE_IP4, 38, 2, 7, 0, -EBADMSG, ROCE_BAD_LEN },
	{ ROCE_IP4, 38, 2, 0xffff, 0, -EBADMSG, ROCE_BAD_LEN },
	{ ROCE_IP4, 38, 2, 28, 0, 0, ROCE_BAD_LEN | ROCE_BAD_ICRC },
	{ ROCE_IP4, 38, 2, 12, 0, -EBADMSG, ROCE_BAD_LEN | ROCE_BAD_SHORT },
	{ ROCE_IP4, 40, 2, 0x1234, 0, 0, ROCE_BAD_UDP_CSUM },
	{ ROCE_IP4, 42, 1, 0x18, 0, 0, ROCE_BAD_OPCODE | ROCE_BAD_ICRC },
	{ ROCE_IP4, 42, 1, 0x11, 0, 0, ROCE_BAD_PAYLOAD | ROCE_BAD_ICRC },
	{ ROCE_IP4, 43, 1, 0x01, 0, 0, ROCE_BAD_TVER | ROCE_BAD_ICRC },
	{ ROCE_IP4, 62, 4, 0, 0, 0, ROCE_BAD_ICRC },
	{ ROCE_IP4, 0, 0, 0, 65, -EBADMSG, ROCE_BAD_LEN },
	{ ROCE_IP4, 0, 0, 0, 80, 0, 0 },
	{ ROCE_IP6, 14, 1, 0x40, 0, -ENOMSG, ROCE_BAD_GRH },
	{ ROCE_IP6, 18, 2, 0xffff, 0, -EBADMSG, ROCE_BAD_LEN },
	{ ROCE_IP6, 20, 1, 58, 0, -ENOMSG, 0 },
	{ ROCE_V1, 14, 1, 0x40, 0, -EBADMSG, ROCE_BAD_GRH },
	{ ROCE_V1, 20, 1, 17, 0, -ENOMSG, 0 },
	{ ROCE_IB, 0, 1, 0x01, 0, 0, ROCE_BAD_GRH | ROCE_BAD_ICRC | ROCE_BAD_VCRC },
	{ ROCE_IB, 1, 1, 0x00, 0, -ENOMSG, 0 },
	{ ROCE_IB, 4, 2, 1, 0, -EBADMSG, ROCE_BAD_LEN },
	{ ROCE_IB, 4, 2, 0x7ff, 0, -EBADMSG, ROCE_BAD_LEN },
	{ ROCE_IB, 4, 2, 4, 0, -EBADMSG, ROCE_BAD_SHORT },
	{ ROCE_IB, 0, 0, 0, 32, 0, 0 }, /* captured without its VCRC */
	{ ROCE_IB_GRH, 8, 1, 0, 0, -EBADMSG, ROCE_BAD_GRH },
	{ ROCE_IB_GRH, 14, 1, 17, 0, -ENOMSG, 0 },
	{ ROCE_IB_GRH, 12, 2, 20, 0, 0, ROCE_BAD_LEN | ROCE_BAD_ICRC },
};

static void test_wrong(void)
{
	const struct edit *e;
	struct roce_pkt p, q;
	u32 wire, i, len;

	for (e = edits; e < edits + ARRAY_SIZE(edits); e++) {
		p = roce_any(e->net, ROCE_SEND_ONLY, 5);
		memset(frame, 0, 128);
		roce_build(&p, frame, sizeof(frame), &wire);
		for (i = 0; i < e->n; i++)
			frame[e->at + i] = (u8)(e->to >> 8 * (e->n - 1 - i));
		len = e->len ? e->len : wire;
		CU_ASSERT_EQUAL(roce_parse(roce_link_of(e->net), frame, len, len, &q), e->ret);
		CU_ASSERT_EQUAL(q.wrong, e->wrong);
		if (q.wrong != e->wrong)
			printf("# edit %zu: %#x, not %#x\n", (size_t)(e - edits), q.wrong,
			       e->wrong);
		CU_ASSERT_EQUAL(!e->wrong, !*roce_wrong_text(q.wrong));
	}
	/* Pad: all four counts of a packet that has one byte of payload and three of pad. */
	p = roce_any(ROCE_IB, ROCE_SEND_ONLY, 0);
	roce_build(&p, frame, sizeof(frame), &wire);
	frame[9] |= 0x30;
	CU_ASSERT_EQUAL(roce_parse(ROCE_LINK_IB, frame, wire, wire, &q), -EBADMSG);
	CU_ASSERT_EQUAL(q.wrong, ROCE_BAD_PAD);
	CU_ASSERT_EQUAL(roce_parse(105, frame, wire, wire, &q), -ENOMSG);
	CU_ASSERT_EQUAL(roce_parse(ROCE_LINK_IB, frame, 0, 0, &q), -EBADMSG);
}

/* A UDP checksum, where there is one. */
static void test_udp_csum(void)
{
	struct roce_pkt p, q;
	u32 net, wire, sum, right;

	for (net = ROCE_IP4; net <= ROCE_IP6; net++) {
		p = roce_any(net, ROCE_SEND_ONLY, 7);
		for (sum = 1, right = 0; sum < 65536; sum++) {
			p.udp_csum = (u16)sum;
			roce_build(&p, frame, sizeof(frame), &wire);
			CU_ASSERT_EQUAL(roce_parse(ROCE_LINK_ETHERNET, frame, wire, wire, &q), 0);
			right += !(q.wrong & ROCE_BAD_UDP_CSUM);
		}
		CU_ASSERT_EQUAL(right, 1);
	}
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "wrong frames", test_wrong },
		{ "UDP checksums", test_udp_csum },
		{ NULL, NULL },
	};

	return cu_run("roce parser", tests);
}
