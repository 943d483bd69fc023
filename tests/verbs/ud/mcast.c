/* SPDX-License-Identifier: MIT */
/*
 * Multicast: joining and leaving groups, and which members get a datagram.
 *	app_ud_mcast [local|remote]: where the other side lives
 *
 * QP 0 of A sends; QP 2 of A and QPs 1 to 3 of B receive.
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TCLASS 0x64 /* of all datagrams */

static struct vb_side *a, *b;
static struct vb_pair p;
static union ibv_gid group[2], from; /* of one family */
static const char *family;

struct member {
	int qp;
	union ibv_gid gid;
};

static int do_attach(struct vb_side *s, void *arg)
{
	const struct member *m = arg;

	return ibv_attach_mcast(s->qp[m->qp].qp, &m->gid, 0);
}

static int do_detach(struct vb_side *s, void *arg)
{
	const struct member *m = arg;

	return ibv_detach_mcast(s->qp[m->qp].qp, &m->gid, 0);
}

static int attach(struct vb_side *s, int qp, const union ibv_gid *gid)
{
	struct member m = { qp, *gid };

	return vb_call(s, do_attach, &m, sizeof(m));
}

static int detach(struct vb_side *s, int qp, const union ibv_gid *gid)
{
	struct member m = { qp, *gid };

	return vb_call(s, do_detach, &m, sizeof(m));
}

/* Groups in the family of a GID: IPv4 ones as IPv4-mapped addresses, which rdma_cm makes, too. */
static bool make_groups(int gid_index, bool v4)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	memset(group, 0, sizeof(group));
	for (uint8_t i = 0; i < 2; i++) {
		if (v4) {
			memcpy(group[i].raw, mapped, 12);
			memcpy(group[i].raw + 12, (uint8_t[]){ 239, 1, 2, 10 + i }, 4);
		} else {
			group[i].raw[0] = 0xff;
			group[i].raw[1] = 0x0e;
			group[i].raw[15] = 10 + i;
		}
		attr.grh.dgid = group[i];
		attr.grh.sgid_index = (uint8_t)gid_index;
		attr.grh.hop_limit = 1;
		attr.grh.traffic_class = TCLASS;
		a->ah[1 + i] = ibv_create_ah(a->pd, &attr);
		if (!a->ah[1 + i])
			return false;
	}
	return true;
}

static uint8_t *place(const struct vb_side *s, int qp)
{
	return s->buf + (1u << 20) + qp * 65536;
}

/* A datagram from QP 0 of A to a group. */
static bool send_to(int to, uint64_t wr_id, uint32_t qkey)
{
	struct vb_wr wr = vb_pair_send(&p, wr_id, 500);
	struct ibv_wc wc;

	wr.ah = 2 + to;
	wr.rqpn = 0xffffff;
	wr.rqkey = qkey;
	return !vb_send(a, 0, false, &wr) && vb_done(a, 0, VB_SCQ, wr_id, IBV_WC_SEND, &wc);
}

static bool expect(struct vb_side *s, int qp)
{
	memset(place(s, qp), 0, 1000);
	return !vb_recv1(s, qp, 100 + (uint64_t)qp, place(s, qp), 1000);
}

static bool dest_is(const uint8_t *grh, const union ibv_gid *gid)
{
	if (gid->raw[0] != 0xff)
		return !memcmp(grh + 36, gid->raw + 12, 4);
	return !memcmp(grh + 24, gid->raw, 16);
}

static bool class_is(const uint8_t *grh, const union ibv_gid *gid, uint8_t tclass)
{
	if (gid->raw[0] != 0xff)
		return grh[20 + 1] == tclass;
	return (uint8_t)(grh[0] << 4 | grh[1] >> 4) == tclass;
}

static bool got(struct vb_side *s, int qp, int to, uint64_t wr_id)
{
	struct ibv_wc wc;

	return vb_done(s, qp, VB_RCQ, 100 + (uint64_t)qp, IBV_WC_RECV, &wc) &&
	       wc.byte_len == VB_GRH + 500 && wc.wc_flags == IBV_WC_GRH &&
	       wc.src_qp == a->addr[0].qpn && filled(place(s, qp) + VB_GRH, 500, wr_id) &&
	       dest_is(place(s, qp), &group[to]) && class_is(place(s, qp), &group[to], TCLASS);
}

