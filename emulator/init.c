/* SPDX-License-Identifier: MIT */
/**
 * DOC: fresh HCA memory, fresh client segments, and the checks of those who map them.
 */
#include "emulator/init.h"
#include "emulator/tab.h"

void hca_format(struct hca *hca, u64 seed, bool isolated, const char *name)
{
	hca->version = HCA_VERSION;
	hca->size = sizeof(*hca);
	hca->seed = seed;
	hca->isolated = isolated;
	strncpy(hca->name, name, sizeof(hca->name) - 1);
	hca->next_deadline = ~0ULL;
	tab_init(hca);
	store_release(&hca->magic, HCA_MAGIC);
}

void hca_default_limits(struct hca_limits *l)
{
	*l = (struct hca_limits){
		.caps = HCA_CAPS,
		.max_mr_size = ~0ULL,
		.max_dm = 4u << 20,
		.max_qp = 65000,
		.max_qp_wr = LIM_QP_WR,
		.max_sge = LIM_SGE,
		.max_inline = LIM_INLINE,
		.max_cq = 65000,
		.max_cqe = 1048575,
		.max_mr = 1000000,
		.max_pd = 65000,
		.max_mw = 1000000,
		.max_ah = 250000,
		.max_srq = 65000,
		.max_srq_wr = LIM_QP_WR,
		.max_srq_sge = LIM_SGE,
		.max_rd_atom = LIM_RD_ATOM,
		.max_res_rd_atom = LIM_RD_ATOM * 65000,
		.max_sge_rd = LIM_SGE,
		.atomic_cap = ATOMIC_HCA,
		.qp_types = HCA_QP_TYPES,
		.odp = 1,
		.empty_mr = 1,
		.dmabuf = 1,
		.ack_delay = 15,
		.max_msg = LIM_MSG,
		.max_mcast_grp = 8192,
		.max_mcast_attach = 1024,
		.max_xrcd = 4000,
		.max_wq = 16000,
		.max_ind = 4000,
		.max_ind_size = LIM_IND,
		.max_flow = 16000,
		.max_ctr = 4000,
		.max_tags = 1024,
		.max_tso = LIM_TSO,
		.comp_vectors = 8,
		.pkeys = 1,
	};
}

int hca_check(const struct hca *hca, u64 size)
{
	if (size < sizeof(*hca) || load_acquire(&hca->magic) != HCA_MAGIC)
		return -EPROTO;
	if (hca->version != HCA_VERSION || hca->size != sizeof(*hca))
		return -EPROTO;
	return 0;
}

int hca_add_client(struct hca *hca)
{
	struct hca_client *c;
	u32 i, gen;

	for (i = 0; i < HCA_MAX_CLIENTS; i++) {
		c = &hca->client[i];
		if (c->state != CLIENT_FREE)
			continue;
		gen = c->gen + 1 ? c->gen + 1 : 1;
		memset(c, 0, sizeof(*c));
		c->gen = gen;
		c->seg_used = SEG_HEAP_OFF;
		store_release(&c->state, CLIENT_LIVE);
		hca->n_clients++;
		return (int)i;
	}
	return -EUSERS;
}

void seg_format(struct seg_hdr *seg, u32 client, u32 gen)
{
	seg->version = SEG_VERSION;
	seg->size = SEG_SIZE;
	seg->client = client;
	seg->gen = gen;
	seg->heap_off = SEG_HEAP_OFF;
	store_release(&seg->magic, SEG_MAGIC);
}

int seg_check(const struct seg_hdr *seg, u32 client, u32 gen)
{
	if (load_acquire(&seg->magic) != SEG_MAGIC || seg->version != SEG_VERSION)
		return -EPROTO;
	if (seg->size != SEG_SIZE || seg->client != client || seg->gen != gen)
		return -EPROTO;
	return 0;
}
