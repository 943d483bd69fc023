/* SPDX-License-Identifier: MIT */
/*
 * Every RC opcode, with its flags, scatter/gather lists and sizes.
 *	app_qp_ops [local|remote|pidns]: where the other end lives
 */
#include "tests/lib/c/rc.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct end *a, *b;
#define WAIT 20000

static bool done(struct end *e, int which, uint64_t wr_id, enum ibv_wc_opcode op, struct ibv_wc *wc)
{
	if (!end_poll(e, which, WAIT, wc)) {
		note("no completion");
		return false;
	}
	if (wc->status || wc->wr_id != wr_id || wc->opcode != op) {
		note("completion: wr_id %lu status %s opcode %d", (unsigned long)wc->wr_id,
		     ibv_wc_status_str(wc->status), wc->opcode);
		return false;
	}
	return true;
}

static bool nothing(struct end *e, int which)
{
	struct ibv_wc wc;

	return !end_poll(e, which, 20, &wc);
}

static const uint32_t sizes[] = {
	0,    1,    8,	  64,	72,   73,   127,  128,	 129,	  1023,
	1024, 1025, 2048, 4095, 4096, 4097, 9000, 65536, 1000000, 4u << 20
};

static void test_send(void)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t n = sizes[i];
		struct rc_wr recv = wr_make(IBV_WR_SEND, 7, b, b->buf + 64, n + 16, NULL, NULL);
		struct rc_wr send = wr_make(IBV_WR_SEND, 8, a, a->buf + 128, n, NULL, NULL);
		bool good;

		fill(a->buf + 128, n, i);
		memset(b->buf, 0xee, (size_t)n + 256);
		good = !end_recv(b, &recv) && !end_send(a, &send) &&
		       done(a, 0, 8, IBV_WC_SEND, &wc) && done(b, 1, 7, IBV_WC_RECV, &wc);
		good = good && wc.byte_len == n && wc.qp_num == b->addr.qpn && !wc.wc_flags;
		good = good && wc.src_qp == a->addr.qpn;
		good = good && filled(b->buf + 64, n, i) && b->buf[63] == 0xee &&
		       b->buf[64 + n] == 0xee;
		ok(good, "SEND of %u bytes", n);
	}
}

static void test_send_kinds(void)
{
	struct rc_wr recv[3], send;
	struct ibv_wc wc;
	bool good;

	for (int i = 0; i < 3; i++)
		recv[i] = wr_make(IBV_WR_SEND, 20 + (uint64_t)i, b, b->buf + i * 1000, 1000, NULL,
				  NULL);
	ok(!end_recvs(b, recv, 3, NULL), "three receives in one post");

	fill(a->buf, 500, 3);
	send = wr_make(IBV_WR_SEND_WITH_IMM, 1, a, a->buf, 500, NULL, NULL);
	send.imm = htonl(0x12345678);
	good = !end_send(a, &send) && done(a, 0, 1, IBV_WC_SEND, &wc) &&
	       done(b, 1, 20, IBV_WC_RECV, &wc);
	ok(good && wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == htonl(0x12345678) &&
		   wc.byte_len == 500 && filled(b->buf, 500, 3),
	   "SEND_WITH_IMM");

	send = wr_make(IBV_WR_SEND_WITH_IMM, 2, a, NULL, 0, NULL, NULL);
	send.imm = htonl(0xffffffff);
	good = !end_send(a, &send) && done(a, 0, 2, IBV_WC_SEND, &wc) &&
	       done(b, 1, 21, IBV_WC_RECV, &wc);
	ok(good && wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == 0xffffffff && !wc.byte_len,
	   "SEND_WITH_IMM of nothing");
	pair_up(a, b, &rc_defaults, &rc_defaults);
}

