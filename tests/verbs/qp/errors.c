/* SPDX-License-Identifier: MIT */
/*
 * Errors, and what both sides see of them, a row each (docs/reference/errors.md).
 *	app_qp_errors [local|remote]
 *
 * Each row sets up a fresh connection with two receives of 64 bytes at B (unless it says
 * otherwise); A makes one request.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT   20000
#define NONE   (-1) /* no completion, no event */
#define ANY    (-2) /* the specification leaves it open */
#define PAGE   4096
#define REGION (1 << 20) /* offset in a buffer of the region that a row registers */

static struct end *a, *b;

/* Where A's key for B's memory comes from. */
enum region {
	R_WHOLE, /* all of B's buffer, all rights */
	R_BOGUS, /* nobody was given that key */
	R_STALE, /* its region was deregistered */
	R_PAGE, /* one page, with the row's rights */
	R_OTHER_PD,
};

enum receive {
	Q_TWO,
	Q_NONE,
	Q_BAD_LKEY,
	Q_READ_ONLY, /* into a region without LOCAL_WRITE */
};

/* A's own buffer. */
enum local {
	L_WHOLE,
	L_BAD_LKEY,
	L_PAST_END,
	L_READ_ONLY,
	L_STALE,
};

/**
 * struct row - one line of the table.
 * @off: of the remote address in the region
 * @access: of the region
 * @qp_access: what B's QP does not allow, taken away from all
 * @wc: A's completion; @rwc: B's first receive; @ev: B's event; @sa, @sb: states afterwards
 */
struct row {
	const char *name;
	enum ibv_wr_opcode op;
	int len;
	int off;
	enum region region;
	int access;
	int qp_access;
	enum receive recv;
	enum local local;
	int wc;
	int rwc;
	int ev;
	enum ibv_qp_state sa, sb;
};

#define WRITE	  IBV_WR_RDMA_WRITE
#define WRITE_IMM IBV_WR_RDMA_WRITE_WITH_IMM
#define READ	  IBV_WR_RDMA_READ
#define SEND	  IBV_WR_SEND
#define FADD	  IBV_WR_ATOMIC_FETCH_AND_ADD
#define CSWAP	  IBV_WR_ATOMIC_CMP_AND_SWP

/* clang-format off: a table */
#define REM_ACCESS                                                                                 \
	.wc = IBV_WC_REM_ACCESS_ERR, .rwc = IBV_WC_WR_FLUSH_ERR, .ev = IBV_EVENT_QP_ACCESS_ERR,    \
	.sa = IBV_QPS_ERR, .sb = IBV_QPS_ERR
#define LOC_ACCESS                                                                                 \
	.wc = IBV_WC_REM_ACCESS_ERR, .rwc = IBV_WC_LOC_ACCESS_ERR, .ev = IBV_EVENT_QP_ACCESS_ERR,  \
	.sa = IBV_QPS_ERR, .sb = IBV_QPS_ERR
#define REM_INV                                                                                    \
	.wc = IBV_WC_REM_INV_REQ_ERR, .rwc = IBV_WC_WR_FLUSH_ERR, .ev = IBV_EVENT_QP_REQ_ERR,      \
	.sa = IBV_QPS_ERR, .sb = IBV_QPS_ERR
#define NO_RECEIVE                                                                                 \
	.wc = IBV_WC_REM_ACCESS_ERR, .rwc = NONE, .ev = IBV_EVENT_QP_ACCESS_ERR,                   \
	.sa = IBV_QPS_ERR, .sb = IBV_QPS_ERR
#define LOC_PROT                                                                                   \
	.wc = IBV_WC_LOC_PROT_ERR, .rwc = NONE, .ev = NONE, .sa = IBV_QPS_ERR, .sb = IBV_QPS_RTS
#define GOOD .wc = IBV_WC_SUCCESS, .rwc = NONE, .ev = NONE, .sa = IBV_QPS_RTS, .sb = IBV_QPS_RTS

