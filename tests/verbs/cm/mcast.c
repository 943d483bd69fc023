/* SPDX-License-Identifier: MIT */
/*
 * Multicast groups of the rdma_cm: join, leave, send-only members, several groups.
 *	app_cm_mcast local|remote
 */
#include "tests/lib/c/rdmacm.h"

#include <errno.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>

#define SENDER	 0
#define RECV	 8 /* and RECV + 1 */
#define CH_A	 0
#define CH_B	 2
#define LEN	 512u
#define RECV_OFF 65536u
#define GROUPS	 3

static struct vb_side *a, *b;
static char context[GROUPS];
static struct ibv_mr *mrs[CM_IDS];

struct join {
	int i, flags; /* -1: rdma_join_multicast */
	uint32_t mask; /* 0: the usual */
	int context;
	char group[64];
};

static int do_join(struct vb_side *s, void *arg)
{
	const struct join *j = arg;
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask =
			j->mask ? j->mask
				: RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = (uint32_t)j->flags,
	};
	struct sockaddr_storage ss;
	int ret;

	(void)s;
	cm_addr(j->group, 0, &ss);
	attr.addr = (struct sockaddr *)&ss;
	errno = 0;
	if (j->flags < 0)
		ret = rdma_join_multicast(cm_ids[j->i], attr.addr, &context[j->context]);
	else
		ret = rdma_join_multicast_ex(cm_ids[j->i], &attr, &context[j->context]);
	return ret ? errno : 0;
}

static int do_leave(struct vb_side *s, void *arg)
{
	const struct join *j = arg;
	struct sockaddr_storage ss;

	(void)s;
	cm_addr(j->group, 0, &ss);
	return rdma_leave_multicast(cm_ids[j->i], (struct sockaddr *)&ss) ? errno : 0;
}

static int join(struct vb_side *s, int i, const char *group, int flags, int n)
{
	struct join j = { .i = i, .flags = flags, .context = n };

	snprintf(j.group, sizeof(j.group), "%s", group);
	return vb_call(s, do_join, &j, sizeof(j));
}

static int leave(struct vb_side *s, int i, const char *group)
{
	struct join j = { .i = i };

	snprintf(j.group, sizeof(j.group), "%s", group);
	return vb_call(s, do_leave, &j, sizeof(j));
}

/* The event of a join, which the program's context comes with, as private data. */
struct joined {
	int ch, i, context;
	struct rdma_ud_param ud;
};

static int do_joined(struct vb_side *s, void *arg)
{
	struct joined *j = arg;
	struct rdma_cm_event *ev;
	int ret = 0;

	(void)s;
	if (rdma_get_cm_event(cm_chans[j->ch], &ev))
		return errno;
	if (ev->event != RDMA_CM_EVENT_MULTICAST_JOIN || ev->status || ev->id != cm_ids[j->i] ||
	    ev->param.ud.private_data != &context[j->context])
		ret = -1;
	j->ud = ev->param.ud;
	rdma_ack_cm_event(ev);
	return ret;
}

/* IPv4's groups are mapped addresses in RoCE v2's GIDs. */
static bool is_group(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return gid->raw[0] == 0xff ||
	       (!memcmp(gid->raw, mapped, sizeof(mapped)) && (gid->raw[12] & 0xf0) == 0xe0);
}

static bool joined(struct vb_side *s, int ch, int i, int n, struct rdma_ud_param *ud)
{
	struct joined j = { .ch = ch, .i = i, .context = n };
	bool good = !vb_call(s, do_joined, &j, sizeof(j));

	ok(good, "MULTICAST_JOIN, with the program's context");
	ok(j.ud.qp_num == 0xffffff && j.ud.qkey == RDMA_UDP_QKEY && j.ud.ah_attr.is_global &&
		   is_group(&j.ud.ah_attr.grh.dgid) && j.ud.ah_attr.port_num == 1,
	   "QP %#x, Q_Key %#x, a group's GID", j.ud.qp_num, j.ud.qkey);
	*ud = j.ud;
	return good;
}

