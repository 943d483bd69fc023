/* SPDX-License-Identifier: MIT */
/* Attributes of connections that do not fit, or are often not meant. */
#include "tests/lib/c/seed.h"

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

static const struct seed_case seeds[] = {
	{ "timeout", seed_timeout },	 { "retry", seed_retry }, { "rnr_retry", seed_rnr_retry },
	{ "rnr_timer", seed_rnr_timer }, { "reads", seed_reads }, { "mtu", seed_mtu },
	{ "cq_depth", seed_cq_depth },	 { "psn", seed_psn },	  { "fields", seed_fields },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
