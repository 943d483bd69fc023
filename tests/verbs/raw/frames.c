/* SPDX-License-Identifier: MIT */
/*
 * Raw packet queue pairs: frames of all lengths, offloads, VLAN tags, check sequences, large sends,
 * drops and errors. `app_raw_frames remote`: the receiver is another process.
 */
#include "tests/lib/c/raw.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t mac[6] = { 2, 0, 0, 0, 1, 1 };
static struct ibv_context *ctx;

static struct raw_pkt udp4(uint32_t payload)
{
	return raw_udp4(mac, 7, 8, payload);
}

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
	return be16(p) << 16 | be16(p + 2);
}

/* RFC 1071, from here and from the pseudo header's sum. */
static uint32_t ones(const uint8_t *p, uint32_t len, uint32_t sum)
{
	uint32_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += be16(p + i);
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The checksums of an IPv4 frame as its receiver would work them out. */
static bool sums_right(const uint8_t *ip, uint32_t proto, uint32_t l4)
{
	return ones(ip, 20, 0) == 0xffff &&
	       ones(ip + 20, l4, ones(ip + 12, 8, proto + l4)) == 0xffff;
}

static uint32_t crc32(const uint8_t *p, uint32_t len)
{
	uint32_t crc = ~0u, i, bit;

	for (i = 0; i < len; i++)
		for (crc ^= p[i], bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	return ~crc;
}

static void test_lengths(struct raw_end *a, struct raw_end *b)
{
	static const uint32_t lengths[] = { 14, 15, 60, 72, 73, 100, 1000, 1514, 1518, 1522 };
	struct raw_pkt k = { .ip = 0 };
	struct ibv_wc wc = { 0 };
	bool good = true;
	unsigned int i;

	memcpy(k.dmac, mac, 6);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t len = lengths[i];

		k.payload = len - 14;
		raw_build(a->out, &k, i);
		raw_recvs(b, 1, RAW_SLOT);
		memset(raw_slot(b, b->posted - 1), 0xee, len + 8);
		good = good && !raw_send(a, len, 0) && raw_poll(b->rcq, &wc, true) && !wc.status &&
		       wc.opcode == IBV_WC_RECV && wc.byte_len == len &&
		       wc.qp_num == b->qp->qp_num && !wc.wc_flags &&
		       !memcmp(raw_slot(b, wc.wr_id), a->out, len) &&
		       raw_slot(b, wc.wr_id)[len] == 0xee;
		if (!good)
			note("length %u: status %d, %u bytes", len, wc.status, wc.byte_len);
	}
	ok(good, "frames of many lengths arrive as they were sent");
}

static void test_offload(struct raw_end *a, struct raw_end *b)
{
	struct raw_pkt k = udp4(333);
	struct ibv_wc wc;
	uint8_t *in;

	raw_recvs(b, 3, RAW_SLOT);
	raw_send(a, raw_build(a->out, &k, 1), 0);
	ok(raw_poll(b->rcq, &wc, true) && !(wc.wc_flags & IBV_WC_IP_CSUM_OK),
	   "a wrong IP checksum is not called right");
	raw_send(a, raw_build(a->out, &k, 2), IBV_SEND_IP_CSUM);
	ok(raw_poll(b->rcq, &wc, true) && (wc.wc_flags & IBV_WC_IP_CSUM_OK), "an offloaded one is");
	in = raw_slot(b, wc.wr_id);
	ok(sums_right(in + 14, IPPROTO_UDP, 341) && filled(in + 42, 333, 2),
	   "checksums of IPv4 and UDP were filled in");
	ok(!be16(a->out + 24), "the sender's memory is as it was");
	memcpy(a->out, in, 42 + 333);
	a->out[50] ^= 1;
	raw_send(a, 42 + 333, 0);
	ok(raw_poll(b->rcq, &wc, true) && !(wc.wc_flags & IBV_WC_IP_CSUM_OK),
	   "a flipped bit is noticed");
}

static void test_inline(struct raw_end *a, struct raw_end *b)
{
	struct raw_pkt k = udp4(40);
	uint8_t copy[128];
	uint32_t len = raw_build(copy, &k, 3);
	struct ibv_sge sge = { (uintptr_t)copy, len, 0 };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE },
			   *bad;
	struct ibv_wc wc;

	raw_recvs(b, 1, RAW_SLOT);
	ok(!ibv_post_send(a->qp, &wr, &bad) && raw_poll(a->scq, &wc, true) && !wc.status &&
		   raw_poll(b->rcq, &wc, true) && wc.byte_len == len &&
		   !memcmp(raw_slot(b, wc.wr_id), copy, len),
	   "inline");
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	ok(ibv_post_send(a->qp, &wr, &bad) == EINVAL && bad == &wr, "no immediate data");
}