static void test_write(void)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t n = sizes[i];
		struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, 5, a, a->buf + 3, n, b, b->buf + 77);
		bool good;

		fill(a->buf + 3, n, 100 + i);
		memset(b->buf, 0xee, (size_t)n + 256);
		good = !end_send(a, &wr) && done(a, 0, 5, IBV_WC_RDMA_WRITE, &wc);
		good = good && filled(b->buf + 77, n, 100 + i) && b->buf[76] == 0xee &&
		       b->buf[77 + n] == 0xee;
		ok(good, "RDMA_WRITE of %u bytes", n);
	}
	ok(nothing(b, 1), "RDMA_WRITE completes nothing at the target");
}

static void test_write_imm(void)
{
	static const uint32_t some[] = { 0, 1, 1024, 1025, 100000 };
	struct ibv_wc wc;

	for (int i = 0; i < 5; i++) {
		struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE_WITH_IMM, 6, a, a->buf, some[i], b,
					  b->buf + 4096);
		struct rc_wr recv = wr_make(IBV_WR_SEND, 9, b, b->buf, 16, NULL, NULL);
		bool good;

		memset(b->buf, 0xee, 64);
		fill(a->buf, some[i], 200 + (uint64_t)i);
		wr.imm = htonl(0xabcd0000u + (uint32_t)i);
		good = !end_recv(b, &recv) && !end_send(a, &wr) &&
		       done(a, 0, 6, IBV_WC_RDMA_WRITE, &wc) &&
		       done(b, 1, 9, IBV_WC_RECV_RDMA_WITH_IMM, &wc);
		ok(good && wc.wc_flags == IBV_WC_WITH_IMM && wc.byte_len == some[i] &&
			   wc.imm_data == htonl(0xabcd0000u + (uint32_t)i) &&
			   filled(b->buf + 4096, some[i], 200 + (uint64_t)i) && b->buf[0] == 0xee,
		   "RDMA_WRITE_WITH_IMM of %u bytes", some[i]);
	}
}

static void test_read(void)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t n = sizes[i];
		struct rc_wr wr = wr_make(IBV_WR_RDMA_READ, 5, a, a->buf + 3, n, b, b->buf + 77);
		bool good;

		fill(b->buf + 77, n, 300 + i);
		memset(a->buf, 0xee, (size_t)n + 256);
		good = !end_send(a, &wr) && done(a, 0, 5, IBV_WC_RDMA_READ, &wc);
		good = good && wc.byte_len == n && filled(a->buf + 3, n, 300 + i) &&
		       a->buf[2] == 0xee && a->buf[3 + n] == 0xee;
		ok(good, "RDMA_READ of %u bytes", n);
	}
}

static void test_atomics(void)
{
	uint64_t *target = (uint64_t *)(void *)(b->buf + 512);
	uint64_t *result = (uint64_t *)(void *)(a->buf + 24);
	struct rc_wr wr = wr_make(IBV_WR_ATOMIC_FETCH_AND_ADD, 11, a, result, 8, b, target);
	struct ibv_wc wc;

	*target = 0xfffffffffffffff0ULL;
	wr.compare_add = 0x20;
	ok(!end_send(a, &wr) && done(a, 0, 11, IBV_WC_FETCH_ADD, &wc) && wc.byte_len == 8 &&
		   *result == 0xfffffffffffffff0ULL && *target == 0x10,
	   "ATOMIC_FETCH_AND_ADD, with wrap");
	wr = wr_make(IBV_WR_ATOMIC_CMP_AND_SWP, 12, a, result, 8, b, target);
	wr.compare_add = 0x10;
	wr.swap = 0x1122334455667788ULL;
	ok(!end_send(a, &wr) && done(a, 0, 12, IBV_WC_COMP_SWAP, &wc) && *result == 0x10 &&
		   *target == 0x1122334455667788ULL,
	   "ATOMIC_CMP_AND_SWP that matches");
	wr.swap = 5;
	ok(!end_send(a, &wr) && done(a, 0, 12, IBV_WC_COMP_SWAP, &wc) &&
		   *result == 0x1122334455667788ULL && *target == 0x1122334455667788ULL,
	   "ATOMIC_CMP_AND_SWP that does not");
}

