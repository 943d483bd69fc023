/* SPDX-License-Identifier: MIT */
/*
 * The encoding of CM messages: those that Soft-RoCE sent for rping, and for a connection without a
 * listener, decode to the expected fields, and encode to the same bytes.
 */
#include "emulator/mad.h"
#include "tests/lib/c/cu.h"

#include <sys/socket.h>

static const u8
	req[MAD_SIZE] = {
		[0] = 0x01,  0x07,	  0x02,		0x03, [11] = 0x02, 0x08, 0xcf,
		0x45,	     0xa6,	  0x00,		0x10, [24] = 0xa6, 0x45, 0xcf,
		0x08,	     [36] = 0x01, 0x06,		0x1c, 0x06,	   0x00, 0x00,
		0x00,	     0xff,	  0xfe,		0x00, 0x00,	   0x01, [58] = 0x2c,
		0x01,	     0x00,	  0x00,		0x00, 0x01,	   0x00, 0x00,
		0x00,	     0xa0,	  0x59,		0x42, 0x27,	   0xa7, 0xff,
		0xff,	     0x57,	  0xf0,		0xff, 0xff,	   0xff, 0xff,
		[90] = 0xff, 0xff,	  0x0a,		0x01, 0x00,	   0x01, [106] = 0xff,
		0xff,	     0x0a,	  0x01,		0x00, 0x02,	   0x7c, 0x33,
		0x20,	     0x00,	  0x00,		0x40, 0x00,	   0x98, [165] = 0x40,
		0xc3,	     0x54,	  [180] = 0x0a, 0x01, 0x00,	   0x01, [196] = 0x0a,
		0x01,	     0x00,	  0x02,
	};

static const u8
	rep[MAD_SIZE] = {
		[0] = 0x01, 0x07,	 0x02,	      0x03, [11] = 0x02, 0x08, 0xcf, 0x45, 0xa6,
		0x00,	    0x13,	 [24] = 0xa5, 0x45, 0xcf,	 0x08, 0xa6, 0x45, 0xcf,
		0x08,	    [38] = 0x2c, 0x00,	      0x00, 0x00,	 0x00, 0x00, 0xa7, 0xef,
		0x47,	    0x00,	 0x01,	      0x01, 0x78,	 0xe0, 0x00, 0x00, 0x00,
		0xff,	    0xfe,	 0x00,	      0x00, 0x02,
	};

static const u8 rtu[MAD_SIZE] = {
	[0] = 0x01, 0x07,	 0x02, 0x03, [11] = 0x02, 0x08, 0xcf, 0x45, 0xa6, 0x00,
	0x14,	    [24] = 0xa6, 0x45, 0xcf, 0x08,	  0xa5, 0x45, 0xcf, 0x08,
};

static const u8 dreq[MAD_SIZE] = {
	[0] = 0x01,  0x07, 0x02, 0x03, [11] = 0x02, 0x08, 0xcf, 0x45, 0xa6, 0x00, 0x15,
	[24] = 0xa6, 0x45, 0xcf, 0x08, 0xa5,	    0x45, 0xcf, 0x08, 0x00, 0x00, 0x2c,
};

static const u8 drep[MAD_SIZE] = {
	[0] = 0x01, 0x07,	 0x02, 0x03, [11] = 0x02, 0x08, 0xcf, 0x45, 0xa6, 0x00,
	0x16,	    [24] = 0xa5, 0x45, 0xcf, 0x08,	  0xa6, 0x45, 0xcf, 0x08,
};

static const u8 rej[MAD_SIZE] = {
	[0] = 0x01, 0x07,	 0x02, 0x03, [11] = 0x02, 0x08, 0xcf, 0x45, 0xae, 0x00,
	0x12,	    [28] = 0xae, 0x45, 0xcf, 0x08,	  0x00, 0x00, 0x00, 0x08,
};

struct value {
	enum cm_field f;
	u64 v;
};

/* Decode, and encode anew. @n values, which are all that is not zero but for areas of bytes. */
static void check(const u8 mad[MAD_SIZE], const struct value *want, u32 n, u8 made[MAD_SIZE])
{
	u32 i;

	CU_ASSERT(mad_is_cm(mad));
	mad_start(made, (enum cm_attr)mad_get(mad, F_ATTR), mad_get(mad, F_TID));
	for (i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(mad_get(mad, want[i].f), want[i].v);
		mad_set(made, want[i].f, want[i].v);
	}
}

