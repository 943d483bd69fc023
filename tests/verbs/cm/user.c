/* SPDX-License-Identifier: MIT */
/*
 * Connections whose QPs the program creates and modifies itself: rdma_init_qp_attr, rdma_establish,
 * CONNECT_RESPONSE, rdma_notify, ECE.
 *	app_cm_user local|remote
 */
#include "tests/lib/c/rdmacm.h"

#include <errno.h>
#include <string.h>

#define A	 0
#define LISTENER 8
#define B	 9
#define CH_A	 0
#define CH_B	 2
#define LEN	 2000u

#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |     \
	 IBV_QP_MAX_QP_RD_ATOMIC)

static struct vb_side *a, *b;

/* A QP that the identifier does not own; by its index. */
static struct user {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
} users[CM_IDS];

struct step {
	int i;
	enum ibv_qp_state state;
	int mask;
	uint32_t qpn;
	struct ibv_qp_attr attr;
	struct ibv_ece ece;
	bool recv;
};

static int do_make(struct vb_side *s, void *arg)
{
	struct step *t = arg;
	struct rdma_cm_id *id = cm_ids[t->i];
	struct user *u = &users[t->i];
	struct ibv_qp_init_attr init = {
		.cap = { 8, 8, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	u->pd = ibv_alloc_pd(id->verbs);
	u->cq = ibv_create_cq(id->verbs, 32, NULL, NULL, 0);
	init.send_cq = init.recv_cq = u->cq;
	u->qp = u->pd && u->cq ? ibv_create_qp(u->pd, &init) : NULL;
	if (!u->qp)
		return errno;
	u->mr = ibv_reg_mr(u->pd, s->buf, VB_BUF, IBV_ACCESS_LOCAL_WRITE);
	t->qpn = u->qp->qp_num;
	return u->mr ? 0 : errno;
}

static int do_unmake(struct vb_side *s, void *arg)
{
	struct user *u = &users[((struct step *)arg)->i];
	int ret = ibv_destroy_qp(u->qp) || ibv_destroy_cq(u->cq) || ibv_dereg_mr(u->mr) ||
		  ibv_dealloc_pd(u->pd);

	(void)s;
	memset(u, 0, sizeof(*u));
	return ret;
}

static int do_move(struct vb_side *s, void *arg)
{
	struct step *t = arg;

	(void)s;
	memset(&t->attr, 0, sizeof(t->attr));
	t->attr.qp_state = t->state;
	if (rdma_init_qp_attr(cm_ids[t->i], &t->attr, &t->mask))
		return errno;
	return ibv_modify_qp(users[t->i].qp, &t->attr, t->mask);
}

static void make(struct vb_side *s, int i, uint32_t *qpn)
{
	struct step t = { .i = i };

	ok(!vb_call(s, do_make, &t, sizeof(t)), "a QP of the program's own");
	*qpn = t.qpn;
}

static void move(struct vb_side *s, int i, enum ibv_qp_state state, int mask,
		 struct ibv_qp_attr *attr)
{
	struct step t = { .i = i, .state = state };

	ok(!vb_call(s, do_move, &t, sizeof(t)), "rdma_init_qp_attr and ibv_modify_qp to %d", state);
	ok((t.mask & mask) == mask, "attributes %#x, of which %#x are needed", t.mask, mask);
	if (attr)
		*attr = t.attr;
}

static void unmake(struct vb_side *s, int i)
{
	struct step t = { .i = i };

	ok(!vb_call(s, do_unmake, &t, sizeof(t)) && !cm_destroy(s, i),
	   "QP, CQs and identifier are destroyed");
}

static int do_post(struct vb_side *s, void *arg)
{
	const struct step *t = arg;
	struct user *u = &users[t->i];
	struct ibv_sge sge = { (uintptr_t)s->buf + (t->recv ? 8192 : 0), LEN, u->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = { .sg_list = &sge, .num_sge = 1 }, *rbad;

	return t->recv ? ibv_post_recv(u->qp, &rwr, &rbad) : ibv_post_send(u->qp, &wr, &bad);
}

static int do_reap(struct vb_side *s, void *arg)
{
	const struct step *t = arg;
	struct ibv_wc wc;

	(void)s;
	return poll_cq(users[t->i].cq, VB_WAIT, &wc) == 1 ? (int)wc.status : -1;
}

static bool traffic(struct vb_side *from, int i, struct vb_side *to, int j)
{
	struct step send = { .i = i }, recv = { .i = j, .recv = true };
	static uint64_t seed = 99;

	fill(from->buf, LEN, ++seed);
	return !vb_call(to, do_post, &recv, sizeof(recv)) &&
	       !vb_call(from, do_post, &send, sizeof(send)) &&
	       !vb_call(from, do_reap, &send, sizeof(send)) &&
	       !vb_call(to, do_reap, &recv, sizeof(recv)) && filled(to->buf + 8192, LEN, seed);
}

static int do_state(struct vb_side *s, void *arg)
{
	struct step *t = arg;
	struct ibv_qp_init_attr init;

	(void)s;
	ibv_query_qp(users[t->i].qp, &t->attr, IBV_QP_STATE, &init);
	return (int)t->attr.qp_state;
}

static int state(struct vb_side *s, int i)
{
	struct step t = { .i = i };

	return vb_call(s, do_state, &t, sizeof(t));
}

/* Up to the server's rdma_accept and the client's CONNECT_RESPONSE. */
static void half(unsigned int port)
{
	struct cm_parm p = cm_parm(56, 1), q = cm_parm(11, 2);
	struct cm_ev ev;

	cm_resolved(a, A, CH_A, RDMA_PS_TCP, vb_addr(b, false), port);
	make(a, A, &p.qpn);
	move(a, A, IBV_QPS_INIT, INIT_MASK, NULL);
	p.srq = 1;
	ok(!cm_connect(a, A, &p), "rdma_connect");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	ok(ev.qpn == p.qpn && ev.srq == 1 && cm_data(&ev, 56, 1, 56),
	   "QP, SRQ and data as they were given");
	make(b, B, &q.qpn);
	move(b, B, IBV_QPS_INIT, INIT_MASK, NULL);
	move(b, B, IBV_QPS_RTR, RTR_MASK, NULL);
	move(b, B, IBV_QPS_RTS, RTS_MASK, NULL);
	ok(!cm_accept(b, B, &q), "rdma_accept");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, &ev, "CONNECT_RESPONSE");
	ok(ev.qpn == q.qpn && ev.srq == 0 && cm_data(&ev, 11, 2, 196), "the server's likewise");
	cm_quiet(b, CH_B, "nothing for the server yet");
}

static void end(void)
{
	ok(!cm_disconnect(a, A), "rdma_disconnect");
	ok(state(a, A) == IBV_QPS_RTS, "leaves the program's QP alone");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, "DISCONNECTED");
	ok(!cm_disconnect(b, B), "the peer's rdma_disconnect");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, "DISCONNECTED here");
	unmake(a, A);
	unmake(b, B);
}

