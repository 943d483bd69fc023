/* SPDX-License-Identifier: MIT */
/**
 * DOC: ports' counters: what counts with each message, and how readers see it.
 */
#include "emulator/model.h"

static void add(const struct hca_fresh *f, u64 *c)
{
	c[CNT_XMIT_PKTS] += f->xmit_pkts + (u32)f->loop_pkts;
	c[CNT_XMIT_BYTES] += (u64)f->xmit_bytes + f->loop_bytes;
	c[CNT_RCV_PKTS] += f->rcv_pkts + (u32)f->loop_pkts;
	c[CNT_RCV_BYTES] += (u64)f->rcv_bytes + f->loop_bytes;
	c[CNT_RDMA_SENDS] += f->sends;
	c[CNT_RDMA_RECVS] += f->recvs;
}

void fresh_flush(struct hca *hca)
{
	struct hca_fresh f = hca->fresh;
	struct hca_port *p = port_of(hca, f.key >> 8, f.key & 0xff);

	memset(&hca->fresh, 0, sizeof(hca->fresh));
	if (p)
		add(&f, p->counters);
}

void hca_dev_now(const struct hca *hca, u32 dev, struct hca_dev *out)
{
	struct hca_fresh f = hca->fresh;

	*out = hca->dev[dev];
	if (f.key >> 8 == dev && (f.key & 0xff) <= HCA_MAX_PORTS)
		add(&f, out->port[f.key & 0xff].counters);
}