static void test_sg(void)
{
	struct rc_wr recv = wr_make(IBV_WR_SEND, 1, b, b->buf, 0, NULL, NULL);
	struct rc_wr wr = wr_make(IBV_WR_SEND, 2, a, a->buf, 0, NULL, NULL);
	static const uint32_t out[] = { 1, 1000, 0, 3000 }, in[] = { 500, 1, 2500, 2000 };
	uint8_t all[4001], got[5001];
	struct ibv_wc wc;
	size_t pos = 0;
	bool good;

	fill(all, sizeof(all), 99);
	wr.num_sge = recv.num_sge = 4;
	for (int i = 0; i < 4; i++) {
		wr.sge[i] = (struct ibv_sge){ (uintptr_t)a->buf + (unsigned int)i * 10007, out[i],
					      a->lkey };
		recv.sge[i] = (struct ibv_sge){ (uintptr_t)b->buf + (unsigned int)(3 - i) * 20011,
						in[i], b->lkey };
		memcpy(a->buf + i * 10007, all + pos, out[i]);
		pos += out[i];
	}
	good = !end_recv(b, &recv) && !end_send(a, &wr) && done(a, 0, 2, IBV_WC_SEND, &wc) &&
	       done(b, 1, 1, IBV_WC_RECV, &wc) && wc.byte_len == 4001;
	pos = 0;
	for (int i = 0; i < 4; i++) {
		memcpy(got + pos, b->buf + (3 - i) * 20011, in[i]);
		pos += in[i];
	}
	ok(good && !memcmp(got, all, 4001), "SEND gathers and scatters");

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.remote_addr = (uintptr_t)b->buf + 100000;
	wr.rkey = b->rkey;
	ok(!end_send(a, &wr) && done(a, 0, 2, IBV_WC_RDMA_WRITE, &wc) &&
		   !memcmp(b->buf + 100000, all, 4001),
	   "RDMA_WRITE gathers");

	for (int i = 0; i < 4; i++)
		memset(a->buf + i * 10007, 0, out[i]);
	wr.opcode = IBV_WR_RDMA_READ;
	good = !end_send(a, &wr) && done(a, 0, 2, IBV_WC_RDMA_READ, &wc);
	pos = 0;
	for (int i = 0; i < 4; i++) {
		memcpy(got + pos, a->buf + i * 10007, out[i]);
		pos += out[i];
	}
	ok(good && !memcmp(got, all, 4001), "RDMA_READ scatters");
}

static void test_inline(void)
{
	static const uint32_t some[] = { 0, 1, 64, 65, 200, 256 };
	struct rc_opts o = rc_defaults;
	struct ibv_wc wc;

	o.inl = 256;
	pair_up(a, b, &o, &o);
	for (int i = 0; i < 6; i++) {
		/* Memory that is not registered, with a key of nothing. */
		uint8_t *mem = malloc(some[i] + 1);
		struct rc_wr recv = wr_make(IBV_WR_SEND, 1, b, b->buf, 1000, NULL, NULL);
		struct rc_wr wr = wr_make(IBV_WR_SEND, 2, a, mem, some[i], NULL, NULL);
		bool good;

		if (!mem)
			die("out of memory");
		wr.flags |= IBV_SEND_INLINE;
		wr.sge[0].lkey = 0xdeadbeef;
		fill(mem, some[i], 400 + (uint64_t)i);
		good = !end_send(a, &wr);
		memset(mem, 0, some[i]);
		free(mem);
		good = good && !end_recv(b, &recv) && done(a, 0, 2, IBV_WC_SEND, &wc) &&
		       done(b, 1, 1, IBV_WC_RECV, &wc);
		ok(good && wc.byte_len == some[i] && filled(b->buf, some[i], 400 + (uint64_t)i),
		   "inline SEND of %u bytes, the buffer is free at return", some[i]);
	}
	for (int i = 0; i < 6; i++) {
		struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, 3, a, a->buf, some[i], b, b->buf + 9);

		wr.flags |= IBV_SEND_INLINE;
		fill(a->buf, some[i], 500 + (uint64_t)i);
		ok(!end_send(a, &wr) && done(a, 0, 3, IBV_WC_RDMA_WRITE, &wc) &&
			   filled(b->buf + 9, some[i], 500 + (uint64_t)i),
		   "inline RDMA_WRITE of %u bytes", some[i]);
	}
}

