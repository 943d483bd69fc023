/* SPDX-License-Identifier: MIT */
/*
 * The contents of a received datagram: the GRH, and the payload after it.
 *	app_ud_data [local|remote]: where the other side lives
 */
#include "tests/lib/c/vb.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct vb_side *a, *b;
static struct vb_pair p;

static bool ipv4_header(const uint8_t *grh, uint32_t len)
{
	unsigned int sum = 0, total = 20 + 8 + 12 + 8 + ((len + 3) & ~3u) + 4;

	for (int i = 0; i < 20; i++)
		if (grh[i])
			return false;
	for (int i = 20; i < 40; i += 2)
		sum += (unsigned int)(grh[i] << 8 | grh[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	if (grh[20] != 0x45 || (unsigned int)(grh[22] << 8 | grh[23]) != total || sum != 0xffff) {
		note("version %#x, length %u (not %u), sum %#x", grh[20], grh[22] << 8 | grh[23],
		     total, sum);
		return false;
	}
	return grh[28] == 64 && grh[29] == 17;
}

static bool ipv6_header(const uint8_t *grh, uint32_t len)
{
	unsigned int total = 8 + 12 + 8 + ((len + 3) & ~3u) + 4;

	return grh[0] >> 4 == 6 && (unsigned int)(grh[4] << 8 | grh[5]) == total && grh[6] == 17 &&
	       grh[7] == 64;
}

static bool is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, 12);
}

static bool header(const union ibv_gid *from, const union ibv_gid *to, uint32_t len)
{
	const uint8_t *grh = b->buf;
	bool v4 = is_v4(from);

	if (v4)
		return ipv4_header(grh, len) && !memcmp(grh + 32, from->raw + 12, 4) &&
		       !memcmp(grh + 36, to->raw + 12, 4);
	return ipv6_header(grh, len) && !memcmp(grh + 8, from->raw, 16) &&
	       !memcmp(grh + 24, to->raw, 16);
}

/* A GID of the side's table, by its index in *@arg. */
static int do_gid(struct vb_side *s, void *arg)
{
	struct ibv_gid_entry *e = arg;

	return ibv_query_gid_ex(s->ctx, 1, e->gid_index, e, 0);
}

/* Both families: each RoCE v2 GID of the table talks to the same one of the other side. */
static void test_grh(void)
{
	struct ibv_gid_entry e, to;
	struct ibv_wc wc;

	for (int i = 0; i < a->info.port.gid_tbl_len; i++) {
		struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
		struct vb_wr wr = vb_pair_send(&p, 6, 101);
		bool good;

		if (ibv_query_gid_ex(a->ctx, 1, (uint32_t)i, &e, 0) ||
		    e.gid_type != IBV_GID_TYPE_ROCE_V2 || (rc_by_wire() && e.gid.raw[0] == 0xfe))
			continue;
		to.gid_index = (uint32_t)i;
		if (vb_call(b, do_gid, &to, sizeof(to)))
			continue;
		attr.grh.hop_limit = 64;
		attr.grh.sgid_index = (uint8_t)i;
		attr.grh.dgid = to.gid;
		a->ah[1] = ibv_create_ah(a->pd, &attr);
		wr.ah = 2;
		memset(b->buf, 0xee, VB_GRH);
		good = a->ah[1] && !vb_recv1(b, 1, 7, b->buf, 1000) && !vb_send(a, 0, false, &wr) &&
		       vb_done(a, 0, VB_SCQ, 6, IBV_WC_SEND, &wc) &&
		       vb_done(b, 1, VB_RCQ, 7, IBV_WC_RECV, &wc);
		ok(good && header(&e.gid, &to.gid, 101) && filled(b->buf + VB_GRH, 101, 6),
		   "the GRH from GID %d (%s)", i, is_v4(&e.gid) ? "IPv4" : "IPv6");
		if (a->ah[1])
			ibv_destroy_ah(a->ah[1]);
		a->ah[1] = NULL;
	}
}

