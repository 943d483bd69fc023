/* SPDX-License-Identifier: MIT */
/*
 * Two connected queue pairs whose attributes do not fit, and messages that a queue pair sends while
 * the other one has no receive for them. The board has the peer if it is of the same run.
 */
#include "libtap/check/board.h"
#include "libtap/check/checks.h"

#include <stdio.h>
#include <unistd.h>

/* @a: sends READs and atomics to @b. */
static void peer_compare_reads(const struct board_attr *a, const char *a_name,
			       const struct board_attr *b, const char *b_name)
{
	if (a->state != IBV_QPS_RTS || a->max_rd_atomic <= b->max_dest_rd_atomic)
		return;
	check_report(FINDING_QP_READS_PEER, (struct check_other){ NULL, 0 },
		     "%s has max_rd_atomic %u, and its peer %s has max_dest_rd_atomic %u: READs "
		     "above that are refused",
		     a_name, a->max_rd_atomic, b_name, b->max_dest_rd_atomic);
}

static void peer_compare_mtu(const struct board_attr *a, const char *a_name,
			     const struct board_attr *b, const char *b_name)
{
	if (a->path_mtu <= b->path_mtu)
		return;
	check_report(FINDING_QP_MTU_PEER, (struct check_other){ NULL, 0 },
		     "%s has a path MTU of %u bytes, and its peer %s of %u: the larger packets are "
		     "refused",
		     a_name, 128u << a->path_mtu, b_name, 128u << b->path_mtu);
}

#define PEER_PKEY_MEMBER 0x8000u /* a full member of its partition */

static void peer_compare_pkeys(const struct board_attr *a, const char *a_name,
			       const struct board_attr *b, const char *b_name)
{
	bool same = !((a->pkey ^ b->pkey) & ~PEER_PKEY_MEMBER);

	if (!a->pkey_is_known || !b->pkey_is_known ||
	    (same && (a->pkey | b->pkey) & PEER_PKEY_MEMBER))
		return;
	check_report(FINDING_QP_PKEY_PEER, (struct check_other){ NULL, 0 },
		     "%s has P_Key 0x%x, and its peer %s has 0x%x: each drops the packets of the "
		     "other one",
		     a_name, a->pkey, b_name, b->pkey);
}

static const char *peer_gid_type(u32 type)
{
	return type == IBV_GID_TYPE_ROCE_V1   ? "RoCE v1"
	       : type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2"
					      : "InfiniBand";
}

static void peer_compare_gid_types(const struct board_attr *a, const char *a_name,
				   const struct board_attr *b, const char *b_name)
{
	if (a->gid_type != b->gid_type)
		check_report(FINDING_QP_GID_PEER, (struct check_other){ NULL, 0 },
			     "%s has a GID of %s, and its peer %s one of %s: neither takes the "
			     "packets of the other one",
			     a_name, peer_gid_type(a->gid_type), b_name,
			     peer_gid_type(b->gid_type));
}

/* Names a queue pair: by its ordinal, and the process if it is another one. */
static void peer_name(char *name, size_t size, const struct board_qp *place,
		      const struct board_attr *attr)
{
	u32 owner = load_relaxed(&place->owner);

	if (owner == (u32)getpid())
		snprintf(name, size, "qp%u", attr->ord);
	else
		snprintf(name, size, "qp%u of process %u", attr->ord, owner);
}

void check_peer_connected(struct check_obj *qp)
{
	const struct board_qp *peer;
	char name[2][48];
	struct board_attr a, b;

	pthread_mutex_lock(&qp->qp.lock);
	check_board_put(qp);
	pthread_mutex_unlock(&qp->qp.lock);
	if (!qp->qp.place || !check_board_read(qp->qp.place, &a))
		return;
	peer = check_board_find_peer(qp, &b);
	if (!peer)
		return;
	peer_name(name[0], sizeof(name[0]), qp->qp.place, &a);
	peer_name(name[1], sizeof(name[1]), peer, &b);
	peer_compare_reads(&a, name[0], &b, name[1]);
	peer_compare_reads(&b, name[1], &a, name[0]);
	peer_compare_pkeys(&a, name[0], &b, name[1]);
	peer_compare_gid_types(&a, name[0], &b, name[1]);
	peer_compare_mtu(&a, name[0], &b, name[1]);
	peer_compare_mtu(&b, name[1], &a, name[0]);
}

/* --- receives --- */

/*
 * A message is sent once it is posted to an empty queue. After so long it has reached its peer, and
 * was refused there.
 */
#define PEER_LATE_NS 1000000u

/* Whether a message of the peer has waited for this receive. */
static void peer_check_late(struct check_obj *qp, u64 wr_id)
{
	const struct board_qp *peer;
	struct board_attr attr;
	char name[48];
	u64 late;

	peer = check_board_find_peer(qp, &attr);
	if (!peer || load_acquire(&peer->early) != qp->qp.counts->receives)
		return;
	late = tap_now() - load_relaxed(&peer->early_ns);
	if (late < PEER_LATE_NS)
		return;
	peer_name(name, sizeof(name), peer, &attr);
	check_report(FINDING_WR_RNR_SAVED, (struct check_other){ NULL, 0 },
		     "qp%u: receive wr_id 0x%llx is posted %llu ms after message %llu of %s, which "
		     "found none: only its retries save it",
		     qp->ord, (unsigned long long)wr_id, (unsigned long long)(late / 1000000),
		     (unsigned long long)qp->qp.counts->receives, name);
}