static void test_signals(void)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr wr[4];
	struct ibv_wc wc;

	pair_up(a, b, &o, &o);
	for (int i = 0; i < 4; i++) {
		wr[i] = wr_make(IBV_WR_RDMA_WRITE, 30 + (uint64_t)i, a, a->buf, 8, b, b->buf);
		wr[i].flags = i == 3 ? IBV_SEND_SIGNALED : 0;
	}
	ok(!end_sends(a, wr, 4, NULL) && done(a, 0, 33, IBV_WC_RDMA_WRITE, &wc) && nothing(a, 0),
	   "only the signaled one of four completes");
	o.sig_all = true;
	pair_up(a, b, &o, &o);
	ok(!end_sends(a, wr, 4, NULL) && done(a, 0, 30, IBV_WC_RDMA_WRITE, &wc) &&
		   done(a, 0, 31, IBV_WC_RDMA_WRITE, &wc) &&
		   done(a, 0, 32, IBV_WC_RDMA_WRITE, &wc) && done(a, 0, 33, IBV_WC_RDMA_WRITE, &wc),
	   "sq_sig_all: all four, in order");
	pair_up(a, b, &rc_defaults, &rc_defaults);

	/* A READ, then a fenced WRITE over what it reads: the READ must have seen the old bytes. */
	for (int i = 0; i < 50; i++) {
		bool good;

		fill(b->buf, 200000, 1000 + (uint64_t)i);
		fill(a->buf + 300000, 200000, 5000);
		wr[0] = wr_make(IBV_WR_RDMA_READ, 1, a, a->buf, 200000, b, b->buf);
		wr[1] = wr_make(IBV_WR_RDMA_WRITE, 2, a, a->buf + 300000, 200000, b, b->buf);
		wr[1].flags |= IBV_SEND_FENCE;
		good = !end_sends(a, wr, 2, NULL) && done(a, 0, 1, IBV_WC_RDMA_READ, &wc) &&
		       done(a, 0, 2, IBV_WC_RDMA_WRITE, &wc);
		good = good && filled(a->buf, 200000, 1000 + (uint64_t)i) &&
		       filled(b->buf, 200000, 5000);
		if (!good || i == 49) {
			ok(good, "a fenced WRITE after a READ of the same bytes");
			break;
		}
	}
}

/* READ into a buffer, then SEND from it with a fence: the peer gets what was read. */
static void test_fence_read_send(void)
{
	struct rc_wr recv = wr_make(IBV_WR_SEND, 1, b, b->buf + 500000, 100000, NULL, NULL);
	struct rc_wr wr[2];
	struct ibv_wc wc;

	fill(b->buf, 100000, 77);
	memset(a->buf, 0, 100000);
	wr[0] = wr_make(IBV_WR_RDMA_READ, 1, a, a->buf, 100000, b, b->buf);
	wr[1] = wr_make(IBV_WR_SEND, 2, a, a->buf, 100000, NULL, NULL);
	wr[1].flags |= IBV_SEND_FENCE;
	ok(!end_recv(b, &recv) && !end_sends(a, wr, 2, NULL) &&
		   done(a, 0, 1, IBV_WC_RDMA_READ, &wc) && done(a, 0, 2, IBV_WC_SEND, &wc) &&
		   done(b, 1, 1, IBV_WC_RECV, &wc) && filled(b->buf + 500000, 100000, 77),
	   "a fenced SEND of what a READ brings");
}

