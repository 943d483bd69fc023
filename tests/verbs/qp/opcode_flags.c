/* SPDX-License-Identifier: MIT */
/*
 * The send_flags of ibv_post_send(3) on each QP type, by both posting APIs.
 *	app_qp_opcode_flags [local|remote]: where the other side lives
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static struct vb_side *a, *b;
static struct vb_pair p;
static bool ex;

static bool is(enum ibv_qp_type type)
{
	return p.type == type;
}

static bool has_reads(void)
{
	return is(IBV_QPT_RC) || is(IBV_QPT_XRC_SEND);
}

/* A SEND with these flags, and its receive; what it leads to is left to the caller. */
static int send_flagged(unsigned int flags, uint64_t wr_id)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_SEND, wr_id, 0, 60);

	wr.flags = flags;
	if (vb_recv1(b, p.recv, wr_id + 1000, b->buf, 200))
		return -1;
	return vb_send(a, 0, ex, &wr);
}

static bool received(uint64_t wr_id)
{
	struct ibv_wc wc;

	return vb_done(b, p.rq, p.rcq, wr_id + 1000, IBV_WC_RECV, &wc) &&
	       wc.byte_len == 60 + p.off && !memcmp(b->buf + p.off, a->buf, 60);
}

static bool signaled(void)
{
	struct ibv_wc wc;

	return !send_flagged(0, 1) && received(1) && vb_nothing(a, 0, VB_SCQ) &&
	       !send_flagged(IBV_SEND_SIGNALED, 2) && received(2) &&
	       vb_done(a, 0, VB_SCQ, 2, IBV_WC_SEND, &wc) && vb_nothing(a, 0, VB_SCQ);
}

/* --- Solicited events */

struct arm {
	int i;
	enum vb_cq which;
	int solicited;
};

static struct ibv_cq *cq_of(struct vb_side *s, const struct arm *arm)
{
	return arm->which == VB_SRQ_CQ ? s->srq_cq[arm->i] : s->qp[arm->i].rcq;
}

static int do_arm(struct vb_side *s, void *arg)
{
	const struct arm *arm = arg;

	return ibv_req_notify_cq(cq_of(s, arm), arm->solicited);
}

/* Return: 1 for an event of the CQ within @solicited milliseconds, 0 for none. */
static int do_comp(struct vb_side *s, void *arg)
{
	const struct arm *arm = arg;
	struct pollfd pfd = { s->chan->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	void *context;

	if (poll(&pfd, 1, arm->solicited) <= 0)
		return 0;
	if (ibv_get_cq_event(s->chan, &cq, &context))
		return -1;
	ibv_ack_cq_events(cq, 1);
	return cq == cq_of(s, arm) ? 1 : -2;
}

static bool comp(int ms)
{
	struct arm arm = { p.rq, p.rcq, ms };

	return vb_call(b, do_comp, &arm, sizeof(arm)) == 1;
}

static bool solicited_write(unsigned int flags)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE_WITH_IMM, 5, 0, 60);
	struct ibv_wc wc;

	wr.flags = flags | IBV_SEND_SIGNALED;
	return !vb_recv1(b, p.recv, 1005, b->buf, 200) && !vb_send(a, 0, ex, &wr) &&
	       vb_done(a, 0, VB_SCQ, 5, IBV_WC_RDMA_WRITE, &wc) &&
	       vb_done(b, p.rq, p.rcq, 1005, IBV_WC_RECV_RDMA_WITH_IMM, &wc);
}

static bool solicited(void)
{
	struct arm arm = { p.rq, p.rcq, 1 };

	if (vb_call(b, do_arm, &arm, sizeof(arm)) || send_flagged(0, 3) || !received(3) ||
	    comp(VB_SHORT) || send_flagged(IBV_SEND_SOLICITED, 4) || !received(4) || !comp(VB_WAIT))
		return false;
	if (is(IBV_QPT_UD))
		return true;
	return !vb_call(b, do_arm, &arm, sizeof(arm)) && solicited_write(0) && !comp(VB_SHORT) &&
	       solicited_write(IBV_SEND_SOLICITED) && comp(VB_WAIT);
}

/* --- Fence: what other types than RC have no reads to wait for is no reason to fail. */

