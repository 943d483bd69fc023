/* SPDX-License-Identifier: MIT */
/*
 * One exchange of packets between two queue pairs, for captures. tests/data/traces/README.md lists
 * the exchanges.
 *	app_qp_exchange local|remote NAME
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PSN 256

static struct vb_side *a, *b;
static struct vb_pair p;

static struct vb_spec spec_of(enum ibv_qp_type type, uint32_t psn)
{
	struct vb_spec spec = vb_spec_of(type);

	spec.psn = psn;
	return spec;
}

static bool up(const struct vb_spec *spec)
{
	int ret = vb_pair_up(&p, a, b, spec);

	if (ret)
		note("queue pairs: %s", strerror(ret));
	return !ret;
}

static bool received(uint32_t len)
{
	struct ibv_wc wc;

	return vb_done(b, 1, VB_RCQ, 1, IBV_WC_RECV, &wc) && wc.byte_len == len;
}

/* On the side: by its IPv4 address, as in those captures. */
static int use_ipv4(struct vb_side *s, void *arg)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid *gid = arg;
	int i;

	for (i = 0; i < s->info.port.gid_tbl_len; i++) {
		if (ibv_query_gid(s->ctx, 1, i, gid) || memcmp(gid, mapped, sizeof(mapped)) != 0)
			continue;
		s->gid_index = i;
		s->info.gid = *gid;
		return 0;
	}
	return ENOENT;
}

static void open_by_ipv4(struct vb_side *s)
{
	if (vb_call(s, use_ipv4, &s->info.gid, sizeof(s->info.gid)))
		die("expected an IPv4 address");
}

/* A SEND of @len bytes for which a receive is posted. */
static bool send_of(enum ibv_qp_type type, uint32_t psn, uint32_t len, unsigned int flags)
{
	struct vb_spec spec = spec_of(type, psn);
	struct vb_wr wr;

	if (!up(&spec) || vb_recv1(b, 1, 1, b->buf, 8192))
		return false;
	wr = vb_pair_send(&p, 1, len);
	wr.flags |= flags;
	return vb_pair_run(&p, &wr) == IBV_WC_SUCCESS && received(len + p.off);
}

static bool send_odd(void)
{
	return send_of(IBV_QPT_RC, PSN, 13, IBV_SEND_SOLICITED);
}

static bool psn_wrap(void)
{
	return send_of(IBV_QPT_RC, 0xfffffe, 3000, 0);
}

static bool ud_send(void)
{
	return send_of(IBV_QPT_UD, PSN, 16, 0);
}

static bool one(enum ibv_wr_opcode op, uint32_t len)
{
	struct vb_spec spec = spec_of(IBV_QPT_RC, PSN);
	struct vb_wr wr;

	if (!up(&spec))
		return false;
	wr = vb_pair_wr(&p, op, 1, 0, len);
	return vb_pair_run(&p, &wr) == IBV_WC_SUCCESS;
}

static bool read_3k(void)
{
	return one(IBV_WR_RDMA_READ, 3000);
}

static bool cmp_swap(void)
{
	return one(IBV_WR_ATOMIC_CMP_AND_SWP, 8);
}

static bool rnr_fail(void)
{
	struct vb_spec spec = spec_of(IBV_QPT_RC, PSN);
	struct vb_wr wr;

	spec.rnr_retry = 1;
	spec.min_rnr = 14;
	if (!up(&spec))
		return false;
	wr = vb_pair_send(&p, 1, 16);
	return vb_pair_run(&p, &wr) == IBV_WC_RNR_RETRY_EXC_ERR;
}

static bool nak_access(void)
{
	struct vb_spec spec = spec_of(IBV_QPT_RC, PSN);
	struct vb_wr wr;

	if (!up(&spec))
		return false;
	wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 16);
	wr.rkey ^= 0xff;
	return vb_pair_run(&p, &wr) == IBV_WC_REM_ACCESS_ERR;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} exchanges[] = {
		{ "send_odd", send_odd },     { "psn_wrap", psn_wrap }, { "ud_send", ud_send },
		{ "read_3k", read_3k },	      { "cmp_swap", cmp_swap }, { "rnr_fail", rnr_fail },
		{ "nak_access", nak_access },
	};
	const char *name = argc == 3 ? argv[2] : "";
	size_t i;

	for (i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++)
		if (!strcmp(exchanges[i].name, name))
			break;
	if (i == sizeof(exchanges) / sizeof(exchanges[0])) {
		fprintf(stderr,
			"usage: app_qp_exchange local|remote NAME, as in tests/data/traces\n");
		return 2;
	}
	vb_open_two(argc, argv, &a, &b);
	open_by_ipv4(a);
	open_by_ipv4(b);
	ok(exchanges[i].run(), "%s", name);
	vb_close_two(a, b);
	return tap_failed != 0;
}