static void test_req(void)
{
	static const struct value want[] = {
		{ F_ATTR, MAD_REQ },
		{ F_TID, 0x208cf45a6 },
		{ F_LOCAL_ID, 0xa645cf08 },
		{ F_REQ_SERVICE_ID, 0x1061c06 },
		{ F_REQ_CA_GUID, 0x000000fffe000001 },
		{ F_REQ_QPN, 0x2c },
		{ F_REQ_RESPONDER_RESOURCES, 1 },
		{ F_REQ_INITIATOR_DEPTH, 1 },
		{ F_REQ_REMOTE_TIMEOUT, 20 },
		{ F_REQ_TRANSPORT, 0 },
		{ F_REQ_FLOW_CONTROL, 0 },
		{ F_REQ_PSN, 0x594227 },
		{ F_REQ_LOCAL_TIMEOUT, 20 },
		{ F_REQ_RETRY_COUNT, 7 },
		{ F_REQ_PKEY, 0xffff },
		{ F_REQ_MTU, 5 },
		{ F_REQ_RNR_RETRY, 7 },
		{ F_REQ_MAX_RETRIES, 15 },
		{ F_REQ_SRQ, 0 },
		{ F_REQ_EXT_TRANSPORT, 0 },
		{ F_REQ_LOCAL_LID, 0xffff },
		{ F_REQ_REMOTE_LID, 0xffff },
		{ F_REQ_FLOW_LABEL, 0x7c332 },
		{ F_REQ_HOP_LIMIT, 64 },
		{ F_REQ_SUBNET_LOCAL, 0 },
		{ F_REQ_ACK_TIMEOUT, 19 },
		{ F_REQ_ALT_LOCAL_LID, 0 },
	};
	static const u8 gid[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [13] = 1, [15] = 1 };
	u32 len, off = mad_private_data(MAD_REQ, &len);
	struct cm_addr local, peer;
	u8 made[MAD_SIZE];

	check(req, want, ARRAY_SIZE(want), made);
	CU_ASSERT_EQUAL(len, 92);
	CU_ASSERT(!memcmp(req + REQ_LOCAL_GID, gid, 16));
	CU_ASSERT_EQUAL(req[REQ_REMOTE_GID + 15], 2);
	CU_ASSERT_EQUAL(cma_get(req + off, 7174, &local, &peer), 0);
	CU_ASSERT_EQUAL(local.family, AF_INET);
	CU_ASSERT_EQUAL(local.port, 7174);
	CU_ASSERT_EQUAL(peer.port, 0xc354);
	CU_ASSERT(!memcmp(peer.ip, gid, 16));
	CU_ASSERT_EQUAL(local.ip[15], 2);
	memcpy(made + REQ_LOCAL_GID, req + REQ_LOCAL_GID, 32);
	cma_put(made + off, &peer, &local);
	CU_ASSERT(!memcmp(made, req, MAD_SIZE));
}

static void test_rep(void)
{
	static const struct value want[] = {
		{ F_ATTR, MAD_REP },
		{ F_LOCAL_ID, 0xa545cf08 },
		{ F_REMOTE_ID, 0xa645cf08 },
		{ F_REP_QPN, 0x2c },
		{ F_REP_PSN, 0xa7ef47 },
		{ F_REP_RESPONDER_RESOURCES, 1 },
		{ F_REP_INITIATOR_DEPTH, 1 },
		{ F_REP_ACK_DELAY, 15 },
		{ F_REP_FAILOVER, 0 },
		{ F_REP_FLOW_CONTROL, 0 },
		{ F_REP_RNR_RETRY, 7 },
		{ F_REP_SRQ, 0 },
		{ F_REP_CA_GUID, 0x000000fffe000002 },
	};
	u8 made[MAD_SIZE];

	check(rep, want, ARRAY_SIZE(want), made);
	CU_ASSERT(!memcmp(made, rep, MAD_SIZE));
}

