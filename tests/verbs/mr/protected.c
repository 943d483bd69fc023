/* SPDX-License-Identifier: MIT */
/*
 * Registered memory of the peer, another process, or of this one, that its CPU must not touch any
 * more: a device reaches it nevertheless, as the pages that it has pinned.
 *	app_mr_protected [shared]: it stays shared, and RDMAEMU_ALIAS=1 is set
 */
#include "tests/lib/c/rc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define LEN  1000u /* more than what travels in a completion */
#define LINE 60u /* what does */
#define WAIT 20000

static struct end *a, *b;
static uint8_t *page; /* of the peer's buffer */
static uint8_t *own_page; /* of this process's */

static bool done(struct end *e, int which, const char *what)
{
	struct ibv_wc wc;

	if (!end_poll(e, which, WAIT, &wc))
		note("%s: no completion", what);
	else if (wc.status != IBV_WC_SUCCESS)
		note("%s: %s", what, ibv_wc_status_str(wc.status));
	else
		return true;
	return false;
}

static bool run(enum ibv_wr_opcode op, uint8_t *at, uint32_t len, uint8_t *there)
{
	struct rc_wr wr = wr_make(op, 1, a, at, len, b, there);

	wr.compare_add = 5;
	return !end_send(a, &wr) && done(a, 0, "request");
}

/* Whether the peer's memory has a pattern, by a READ. */
static bool has(uint8_t *there, uint32_t len, uint64_t seed)
{
	uint8_t *at = a->buf + PAGE;

	memset(at, 0, len);
	return run(IBV_WR_RDMA_READ, at, len, there) && filled(at, len, seed);
}

static bool send_to(uint8_t *there)
{
	struct rc_wr recv = wr_make(IBV_WR_SEND, 2, b, there, LEN, NULL, NULL);
	struct rc_wr wr = wr_make(IBV_WR_SEND, 1, a, a->buf, LEN, NULL, NULL);

	fill(a->buf, LEN, 3);
	return !end_recv(b, &recv) && !end_send(a, &wr) && done(a, 0, "SEND") &&
	       done(b, 1, "receive");
}

static bool fetch_add(uint8_t *there)
{
	uint64_t *old = (void *)a->buf, before = 7;

	memcpy(a->buf, &before, sizeof(before));
	return run(IBV_WR_RDMA_WRITE, a->buf, 8, there) &&
	       run(IBV_WR_ATOMIC_FETCH_AND_ADD, a->buf, 8, there) && *old == 7 &&
	       run(IBV_WR_RDMA_READ, a->buf, 8, there) && *old == 12;
}

static void test_protection(const char *what, int prot)
{
	if (end_protect(b, page, 2 * (size_t)PAGE, prot))
		die("mprotect");
	fill(a->buf, LEN, 1);
	ok(run(IBV_WR_RDMA_WRITE, a->buf, LEN, page), "%s: a WRITE to it", what);
	ok(has(page, LEN, 1), "%s: a READ of what was written", what);
	/* The pages around it have all rights. */
	fill(a->buf, 4 * PAGE, 2);
	ok(run(IBV_WR_RDMA_WRITE, a->buf, 4 * PAGE, page - 1000), "%s: a WRITE across it", what);
	ok(has(page - 1000, PAGE, 2), "%s: a READ across its start", what);
	ok(send_to(page + 100) && has(page + 100, LEN, 3), "%s: a receive", what);
	ok(fetch_add(page + 2000), "%s: an atomic", what);
	end_protect(b, page, 2 * (size_t)PAGE, PROT_READ | PROT_WRITE);
	ok(has(page + 100, LEN, 3), "%s: its owner has rights again", what);
}

/* The library places what has arrived before a region ends, also another one. */
static void test_unpolled(const char *what, int prot)
{
	struct rc_wr recv = wr_make(IBV_WR_SEND, 2, a, own_page + 100, LINE, NULL, NULL);
	struct rc_wr wr = wr_make(IBV_WR_SEND, 1, b, b->buf, LINE, NULL, NULL);
	static uint8_t other[PAGE];
	uint32_t lkey, rkey;

	memset(own_page, 0, PAGE);
	fill(b->buf, LINE, 4);
	if (end_reg(a, 0, other, sizeof(other), LW, false, &lkey, &rkey) || end_recv(a, &recv) ||
	    end_send(b, &wr) || !done(b, 0, "SEND") || end_protect(a, own_page, PAGE, prot))
		die("a message");
	end_dereg(a, 0);
	end_protect(a, own_page, PAGE, PROT_READ | PROT_WRITE);
	ok(done(a, 1, "receive") && filled(own_page + 100, LINE, 4),
	   "%s: a receive that is not polled when a region ends", what);
}

int main(int argc, char **argv)
{
	bool shared = argc > 1 && !strcmp(argv[1], "shared");

	b = end_fork(false);
	a = end_local();
	end_open(a);
	end_open(b);
	pair_up(a, b, &rc_defaults, &rc_defaults);
	page = (uint8_t *)(((uintptr_t)b->buf + 2 * PAGE) & ~(uintptr_t)(PAGE - 1));
	own_page = (uint8_t *)(((uintptr_t)a->buf + 2 * PAGE) & ~(uintptr_t)(PAGE - 1));
	/* The kernel lets nobody write to a shared mapping that its owner may not write. */
	if (!shared && (end_map(b, page, 2 * (size_t)PAGE) || end_map(a, own_page, PAGE)))
		die("mmap");
	test_protection("read-only memory", PROT_READ);
	test_protection("inaccessible memory", PROT_NONE);
	test_unpolled("read-only memory", PROT_READ);
	test_unpolled("inaccessible memory", PROT_NONE);
	end_close(a);
	end_close(b);
	return tap_failed != 0;
}
