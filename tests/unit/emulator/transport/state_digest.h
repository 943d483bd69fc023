/* SPDX-License-Identifier: MIT */
/**
 * DOC: digests of everything that the engine has written: HCA memory but for the record of the last
 * commit, the clients' rings and events, and their memory.
 */
#ifndef TESTS_UNIT_EMULATOR_TRANSPORT_STATE_DIGEST_H
#define TESTS_UNIT_EMULATOR_TRANSPORT_STATE_DIGEST_H

#include "emulator/port_counter.h"
#include "tests/lib/engine/emu.h"

enum part { PART_HCA, PART_QP, PART_CQ, PART_PORT, PART_JOURNAL, PART_RING, PART_MEM, PARTS };

static const char *const part_names[PARTS] = { "HCA",	  "QPs",   "CQs",   "port",
					       "journal", "rings", "memory" };

/* One piece of work's digests. */
typedef u64 digests[PARTS];

static inline u64 digest(u64 h, const void *data, size_t n)
{
	const u8 *p = data;
	u64 w;

	for (; n; n -= min_u64(n, 8), p += 8) {
		w = 0;
		memcpy(&w, p, min_u64(n, 8));
		h = (h ^ w) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h;
}

/* When the client's index was read last makes no difference. */
static inline u64 digest_cq(u64 h, const struct hca_cq *cq)
{
	struct hca_cq c = *cq;

	c.cons = 0;
	return digest(h, &c, sizeof(c));
}

static inline void digest_hca(const struct emu *m, const struct emu_qp q[2], digests d)
{
	struct hca *h = m->hca;
	struct hca_dev dev;
	u32 i;

	hca_dev_snapshot(h, 0, &dev);
	d[PART_PORT] = digest(0, &dev, sizeof(dev));
	d[PART_QP] = d[PART_CQ] = 0;
	for (i = 0; i < 2; i++) {
		d[PART_QP] = digest(d[PART_QP], &h->qp[q[i].slot], sizeof(h->qp[0]));
		d[PART_CQ] = digest_cq(d[PART_CQ], &h->cq[q[i].scq.index]);
		d[PART_CQ] = digest_cq(d[PART_CQ], &h->cq[q[i].rcq.index]);
	}
	d[PART_HCA] = digest(0, h->client, EMU_CLIENTS * sizeof(h->client[0]));
	d[PART_HCA] = digest(d[PART_HCA], h->srq, h->tab[TAB_SRQ].high * sizeof(h->srq[0]));
	d[PART_HCA] = digest(d[PART_HCA], h->mr, h->tab[TAB_MR].high * sizeof(h->mr[0]));
	d[PART_HCA] = digest(d[PART_HCA], h->pending_clients, sizeof(h->pending_clients));
	d[PART_HCA] = digest(d[PART_HCA], h->timer_bits, sizeof(h->timer_bits));
	d[PART_HCA] = digest(d[PART_HCA], &h->next_deadline, sizeof(h->next_deadline));
	d[PART_JOURNAL] = digest(0, h->error, sizeof(h->error[0]) * min_u64(h->error_seq, 64));
	d[PART_JOURNAL] = digest(d[PART_JOURNAL], &h->journal_nth, sizeof(h->journal_nth));
}

/*
 * The digests of clients 0 and 1 and their pair @q. @rings: where its rings begin in each segment;
 * @area: bytes of each client's memory
 */
static inline void digest_take(const struct emu *m, const struct emu_qp q[2], const u64 rings[2],
			       u64 area, digests d)
{
	const struct emu_client *c;

	digest_hca(m, q, d);
	d[PART_RING] = d[PART_MEM] = 0;
	for (c = m->c; c < m->c + 2; c++) {
		const u8 *seg = (const u8 *)c->seg;

		d[PART_RING] = digest(d[PART_RING], &c->seg->db_any, sizeof(c->seg->db_any));
		d[PART_RING] = digest(d[PART_RING], c->seg->chan, 4 * sizeof(c->seg->chan[0]));
		d[PART_RING] = digest(d[PART_RING], seg + rings[c->id], c->heap - rings[c->id]);
		d[PART_RING] = digest(d[PART_RING], seg + EMU_EVENTS, 4096);
		d[PART_RING] = digest(d[PART_RING], &c->notified, sizeof(c->notified));
		d[PART_MEM] = digest(d[PART_MEM], c->mem, area);
	}
}

#endif