static void test_small(void)
{
	static const struct value want_rtu[] = { { F_ATTR, MAD_RTU },
						 { F_LOCAL_ID, 0xa645cf08 },
						 { F_REMOTE_ID, 0xa545cf08 } };
	static const struct value want_dreq[] = { { F_ATTR, MAD_DREQ },
						  { F_LOCAL_ID, 0xa645cf08 },
						  { F_REMOTE_ID, 0xa545cf08 },
						  { F_DREQ_QPN, 0x2c } };
	static const struct value want_drep[] = { { F_ATTR, MAD_DREP },
						  { F_LOCAL_ID, 0xa545cf08 },
						  { F_REMOTE_ID, 0xa645cf08 } };
	static const struct value want_rej[] = {
		{ F_ATTR, MAD_REJ },	     { F_TID, 0x208cf45ae },	 { F_LOCAL_ID, 0 },
		{ F_REMOTE_ID, 0xae45cf08 }, { F_REJ_ABOUT, ABOUT_REQ }, { F_REJ_INFO_LEN, 0 },
		{ F_REJ_REASON, 8 },
	};
	u8 made[MAD_SIZE];

	check(rtu, want_rtu, ARRAY_SIZE(want_rtu), made);
	CU_ASSERT(!memcmp(made, rtu, MAD_SIZE));
	check(dreq, want_dreq, ARRAY_SIZE(want_dreq), made);
	CU_ASSERT(!memcmp(made, dreq, MAD_SIZE));
	check(drep, want_drep, ARRAY_SIZE(want_drep), made);
	CU_ASSERT(!memcmp(made, drep, MAD_SIZE));
	check(rej, want_rej, ARRAY_SIZE(want_rej), made);
	CU_ASSERT(!memcmp(made, rej, MAD_SIZE));
}

/* Every field takes what fits it, and leaves all others alone. */
static void test_fields(void)
{
	u8 mad[MAD_SIZE], was[MAD_SIZE];
	u64 all;
	u32 f;

	for (f = 0; f < F_COUNT; f++) {
		memset(mad, 0, sizeof(mad));
		mad_set(mad, (enum cm_field)f, ~0ULL);
		all = mad_get(mad, (enum cm_field)f);
		CU_ASSERT(all && !(all & (all + 1)));
		mad_set(mad, (enum cm_field)f, 0);
		CU_ASSERT_EQUAL(mad_get(mad, (enum cm_field)f), 0);
		memset(was, 0xff, sizeof(was));
		memcpy(mad, was, sizeof(mad));
		mad_set(mad, (enum cm_field)f, all);
		CU_ASSERT(!memcmp(mad, was, sizeof(mad)));
		mad_set(mad, (enum cm_field)f, 0x5a5a5a5a5a5a5a5aULL);
		CU_ASSERT_EQUAL(mad_get(mad, (enum cm_field)f), 0x5a5a5a5a5a5a5a5aULL & all);
		mad_set(mad, (enum cm_field)f, all);
		CU_ASSERT(!memcmp(mad, was, sizeof(mad)));
	}
}

static void test_private(void)
{
	/* Lengths of private data, IBTA tables 106 to 120. */
	static const u32 lens[] = { 92, 222, 148, 196, 224, 220, 224, 216, 136, 168, 148 };
	u32 attr, len, off;

	for (attr = MAD_REQ; attr < MAD_ATTR_END; attr++) {
		off = mad_private_data((enum cm_attr)attr, &len);
		CU_ASSERT_EQUAL(len, lens[attr - MAD_REQ]);
		CU_ASSERT_EQUAL(off + len, MAD_SIZE);
	}
}

static void test_cma(void)
{
	struct cm_addr src = { .family = AF_INET6, .port = 1234 }, dst = src, local, peer;
	u8 hdr[CMA_HDR];

	memcpy(src.ip,
	       "\xfe\x80"
	       "abcdefghijklmn",
	       16);
	memcpy(dst.ip,
	       "\xfe\x80"
	       "nmlkjihgfedcba",
	       16);
	cma_put(hdr, &src, &dst);
	CU_ASSERT_EQUAL(hdr[1], 0x60);
	CU_ASSERT_EQUAL(cma_get(hdr, 99, &local, &peer), 0);
	CU_ASSERT_EQUAL(local.port, 99);
	CU_ASSERT_EQUAL(peer.port, 1234);
	CU_ASSERT(!memcmp(peer.ip, src.ip, 16) && !memcmp(local.ip, dst.ip, 16));
	hdr[1] = 0x50;
	CU_ASSERT_EQUAL(cma_get(hdr, 99, &local, &peer), -EAFNOSUPPORT);
	hdr[0] = 1;
	CU_ASSERT_EQUAL(cma_get(hdr, 99, &local, &peer), -EINVAL);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "rxe's REQ", test_req },
		{ "rxe's REP", test_rep },
		{ "rxe's RTU, DREQ, DREP, REJ", test_small },
		{ "each field alone", test_fields },
		{ "private data", test_private },
		{ "addresses of the rdma_cm", test_cma },
		{ NULL, NULL },
	};

	return cu_run("cmmad", tests);
}