static const struct row rows[] = {
	{ "WRITE, unknown rkey", WRITE, 8, .region = R_BOGUS, REM_ACCESS },
	{ "WRITE, rkey of a deregistered region", WRITE, 8, .region = R_STALE, REM_ACCESS },
	{ "WRITE past the end", WRITE, 8, PAGE - 7, R_PAGE, ALL, REM_ACCESS },
	{ "WRITE of two MTUs past the end", WRITE, 2048, PAGE - 2047, R_PAGE, ALL, REM_ACCESS },
	{ "WRITE before the start", WRITE, 8, -1, R_PAGE, ALL, REM_ACCESS },
	{ "WRITE far before the start", WRITE, 8, -REGION, R_PAGE, ALL, REM_ACCESS },
	{ "WRITE, region without REMOTE_WRITE", WRITE, 8, 0, R_PAGE, LW | RR | RA, REM_ACCESS },
	{ "WRITE, region with LOCAL_WRITE only", WRITE, 8, 0, R_PAGE, LW, REM_ACCESS },
	{ "WRITE, region of another PD", WRITE, 8, 0, R_OTHER_PD, ALL, REM_ACCESS },
	{ "WRITE to the last bytes", WRITE, 8, PAGE - 8, R_PAGE, ALL, GOOD },
	{ "WRITE of nothing, unknown rkey", WRITE, 0, .region = R_BOGUS, GOOD },
	{ "WRITE_WITH_IMM, unknown rkey", WRITE_IMM, 8, .region = R_BOGUS, LOC_ACCESS },
	{ "WRITE_WITH_IMM past the end", WRITE_IMM, 8, PAGE - 7, R_PAGE, ALL, LOC_ACCESS },
	{ "WRITE_WITH_IMM, region without REMOTE_WRITE", WRITE_IMM, 8, 0, R_PAGE, LW | RR,
	  LOC_ACCESS },
	{ "WRITE_WITH_IMM, region of another PD", WRITE_IMM, 8, 0, R_OTHER_PD, ALL, LOC_ACCESS },
	{ "WRITE_WITH_IMM of two MTUs, unknown rkey: the first packet names no receive", WRITE_IMM,
	  2048, .region = R_BOGUS, REM_ACCESS },
	{ "WRITE_WITH_IMM, QP without REMOTE_WRITE", WRITE_IMM, 8, .qp_access = RW, REM_INV },
	{ "WRITE_WITH_IMM, unknown rkey, no receive", WRITE_IMM, 8, .region = R_BOGUS,
	  .recv = Q_NONE, NO_RECEIVE },
	{ "WRITE_WITH_IMM of nothing, unknown rkey", WRITE_IMM, 0, .region = R_BOGUS,
	  .wc = IBV_WC_SUCCESS, .rwc = IBV_WC_SUCCESS, .ev = NONE, .sa = IBV_QPS_RTS,
	  .sb = IBV_QPS_RTS },
	{ "READ, unknown rkey", READ, 8, .region = R_BOGUS, REM_ACCESS },
	{ "READ past the end", READ, 8, PAGE - 7, R_PAGE, ALL, REM_ACCESS },
	{ "READ of two MTUs past the end", READ, 2048, PAGE - 2047, R_PAGE, ALL, REM_ACCESS },
	{ "READ, region with LOCAL_WRITE only", READ, 8, 0, R_PAGE, LW, REM_ACCESS },
	{ "READ, region without REMOTE_READ", READ, 8, 0, R_PAGE, LW | RW | RA, REM_ACCESS },
	{ "READ, region of another PD", READ, 8, 0, R_OTHER_PD, ALL, REM_ACCESS },
	{ "READ of nothing, unknown rkey", READ, 0, .region = R_BOGUS, GOOD },
	{ "FETCH_AND_ADD, unknown rkey", FADD, 8, .region = R_BOGUS, REM_ACCESS },
	{ "FETCH_AND_ADD past the end", FADD, 8, PAGE, R_PAGE, ALL, REM_ACCESS },
	{ "FETCH_AND_ADD, region without REMOTE_ATOMIC", FADD, 8, 0, R_PAGE, LW | RW | RR,
	  REM_ACCESS },
	{ "CMP_AND_SWP, region without REMOTE_ATOMIC", CSWAP, 8, 0, R_PAGE, LW | RW | RR,
	  REM_ACCESS },
	{ "FETCH_AND_ADD, not aligned", FADD, 8, 4, REM_INV },
	{ "CMP_AND_SWP, not aligned", CSWAP, 8, 1, REM_INV },
	{ "WRITE, QP without REMOTE_WRITE", WRITE, 8, .qp_access = RW, REM_INV },
	{ "READ, QP without REMOTE_READ", READ, 8, .qp_access = RR, REM_INV },
	{ "FETCH_AND_ADD, QP without REMOTE_ATOMIC", FADD, 8, .qp_access = RA, REM_INV },
	{ "SEND, unknown lkey", SEND, 500, .local = L_BAD_LKEY, LOC_PROT },
	{ "SEND of a few bytes, unknown lkey", SEND, 8, .local = L_BAD_LKEY, LOC_PROT },
	{ "SEND, lkey of a deregistered region", SEND, 8, .local = L_STALE, LOC_PROT },
	{ "SEND past the end of its region", SEND, 60, .local = L_PAST_END, LOC_PROT },
	{ "WRITE, unknown lkey", WRITE, 500, .local = L_BAD_LKEY, LOC_PROT },
	{ "WRITE past the end of its region", WRITE, 60, .local = L_PAST_END, LOC_PROT },
	{ "READ, unknown lkey", READ, 8, .local = L_BAD_LKEY, LOC_PROT },
	{ "READ into a region without LOCAL_WRITE", READ, 8, .local = L_READ_ONLY, LOC_PROT },
	{ "FETCH_AND_ADD, unknown lkey", FADD, 8, .local = L_BAD_LKEY, LOC_PROT },
	{ "READ, unknown lkey and unknown rkey", READ, 8, .region = R_BOGUS, .local = L_BAD_LKEY,
	  REM_ACCESS },
	{ "READ past the end of its region", READ, 60, .local = L_PAST_END, LOC_PROT },
	{ "READ, lkey of a deregistered region", READ, 2048, .local = L_STALE, LOC_PROT },
	{ "READ of nothing, unknown lkey", READ, 0, .local = L_BAD_LKEY, GOOD },
	{ "FETCH_AND_ADD, unknown lkey and unknown rkey", FADD, 8, .region = R_BOGUS,
	  .local = L_BAD_LKEY, REM_ACCESS },
	{ "FETCH_AND_ADD, unknown lkey, not aligned", FADD, 8, 4, .local = L_BAD_LKEY, REM_INV },
	{ "CMP_AND_SWP, unknown lkey, QP without REMOTE_ATOMIC", CSWAP, 8, .qp_access = RA,
	  .local = L_BAD_LKEY, REM_INV },
	{ "CMP_AND_SWP into a region without LOCAL_WRITE", CSWAP, 8, .local = L_READ_ONLY,
	  LOC_PROT },
	{ "SEND from a region without LOCAL_WRITE", SEND, 8, .local = L_READ_ONLY,
	  .wc = IBV_WC_SUCCESS, .rwc = IBV_WC_SUCCESS, .ev = NONE, .sa = IBV_QPS_RTS,
	  .sb = IBV_QPS_RTS },
	{ "SEND a byte longer than the receive", SEND, 65, .wc = IBV_WC_REM_INV_REQ_ERR,
	  .rwc = IBV_WC_LOC_LEN_ERR, .ev = ANY, .sa = IBV_QPS_ERR, .sb = IBV_QPS_ERR },
	{ "SEND an MTU longer than the receive", SEND, 1024, .wc = IBV_WC_REM_INV_REQ_ERR,
	  .rwc = IBV_WC_LOC_LEN_ERR, .ev = ANY, .sa = IBV_QPS_ERR, .sb = IBV_QPS_ERR },
	{ "SEND of 5 packets, longer than the receive", SEND, 5000, .wc = IBV_WC_REM_INV_REQ_ERR,
	  .rwc = IBV_WC_LOC_LEN_ERR, .ev = ANY, .sa = IBV_QPS_ERR, .sb = IBV_QPS_ERR },
	{ "SEND as long as the receive", SEND, 64, .wc = IBV_WC_SUCCESS, .rwc = IBV_WC_SUCCESS,
	  .ev = NONE, .sa = IBV_QPS_RTS, .sb = IBV_QPS_RTS },
	{ "SEND, receive with an unknown lkey", SEND, 40, .recv = Q_BAD_LKEY,
	  .wc = IBV_WC_REM_OP_ERR, .rwc = IBV_WC_LOC_PROT_ERR, .ev = ANY, .sa = IBV_QPS_ERR,
	  .sb = IBV_QPS_ERR },
	{ "SEND, receive into a region without LOCAL_WRITE", SEND, 40, .recv = Q_READ_ONLY,
	  .wc = IBV_WC_REM_OP_ERR, .rwc = IBV_WC_LOC_PROT_ERR, .ev = ANY, .sa = IBV_QPS_ERR,
	  .sb = IBV_QPS_ERR },
	{ "SEND, no receive, rnr_retry 0", SEND, 8, .recv = Q_NONE, .wc = IBV_WC_RNR_RETRY_EXC_ERR,
	  .rwc = NONE, .ev = NONE, .sa = IBV_QPS_ERR, .sb = IBV_QPS_RTS },
	{ "WRITE_WITH_IMM, no receive, rnr_retry 0", WRITE_IMM, 8, .recv = Q_NONE,
	  .wc = IBV_WC_RNR_RETRY_EXC_ERR, .rwc = NONE, .ev = NONE, .sa = IBV_QPS_ERR,
	  .sb = IBV_QPS_RTS },
	{ "WRITE, no receive", WRITE, 8, .recv = Q_NONE, GOOD },
};
/* clang-format on */