/* Both ends at once, and more READs than the connection may have outstanding. */
static void test_many(void)
{
	struct rc_wr wr[RC_CHAIN];
	struct ibv_wc wc;
	bool good = true;

	fill(b->buf, 8 * 3000, 55);
	memset(a->buf, 0, 8 * 3000);
	for (int i = 0; i < RC_CHAIN; i++)
		wr[i] = wr_make(IBV_WR_RDMA_READ, (uint64_t)i, a, a->buf + i * 3000, 3000, b,
				b->buf + i * 3000);
	for (int i = 0; i < 4; i++)
		good = good && !end_sends(a, wr, RC_CHAIN, NULL);
	for (int i = 0; i < 4 * RC_CHAIN; i++)
		good = good && done(a, 0, (uint64_t)(i % RC_CHAIN), IBV_WC_RDMA_READ, &wc);
	ok(good && filled(a->buf, 8 * 3000, 55), "32 READs over 4 outstanding, in order");

	good = true;
	for (int i = 0; i < 32; i++) {
		struct rc_wr ra = wr_make(IBV_WR_SEND, (uint64_t)i, a, a->buf, 100, NULL, NULL);
		struct rc_wr rb = wr_make(IBV_WR_SEND, (uint64_t)i, b, b->buf, 100, NULL, NULL);

		good = good && !end_recv(a, &ra) && !end_recv(b, &rb);
	}
	for (int i = 0; i < 32; i++) {
		struct rc_wr sa =
			wr_make(IBV_WR_SEND, (uint64_t)i, a, a->buf + 4096, 90, NULL, NULL);
		struct rc_wr sb =
			wr_make(IBV_WR_SEND, (uint64_t)i, b, b->buf + 4096, 80, NULL, NULL);

		good = good && !end_send(a, &sa) && !end_send(b, &sb);
	}
	for (int i = 0; i < 32 && good; i++) {
		good = done(a, 0, (uint64_t)i, IBV_WC_SEND, &wc) &&
		       done(b, 0, (uint64_t)i, IBV_WC_SEND, &wc) &&
		       done(a, 1, (uint64_t)i, IBV_WC_RECV, &wc) && wc.byte_len == 80 &&
		       done(b, 1, (uint64_t)i, IBV_WC_RECV, &wc) && wc.byte_len == 90;
	}
	ok(good, "32 SENDs both ways");
}

static void test_psn_wrap(void)
{
	struct rc_opts o = rc_defaults;
	struct ibv_wc wc;
	bool good = true;

	o.psn = 0xfffffe;
	o.mtu = IBV_MTU_256;
	pair_up(a, b, &o, &o);
	for (int i = 0; i < 8 && good; i++) {
		struct rc_wr w = wr_make(IBV_WR_RDMA_WRITE, 1, a, a->buf, 700, b, b->buf);
		struct rc_wr r = wr_make(IBV_WR_RDMA_READ, 2, a, a->buf + 8192, 700, b, b->buf);

		fill(a->buf, 700, (uint64_t)i);
		good = !end_send(a, &w) && done(a, 0, 1, IBV_WC_RDMA_WRITE, &wc) &&
		       !end_send(a, &r) && done(a, 0, 2, IBV_WC_RDMA_READ, &wc) &&
		       filled(a->buf + 8192, 700, (uint64_t)i);
	}
	ok(good, "PSNs wrap at 2^24");
	pair_up(a, b, &rc_defaults, &rc_defaults);
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "local";

	b = strcmp(where, "local") ? end_fork(!strcmp(where, "pidns")) : end_local();
	a = end_local();
	end_open(a);
	end_open(b);
	pair_up(a, b, &rc_defaults, &rc_defaults);
	test_send();
	test_send_kinds();
	test_write();
	test_write_imm();
	test_read();
	test_atomics();
	test_sg();
	test_inline();
	test_signals();
	test_fence_read_send();
	test_many();
	test_psn_wrap();
	end_destroy(a);
	end_destroy(b);
	end_close(b);
	return tap_failed != 0;
}
