/* SPDX-License-Identifier: MIT */
/* An SRQ with tags in this process. See tests/lib/engine/emu_tm.h. */
#include "tests/lib/engine/emu_tm.h"

#include <endian.h>
#include <stdio.h>

struct emu *m;
struct emu_qp a, b;
struct emu_conn plain, tagged;
static u32 n_ops;

u8 *buf_at(u32 client, u32 number)
{
	return m->c[client].mem + number * SLOT;
}

void up(void)
{
	plain = tagged = emu_conn_defaults;
	plain.depth = tagged.depth = 64;
	plain.timeout = tagged.timeout = 10;
	tagged.tags = TAGS;
	m = emu_new(5);
	a = emu_qp_new(m, 0, &plain, 4);
	b = emu_qp_new(m, 1, &tagged, 4);
	emu_pair(m, &a, &b, &plain);
	n_ops = 0;
}

/* One operation on the list; a tag's buffer and wr_id are given by @number. */
int op(u32 opcode, u32 flags, u64 tag, u32 number, u32 len, u32 count, u32 *handle)
{
	struct hca_cmd cmd = { .op = CMD_SRQ_OPS, .handle = b.srq_index };
	int ret;

	cmd.tm = (struct cmd_srq_op){
		.wr_id = 1000 + number,
		.tag = tag,
		.mask = ~0ULL,
		.recv_wr_id = number,
		.sge = { (uintptr_t)buf_at(1, number), len, m->c[1].key },
		.num_sge = 1,
		.opcode = opcode,
		.flags = flags,
		.unexpected_cnt = count,
		.tag_handle = handle ? *handle : 0,
		.slot = n_ops++,
	};
	ret = emu_cmd(m, 1, &cmd);
	if (handle)
		*handle = cmd.tm.tag_handle;
	return ret;
}

int add(u64 tag, u32 number, u32 len)
{
	u32 handle = 0;

	return op(ADD, 0, tag, number, len, 0, &handle);
}

/* A message of @len bytes behind the header, which is that of a rendezvous for as many bytes. */
void say(struct emu_qp *from, u32 kind, u64 tag, u32 number, u32 len)
{
	u8 *src = buf_at(from->client, number);
	struct header h = { .op = (u8)kind, .app_ctx = htobe32(number), .tag = htobe64(tag) };
	u32 size = kind == RNDV ? sizeof(h) : 16 + len;

	if (kind == RNDV) {
		h.va = htobe64((uintptr_t)src + 64);
		h.rkey = htobe32(m->c[from->client].key);
		h.len = htobe32(len);
		emu_fill(src + 64, len, number);
	} else {
		emu_fill(src + 16, len, number);
	}
	memcpy(src, &h, kind == RNDV ? sizeof(h) : 16);
	emu_post(m, from, WR_SEND, number, src, size);
}

bool sent(struct emu_qp *from, u32 number, u32 status)
{
	struct cqe c;

	return emu_poll(m, &from->scq, &c, NULL) && c.wr_id == number && c.status == status;
}

/* Receives of the SRQ, numbered from RECVS on. */
void recvs(u32 n)
{
	for (u32 i = 0; i < n; i++)
		emu_recv(m, &b, RECVS + b.rq_prod, buf_at(1, RECVS + b.rq_prod), SLOT);
}

/* The next entry of the SRQ's queue is this one. */
bool is(u64 wr_id, u32 opcode, u32 flags, u64 tag, struct cqe *c)
{
	bool got = emu_poll(m, &b.rcq, c, NULL);

	if (got && c->wr_id == wr_id && c->status == WCS_SUCCESS && c->opcode == opcode &&
	    c->wc_flags == flags && (!(c->flags & CQE_EXT) ? !tag : c->tm_tag == tag))
		return true;
	printf("# wanted wr_id %llu opcode %u flags %x tag %llx, got %d: wr_id %llu status %u "
	       "opcode %u flags %x tag %llx\n",
	       (unsigned long long)wr_id, opcode, flags, (unsigned long long)tag, got,
	       (unsigned long long)c->wr_id, c->status, c->opcode, c->wc_flags,
	       (unsigned long long)c->tm_tag);
	return false;
}

bool nothing(void)
{
	struct cqe c;

	return !emu_poll(m, &b.rcq, &c, NULL);
}

bool eager_came(u32 number, u64 tag, u32 len, u32 seed)
{
	struct cqe c;

	return is(number, WCO_TM_RECV, WCF_TM_MATCH | WCF_TM_DATA_VALID, tag, &c) &&
	       c.byte_len == len && !(c.flags & CQE_RECV) && c.tm_priv == seed &&
	       emu_filled(buf_at(1, number), len, seed);
}

bool whole_came(u32 number, u32 opcode, u32 len, u32 seed)
{
	struct cqe c;
	u8 *dst = buf_at(1, number);

	if (!is(number, opcode, 0, 0, &c) || c.byte_len != 16 + len || !(c.flags & CQE_RECV))
		return false;
	return emu_filled(dst + 16, len, seed);
}

/* A rendezvous: its match, its data, and the sender's FIN have arrived. */
bool rndv_came(u32 number, u64 tag, u32 len, u32 seed)
{
	struct cqe c;

	return is(number, WCO_TM_RECV, WCF_TM_MATCH, tag, &c) && c.tm_priv == seed &&
	       is(number, WCO_TM_RECV, WCF_TM_DATA_VALID, 0, &c) && c.byte_len == len &&
	       emu_filled(buf_at(1, number), len, seed);
}

bool fin_came(u64 wr_id, u64 tag, u32 seed)
{
	struct header *h = (void *)buf_at(0, 1000);
	struct cqe c;

	return emu_poll(m, &a.rcq, &c, h) && c.wr_id == wr_id && c.opcode == WCO_RECV &&
	       !c.status && c.byte_len == 16 && h->op == FIN && be32toh(h->app_ctx) == seed &&
	       be64toh(h->tag) == tag;
}

void fin_recvs(u32 n)
{
	for (u32 i = 0; i < n; i++)
		emu_recv(m, &a, i, buf_at(0, 1000), 64);
}

bool fails(u64 wr_id, u32 status)
{
	struct cqe c;

	return emu_poll(m, &b.rcq, &c, NULL) && c.wr_id == wr_id && c.status == status &&
	       !(c.flags & CQE_RECV) && emu_state(m, &b) == QPS_ERR;
}