static void setup_region(const struct row *r, uint8_t **addr, uint32_t *rkey)
{
	int access = r->region == R_STALE ? ALL : r->access;

	*addr = b->buf + (r->region == R_WHOLE ? 0 : REGION) + r->off;
	*rkey = b->rkey;
	if (r->region == R_WHOLE)
		return;
	if (r->region == R_BOGUS) {
		*rkey = 0x00bada55;
		return;
	}
	if (end_reg(b, 1, b->buf + REGION, PAGE, access, r->region == R_OTHER_PD, NULL, rkey))
		die("%s: cannot register", r->name);
	if (r->region == R_STALE)
		end_dereg(b, 1);
}

static void setup_local(const struct row *r, struct rc_wr *wr)
{
	bool past = r->local == L_PAST_END;
	uint32_t lkey;

	if (r->local == L_BAD_LKEY)
		wr->sge[0].lkey = 0x00bada55;
	if (r->local == L_WHOLE || r->local == L_BAD_LKEY)
		return;
	if (end_reg(a, 1, a->buf + REGION, PAGE, past ? LW : 0, false, &lkey, NULL))
		die("%s: cannot register", r->name);
	if (r->local == L_STALE)
		end_dereg(a, 1);
	wr->sge[0].lkey = lkey;
	wr->sge[0].addr = (uintptr_t)a->buf + REGION + (past ? PAGE - (unsigned int)r->len + 1 : 0);
}

