/* SPDX-License-Identifier: MIT */
/* Bursts as frames of joined fabrics: each decodes to what was encoded; bad ones are refused. */
#include "fabric/join/proto.h"
#include "tests/lib/c/cu.h"
#include "tests/unit/fabric/join/samples.h"

#include <stdlib.h>

/* Puts it, with a payload, and gets it again. */
static int around(const struct burst *b, u8 lane, struct burst *out, struct hca_av *av)
{
	u8 body[8192] = { 0 };
	u32 size = join_burst_size(b), data = join_data_len(b), i;
	const u8 *at = NULL;
	int ret;
	u8 *p;

	for (i = 0; i < data; i++)
		body[size + i] = (u8)(i * 7);
	join_burst_put(body, b, 5, 6);
	p = tight(body, size + data);
	ret = join_burst_get(p, size + data, lane, out, av, &at);
	if (!ret)
		CU_ASSERT_PTR_EQUAL(at, p + size);
	free(p);
	return ret;
}

static void test_burst(void)
{
	struct burst b = write_burst(), got;
	struct hca_av av;

	CU_ASSERT_EQUAL(around(&b, LANE_REQUEST, &got, &av), 0);
	CU_ASSERT_EQUAL(got.src_dev, 5);
	CU_ASSERT_EQUAL(got.dst_dev, 6);
	b.src_dev = 5;
	b.dst_dev = 6;
	CU_ASSERT_EQUAL(memcmp(&b.path, &got.path, sizeof(b.path)), 0);
	CU_ASSERT_EQUAL(got.psn, b.psn);
	CU_ASSERT_EQUAL(got.va, b.va);
	CU_ASSERT_EQUAL(got.rkey, b.rkey);
	CU_ASSERT_EQUAL(got.len, b.len);
	CU_ASSERT_EQUAL(got.dma_len, b.dma_len);
	CU_ASSERT_PTR_NULL(got.av);
	/* In its own lane only. */
	CU_ASSERT_EQUAL(around(&b, LANE_ANSWER, &got, &av), -EPROTO);
}

/* Frames of two bursts from the same QP to the same QP, and where one of them differs. */
static void test_neighbours(void)
{
	const struct join_hdr h = {
		.len = JOIN_HDR + JOIN_BURST, .type = JT_BURST, .src = 1, .dst = 2
	};
	u8 x[JOIN_HDR + JOIN_BURST], y[sizeof(x)];
	struct burst b = write_burst();
	u32 i;

	join_hdr_put(x, &h);
	join_burst_put(x + JOIN_HDR, &b, 5, 6);
	b.psn++;
	b.va += 64;
	memcpy(y, x, sizeof(x));
	join_burst_put(y + JOIN_HDR, &b, 5, 6);
	CU_ASSERT_TRUE(join_burst_same_flow(x, y));
	CU_ASSERT_TRUE(join_burst_shares_ack(&b, y));
	for (i = 4; i < JOIN_HDR + 29; i++) {
		if (i >= JOIN_HDR && i < JOIN_HDR + 8)
			continue;
		y[i] ^= 1;
		CU_ASSERT_FALSE(join_burst_same_flow(x, y));
		y[i] ^= 1;
	}
	y[0]--; /* too short for a burst */
	CU_ASSERT_FALSE(join_burst_same_flow(x, y));
	b.op = BOP_READ_REQ;
	CU_ASSERT_FALSE(join_burst_shares_ack(&b, y));
	b.op = BOP_WRITE;
	y[JOIN_HDR + 1] &= (u8)~BF_ACK_REQ;
	CU_ASSERT_FALSE(join_burst_shares_ack(&b, y));
}

