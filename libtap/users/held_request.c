/* SPDX-License-Identifier: MIT */
/* See held_request.h. */
#include "libtap/users/held_request.h"
#include "libtap/users/request_log.h"

#include <stdlib.h>

static size_t request_sge_count(const union work_wr *wr)
{
	return wr->recv.num_sge > 0 ? (size_t)wr->recv.num_sge : 0;
}

/* Bytes of its data that the library copies. */
static u64 request_inline_bytes(const union work_wr *wr, bool recv)
{
	if (recv || !(wr->send.send_flags & IBV_SEND_INLINE))
		return 0;
	return sges_bytes(wr->send.sg_list, (int)request_sge_count(wr));
}

static size_t request_header_bytes(const union work_wr *wr, bool recv)
{
	return !recv && wr->send.opcode == IBV_WR_TSO ? wr->send.tso.hdr_sz : 0;
}

int held_request_check(const union work_wr *wr, bool recv, const struct ibv_qp_cap *cap)
{
	const int max = (int)(recv ? cap->max_recv_sge : cap->max_send_sge);

	if (wr->recv.num_sge < 0 || wr->recv.num_sge > max ||
	    request_inline_bytes(wr, recv) > cap->max_inline_data)
		return EINVAL;
	return 0;
}

/* Copy the data of all entries to @to, where they point then. */
static void request_copy_inline(union work_wr *wr, u8 *to)
{
	struct ibv_sge *sge;

	for (sge = wr->send.sg_list; sge < wr->send.sg_list + request_sge_count(wr); sge++) {
		if (sge->length)
			memcpy(to, (const void *)(uintptr_t)sge->addr, sge->length);
		sge->addr = (uintptr_t)to;
		to += sge->length;
	}
}

struct held_request *held_request_new(const union work_wr *wr, bool recv)
{
	const size_t n = request_sge_count(wr), header = request_header_bytes(wr, recv);
	const u64 data = request_inline_bytes(wr, recv);
	struct held_request *h;
	struct ibv_sge *sge;
	u8 *rest;

	h = calloc(1, sizeof(*h) + n * sizeof(*sge) + header + data);
	if (!h)
		return NULL;
	if (recv)
		h->wr.recv = wr->recv;
	else
		h->wr.send = wr->send;
	sge = (struct ibv_sge *)(h + 1);
	rest = (u8 *)(sge + n);
	h->wr.recv.next = NULL;
	if (n)
		memcpy(sge, wr->recv.sg_list, n * sizeof(*sge));
	h->wr.recv.sg_list = sge;
	if (header)
		h->wr.send.tso.hdr = memcpy(rest, wr->send.tso.hdr, header);
	if (data)
		request_copy_inline(&h->wr, rest + header);
	return h;
}

void held_request_empty(struct held_request *h, bool recv)
{
	h->wr.recv.num_sge = 0;
	if (recv)
		return;
	h->wr.send.opcode = IBV_WR_SEND;
	h->wr.send.send_flags = IBV_SEND_SIGNALED;
}

bool held_request_names(const struct held_request *h, enum ibv_qp_type type, const void *object)
{
	const struct ibv_send_wr *wr = &h->wr.send;

	if (type == IBV_QPT_UD)
		return wr->wr.ud.ah == object;
	return wr->opcode == IBV_WR_BIND_MW &&
	       (wr->bind_mw.mw == object || wr->bind_mw.bind_info.mr == object);
}