static void test_establish(unsigned int port)
{
	struct ibv_qp_attr attr;

	half(port);
	move(a, A, IBV_QPS_RTR, RTR_MASK, &attr);
	ok(attr.ah_attr.is_global && attr.ah_attr.port_num == 1 && attr.path_mtu >= IBV_MTU_256,
	   "with an address and a path MTU");
	move(a, A, IBV_QPS_RTS, RTS_MASK, &attr);
	ok(attr.retry_cnt == 7 && attr.timeout > 0, "retries: %u, timeout: %u", attr.retry_cnt,
	   attr.timeout);
	ok(!cm_establish(a, A), "rdma_establish");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, "the server: ESTABLISHED");
	cm_quiet(a, CH_A, "the client knows");
	is_errno(cm_establish(a, A), EINVAL, "rdma_establish again");
	ok(traffic(a, A, b, B) && traffic(b, B, a, A), "a message each way");
	end();
}

/* A message may overtake the RTU: the server's program says so. */
static void test_notify(unsigned int port)
{
	half(port);
	move(a, A, IBV_QPS_RTR, RTR_MASK, NULL);
	move(a, A, IBV_QPS_RTS, RTS_MASK, NULL);
	ok(traffic(a, A, b, B), "a message before the RTU");
	ok(!cm_notify(b, B, IBV_EVENT_COMM_EST), "rdma_notify: COMM_EST");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, "the server: ESTABLISHED");
	ok(!cm_establish(a, A), "rdma_establish after that");
	cm_quiet(b, CH_B, "ESTABLISHED comes once");
	end();
}

/* A listener's program that ends its half: the client is told. */
static void test_half_destroyed(unsigned int port)
{
	half(port);
	unmake(b, B);
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 28, NULL,
		  "the server destroys its accepted identifier: REJECTED, 28");
	unmake(a, A);
	half(port);
	unmake(a, A);
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_REJECTED, 28, NULL,
		  "the client destroys its own instead of establishing: REJECTED, 28");
	unmake(b, B);
}

static int do_set_ece(struct vb_side *s, void *arg)
{
	struct step *t = arg;

	(void)s;
	return rdma_set_local_ece(cm_ids[t->i], &t->ece) ? errno : 0;
}

static int do_get_ece(struct vb_side *s, void *arg)
{
	struct step *t = arg;

	(void)s;
	return rdma_get_remote_ece(cm_ids[t->i], &t->ece) ? errno : 0;
}