static bool fence(void)
{
	struct vb_wr wr[2];
	struct ibv_wc wc;

	if (!has_reads())
		return !send_flagged(IBV_SEND_FENCE, 6) && received(6);
	for (int i = 0; i < 20; i++) {
		uint64_t seed = 600 + (uint64_t)i;

		fill(b->buf, 100000, seed);
		fill(a->buf + 200000, 100000, seed + 50);
		wr[0] = vb_pair_wr(&p, IBV_WR_RDMA_READ, 7, 0, 100000);
		wr[1] = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 8, 200000, 100000);
		wr[1].raddr = (uintptr_t)b->buf;
		wr[1].flags |= IBV_SEND_FENCE;
		if (vb_sends(a, 0, ex, wr, 2, NULL) ||
		    !vb_done(a, 0, VB_SCQ, 7, IBV_WC_RDMA_READ, &wc) ||
		    !vb_done(a, 0, VB_SCQ, 8, IBV_WC_RDMA_WRITE, &wc) ||
		    !filled(a->buf, 100000, seed) || !filled(b->buf, 100000, seed + 50))
			return false;
	}
	return true;
}

/* --- Inline */

static bool inline_send(void)
{
	uint32_t len = a->addr[0].cap.max_inline_data;
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_SEND, 9, 0, 60);
	struct ibv_wc wc;
	int ret;

	if (len < 64)
		return false;
	/* Three pieces that no key covers, and the buffer is free at once. */
	fill(a->buf + 14, 46, 9);
	memcpy(a->buf + 4096, a->buf, 60);
	wr.flags |= IBV_SEND_INLINE;
	wr.num_sge = 3;
	wr.sge[0] = (struct ibv_sge){ (uintptr_t)a->buf, 20, 0xdead };
	wr.sge[1] = (struct ibv_sge){ (uintptr_t)a->buf + 20, 0, 0xdead };
	wr.sge[2] = (struct ibv_sge){ (uintptr_t)a->buf + 20, 40, 0xdead };
	if (vb_recv1(b, p.recv, 1009, b->buf, 200))
		return false;
	ret = vb_send(a, 0, ex, &wr);
	memset(a->buf, 0, 60);
	if (ret || !vb_done(a, 0, VB_SCQ, 9, IBV_WC_SEND, &wc) ||
	    !vb_done(b, p.rq, p.rcq, 1009, IBV_WC_RECV, &wc) || wc.byte_len != 60 + p.off ||
	    memcmp(b->buf + p.off, a->buf + 4096, 60) != 0)
		return false;
	/* One byte more than was granted. */
	wr.num_sge = 1;
	wr.sge[0].length = len + 1;
	return vb_send(a, 0, ex, &wr) == EINVAL && vb_nothing(a, 0, VB_SCQ);
}

static bool inline_write(void)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 10, 0, 60);
	struct ibv_wc wc;

	wr.flags |= IBV_SEND_INLINE;
	wr.sge[0].lkey = 0xdead;
	fill(a->buf, 60, 10);
	return !vb_send(a, 0, ex, &wr) && vb_done(a, 0, VB_SCQ, 10, IBV_WC_RDMA_WRITE, &wc) &&
	       arrives(b->buf, 60, 10);
}

static bool not_inline(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };

	for (int i = 0; i < 3; i++) {
		struct vb_wr wr = vb_pair_wr(&p, ops[i], 11, 0, 8);

		wr.flags |= IBV_SEND_INLINE;
		if (vb_send(a, 0, ex, &wr) != EINVAL)
			return false;
	}
	return vb_nothing(a, 0, VB_SCQ) && vb_pair_alive(&p);
}

/* --- Checksums */