static int do_recv(struct vb_side *s, void *arg)
{
	int i = *(int *)arg;
	uint8_t *at = s->buf + RECV_OFF * (unsigned int)(1 + i - RECV);

	if (!mrs[i])
		mrs[i] = rdma_reg_msgs(cm_ids[i], s->buf, VB_BUF);
	return !mrs[i] || rdma_post_recv(cm_ids[i], at, at, LEN + VB_GRH, mrs[i]) ? errno : 0;
}

static int do_unreg(struct vb_side *s, void *arg)
{
	int i = *(int *)arg;
	int ret = mrs[i] ? rdma_dereg_mr(mrs[i]) : 0;

	(void)s;
	mrs[i] = NULL;
	return ret;
}

struct poll_arg {
	int i, ms;
	bool recv;
};

/* Return: 1: a good completion, 0: none. */
static int do_poll(struct vb_side *s, void *arg)
{
	const struct poll_arg *p = arg;
	struct rdma_cm_id *id = cm_ids[p->i];
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	int n = poll_cq(p->recv ? id->recv_cq : id->send_cq, p->ms, &wc);

	(void)s;
	return n == 1 ? (wc.status ? -1 : 1) : n;
}

struct send {
	int i;
	struct rdma_ud_param ud;
};

static int do_send(struct vb_side *s, void *arg)
{
	struct send *w = arg;
	struct rdma_cm_id *id = cm_ids[w->i];
	struct ibv_ah *ah = ibv_create_ah(id->pd, &w->ud.ah_attr);
	struct poll_arg p = { .i = w->i, .ms = VB_WAIT };
	int ret;

	if (!mrs[w->i])
		mrs[w->i] = rdma_reg_msgs(id, s->buf, VB_BUF);
	if (!ah || !mrs[w->i])
		return errno;
	ret = rdma_post_ud_send(id, s, s->buf, LEN, mrs[w->i], 0, ah, w->ud.qp_num) ? errno : 0;
	if (!ret)
		ret = do_poll(s, &p) != 1;
	ibv_destroy_ah(ah);
	return ret;
}

/* A datagram to a group, and who of the two receivers gets it. */
static void cast(const struct rdma_ud_param *ud, bool first, bool second, const char *what)
{
	struct send w = { .i = SENDER, .ud = *ud };
	static uint64_t seed;

	fill(a->buf, LEN, ++seed);
	/* A member that joins later does not receive it. */
	ok(!vb_call(a, do_send, &w, sizeof(w)) && !vb_fence(a, b), "a datagram to %s", what);
	for (int k = 0; k < 2; k++) {
		bool wanted = k ? second : first;
		struct poll_arg p = { RECV + k, wanted ? VB_WAIT : VB_SHORT, true };
		uint8_t *at = b->buf + RECV_OFF * (unsigned int)(1 + k) + VB_GRH;
		int n = vb_call(b, do_poll, &p, sizeof(p));

		ok(n == wanted && (!n || filled(at, LEN, seed)), "receiver %d %s it", k,
		   wanted ? "gets" : "does not get");
		if (n)
			vb_call(b, do_recv, &p.i, sizeof(p.i));
	}
}

static void member(struct vb_side *s, int ch, int i, const char *ip)
{
	ok(!cm_create(s, i, ch, RDMA_PS_UDP), "rdma_create_id");
	is_errno(join(s, i, "239.1.1.1", -1, 0), EINVAL, "joining without an address");
	ok(!cm_resolve(s, i, ip, strchr(ip, ':') ? "ff0e::1" : "239.1.1.1", 0),
	   "rdma_resolve_addr of a group");
	cm_expect(s, ch, i, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, "ADDR_RESOLVED");
	ok(!cm_qp(s, i), "rdma_create_qp");
}

static void gone(struct vb_side *s, int i)
{
	ok(!vb_call(s, do_unreg, &i, sizeof(i)) && !cm_qp_destroy(s, i) && !cm_destroy(s, i),
	   "rdma_destroy_id");
}

static void test_errors(const char *group)
{
	struct join j = { .i = RECV, .mask = RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS };

	snprintf(j.group, sizeof(j.group), "%s", group);
	is_errno(leave(b, RECV, group), EADDRNOTAVAIL, "leaving a group that it is not in");
	is_errno(vb_call(b, do_join, &j, sizeof(j)), EINVAL, "no address");
	j.mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	j.flags = RDMA_MC_JOIN_FLAG_RESERVED;
	is_errno(vb_call(b, do_join, &j, sizeof(j)), EINVAL, "an unknown flag");
	j.mask = 0xff;
	j.flags = 0;
	is_errno(vb_call(b, do_join, &j, sizeof(j)), ENOTSUP, "an unknown attribute");
}