static void test_dropped(struct raw_end *a, struct raw_end *b)
{
	struct raw_pkt k = udp4(500);
	uint32_t len = raw_build(a->out, &k, 4);
	struct ibv_wc wc;

	ok(raw_send(a, len, 0) == IBV_WC_SUCCESS && !raw_poll(b->rcq, &wc, false),
	   "without a receive: dropped, the sender has succeeded");
	raw_recvs(b, 1, len - 1);
	ok(raw_send(a, len, 0) == IBV_WC_SUCCESS && !raw_poll(b->rcq, &wc, false),
	   "longer than the receive: dropped");
	raw_build(a->out, &k, 5);
	ok(raw_send(a, len - 1, 0) == IBV_WC_SUCCESS && raw_poll(b->rcq, &wc, true) &&
		   wc.byte_len == len - 1,
	   "the receive is still there");
}

static void test_tags(struct raw_end *a)
{
	struct raw_pkt k = udp4(200);
	struct raw_end strip, fcs;
	struct ibv_flow *f1, *f2;
	struct ibv_wc wc;
	uint32_t len, sum;
	uint8_t *in;

	raw_open(&strip, ctx, IBV_QP_CREATE_CVLAN_STRIPPING, 0);
	raw_open(&fcs, ctx, IBV_QP_CREATE_SCATTER_FCS, 0);
	f1 = raw_flow_dmac(strip.qp, mac);
	f2 = raw_flow_dmac(fcs.qp, mac);
	k.vlan = 0x2005;
	len = raw_build(a->out, &k, 6);
	raw_recvs(&strip, 2, RAW_SLOT);
	raw_recvs(&fcs, 1, RAW_SLOT);
	raw_send(a, len, IBV_SEND_IP_CSUM);
	ok(raw_poll(strip.rcq, &wc, true) && wc.byte_len == len - 4, "a VLAN tag is stripped");
	in = raw_slot(&strip, wc.wr_id);
	ok(be16(in + 12) == 0x0800 && filled(in + 42, 200, 6) && sums_right(in + 14, 17, 208),
	   "the VLAN tag is cut out of the frame");
	ok(raw_poll(fcs.rcq, &wc, true) && wc.byte_len == len + 4,
	   "the check sequence follows the frame");
	in = raw_slot(&fcs, wc.wr_id);
	memcpy(&sum, in + len, 4);
	ok(be16(in + 12) == 0x8100 && sum == htole32(crc32(in, len)), "the scattered FCS is right");
	k.vlan = 0;
	k.payload = 10;
	raw_send(a, raw_build(a->out, &k, 7), 0);
	ok(raw_poll(strip.rcq, &wc, true) && wc.byte_len == 52,
	   "without a tag nothing is stripped");
	ok(ibv_destroy_qp(strip.qp) == EBUSY, "a QP with a flow cannot be destroyed");
	ibv_destroy_flow(f1);
	ibv_destroy_flow(f2);
	raw_close(&strip);
	raw_close(&fcs);
}

static int post_tso(struct raw_end *a, const struct raw_pkt *k, uint32_t mss, uint32_t total)
{
	uint32_t hdr = raw_headers(k);
	struct ibv_sge sge[2] = { { (uintptr_t)a->out + hdr, total / 3, a->mr->lkey },
				  { (uintptr_t)a->out + hdr + total / 3, total - total / 3,
				    a->mr->lkey } };
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_TSO }, *bad;

	wr.tso.hdr = a->out;
	wr.tso.hdr_sz = (uint16_t)hdr;
	wr.tso.mss = (uint16_t)mss;
	return ibv_post_send(a->qp, &wr, &bad);
}

