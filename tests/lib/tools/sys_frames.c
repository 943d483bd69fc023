/* SPDX-License-Identifier: MIT */
/*
 * Writes a capture of one packet of each opcode on each network, for tests/lib/py/frames_check.py.
 *	sys_frames FILE
 *
 * The pcapng file has an interface per network: "ip4", "ip6", "v1", "ib", "ib_grh"; and for the
 * last two also "erf" and "erf_grh", whose packets follow an ERF header. Fields follow from the
 * opcode, so that the check knows what they must be.
 */
#include "traces/formats/pcapng.h"
#include "traces/formats/roce.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
	const char *name;
	u8 net;
	bool erf;
} ifaces[] = {
	{ "ip4", ROCE_IP4, false },	  { "ip6", ROCE_IP6, false },
	{ "v1", ROCE_V1, false },	  { "ib", ROCE_IB, false },
	{ "ib_grh", ROCE_IB_GRH, false }, { "erf", ROCE_IB, true },
	{ "erf_grh", ROCE_IB_GRH, true },
};

static void die(const char *what, int error)
{
	fprintf(stderr, "sys_frames: %s: %s\n", what, strerror(-error));
	exit(1);
}

static struct roce_pkt packet_of(u32 net, u8 op)
{
	static const u8 ip4[2][16] = { { [10] = 0xff, 0xff, 10, 1, 0, 1 },
				       { [10] = 0xff, 0xff, 10, 1, 0, 2 } };
	static const u8 ip6[2][16] = { { 0xfd, 9, [15] = 1 }, { 0xfd, 9, [15] = 2 } };
	static u8 payload[300];
	struct roce_pkt p = {
		.net = (u8)net,
		.opcode = op,
		.eth_dst = { 2, 0, 0, 0, 0, 2 },
		.eth_src = { 2, 0, 0, 0, 0, 1 },
		.tclass = 0x68,
		.flow_label = 0x12345,
		.ip_id = 0x4321,
		.ip_frag = ROCE_IP_DF,
		.hop_limit = 63,
		.udp_src = 0xc123,
		.vl = 3,
		.sl = 5,
		.slid = 0x11,
		.dlid = 0x22,
		.solicited = op & 1,
		.mig = op >> 1 & 1,
		.pkey = 0x8001,
		.ecn = 0x40,
		.dqpn = 0x10000u + op,
		.ack_req = op >> 2 & 1,
		.psn = 0xfff000u + op,
		.eec = 0x33,
		.qkey = 0x11223344,
		.sqpn = 0x20000u + op,
		.srqn = 0x30000u + op,
		.flush = 0x5,
		.va = 0x1122334455667700u + op,
		.rkey = 0xaabb0000u + op,
		.dma_len = 300u + op,
		.swap = 0x0102030405060700u + op,
		.compare = 0x0807060504030200u + op,
		.syndrome = 0x1f,
		.msn = 0x40000u + op,
		.orig = 0x99aabbccddee0000u + op,
		.imm = 0xcafe0000u + op,
		.inv_rkey = 0xbeef0000u + op,
		.payload = payload,
	};
	u32 i;

	memcpy(p.sgid, net == ROCE_IP4 ? ip4[0] : ip6[0], 16);
	memcpy(p.dgid, net == ROCE_IP4 ? ip4[1] : ip6[1], 16);
	for (i = 0; i < sizeof(payload); i++)
		payload[i] = (u8)(i * 7 + op);
	if (roce_headers(op) & ROCE_PAYLOAD)
		p.payload_len = op == ROCE_OPCODE_CNP		 ? 16
				: (op & 31) == ROCE_ATOMIC_WRITE ? 8
								 : 200u + op % 4u;
	p.payload_cap = p.payload_len;
	return p;
}

static void write_one(struct pcapng *w, u32 iface, u8 op)
{
	static u8 frame[ROCE_ERF_LEN + ROCE_FRAME_MAX];
	struct roce_pkt p = packet_of(ifaces[iface].net, op);
	struct pcapng_pkt pkt = { .iface = iface, .frame = frame, .dir = PCAPNG_OUTBOUND };
	u32 at = ifaces[iface].erf ? ROCE_ERF_LEN : 0;
	char comment[32];
	int ret = roce_build(&p, frame + at, ROCE_FRAME_MAX, &pkt.len);

	if (ret < 0)
		die("roce_build", ret);
	snprintf(comment, sizeof(comment), "%s %u", ifaces[iface].name, op);
	pkt.ns = 1700000000ULL * 1000000000 + op;
	if (at)
		roce_erf_header(frame, pkt.ns, (u32)ret, pkt.len);
	pkt.caplen = at + (u32)ret;
	pkt.len += at;
	pkt.comment = comment;
	ret = pcapng_write(w, &pkt);
	if (ret)
		die("pcapng_write", ret);
}

/* Each name is also an interface's. */
static void add_ifaces(struct pcapng *w)
{
	struct pcapng_iface f = { 0 };
	u32 i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(ifaces); i++) {
		f.name = ifaces[i].name;
		f.link = ifaces[i].erf ? (u32)ROCE_LINK_ERF : roce_link_of(ifaces[i].net);
		ret = pcapng_add_iface(w, &f);
		if (ret < 0)
			die("pcapng_add_iface", ret);
	}
}

int main(int argc, char **argv)
{
	struct pcapng *w;
	u32 i, op;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: sys_frames FILE\n");
		return 2;
	}
	ret = pcapng_open(&w,
			  &(struct pcapng_opts){ .path = argv[1], .application = "sys_frames" });
	if (ret)
		die(argv[1], ret);
	add_ifaces(w);
	for (op = 0; op < 256; op++)
		for (i = 0; i < ARRAY_SIZE(ifaces) && roce_headers((u8)op); i++)
			write_one(w, i, (u8)op);
	ret = pcapng_close(w, 0);
	if (ret)
		die(argv[1], ret);
	return 0;
}