static void test_errnos(void)
{
	struct vb_spec rc = vb_spec_of(IBV_QPT_RC);

	ok(attach(b, 1, &from) == EINVAL, "%s: attach to a unicast GID: EINVAL", family);
	ok(detach(b, 1, &group[0]) == EINVAL, "%s: detach where nothing is attached: EINVAL",
	   family);
	ok(!attach(b, 1, &group[0]), "%s: attach: 0", family);
	ok(!attach(b, 1, &group[0]), "%s: and once more: 0", family);
	ok(detach(b, 1, &group[1]) == EINVAL, "%s: detach from another group: EINVAL", family);
	ok(!detach(b, 1, &group[0]), "%s: detach: 0", family);
	ok(detach(b, 1, &group[0]) == EINVAL, "%s: and once more: EINVAL", family);
	ok(!vb_create(b, 4, &rc) && attach(b, 4, &group[0]) == EINVAL,
	   "%s: attach an RC QP: EINVAL", family);
	vb_destroy(b, 4);
	ok(!attach(b, 1, &group[0]) && vb_destroy(b, 1) == EBUSY && !detach(b, 1, &group[0]) &&
		   vb_pair_alive(&p),
	   "%s: a QP in a group is not destroyed: EBUSY", family);
}

static void test_delivery(void)
{
	bool good;

	good = send_to(0, 1, VB_QKEY) && !vb_fence(a, b) && vb_nothing(b, 1, VB_RCQ);
	ok(good, "%s: to a group without members", family);

	good = !attach(b, 1, &group[0]) && expect(b, 1) && expect(b, 2) && send_to(0, 2, VB_QKEY);
	ok(good && got(b, 1, 0, 2) && vb_nothing(b, 2, VB_RCQ), "%s: one member of two QPs",
	   family);

	good = !attach(b, 2, &group[0]) && !attach(b, 3, &group[0]) && !attach(a, 2, &group[0]) &&
	       expect(b, 1) && expect(b, 3) && expect(a, 2) && send_to(0, 3, VB_QKEY);
	ok(good && got(b, 1, 0, 3) && got(b, 2, 0, 3) && got(b, 3, 0, 3) && got(a, 2, 0, 3),
	   "%s: four members, one of them on the sender's node", family);

	/* Attached twice, and a copy still comes once. */
	good = !attach(b, 1, &group[0]) && expect(b, 1) && expect(b, 1) && expect(b, 2) &&
	       expect(b, 3) && expect(a, 2) && send_to(0, 4, VB_QKEY);
	good = good && got(b, 1, 0, 4) && got(b, 2, 0, 4) && got(b, 3, 0, 4) && got(a, 2, 0, 4);
	ok(good && vb_nothing(b, 1, VB_RCQ), "%s: a single copy for a member attached twice",
	   family);
	ok(!detach(b, 1, &group[0]) && expect(b, 2) && expect(b, 3) && expect(a, 2) &&
		   send_to(0, 5, VB_QKEY) && got(b, 2, 0, 5) && got(b, 3, 0, 5) &&
		   got(a, 2, 0, 5) && vb_nothing(b, 1, VB_RCQ),
	   "%s: and nothing for one that left", family);
}

static void test_loopback(void)
{
	bool good;

	good = !attach(a, 0, &group[0]) && expect(a, 0) && expect(b, 2) && expect(b, 3) &&
	       expect(a, 2) && send_to(0, 6, VB_QKEY);
	ok(good && got(a, 0, 0, 6) && got(b, 2, 0, 6) && got(b, 3, 0, 6) && got(a, 2, 0, 6),
	   "%s: the sender is a member itself", family);
	ok(!detach(a, 0, &group[0]), "%s: and leaves", family);
}