/* A segment as it should be, at @off of the payload. */
static bool segment_right(const uint8_t *in, const struct raw_pkt *k, const uint8_t *payload,
			  uint32_t nth, uint32_t mss, uint32_t total)
{
	uint32_t off = nth * mss, n = total - off < mss ? total - off : mss;
	uint32_t hdr = raw_headers(k), tcp = hdr - 20;
	bool last = off + n == total;

	if (k->ip == 4 &&
	    (be16(in + 16) != 40 + n || be16(in + 18) != nth || !sums_right(in + 14, 6, 20 + n)))
		return false;
	if (k->ip == 6 && (be16(in + 18) != 20 + n ||
			   ones(in + tcp, 20 + n, ones(in + 22, 32, 6 + 20 + n)) != 0xffff))
		return false;
	return be32(in + tcp + 4) == off && in[tcp + 13] == (last ? 0x19 : 0x10) &&
	       !memcmp(in + hdr, payload + off, n);
}

static void test_tso(struct raw_end *b)
{
	struct ibv_device_attr_ex dev;
	struct raw_pkt k = udp4(0);
	struct raw_end a;
	struct ibv_wc wc;
	uint32_t i, n, mss = 1000, total = 20123, v;

	raw_open(&a, ctx, 0, 128);
	ok(!ibv_query_device_ex(ctx, NULL, &dev) && dev.tso_caps.max_tso >= 65536 &&
		   (dev.tso_caps.supported_qpts & 1 << IBV_QPT_RAW_PACKET),
	   "TSO is offered");
	k.proto = IPPROTO_TCP;
	for (v = 4; v <= 6; v += 2) {
		bool good = true;

		k.ip = (int)v;
		k.src = v == 4 ? "192.0.2.1" : "2001:db8::1";
		k.dst = v == 4 ? "192.0.2.2" : "2001:db8::2";
		k.payload = total;
		raw_build(a.out, &k, v);
		n = (total + mss - 1) / mss;
		raw_recvs(b, n, RAW_SLOT);
		ok(!post_tso(&a, &k, mss, total) && raw_poll(a.scq, &wc, true) && !wc.status &&
			   wc.opcode == IBV_WC_TSO,
		   "IPv%u: one completion", v);
		for (i = 0; i < n && good; i++)
			good = raw_poll(b->rcq, &wc, true) &&
			       segment_right(raw_slot(b, wc.wr_id), &k, a.out + raw_headers(&k), i,
					     mss, total);
		ok(good && !raw_poll(b->rcq, &wc, false), "IPv%u: %u right segments", v, n);
	}
	ok(post_tso(&a, &k, 0, 100) == EINVAL, "segments of nothing: EINVAL");
	k.vlan = 1;
	k.ip = 0;
	ok(!post_tso(&a, &k, mss, 100) && raw_poll(a.scq, &wc, true) &&
		   wc.status == IBV_WC_LOC_QP_OP_ERR,
	   "a header that is not TCP fails");
	raw_close(&a);
}

static void test_too_long(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct raw_end a;

	raw_open(&a, ctx, 0, 0);
	ok(raw_send(&a, 1523, 0) == IBV_WC_LOC_LEN_ERR, "longer than the port's MTU: LOC_LEN_ERR");
	ok(!ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_SQE,
	   "the QP is in SQE");
	ok(raw_send(&a, 100, 0) == IBV_WC_WR_FLUSH_ERR, "in which sends are flushed");
	attr.qp_state = IBV_QPS_RTS;
	ok(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), "SQE to RTS");
	ok(raw_send(&a, 13, 0) == IBV_WC_LOC_LEN_ERR, "shorter than a header: LOC_LEN_ERR");
	raw_close(&a);
}

