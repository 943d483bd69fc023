/* SPDX-License-Identifier: MIT */
/** DOC: port counters: the counts of the latest packets, and how readers see them. */
#include "emulator/port.h"
#include "emulator/port_counter.h"

void port_add_packets(struct hca_port *p, enum pkt_move how, u64 npkts, u64 bytes)
{
	if (how != MOVE_RECEIVED) {
		p->counters[CNT_XMIT_PKTS] += npkts;
		p->counters[CNT_XMIT_BYTES] += bytes;
	}
	if (how != MOVE_SENT) {
		p->counters[CNT_RCV_PKTS] += npkts;
		p->counters[CNT_RCV_BYTES] += bytes;
	}
}

static void fresh_add_to_port(const struct hca_fresh *f, struct hca_port *p)
{
	u32 how;

	for (how = 0; how < MOVE_COUNT; how++)
		port_add_packets(p, how, f->pkts[how], f->bytes[how]);
	p->counters[CNT_RDMA_SENDS] += f->sends;
	p->counters[CNT_RDMA_RECVS] += f->recvs;
}

void fresh_flush(struct hca *hca)
{
	struct hca_fresh f = hca->fresh;
	struct hca_port *p = port_of(hca, f.key >> 8, f.key & 0xff);

	memset(&hca->fresh, 0, sizeof(hca->fresh));
	if (p)
		fresh_add_to_port(&f, p);
}

void hca_dev_snapshot(const struct hca *hca, u32 dev, struct hca_dev *out)
{
	struct hca_fresh f = hca->fresh;

	*out = hca->dev[dev];
	if (f.key >> 8 == dev && (f.key & 0xff) <= HCA_MAX_PORTS)
		fresh_add_to_port(&f, &out->port[f.key & 0xff]);
}