static void test_datagram(void)
{
	struct hca_av to = { .dgid = { 0xff, 0x12, [15] = 9 },
			     .is_global = 1,
			     .sgid_index = 3,
			     .flow_label = 0x12345,
			     .hop_limit = 64,
			     .traffic_class = 32,
			     .dlid = 0xc001,
			     .sl = 5 };
	struct burst b = datagram(&to), got;
	struct hca_av av;

	CU_ASSERT_EQUAL(around(&b, LANE_REQUEST, &got, &av), 0);
	CU_ASSERT_PTR_EQUAL(got.av, &av);
	CU_ASSERT_EQUAL(memcmp(av.dgid, to.dgid, 16), 0);
	CU_ASSERT_EQUAL(av.flow_label, to.flow_label);
	CU_ASSERT_EQUAL(av.sgid_index, 3);
	CU_ASSERT_EQUAL(av.dlid, 0xc001);
	CU_ASSERT_EQUAL(av.sl, 5);
	CU_ASSERT_EQUAL(got.qkey, b.qkey);
	CU_ASSERT_EQUAL(got.imm, b.imm);
	to.sgid_index = HCA_GIDS;
	CU_ASSERT_EQUAL(around(&b, LANE_REQUEST, &got, &av), -EPROTO);
	/* One packet, no more. */
	to.sgid_index = 0;
	b.len = 5000;
	b.npkts = 2;
	CU_ASSERT_EQUAL(around(&b, LANE_REQUEST, &got, &av), -EPROTO);
}

static void test_void(void)
{
	struct burst b = write_burst(), got;
	u8 body[JOIN_BURST + 1] = { 0 };
	const u8 *data = body;
	struct hca_av av;

	join_burst_put(body, &b, 0, 0);
	join_burst_void(body);
	CU_ASSERT_EQUAL(join_burst_get(body, JOIN_BURST, LANE_REQUEST, &got, &av, &data), 0);
	CU_ASSERT_PTR_NULL(data);
	CU_ASSERT_EQUAL(got.len, b.len);
	CU_ASSERT_EQUAL(join_burst_get(body, sizeof(body), LANE_REQUEST, &got, &av, &data),
			-EPROTO);
}

static void test_read_request(void)
{
	struct burst b = write_burst(), got;
	struct hca_av av;

	b.op = BOP_READ_REQ;
	b.dma_len = b.len = 1 << 20;
	b.npkts = 1024;
	CU_ASSERT_EQUAL(join_data_len(&b), 0);
	CU_ASSERT_EQUAL(around(&b, LANE_REQUEST, &got, &av), 0);
	CU_ASSERT_EQUAL(got.len, 1 << 20);
	/* More than any answer may carry. */
	b.dma_len++;
	b.npkts++;
	CU_ASSERT_EQUAL(around(&b, LANE_REQUEST, &got, &av), -EPROTO);
}

static void test_bad_bursts(void)
{
	struct burst b, got;
	struct hca_av av;
	u32 i;

	for (i = 0; i < 10; i++) {
		b = write_burst();
		switch (i) {
		case 0:
			b.npkts = 2;
			break;
		case 1:
			b.mtu = 1000;
			break;
		case 2:
			b.op = BOP_NONE;
			break;
		case 3:
			b.flags = 0x80;
			break;
		case 4:
			b.flags = BF_FIRST; /* not whole packets, and more to come */
			break;
		case 5:
			b.flags = BF_FIRST | BF_IMM;
			break;
		case 6:
			b.src_port = 0;
			break;
		case 7:
			b.dst_type = QPT_RAW_PACKET;
			break;
		case 8:
			b.psn = 1 << 24;
			break;
		default:
			b.dma_len = (u64)LIM_MSG + 1;
			break;
		}
		CU_ASSERT_EQUAL(around(&b, LANE_REQUEST, &got, &av), -EPROTO);
	}
}

static const struct cu_test tests[] = {
	{ "a burst", test_burst },
	{ "neighbours", test_neighbours },
	{ "a datagram", test_datagram },
	{ "a burst without its payload", test_void },
	{ "a READ request", test_read_request },
	{ "bursts that are wrong", test_bad_bursts },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("codec_burst", tests);
}
