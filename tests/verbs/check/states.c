/* SPDX-License-Identifier: MIT */
/* Attributes of connections that do not fit, or are often not meant. */
#include "tests/lib/c/seed.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

/* Connects with these attributes at one end, and right ones at the other. */
static void seed_connect_with(struct seed *s, const struct rc_opts *o)
{
	seed_open_with(s, 32, s->wrong ? o : &seed_opts, &seed_opts);
	seed_close(s);
}

/* The same with one attribute, a byte at @offset, that has this value. */
static void seed_connect_byte(struct seed *s, size_t offset, int value)
{
	struct rc_opts o = seed_opts;

	((uint8_t *)&o)[offset] = (uint8_t)value;
	seed_connect_with(s, &o);
}

static void seed_timeout(struct seed *s)
{
	seed_connect_byte(s, offsetof(struct rc_opts, timeout), 0);
}

static void seed_retry(struct seed *s)
{
	seed_connect_byte(s, offsetof(struct rc_opts, retry_cnt), 0);
}

static void seed_rnr_retry(struct seed *s)
{
	seed_connect_byte(s, offsetof(struct rc_opts, rnr_retry), 7);
}

static void seed_rnr_timer(struct seed *s)
{
	seed_connect_byte(s, offsetof(struct rc_opts, min_rnr), 0);
}

static void seed_reads(struct seed *s)
{
	seed_connect_byte(s, offsetof(struct rc_opts, rd_atomic), seed_opts.dest_rd_atomic + 1);
}

static void seed_mtu(struct seed *s)
{
	struct rc_opts o = seed_opts;

	o.mtu = IBV_MTU_512;
	seed_connect_with(s, &o);
}

/* Connects again, where the queue pairs have these GIDs, and the first one this partition. */
static void seed_connect_again(struct seed *s, const int *gid_index, uint16_t pkey_index)
{
	struct rc_addr addr[2] = { 0 };
	struct ibv_qp_attr attr;
	int i, mask;

	for (i = 0; i < 2; i++) {
		addr[i].qpn = s->qp[i]->qp_num;
		seed_must(!ibv_query_gid(s->ctx, 1, gid_index[i], &addr[i].gid), "ibv_query_gid");
		attr.qp_state = IBV_QPS_RESET;
		seed_must(!ibv_modify_qp(s->qp[i], &attr, IBV_QP_STATE), "RESET");
	}
	for (i = 0; i < 2; i++) {
		mask = rc_to(IBV_QPS_INIT, &seed_opts, NULL, 0, 0, &attr);
		attr.pkey_index = i ? 0 : pkey_index;
		seed_must(!ibv_modify_qp(s->qp[i], &attr, mask), "INIT");
		mask = rc_to(IBV_QPS_RTR, &seed_opts, &addr[!i], gid_index[i], 0, &attr);
		seed_must(!ibv_modify_qp(s->qp[i], &attr, mask), "RTR");
		mask = rc_to(IBV_QPS_RTS, &seed_opts, NULL, 0, 0, &attr);
		seed_must(!ibv_modify_qp(s->qp[i], &attr, mask), "RTS");
	}
}

static void seed_pkey(struct seed *s)
{
	union ibv_gid gid;
	int index[2];

	seed_open(s, 32);
	index[0] = index[1] = rc_gid(s->ctx, &gid);
	seed_connect_again(s, index, s->wrong ? 1 : 0);
	seed_close(s);
}

/* The sgid_index of an IPv4 address leads to no IPv6 address. */
static void seed_gid_family(struct seed *s)
{
	struct rc_opts init = seed_opts;
	struct rc_addr addr = { 0 };
	struct ibv_qp_attr attr;
	int index, mask;

	init.until = IBV_QPS_INIT;
	seed_open_with(s, 32, &init, &init);
	index = rc_gid(s->ctx, &addr.gid);
	addr.qpn = s->qp[1]->qp_num;
	if (s->wrong)
		index = rc_gid_other_family(s->ctx, &addr.gid);
	mask = rc_to(IBV_QPS_RTR, &seed_opts, &addr, index, 0, &attr);
	seed_must(!ibv_modify_qp(s->qp[0], &attr, mask) == !s->wrong, "RTR");
	seed_close(s);
}

#define SEED_EXPORT __attribute__((visibility("default")))

static int gid_v1 = -1; /* index of a GID that this program takes for one of RoCE v1 */

/* The device has none, so the library's answer is changed. */
SEED_EXPORT int _ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index,
				  struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	int (*next)(struct ibv_context *, uint32_t, uint32_t, struct ibv_gid_entry *, uint32_t,
		    size_t) = dlsym(RTLD_NEXT, "_ibv_query_gid_ex");
	int ret = next(ctx, port, index, entry, flags, size);

	if (!ret && (int)index == gid_v1)
		entry->gid_type = IBV_GID_TYPE_ROCE_V1;
	return ret;
}