static void test_bad_receive(struct raw_end *a)
{
	struct raw_pkt k = udp4(100);
	uint8_t other[6] = { 2, 0, 0, 0, 1, 9 };
	struct ibv_flow *f;
	struct raw_end c;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	raw_open(&c, ctx, 0, 0);
	f = raw_flow_dmac(c.qp, other);
	sge = (struct ibv_sge){ (uintptr_t)c.in, 2000, c.mr->lkey ^ 0x100 };
	ibv_post_recv(c.qp, &wr, &bad);
	raw_recvs(&c, 1, 2000);
	memcpy(k.dmac, other, 6);
	ok(raw_send(a, raw_build(a->out, &k, 1), 0) == IBV_WC_SUCCESS &&
		   raw_poll(c.rcq, &wc, true) && wc.status == IBV_WC_LOC_PROT_ERR && wc.wr_id == 5,
	   "a receive with a bad key ends with LOC_PROT_ERR");
	ok(raw_poll(c.rcq, &wc, true) && wc.status == IBV_WC_WR_FLUSH_ERR, "the rest is flushed");
	ibv_destroy_flow(f);
	raw_close(&c);
}

static int local(void)
{
	struct ibv_flow *f;
	struct raw_end a, b;

	ctx = rc_open_first();
	raw_open(&a, ctx, 0, 0);
	raw_open(&b, ctx, 0, 0);
	f = raw_flow_dmac(b.qp, mac);
	test_lengths(&a, &b);
	test_offload(&a, &b);
	test_inline(&a, &b);
	test_dropped(&a, &b);
	test_tso(&b);
	test_too_long();
	test_bad_receive(&a);
	ibv_destroy_flow(f);
	test_tags(&a);
	raw_close(&a);
	raw_close(&b);
	ibv_close_device(ctx);
	return tap_failed != 0;
}

#define REMOTE_FRAMES 400u

static uint32_t remote_len(uint32_t i)
{
	return 20 + i * 37 % 1400;
}

/* The receiver: rounds of RAW_RECVS frames, each checked. Return: exit status. */
static int receiver(int ready, int go)
{
	struct ibv_flow *f;
	struct raw_end b;
	struct ibv_wc wc;
	uint32_t i;
	char c = 1;

	ctx = rc_open_first();
	raw_open(&b, ctx, 0, 0);
	f = raw_flow_dmac(b.qp, mac);
	for (i = 0; i < REMOTE_FRAMES; i++) {
		if (i % RAW_RECVS == 0) {
			if (raw_recvs(&b, RAW_RECVS, RAW_SLOT) || write(ready, &c, 1) != 1)
				return 2;
		}
		if (!raw_poll(b.rcq, &wc, true))
			return 3;
		if (wc.status || wc.byte_len != 14 + remote_len(i) ||
		    !filled(raw_slot(&b, wc.wr_id) + 14, remote_len(i), i))
			return 4;
	}
	/* Stay until the sender has seen its completions. */
	if (read(go, &c, 1) != 1)
		return 5;
	ibv_destroy_flow(f);
	raw_close(&b);
	return 0;
}

static int remote(void)
{
	struct raw_pkt k = { .ip = 0 };
	int ready[2], go[2], status = -1;
	struct raw_end a;
	bool good = true;
	uint32_t i;
	pid_t pid;
	char c = 1;

	if (pipe(ready) || pipe(go))
		die("pipe");
	pid = fork();
	if (!pid) {
		peer_enter();
		_exit(receiver(ready[1], go[0]));
	}
	close(ready[1]);
	ctx = rc_open_first();
	raw_open(&a, ctx, 0, 0);
	memcpy(k.dmac, mac, 6);
	for (i = 0; i < REMOTE_FRAMES && good; i++) {
		if (i % RAW_RECVS == 0 && read(ready[0], &c, 1) != 1)
			break;
		k.payload = remote_len(i);
		good = raw_send(&a, raw_build(a.out, &k, i), 0) == IBV_WC_SUCCESS;
	}
	ok(good && i == REMOTE_FRAMES, "%u frames were sent to another process", REMOTE_FRAMES);
	good = write(go[1], &c, 1) == 1 && waitpid(pid, &status, 0) == pid;
	ok(good && !status, "they arrive in order, each once (%x)", status);
	raw_close(&a);
	ibv_close_device(ctx);
	return tap_failed != 0;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "remote") ? remote() : local();
}