/* Where the GRH ends and the payload begins does not depend on where entries do. */
static void test_scatter(void)
{
	static const uint32_t lists[][4] = {
		{ 40, 1000, 0, 0 }, { 20, 20, 1000, 0 },  { 39, 1, 1, 1000 }, { 50, 7, 500, 500 },
		{ 0, 41, 0, 1000 }, { 10, 100, 30, 400 }, { 340, 0, 0, 0 },
	};

	for (unsigned int i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct vb_wr wr = vb_pair_send(&p, 8, 300);
		uint8_t got[2000];
		struct ibv_sge sge[4];
		struct ibv_wc wc;
		uint32_t n = 0;
		bool good;

		memset(b->buf, 0xee, 16384);
		for (unsigned int k = 0; k < 4; k++)
			sge[k] = (struct ibv_sge){ (uintptr_t)b->buf + (3 - k) * 4096, lists[i][k],
						   b->info.lkey };
		good = !vb_recv(b, 1, 9, sge, 4) && !vb_send(a, 0, false, &wr) &&
		       vb_done(a, 0, VB_SCQ, 8, IBV_WC_SEND, &wc) &&
		       vb_done(b, 1, VB_RCQ, 9, IBV_WC_RECV, &wc) && wc.byte_len == VB_GRH + 300;
		for (unsigned int k = 0; k < 4; k++) {
			memcpy(got + n, b->buf + (3 - k) * 4096, lists[i][k]);
			n += lists[i][k];
		}
		ok(good && filled(got + VB_GRH, 300, 8) && got[0] != 0xee && got[39] != 0xee &&
			   (n <= 340 || got[340] == 0xee),
		   "scattered to %u, %u, %u and %u bytes", lists[i][0], lists[i][1], lists[i][2],
		   lists[i][3]);
	}
}

static void test_gather(void)
{
	for (unsigned int inl = 0; inl < 2; inl++) {
		struct vb_wr wr = vb_pair_send(&p, 10, 60);
		struct ibv_wc wc;
		bool good;

		wr.num_sge = 4;
		for (unsigned int k = 0; k < 4; k++) {
			wr.sge[k].addr = (uintptr_t)a->buf + 4096 + (3 - k) * 100;
			wr.sge[k].length = 15;
			wr.sge[k].lkey = inl ? 0xdead : a->info.lkey;
			memcpy(a->buf + 4096 + (3 - k) * 100, a->buf + k * 15, 15);
		}
		wr.flags |= inl ? (unsigned int)IBV_SEND_INLINE : 0;
		good = !vb_recv1(b, 1, 11, b->buf, 100) && !vb_send(a, 0, false, &wr) &&
		       vb_done(a, 0, VB_SCQ, 10, IBV_WC_SEND, &wc) &&
		       vb_done(b, 1, VB_RCQ, 11, IBV_WC_RECV, &wc) &&
		       filled(b->buf + VB_GRH, 60, 10);
		ok(good, "gathered from four pieces%s", inl ? ", inline" : "");
	}
}

/* Many, with receives posted behind: none is lost, all are in order. */
static void test_stream(void)
{
	uint32_t max = 128u << a->info.port.active_mtu;
	struct ibv_wc wc;
	bool good = true;

	for (uint32_t i = 0; i < 16; i++)
		good = good && !vb_recv1(b, 1, i, b->buf + i * 2048, 2048);
	for (uint32_t i = 0; good && i < 1000; i++) {
		struct vb_wr wr = vb_pair_send(&p, i, i % (max + 1));
		uint8_t *at = b->buf + (i % 16) * 2048;

		wr.op = IBV_WR_SEND_WITH_IMM;
		wr.imm = htonl(i);
		good = !vb_send(a, 0, false, &wr) && vb_done(a, 0, VB_SCQ, i, IBV_WC_SEND, &wc) &&
		       vb_done(b, 1, VB_RCQ, i, IBV_WC_RECV, &wc) &&
		       wc.byte_len == VB_GRH + i % (max + 1) && wc.imm_data == htonl(i) &&
		       wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM) &&
		       filled(at + VB_GRH, i % (max + 1), i) && !vb_recv1(b, 1, i + 16, at, 2048);
	}
	ok(good, "1000 datagrams of 0 to %u bytes", max);
}

int main(int argc, char **argv)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	int ret;

	vb_open_two(argc, argv, &a, &b);
	spec.inl = 64;
	ret = vb_pair_up(&p, a, b, &spec);
	if (!ok(!ret, "UD queue pairs%s%s", ret ? ": " : "", ret ? strerror(ret) : ""))
		exit(1);
	test_grh();
	test_scatter();
	test_gather();
	test_stream();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