static void test(bool v6, const char *const group[GROUPS])
{
	struct rdma_ud_param to[GROUPS], ud;

	member(a, CH_A, SENDER, vb_addr(a, v6));
	member(b, CH_B, RECV, vb_addr(b, v6));
	member(b, CH_B, RECV + 1, vb_addr(b, v6));
	test_errors(group[0]);
	for (int k = 0; k < 2; k++)
		ok(!vb_call(b, do_recv, &(int){ RECV + k }, sizeof(int)), "rdma_post_recv");
	/* The sender is a member that receives nothing itself. */
	for (int n = 0; n < GROUPS; n++) {
		ok(!join(a, SENDER, group[n], RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, n),
		   "rdma_join_multicast_ex to send to %s", group[n]);
		joined(a, CH_A, SENDER, n, &to[n]);
	}
	ok(memcmp(&to[0].ah_attr.grh.dgid, &to[1].ah_attr.grh.dgid, 16) != 0 &&
		   memcmp(&to[1].ah_attr.grh.dgid, &to[2].ah_attr.grh.dgid, 16) != 0,
	   "each group has a GID of its own");
	cast(&to[0], false, false, "a group that nobody is in");
	ok(!join(b, RECV, group[0], -1, 1), "rdma_join_multicast");
	joined(b, CH_B, RECV, 1, &ud);
	ok(!memcmp(&ud.ah_attr.grh.dgid, &to[0].ah_attr.grh.dgid, 16), "the same GID");
	cast(&to[0], true, false, "the member's group");
	cast(&to[1], false, false, "another");
	ok(!join(b, RECV, group[1], RDMA_MC_JOIN_FLAG_FULLMEMBER, 0) &&
		   !join(b, RECV + 1, group[0], -1, 2),
	   "more members");
	joined(b, CH_B, RECV, 0, &ud);
	joined(b, CH_B, RECV + 1, 2, &ud);
	ok(!join(b, RECV + 1, group[2], RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, 0), "to send only");
	joined(b, CH_B, RECV + 1, 0, &ud);
	cast(&to[0], true, true, "a group with two members");
	cast(&to[1], true, false, "the first's other group");
	cast(&to[2], false, false, "a group that has senders only");
	ok(!leave(b, RECV, group[0]), "rdma_leave_multicast");
	cast(&to[0], false, true, "the member that has not left");
	cast(&to[1], true, false, "the other group of who has left");
	is_errno(leave(b, RECV, group[0]), EADDRNOTAVAIL, "leaving again");
	ok(!join(b, RECV, group[0], -1, 0), "joining again");
	joined(b, CH_B, RECV, 0, &ud);
	cast(&to[0], true, true, "a group that was joined again");
	gone(b, RECV + 1);
	ok(!leave(b, RECV, group[0]) && !leave(b, RECV, group[1]), "all members leave");
	cm_quiet(b, CH_B, "no more events");
	gone(b, RECV);
	for (int n = 0; n < GROUPS; n++)
		ok(!leave(a, SENDER, group[n]), "the sender leaves");
	gone(a, SENDER);
}

int main(int argc, char **argv)
{
	static const char *const v4[GROUPS] = { "239.1.1.1", "239.1.1.2", "224.8.8.8" };
	static const char *const v6[GROUPS] = { "ff0e::1:1", "ff0e::1:2", "ff05::101" };

	if (argc != 2)
		die("app_cm_mcast local|remote");
	cm_sides(argv[1], &a, &b);
	vb_open(a);
	if (b != a)
		vb_open(b);
	ok(!cm_chan(a, CH_A) && !cm_chan(b, CH_B), "rdma_create_event_channel");
	test(false, v4);
	test(true, v6);
	ok(!cm_chan_close(a, CH_A) && !cm_chan_close(b, CH_B), "rdma_destroy_event_channel");
	cm_sides_end(a, b);
	return tap_failed != 0;
}