/* QP 1 still has a receive posted. Members: 2 and 3 of B, 2 of A. */
static void test_each_for_itself(void)
{
	struct ibv_qp_attr attr = { .qkey = 0x33333333 };
	bool good;

	good = expect(b, 3) && expect(a, 2) && send_to(0, 7, VB_QKEY) && got(b, 3, 0, 7) &&
	       got(a, 2, 0, 7) && vb_nothing(b, 2, VB_RCQ);
	ok(good, "%s: a member without a receive misses it, the others do not", family);
	good = !vb_modify(b, 2, &attr, IBV_QP_QKEY) && expect(b, 2) && expect(b, 3) &&
	       expect(a, 2) && send_to(0, 8, VB_QKEY) && got(b, 3, 0, 8) && got(a, 2, 0, 8) &&
	       vb_nothing(b, 2, VB_RCQ);
	ok(good, "%s: so does one with another Q_Key", family);
	good = send_to(0, 9, 0x33333333) && got(b, 2, 0, 9) && vb_nothing(b, 3, VB_RCQ) &&
	       vb_nothing(a, 2, VB_RCQ);
	ok(good, "%s: which gets what is meant for it", family);
	attr.qkey = VB_QKEY;
	ok(!vb_modify(b, 2, &attr, IBV_QP_QKEY), "%s: its Q_Key again", family);
}

static void test_groups(void)
{
	bool good;

	good = !attach(b, 2, &group[1]) && expect(b, 2) && send_to(1, 10, VB_QKEY) &&
	       got(b, 2, 1, 10) && vb_nothing(b, 3, VB_RCQ);
	good = good && expect(b, 2) && expect(b, 3) && expect(a, 2) && send_to(0, 11, VB_QKEY) &&
	       got(b, 2, 0, 11) && got(b, 3, 0, 11) && got(a, 2, 0, 11);
	ok(good, "%s: a member of two groups", family);
	ok(!detach(b, 2, &group[0]) && !detach(b, 3, &group[0]) && !detach(a, 2, &group[0]) &&
		   expect(b, 2) && send_to(0, 12, VB_QKEY) && vb_nothing(b, 2, VB_RCQ) &&
		   send_to(1, 13, VB_QKEY) && got(b, 2, 1, 13),
	   "%s: one group left, the other not", family);
	ok(!detach(b, 2, &group[1]), "%s: and the other, too", family);
}

static bool extra(struct vb_side *s, int i)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);

	return !vb_create(s, i, &spec) && !vb_connect(s, i, NULL, 0, &spec);
}

/* All of it from a RoCE v2 GID of the family. */
static void of_family(bool v4)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	struct ibv_gid_entry e;
	int i = 0;

	family = v4 ? "IPv4" : "IPv6";
	while (i < a->info.port.gid_tbl_len &&
	       (ibv_query_gid_ex(a->ctx, 1, (uint32_t)i, &e, 0) ||
		e.gid_type != IBV_GID_TYPE_ROCE_V2 || (rc_by_wire() && e.gid.raw[0] == 0xfe) ||
		v4 != !e.gid.global.subnet_prefix))
		i++;
	if (i == a->info.port.gid_tbl_len) {
		note("no GID of %s", family);
		return;
	}
	from = e.gid;
	if (!ok(make_groups(i, v4) && !vb_pair_up(&p, a, b, &spec) && extra(a, 2) && extra(b, 2) &&
			extra(b, 3),
		"%s: members and address handles of groups", family))
		return;
	test_errnos();
	test_delivery();
	test_loopback();
	test_each_for_itself();
	test_groups();
	ok(!vb_destroy(a, 2) && !vb_destroy(b, 2) && !vb_destroy(b, 3) && !vb_ah_destroy(a, 1) &&
		   !vb_ah_destroy(a, 2),
	   "%s: all is destroyed", family);
	vb_pair_down(&p);
}

int main(int argc, char **argv)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	int ret;

	vb_open_two(argc, argv, &a, &b);
	ret = vb_pair_up(&p, a, b, &spec);
	if (!ok(!ret, "UD queue pairs%s%s", ret ? ": " : "", ret ? strerror(ret) : ""))
		exit(1);
	vb_pair_down(&p);
	of_family(false);
	of_family(true);
	vb_close_two(a, b);
	return tap_failed != 0;
}
