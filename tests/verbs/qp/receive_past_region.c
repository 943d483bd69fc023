/* SPDX-License-Identifier: MIT */
/*
 * Receives whose entries are longer than their regions: only the bytes that a message takes must
 * lie within them. perftest 25.01's --use-srq posts such receives.
 *	app_qp_receive_past_region [local|remote]: where the receiver lives
 */
#include "tests/lib/c/vb.h"

#include <stdio.h>
#include <string.h>

#define AT    (1u << 20) /* of the first region in the receiver's buffer */
#define AT_2  (2u << 20)
#define LONG  65536u /* of an entry */
#define BOGUS 0x00bada55u

static struct vb_side *a, *b;
static const struct ibv_sge nowhere = { .length = 0, .lkey = BOGUS };

/* An entry of @len bytes at @at, of which only the first @reg are registered, as region @i. */
static struct ibv_sge entry(int i, uint32_t at, uint32_t reg, uint32_t len)
{
	struct ibv_sge s = { .addr = (uintptr_t)b->buf + at, .length = len };
	uint32_t rkey;

	memset(b->buf + at, 0, reg + 16);
	if (vb_reg(b, i, b->buf + at, reg, IBV_ACCESS_LOCAL_WRITE, &s.lkey, &rkey))
		die("cannot register %u bytes", reg);
	return s;
}

/* A message of @len bytes into these entries. Return: the receive's status, or -1. */
static int status_of(struct vb_pair *p, const struct ibv_sge *sge, int n, uint32_t len,
		     struct ibv_wc *wc)
{
	struct vb_wr wr = vb_pair_send(p, 7, len);

	if (vb_recv(b, p->recv, 50, sge, n) || vb_send(a, 0, false, &wr) ||
	    !vb_poll(b, p->rq, p->rcq, VB_WAIT, wc) || wc->wr_id != 50)
		return -1;
	return (int)wc->status;
}

static struct vb_pair pair(enum ibv_qp_type type)
{
	struct vb_spec spec = vb_spec_of(type);
	struct vb_pair p;
	int ret;

	spec.recv_sge = 4;
	ret = vb_pair_up(&p, a, b, &spec);
	if (ret)
		die("%s: queue pairs: %s", vb_type_str(type), strerror(ret));
	return p;
}

static void down(struct vb_pair *p)
{
	vb_pair_down(p);
	vb_dereg(b, 0);
	vb_dereg(b, 1);
	while (vb_event(b, 0) >= 0)
		;
}

static bool sent(struct vb_pair *p)
{
	struct ibv_wc wc;

	return vb_done(p->a, 0, VB_SCQ, 7, IBV_WC_SEND, &wc);
}

static void test_fits(enum ibv_qp_type type, uint32_t len)
{
	struct vb_pair p = pair(type);
	struct ibv_sge s = entry(0, AT, p.off + len, LONG);
	struct ibv_wc wc = { .byte_len = 0 };
	int status = status_of(&p, &s, 1, len, &wc);
	const uint8_t *to = b->buf + AT + p.off;

	ok(status == IBV_WC_SUCCESS && wc.byte_len == p.off + len && sent(&p) &&
		   !memcmp(to, a->buf, len) && !to[len],
	   "%s: %u bytes, all that is registered of a longer entry", vb_type_str(type), len);
	down(&p);
}

static void test_fits_second(enum ibv_qp_type type, uint32_t len)
{
	struct vb_pair p = pair(type);
	uint32_t half = p.off + len / 2, rest = len - len / 2;
	struct ibv_sge list[] = { entry(0, AT, half, half),
				  nowhere,
				  entry(1, AT_2, rest, LONG),
				  { .length = LONG, .lkey = BOGUS } };
	struct ibv_wc wc = { .byte_len = 0 };
	int status = status_of(&p, list, 4, len, &wc);

	ok(status == IBV_WC_SUCCESS && wc.byte_len == p.off + len && sent(&p) &&
		   !memcmp(b->buf + AT + p.off, a->buf, len / 2) &&
		   !memcmp(b->buf + AT_2, a->buf + len / 2, rest) && !b->buf[AT_2 + rest],
	   "%s: %u bytes that end in such an entry after others", vb_type_str(type), len);
	down(&p);
}

/* @second: the entry is the list's second that has a length. */
static void test_one_more(enum ibv_qp_type type, uint32_t len, bool second)
{
	struct vb_pair p = pair(type);
	uint32_t before = second ? p.off + 8 : 0;
	struct ibv_sge list[] = { nowhere, entry(0, AT, p.off + len - before - 1, LONG), nowhere };
	struct ibv_wc wc;
	int status;

	if (second)
		list[0] = entry(1, AT_2, before, before);
	status = status_of(&p, list, 3, len, &wc);
	ok(status == IBV_WC_LOC_PROT_ERR, "%s: %u bytes, one more than registered%s: LOC_PROT_ERR",
	   vb_type_str(type), len, second ? ", in the second entry" : "");
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		ok(vb_status(a, 0, VB_SCQ, 7, IBV_WC_REM_OP_ERR), "%s: the sender: REM_OP_ERR",
		   vb_type_str(type));
	else
		ok(sent(&p), "%s: the sender: SUCCESS", vb_type_str(type));
	down(&p);
}

static void test_empty(enum ibv_qp_type type)
{
	struct vb_pair p = pair(type);
	struct ibv_sge list[] = { entry(0, AT, VB_GRH, p.off ? p.off : LONG),
				  { .length = LONG, .lkey = BOGUS } };
	struct ibv_wc wc = { .byte_len = 1 };

	if (!p.off)
		list[0].addr += VB_GRH;
	ok(status_of(&p, list, 2, 0, &wc) == IBV_WC_SUCCESS && wc.byte_len == p.off && sent(&p),
	   "%s: no bytes into entries with nothing registered", vb_type_str(type));
	down(&p);
}

/* An atomic's result has 8 bytes. */
static void test_atomic(void)
{
	struct vb_pair p = pair(IBV_QPT_RC);
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 7, 0, 8);
	uint64_t was = 0x0102030405060708;
	uint32_t rkey;

	memcpy(b->buf, &was, 8);
	wr.sge[0].addr = (uintptr_t)a->buf + AT;
	wr.sge[0].length = 16;
	if (vb_reg(a, 2, a->buf + AT, 8, IBV_ACCESS_LOCAL_WRITE, &wr.sge[0].lkey, &rkey))
		die("cannot register 8 bytes");
	ok(vb_pair_run(&p, &wr) == IBV_WC_SUCCESS && !memcmp(a->buf + AT, &was, 8),
	   "FETCH_AND_ADD: 8 bytes, all that is registered of a longer entry");
	vb_dereg(a, 2);
	down(&p);
}

int main(int argc, char **argv)
{
	static const uint32_t lens[] = { 40, 200, 900, 5000 };
	enum ibv_qp_type type;

	vb_open_two(argc, argv, &a, &b);
	for (int t = 0; t < VB_TYPES; t++) {
		type = vb_types[t];
		if (!vb_crosses(type))
			continue;
		for (int i = 0; i < 4; i++) {
			if (lens[i] > 1000 && (type == IBV_QPT_UD || type == IBV_QPT_RAW_PACKET))
				continue;
			test_fits(type, lens[i]);
			test_fits_second(type, lens[i]);
			test_one_more(type, lens[i], false);
			test_one_more(type, lens[i], true);
		}
		if (type != IBV_QPT_RAW_PACKET)
			test_empty(type);
	}
	test_atomic();
	vb_close_two(a, b);
	return tap_failed != 0;
}