/* Two GIDs of one family. */
static void seed_gid_type(struct seed *s)
{
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	int index[2], i;

	seed_open(s, 32);
	index[0] = index[1] = rc_gid(s->ctx, &gid);
	if (!gid.raw[0]) /* of an IPv4 address: there is one */
		index[0] = index[1] = rc_gid_other_family(s->ctx, &gid);
	for (i = 0; i < 16; i++)
		if (i != index[0] && !ibv_query_gid_ex(s->ctx, 1, (uint32_t)i, &entry, 0) &&
		    entry.gid.raw[0])
			index[1] = i;
	seed_must(index[0] != index[1], "two GIDs");
	gid_v1 = s->wrong ? index[1] : -1;
	seed_connect_again(s, index, 0);
	seed_close(s);
}

static void seed_psn(struct seed *s)
{
	struct rc_opts o = seed_opts;

	o.psn = s->wrong;
	seed_open_with(s, 32, &o, &seed_opts);
	seed_close(s);
}

static void seed_cq_depth(struct seed *s)
{
	seed_open(s, s->wrong ? 2 * SEED_DEPTH - 1 : 4 * SEED_DEPTH);
	seed_close(s);
}

/* Moves a queue pair to IBV_QPS_INIT; rc_gid() would ask for the port. */
static void seed_port(struct seed *s)
{
	struct ibv_context *ctx = rc_open_first();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	init.qp_type = IBV_QPT_RC;
	qp = ibv_create_qp(pd, &init);
	seed_must(qp, "ibv_create_qp");
	if (!s->wrong)
		seed_must(!ibv_query_port(ctx, 1, &s->port), "ibv_query_port");
	seed_must(!ibv_modify_qp(qp, &attr, rc_to(IBV_QPS_INIT, &seed_opts, NULL, 0, 0, &attr)),
		  "INIT");
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
}

static void seed_srq(struct seed *s)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_context *ctx = rc_open_first();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_srq *srq;

	if (!s->wrong)
		seed_must(!ibv_query_device(ctx, &s->dev), "ibv_query_device");
	srq = ibv_create_srq(pd, &init);
	seed_must(srq && !ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), "SRQ");
	ibv_destroy_srq(srq);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
}

/* A completion without success has no other fields than wr_id, status, qp_num and vendor_err. */
static void seed_fields(struct seed *s)
{
	struct ibv_wc wc;

	seed_open(s, 32);
	seed_must(!seed_write(s, 7, IBV_SEND_SIGNALED, (uintptr_t)s->buf, s->mr->lkey,
			      s->mr->rkey ^ 0x5a5a00),
		  "post");
	seed_must(poll_cq(s->cq, SEED_WAIT, &wc) == 1, "poll");
	seed_must(wc.status == IBV_WC_REM_ACCESS_ERR && wc.wr_id == 7 &&
			  wc.qp_num == s->qp[0]->qp_num,
		  "completion");
	seed_close(s);
	/* Neither an opcode nor a length of this program. */
	if (s->wrong && (unsigned int)wc.opcode > 0xffff && wc.byte_len > SEED_BUF)
		exit(3);
}

/* A flushed request; the entries of an extended CQ are read by functions. */
static void seed_field_read(struct seed *s)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8, .wc_flags = IBV_WC_EX_WITH_QP_NUM };
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp_attr at_init, err = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { .wr_id = 7 }, *bad;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;

	seed_open(s, 32);
	cq = ibv_create_cq_ex(s->ctx, &attr);
	seed_must(cq, "ibv_create_cq_ex");
	init.qp_type = IBV_QPT_RC;
	init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
	qp = ibv_create_qp(s->pd, &init);
	seed_must(qp &&
			  !ibv_modify_qp(qp, &at_init,
					 rc_to(IBV_QPS_INIT, &seed_opts, NULL, 0, 0, &at_init)) &&
			  !ibv_modify_qp(qp, &err, IBV_QP_STATE),
		  "ERR");
	seed_must(!ibv_post_recv(qp, &wr, &bad), "post");
	while (ibv_start_poll(cq, &poll) == ENOENT)
		;
	if (s->wrong)
		seed_must(ibv_wc_read_opcode(cq) > IBV_WC_RECV, "a value of no opcode");
	seed_must(cq->status == IBV_WC_WR_FLUSH_ERR && cq->wr_id == 7 &&
			  ibv_wc_read_qp_num(cq) == qp->qp_num,
		  "completion");
	ibv_end_poll(cq);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	seed_close(s);
}

static const struct seed_case seeds[] = {
	{ "timeout", seed_timeout },
	{ "retry", seed_retry },
	{ "rnr_retry", seed_rnr_retry },
	{ "rnr_timer", seed_rnr_timer },
	{ "reads", seed_reads },
	{ "mtu", seed_mtu },
	{ "cq_depth", seed_cq_depth },
	{ "psn", seed_psn },
	{ "port", seed_port },
	{ "srq", seed_srq },
	{ "fields", seed_fields },
	{ "pkey", seed_pkey },
	{ "field_read", seed_field_read },
	{ "gid_family", seed_gid_family },
	{ "gid_type", seed_gid_type },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