static int do_reject_ece(struct vb_side *s, void *arg)
{
	struct step *t = arg;

	(void)s;
	return rdma_reject_ece(cm_ids[t->i], "ece", 4) ? errno : 0;
}

static void test_ece(unsigned int port)
{
	struct step mine = { .i = A, .ece = { .vendor_id = 0x15b3, .options = 0x12345678 } };
	struct step his = { .i = B, .ece = { .vendor_id = 0x15b3, .options = 0x5678 } };
	struct cm_parm p = cm_parm(0, 0);
	struct step got;
	struct cm_ev ev;

	/* No number twice: that would be a stale connection. */
	p.qpn = 0x70;
	for (int reject = 0; reject < 2; reject++) {
		cm_resolved(a, A, CH_A, RDMA_PS_TCP, vb_addr(b, false), port);
		got = (struct step){ .i = A };
		is_errno(vb_call(a, do_set_ece, &got, sizeof(got)), EINVAL, "ECE of no vendor");
		ok(!vb_call(a, do_set_ece, &mine, sizeof(mine)), "rdma_set_local_ece");
		p.qpn++;
		ok(!cm_connect(a, A, &p), "rdma_connect");
		cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, "CONNECT_REQUEST");
		p.qpn++;
		got = (struct step){ .i = B };
		ok(!vb_call(b, do_get_ece, &got, sizeof(got)) && got.ece.vendor_id == 0x15b3 &&
			   got.ece.options == 0x12345678,
		   "rdma_get_remote_ece of the request: %#x", got.ece.options);
		if (reject) {
			ok(!vb_call(b, do_reject_ece, &his, sizeof(his)), "rdma_reject_ece");
			cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 35, &ev, "REJECTED, 35");
			ok(!memcmp(ev.data, "ece", 4), "with private data");
		} else {
			ok(!vb_call(b, do_set_ece, &his, sizeof(his)) && !cm_accept(b, B, &p),
			   "the server's, and rdma_accept");
			cm_expect(a, CH_A, A, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL,
				  "CONNECT_RESPONSE");
			got = (struct step){ .i = A };
			ok(!vb_call(a, do_get_ece, &got, sizeof(got)) && got.ece.options == 0x5678,
			   "rdma_get_remote_ece of the answer: %#x", got.ece.options);
		}
		ok(!cm_destroy(a, A), "rdma_destroy_id");
		if (!reject)
			cm_expect(b, CH_B, B, RDMA_CM_EVENT_REJECTED, 28, NULL, "REJECTED, 28");
		ok(!cm_destroy(b, B), "rdma_destroy_id");
	}
}

/* The server's QP is its identifier's, and its device is of another vendor than the options. */
static void test_ece_of_another_vendor(unsigned int port)
{
	struct step mine = { .i = A, .ece = { .vendor_id = 0x15b3, .options = 0x12345678 } };
	struct cm_parm p = cm_parm(0, 0);
	struct step got = { .i = A };

	cm_resolved(a, A, CH_A, RDMA_PS_TCP, vb_addr(b, false), port);
	ok(!vb_call(a, do_set_ece, &mine, sizeof(mine)), "rdma_set_local_ece");
	p.qpn = 0x80;
	ok(!cm_connect(a, A, &p), "rdma_connect");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, "CONNECT_REQUEST");
	ok(!cm_qp(b, B) && !cm_accept(b, B, &p), "a QP of another vendor's device accepts");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL, "CONNECT_RESPONSE");
	ok(!vb_call(a, do_get_ece, &got, sizeof(got)) && got.ece.vendor_id == 0x15b3 &&
		   !got.ece.options,
	   "without options: %#x", got.ece.options);
	ok(!cm_destroy(a, A), "rdma_destroy_id");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_REJECTED, 28, NULL, "REJECTED, 28");
	ok(!cm_qp_destroy(b, B) && !cm_destroy(b, B), "rdma_destroy_id");
}

int main(int argc, char **argv)
{
	unsigned int port;

	if (argc != 2)
		die("app_cm_user local|remote");
	cm_sides(argv[1], &a, &b);
	ok(!cm_chan(a, CH_A) && !cm_chan(b, CH_B), "rdma_create_event_channel");
	port = cm_listening(b, LISTENER, CH_B, RDMA_PS_TCP, "0.0.0.0", 8);
	test_establish(port);
	test_notify(port);
	test_half_destroyed(port);
	test_ece(port);
	test_ece_of_another_vendor(port);
	cm_quiet(a, CH_A, "no event is left");
	cm_quiet(b, CH_B, "nor at the server");
	ok(!cm_destroy(b, LISTENER), "the listener goes");
	ok(!cm_chan_close(a, CH_A) && !cm_chan_close(b, CH_B), "rdma_destroy_event_channel");
	cm_sides_end(a, b);
	return tap_failed != 0;
}
