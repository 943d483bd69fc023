/* SPDX-License-Identifier: MIT */
/** DOC: port counters: the counts of the latest packets, and how readers see them. */
#include "emulator/port.h"
#include "emulator/port_counter.h"

void port_add_packets(struct hca_port *p, enum pkt_move how, u64 npkts, u64 bytes)
{
	if (how == MOVE_SENT) {
		p->counters[CNT_XMIT_PKTS] += npkts;
		p->counters[CNT_XMIT_BYTES] += bytes;
	} else {
		p->counters[CNT_RCV_PKTS] += npkts;
		p->counters[CNT_RCV_BYTES] += bytes;
	}
}

/* @i: 0: the first port of the two; 1: the second */
static void fresh_add_to_port(const struct hca_fresh *f, u32 i, struct hca_port *p)
{
	port_add_packets(p, MOVE_SENT, f->pkts[i], f->bytes[i]);
	port_add_packets(p, MOVE_RECEIVED, f->pkts[!i], f->bytes[!i]);
	p->counters[CNT_RDMA_SENDS] += f->sends[i];
	p->counters[CNT_RDMA_RECVS] += f->recvs[i];
}

static u32 fresh_key(const struct hca_fresh *f, u32 i)
{
	return f->ports >> 16 * i & 0xffff;
}

void fresh_begin(struct hca *hca, u32 ports)
{
	struct hca_fresh f = hca->fresh;
	struct hca_port *p;
	u32 i;

	hca->fresh = (struct hca_fresh){ .ports = ports };
	for (i = 0; i < 2; i++) {
		p = port_of(hca, fresh_key(&f, i) >> 2, fresh_key(&f, i) & 3);
		if (p)
			fresh_add_to_port(&f, i, p);
	}
}

void hca_dev_snapshot(const struct hca *hca, u32 dev, struct hca_dev *out)
{
	struct hca_fresh f = hca->fresh;
	u32 i, port;

	*out = hca->dev[dev];
	for (i = 0; i < 2; i++) {
		port = fresh_key(&f, i) & 3;
		if (fresh_key(&f, i) >> 2 == dev && port <= HCA_MAX_PORTS)
			fresh_add_to_port(&f, i, &out->port[port]);
	}
}