static void setup_receives(const struct row *r)
{
	struct rc_wr recv = wr_make(SEND, 50, b, b->buf + 4096, 64, NULL, NULL);
	uint32_t lkey;

	if (r->recv == Q_NONE)
		return;
	if (r->recv == Q_BAD_LKEY)
		recv.sge[0].lkey = 0x00bada55;
	if (r->recv == Q_READ_ONLY) {
		if (end_reg(b, 2, b->buf + REGION, PAGE, RR, false, &lkey, NULL))
			die("%s: cannot register", r->name);
		recv.sge[0].addr = (uintptr_t)b->buf + REGION;
		recv.sge[0].lkey = lkey;
	}
	for (int i = 0; i < 2; i++, recv.wr_id++)
		if (end_recv(b, &recv))
			die("%s: cannot post a receive", r->name);
}

static bool same(const char *what, int got, int wanted)
{
	if (wanted == ANY || got == wanted)
		return true;
	note("%s: %d, wanted %d", what, got, wanted);
	return false;
}

/* What B's receives and events came to. */
static bool check_responder(const struct row *r)
{
	int first = NONE, second = NONE, ev;
	struct ibv_wc wc;
	bool own, good;

	if (end_poll(b, 1, r->rwc == NONE ? 5 : WAIT, &wc)) {
		first = (int)wc.status;
		if (wc.wr_id != 50)
			note("wr_id %lu completes first", (unsigned long)wc.wr_id);
	}
	if (r->sb == IBV_QPS_ERR && r->recv != Q_NONE && end_poll(b, 1, WAIT, &wc))
		second = (int)wc.status;
	ev = end_event(b, r->ev == NONE || r->ev == ANY ? 5 : WAIT, &own);
	good = same("receive", first, r->rwc) && same("event", ev, r->ev);
	if (r->sb == IBV_QPS_ERR && r->recv != Q_NONE)
		good = same("next receive", second, IBV_WC_WR_FLUSH_ERR) && good;
	if (ev >= 0)
		good = same("event names the QP", own, true) && good;
	return same("state of B", end_state(b), (int)r->sb) && good;
}

