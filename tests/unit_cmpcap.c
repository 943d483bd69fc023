/* SPDX-License-Identifier: MIT */
/*
 * The messages of connections as they go over a link, in their order.
 *	unit_cmpcap [FILE]	FILE: as frames of RoCE v2 in a capture, for tshark
 */
#include "emulator/frame.h"
#include "tests/cu.h"
#include "tests/emu_cm.h"

#include <stdio.h>

#define LINK_TYPE_ETHERNET 1u

enum { ETH = 14, IP = 20, UDP = 8, BTH_DETH = 12 + 8, ICRC = 4 };

#define FRAME (ETH + IP + UDP + BTH_DETH + MAD_SIZE + ICRC)

static FILE *capture;

static void ip_header(u8 *p, const u8 sgid[16], const u8 dgid[16])
{
	p[0] = 0x45;
	put16(p + 2, FRAME - ETH);
	p[8] = 64; /* hops */
	p[9] = 17; /* UDP */
	memcpy(p + 12, sgid + 12, 4);
	memcpy(p + 16, dgid + 12, 4);
	put16(p + 10, ip_csum(p, IP));
}

/* The datagram from QP 1 to QP 1. Its ICRC is left zero: nobody checks it in a capture. */
static void write_frame(const struct hca *hca, const struct hca_cmmad *m, u32 sec)
{
	const struct {
		u32 sec, usec, len, orig;
	} head = { sec, 0, FRAME, FRAME };
	const struct hca_port *from = &hca->dev[0].port[m->av.port_num];
	u8 f[FRAME] = { 0 }, *p = f + ETH;

	f[5] = 2;
	f[11] = 1;
	put16(f + 12, 0x0800);
	ip_header(p, from->gid[m->av.sgid_index].raw, m->av.dgid);
	p += IP;
	put16(p, 49152);
	put16(p + 2, 4791);
	put16(p + 4, FRAME - ETH - IP);
	p += UDP;
	p[0] = 0x64; /* UD SEND_ONLY */
	put16(p + 2, IB_DEFAULT_PKEY);
	p[7] = GSI_QPN;
	memcpy(p + 12, (const u8[]){ 0x80, 0x01, 0x00, 0x00, 0, 0, 0, GSI_QPN }, 8);
	memcpy(p + BTH_DETH, m->mad, MAD_SIZE);
	CU_ASSERT_EQUAL(fwrite(&head, sizeof(head), 1, capture), 1);
	CU_ASSERT_EQUAL(fwrite(f, FRAME, 1, capture), 1);
}

/* What was sent so far is this. */
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
	static const u32 head[6] = { 0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, LINK_TYPE_ETHERNET };
	int status;

	if (argc > 1) {
		capture = fopen(argv[1], "wb");
		if (!capture || fwrite(head, sizeof(head), 1, capture) != 1) {
			perror(argv[1]);
			return 1;
		}
	}
	status = cu_run("cmpcap", tests);
	return capture && fclose(capture) ? 1 : status;
}