void check_peer_receive(struct check_obj *qp, u64 wr_id)
{
	struct check_counts *counts = qp->qp.counts;

	store_relaxed(&counts->receives, counts->receives + 1);
	/* Only a message that finds no receive waits for one. */
	if (qp->qp.place && !qp->qp.rq.lost && !qp->qp.rq.n && !qp->tap->datagrams &&
	    check_report_is_on(FINDING_WR_RNR_SAVED))
		peer_check_late(qp, wr_id);
}

void check_peer_refused(struct check_obj *qp)
{
	/* How many were sent is not known any more: none is early. */
	store_release(&qp->qp.counts->messages, 0);
}

static bool peer_is_message(u32 opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool peer_wants_early(void)
{
	return check_report_is_on(FINDING_WR_SEND_EARLY) ||
	       check_report_is_on(FINDING_WR_RNR_SAVED);
}

/* Shows the peer that a message needs its next receive, unless others are to be sent before. */
static void peer_show_early(struct check_obj *qp, u64 number)
{
	struct board_qp *place = qp->qp.place;

	if (qp->qp.sq.lost || qp->qp.sq.n)
		return;
	store_relaxed(&place->early_ns, tap_now());
	store_release(&place->early, number);
}

void check_peer_send(struct check_obj *qp, u64 wr_id, u32 opcode)
{
	struct check_counts *counts = qp->qp.counts;
	const struct board_qp *peer;
	struct board_attr attr;
	u64 receives;

	if (!peer_is_message(opcode))
		return;
	store_release(&counts->messages, counts->messages + 1);
	if (!peer_wants_early() || !qp->qp.place || qp->tap->datagrams)
		return;
	peer = check_board_find_peer(qp, &attr);
	if (!peer || attr.shared)
		return;
	receives = load_relaxed(&peer->counts.receives);
	if (counts->messages <= receives)
		return;
	peer_show_early(qp, counts->messages);
	check_report(FINDING_WR_SEND_EARLY, (struct check_other){ NULL, 0 },
		     "qp%u, wr_id 0x%llx: message %llu is sent, and its peer has posted %llu "
		     "receives until now",
		     qp->ord, (unsigned long long)wr_id, (unsigned long long)counts->messages,
		     (unsigned long long)receives);
}

void check_peer_explain(struct check_obj *qp, const struct check_wr *wr)
{
	const struct board_qp *peer;
	struct board_attr attr;
	struct board_gone gone;

	if (!qp->qp.place)
		return;
	peer = check_board_find_peer(qp, &attr);
	if (!peer || !check_board_find_gone(load_relaxed(&peer->owner), wr->rkey, &gone))
		return;
	check_report_at(FINDING_WR_RKEY_INVALID, wr->stack, (struct check_other){ NULL, 0 },
			"qp%u, wr_id 0x%llx: remote memory [0x%llx, 0x%llx) with rkey 0x%x: that "
			"was the key of mr%u [0x%llx, 0x%llx) of process %u, which is deregistered",
			qp->ord, (unsigned long long)wr->wr_id, (unsigned long long)wr->raddr,
			(unsigned long long)wr->raddr + wr->bytes, wr->rkey, gone.ord,
			(unsigned long long)gone.addr, (unsigned long long)gone.addr + gone.len,
			gone.owner);
}

/* --- datagrams --- */

#define PEER_MULTICAST 0xffffffu
#define PEER_OWN_QKEY  0x80000000u /* the Q_Key of the sender stands for such a one */

void check_peer_handle(struct check_obj *ah, const struct ibv_ah_attr *attr)
{
	if (attr->is_global)
		ah->ah.gid = attr->grh.dgid;
}

void check_peer_datagram(const struct check_obj *qp, u64 wr_id, const struct ibv_ah *ibah, u32 qpn,
			 u32 qkey)
{
	const struct check_obj *ah = check_obj_find(VOBJ_AH, ibah);
	const struct board_qp *to;
	struct board_attr attr, own;
	char name[48];

	/* The board has no GID of zeros. The first byte of multicast GIDs is 0xff. */
	if (!ah || ah->ah.gid.raw[0] == 0xff || qpn == PEER_MULTICAST || !qp->qp.place ||
	    !check_report_is_on(FINDING_QP_QKEY_PEER))
		return;
	if (qkey & PEER_OWN_QKEY && check_board_read(qp->qp.place, &own))
		qkey = own.qkey;
	to = check_board_find_datagram(qpn, &ah->ah.gid, &attr);
	if (!to || attr.qkey == qkey)
		return;
	peer_name(name, sizeof(name), to, &attr);
	check_report(FINDING_QP_QKEY_PEER, (struct check_other){ NULL, 0 },
		     "qp%u, wr_id 0x%llx: a datagram with Q_Key 0x%x goes to %s, which has Q_Key "
		     "0x%x and drops it",
		     qp->ord, (unsigned long long)wr_id, qkey, name, attr.qkey);
}