static void run_row(const struct row *r, unsigned int flags)
{
	struct rc_opts oa = rc_defaults, ob = rc_defaults;
	struct rc_wr wr, next;
	uint8_t *raddr;
	struct ibv_wc wc;
	uint32_t rkey;
	bool good = true;

	oa.rnr_retry = 0;
	ob.access &= ~r->qp_access;
	pair_up(a, b, &oa, &ob);
	setup_region(r, &raddr, &rkey);
	setup_receives(r);
	wr = wr_make(r->op, 100, a, a->buf + 2 * REGION, (uint32_t)r->len, b, raddr);
	wr.rkey = rkey;
	wr.flags = flags;
	setup_local(r, &wr);
	if (end_send(a, &wr)) {
		ok(false, "%s: cannot post", r->name);
		return;
	}
	if (!flags && r->wc == IBV_WC_SUCCESS) {
		good = !end_poll(a, 0, 10, &wc);
	} else {
		good = end_poll(a, 0, WAIT, &wc) && same("completion", (int)wc.status, r->wc) &&
		       same("wr_id", (int)wc.wr_id, 100) &&
		       same("qp_num", (int)wc.qp_num, (int)a->addr.qpn);
	}
	good = same("state of A", end_state(a), (int)r->sa) && good;
	good = check_responder(r) && good;
	if (r->sa == IBV_QPS_ERR) {
		next = wr_make(SEND, 101, a, a->buf, 8, NULL, NULL);
		good = !end_send(a, &next) && end_poll(a, 0, WAIT, &wc) &&
		       same("work after it", (int)wc.status, IBV_WC_WR_FLUSH_ERR) && good;
	}
	if (end_event(a, 1, NULL) >= 0) {
		note("A has an event");
		good = false;
	}
	ok(good, "%s%s", r->name, flags ? "" : ", unsignaled");
	end_dereg(a, 1);
	end_dereg(b, 1);
	end_dereg(b, 2);
}

/*
 * Memory that was registered and is there no more. In the other process only: in its own, a program
 * that takes away what it has registered is stopped by its memcpy.
 */
static void test_unmapped(const char *where, enum ibv_wr_opcode op, enum ibv_wc_status receive)
{
	const size_t page = 4096;
	uint8_t *hole = (uint8_t *)(((uintptr_t)b->buf + page) & ~(page - 1));
	struct rc_wr wr, recv;
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS }, flushed = wc;

	pair_up(a, b, &rc_defaults, &rc_defaults);
	recv = wr_make(IBV_WR_SEND, 1, b, b->buf, 64, NULL, NULL);
	wr = wr_make(op, 2, a, a->buf, 200, b, hole);
	end_recv(b, &recv);
	end_unmap(b, hole, page);
	end_send(a, &wr);
	end_poll(a, 0, 20000, &wc);
	end_poll(b, 1, 20000, &flushed);
	end_map(b, hole, page);
	ok(wc.status == IBV_WC_REM_OP_ERR && flushed.status == receive &&
		   end_event(b, 20000, NULL) == IBV_EVENT_QP_FATAL,
	   "%s: %s to memory that is gone: REM_OP_ERR, QP_FATAL, the receive: %s", where,
	   op == WRITE ? "WRITE" : "WRITE_WITH_IMM", ibv_wc_status_str(receive));
	ok(end_state(a) == IBV_QPS_ERR && end_state(b) == IBV_QPS_ERR, "%s: both in ERR", where);
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "local";

	b = strcmp(where, "local") ? end_fork(false) : end_local();
	a = end_local();
	end_open(a);
	end_open(b);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run_row(&rows[i], IBV_SEND_SIGNALED);
		run_row(&rows[i], 0);
	}
	if (strcmp(where, "local") != 0) {
		test_unmapped(where, WRITE, IBV_WC_WR_FLUSH_ERR);
		test_unmapped(where, WRITE_IMM, IBV_WC_LOC_ACCESS_ERR);
	}
	end_close(b);
	return tap_failed != 0;
}