static unsigned int ones_sum(const uint8_t *at, unsigned int len, unsigned int sum)
{
	for (unsigned int i = 0; i < len; i += 2)
		sum += (unsigned int)(at[i] << 8 | at[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* A frame with UDP in IPv4, both checksums left out. */
static bool checksums(void)
{
	static const uint8_t ip[28] = {
		0x45, 0, 0,  46, 0, 1, 0,    0, 64,   17, 0, 0,	 10, 0,
		0,    1, 10, 0,	 0, 2, 0x10, 0, 0x20, 0,  0, 26, 0,  0,
	};
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_SEND, 12, 0, 60);
	struct ibv_wc wc;
	uint8_t *got = b->buf;
	unsigned int sum;

	a->buf[12] = 0x08;
	a->buf[13] = 0x00;
	memcpy(a->buf + 14, ip, sizeof(ip));
	fill(a->buf + 42, 18, 12);
	wr.flags |= IBV_SEND_IP_CSUM;
	if (vb_recv1(b, p.recv, 1012, b->buf, 200) || vb_send(a, 0, ex, &wr) ||
	    !vb_done(a, 0, VB_SCQ, 12, IBV_WC_SEND, &wc) ||
	    !vb_done(b, p.rq, p.rcq, 1012, IBV_WC_RECV, &wc))
		return false;
	/* Over the pseudo header: addresses, protocol and length. */
	sum = ones_sum(got + 34, 26, ones_sum(got + 26, 8, 17 + 26));
	return ones_sum(got + 14, 20, 0) == 0xffff && sum == 0xffff && filled(got + 42, 18, 12) &&
	       (wc.wc_flags & IBV_WC_IP_CSUM_OK);
}

static bool ip_csum(void)
{
	unsigned int caps = a->info.dev.orig_attr.device_cap_flags;

	if (is(IBV_QPT_RAW_PACKET) && (caps & IBV_DEVICE_RAW_IP_CSUM))
		return checksums();
	if (is(IBV_QPT_UD) && (caps & IBV_DEVICE_UD_IP_CSUM))
		return !send_flagged(IBV_SEND_IP_CSUM, 13) && received(13);
	return send_flagged(IBV_SEND_IP_CSUM | IBV_SEND_SIGNALED, 14) == EINVAL &&
	       vb_nothing(a, 0, VB_SCQ);
}

static bool unknown(void)
{
	for (int bit = 5; bit < 32; bit++) {
		struct vb_wr wr = vb_pair_wr(&p, IBV_WR_SEND, 15, 0, 60);

		wr.flags |= 1u << bit;
		if (vb_send(a, 0, ex, &wr) != EINVAL)
			return false;
	}
	return vb_nothing(a, 0, VB_SCQ);
}

static bool sig_all(struct vb_spec spec)
{
	struct ibv_wc wc;
	bool good;

	spec.sig_all = true;
	good = !vb_pair_up(&p, a, b, &spec);
	if (!good)
		return false;
	good = !send_flagged(0, 16) && received(16) && vb_done(a, 0, VB_SCQ, 16, IBV_WC_SEND, &wc);
	vb_pair_down(&p);
	return good;
}

static void check(const char *what, bool (*run)(void), const struct vb_spec *spec)
{
	int ret = vb_pair_up(&p, a, b, spec);
	bool good = !ret && run();

	ok(good, "%s on %s, %s%s%s", what, vb_type_str(spec->type),
	   ex ? "ibv_wr_*" : "ibv_post_send", ret ? ": " : "", ret ? strerror(ret) : "");
	if (!ret)
		vb_pair_down(&p);
}

static void of_type(enum ibv_qp_type type)
{
	struct vb_spec spec = vb_spec_of(type);
	bool rw = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
	bool write = rw || type == IBV_QPT_UC;

	spec.inl = 64;
	spec.chan = true;
	if (ex)
		spec.ops = IBV_QP_EX_WITH_SEND;
	if (ex && write)
		spec.ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (ex && rw)
		spec.ops |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	check("SIGNALED", signaled, &spec);
	ok(sig_all(spec), "sq_sig_all on %s, %s", vb_type_str(type),
	   ex ? "ibv_wr_*" : "ibv_post_send");
	if (type != IBV_QPT_RAW_PACKET)
		check("SOLICITED", solicited, &spec);
	check("FENCE", fence, &spec);
	check("INLINE", inline_send, &spec);
	if (write)
		check("INLINE of RDMA_WRITE", inline_write, &spec);
	if (rw)
		check("INLINE of READ and atomics is refused", not_inline, &spec);
	check("IP_CSUM", ip_csum, &spec);
	check("unknown flags are refused", unknown, &spec);
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	for (int t = 0; t < VB_TYPES; t++) {
		if (!vb_crosses(vb_types[t]))
			continue;
		ex = false;
		of_type(vb_types[t]);
		ex = true;
		of_type(vb_types[t]);
	}
	vb_close_two(a, b);
	return tap_failed != 0;
}
