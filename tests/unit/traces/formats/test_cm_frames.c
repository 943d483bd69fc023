/* SPDX-License-Identifier: MIT */
/*
 * CM messages of a connection, in their order, as frames.
 *	test_cm_frames [FILE]	FILE: as frames of RoCE v2 in a capture, for tshark
 */
#include "emulator/mad.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cm.h"
#include "traces/formats/pcapng.h"
#include "traces/formats/roce.h"

static struct pcapng *capture;

/* The datagram from QP 1 to QP 1. */
static void write_frame(const struct hca *hca, const struct hca_cmmad *m, u32 sec)
{
	struct roce_pkt r = { .net = ROCE_IP4,
			      .eth_dst = { [5] = 2 },
			      .eth_src = { [5] = 1 },
			      .hop_limit = 64,
			      .udp_src = 49152,
			      .opcode = ROCE_OPCODE(ROCE_UD, ROCE_SEND_ONLY),
			      .pkey = IB_DEFAULT_PKEY,
			      .dqpn = GSI_QPN,
			      .sqpn = GSI_QPN,
			      .qkey = GSI_QKEY,
			      .payload = m->mad,
			      .payload_len = MAD_SIZE,
			      .payload_cap = MAD_SIZE };
	u8 frame[ROCE_HDR_MAX + MAD_SIZE];
	struct pcapng_pkt p = { .ns = sec * 1000000000ULL, .frame = frame };
	int n;

	memcpy(r.sgid, hca->dev[0].port[m->av.port_num].gid[m->av.sgid_index].raw, 16);
	memcpy(r.dgid, m->av.dgid, 16);
	n = roce_build(&r, frame, sizeof(frame), &p.len);
	CU_ASSERT_FATAL(n > 0);
	p.caplen = (u32)n;
	CU_ASSERT_EQUAL(pcapng_write(capture, &p), 0);
}

/* The packets sent so far have these attributes. */
static void sent(const struct emu_cm *c, const u32 *attr, u32 n)
{
	const struct hca *hca = c->m->hca;
	u32 i;

	CU_ASSERT_EQUAL_FATAL(hca->cm_sent, n);
	for (i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(mad_get(hca->cm_mad[i].mad, F_ATTR), attr[i]);
		if (capture)
			write_frame(hca, &hca->cm_mad[i], i);
	}
}

static void test_connection(void)
{
	static const u32 wanted[] = { MAD_REQ, MAD_REP, MAD_RTU, MAD_DREQ, MAD_DREP };
	struct emu_cm *c = emu_cm_new(1, CM_PS_TCP, 0);
	struct emu_id a, b;
	struct cm_event ev;

	CU_ASSERT_FATAL(emu_cm_pair(c, &a, &b));
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &a), 0);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_DISCONNECTED, 0, &ev));
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &b), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_DISCONNECTED, 0, &ev));
	sent(c, wanted, ARRAY_SIZE(wanted));
	emu_cm_free(c);
}

static void test_refused(void)
{
	static const u32 wanted[] = { MAD_REQ, MAD_REJ };
	struct emu_cm *c = emu_cm_new(1, CM_PS_TCP, 0);
	struct emu_id a = emu_cm_active(c);
	struct cm_event ev;

	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &c->listener), 0);
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_REJECTED, CM_REJ_INVALID_SERVICE_ID, &ev));
	sent(c, wanted, ARRAY_SIZE(wanted));
	emu_cm_free(c);
}

static void test_datagrams(void)
{
	static const u32 wanted[] = { MAD_SIDR_REQ, MAD_SIDR_REP };
	struct emu_cm *c = emu_cm_new(1, CM_PS_UDP, 0);
	struct emu_id a = emu_cm_active(c), b;
	struct cm_event ev;

	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &b, NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_ESTABLISHED, 0, &ev));
	sent(c, wanted, ARRAY_SIZE(wanted));
	emu_cm_free(c);
}

int main(int argc, char **argv)
{
	static const struct cu_test tests[] = {
		{ "a connection", test_connection },
		{ "one that is refused", test_refused },
		{ "datagrams", test_datagrams },
		{ NULL, NULL },
	};
	static const struct pcapng_iface port = { .name = "port", .link = ROCE_LINK_ETHERNET };
	int status;

	if (argc > 1 && (pcapng_open(&capture, &(struct pcapng_opts){ .path = argv[1] }) ||
			 pcapng_add_iface(capture, &port))) {
		fprintf(stderr, "test_cm_frames: %s: cannot be written\n", argv[1]);
		return 1;
	}
	status = cu_run("cmpcap", tests);
	return capture && pcapng_close(capture, 0) ? 1 : status;
}
