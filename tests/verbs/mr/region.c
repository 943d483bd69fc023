/* SPDX-License-Identifier: MIT */
/* Memory regions: what may be registered, keys, zero-based regions, rereg, dereg while in use. */
#include "tests/lib/c/rc.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define WAIT 20000

static struct end *a, *b;

static int wc_of(const struct rc_wr *wr)
{
	struct ibv_wc wc;

	if (end_send(a, wr))
		return -2;
	return end_poll(a, 0, WAIT, &wc) ? (int)wc.status : -1;
}

static void test_register(void)
{
	void *ro = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *none = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t l1, r1, l2, r2;

	munmap(none, PAGE);
	ok(end_reg(a, 1, a->buf, PAGE, RW, false, &l1, &r1) == EINVAL,
	   "REMOTE_WRITE without LOCAL_WRITE: EINVAL");
	ok(end_reg(a, 1, a->buf, PAGE, RA, false, &l1, &r1) == EINVAL,
	   "REMOTE_ATOMIC without LOCAL_WRITE: EINVAL");
	ok(end_reg(a, 1, none, PAGE, LW, false, &l1, &r1) == EFAULT, "unmapped memory: EFAULT");
	ok(end_reg(a, 1, ro, PAGE, LW, false, &l1, &r1) == EFAULT,
	   "read-only memory with LOCAL_WRITE: EFAULT");
	ok(end_reg(a, 1, ro, PAGE, RR, false, &l1, &r1) == 0 && !end_dereg(a, 1),
	   "read-only memory to be read");
	ok(end_reg(a, 1, (void *)-8192L, 16384, LW, false, &l1, &r1) != 0, "a range that wraps");
	ok(!end_reg(a, 1, a->buf + 1, 3, LW, false, &l1, &r1) &&
		   !end_reg(a, 2, a->buf + 1, 3, LW, false, &l2, &r2) && l1 != l2 && r1 != r2,
	   "the same bytes twice: two regions");
	ok(!end_dereg(a, 1) && !end_dereg(a, 2), "deregister both");
	munmap(ro, PAGE);
}

/* A replay asks for the keys of the record. */
static void test_wanted(void)
{
	void (*next_key)(uint32_t) = (void (*)(uint32_t))dlsym(RTLD_DEFAULT, "rdmaemu_next_key");
	struct ibv_device **devs = ibv_get_device_list(NULL);
	struct ibv_context *ctx = devs && devs[0] ? ibv_open_device(devs[0]) : NULL;
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_mr *mr, *other;
	struct ibv_mw *mw;
	static char buf[PAGE];

	ok(next_key && pd, "rdmaemu_next_key()");
	if (!next_key || !pd)
		return;
	next_key(0x12345);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	ok(mr && mr->rkey == 0x12345 && mr->lkey == 0x12345, "the requested key");
	other = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	ok(other && other->rkey >> 8 != 0x123, "once");
	next_key(0x12346);
	ok(!ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) && errno == EBUSY,
	   "a key whose index is in use: EBUSY");
	next_key(0x12346);
	ok(!ibv_alloc_mw(pd, IBV_MW_TYPE_1) && errno == EBUSY, "for a window, too");
	next_key(0xffffffff);
	ok(!ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) && errno == EINVAL,
	   "a key whose index is out of range: EINVAL");
	next_key(0x45);
	ok(!ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) && errno == EINVAL,
	   "index 0: EINVAL");
	next_key(0x23456);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	ok(mw && mw->rkey == 0x23456 && !ibv_dealloc_mw(mw), "a window's");
	ok(mr && !ibv_dereg_mr(mr) && other && !ibv_dereg_mr(other), "deregister them");
	next_key(0x12345);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	ok(mr && mr->rkey == 0x12345 && !ibv_dereg_mr(mr), "the same key again");
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	ibv_free_device_list(devs);
}

/* A key comes late again: the next regions do not get the one just given back. */
static void test_stale(void)
{
	uint32_t old_l, old_r, l, r;
	bool fresh = true;

	end_reg(a, 1, a->buf, PAGE, ALL, false, &old_l, &old_r);
	end_dereg(a, 1);
	for (int i = 0; i < 100; i++) {
		if (end_reg(a, 1, a->buf, PAGE, ALL, false, &l, &r))
			break;
		fresh = fresh && l != old_l && r != old_r;
		end_dereg(a, 1);
	}
	ok(fresh, "a key is not given out again at once");
}

static void test_iova(void)
{
	struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, 1, a, a->buf, 100, b, NULL);
	struct ibv_mr *mr;

	pair_up(a, b, &rc_defaults, &rc_defaults);
	mr = ibv_reg_mr_iova(b->side->pd, b->buf + 65536, PAGE, 0x1000000000ULL, ALL);
	if (!ok(!!mr, "ibv_reg_mr_iova"))
		return;
	fill(a->buf, 100, 3);
	wr.rkey = mr->rkey;
	wr.remote_addr = 0x1000000000ULL + 10;
	ok(!wc_of(&wr) && filled(b->buf + 65536 + 10, 100, 3), "WRITE by iova");
	ok(!ibv_dereg_mr(mr), "deregister");

	mr = ibv_reg_mr(b->side->pd, b->buf + 65536, PAGE, ALL | IBV_ACCESS_ZERO_BASED);
	if (!ok(!!mr, "a zero-based region"))
		return;
	wr.rkey = mr->rkey;
	wr.remote_addr = 20;
	ok(!wc_of(&wr) && filled(b->buf + 65536 + 20, 100, 3), "WRITE at offset 20 of it");
	wr.remote_addr = PAGE - 99;
	ok(wc_of(&wr) == IBV_WC_REM_ACCESS_ERR, "WRITE past its end");
	ibv_dereg_mr(mr);
}

static void test_rereg(void)
{
	struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, 1, a, a->buf, 100, b, b->buf + 131072);
	struct ibv_mr *mr = ibv_reg_mr(b->side->pd, b->buf + 65536, PAGE, LW | RR);
	int ret;

	pair_up(a, b, &rc_defaults, &rc_defaults);
	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL);
	ok(!ret, "rereg: access");
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b->buf + 131072, PAGE, 0);
	ok(!ret && mr->addr == b->buf + 131072 && mr->length == PAGE, "rereg: memory");
	wr.rkey = mr->rkey;
	fill(a->buf, 100, 4);
	ok(!wc_of(&wr) && filled(b->buf + 131072, 100, 4), "WRITE to the new memory");
	wr.remote_addr = (uintptr_t)b->buf + 65536;
	ok(wc_of(&wr) == IBV_WC_REM_ACCESS_ERR, "WRITE to the old");
	pair_up(a, b, &rc_defaults, &rc_defaults);
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, b->side->pd2, NULL, 0, 0);
	ok(!ret && mr->pd == b->side->pd2, "rereg: PD");
	wr.rkey = mr->rkey;
	wr.remote_addr = (uintptr_t)b->buf + 131072;
	ok(wc_of(&wr) == IBV_WC_REM_ACCESS_ERR, "WRITE from a QP of the old PD");
	ibv_dereg_mr(mr);
}

static void test_busy(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(a->side->ctx);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, a->buf, PAGE, LW) : NULL;

	if (!ok(mr != NULL, "a region in a PD of its own"))
		return;
	ok(ibv_dealloc_pd(pd) == EBUSY, "dealloc_pd while a region is in it: EBUSY");
	ok(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd), "a PD without regions can be deallocated");
	pair_up(a, b, &rc_defaults, &rc_defaults);
	ok(ibv_destroy_cq(a->side->scq) == EBUSY, "destroy_cq while a QP uses it: EBUSY");
}

/* dereg returns when nobody touches the memory any more: unmap and map anew right after it. */
struct racer {
	_Atomic(uint32_t) rkey;
	_Atomic(uintptr_t) addr;
	_Atomic(bool) stop;
	_Atomic(long) writes; /* that got there */
};

/*
 * So often at least, and until that many writes were seen, for which a busy machine needs longer.
 */
#define ROUNDS 300
#define WRITES 100

static void *write_all_the_time(void *arg)
{
	struct racer *r = arg;
	struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, 1, a, a->buf, 60000, b, NULL);
	struct ibv_wc wc;

	while (!r->stop) {
		wr.rkey = r->rkey;
		wr.remote_addr = r->addr;
		if (end_send(a, &wr) || !end_poll(a, 0, WAIT, &wc))
			break;
		if (wc.status)
			pair_up(a, b, &rc_defaults, &rc_defaults);
		else
			r->writes++;
	}
	return NULL;
}

static void test_dereg_race(void)
{
	struct racer r = { 0 };
	uint64_t end = now_ns() + 6 * WAIT * 1000000ULL;
	size_t len = 65536;
	pthread_t thread;
	long touched = 0;

	pair_up(a, b, &rc_defaults, &rc_defaults);
	memset(a->buf, 0xff, 65536);
	pthread_create(&thread, NULL, write_all_the_time, &r);
	for (int i = 0; i < ROUNDS || (r.writes < WRITES && now_ns() < end); i++) {
		uint8_t *p =
			mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct ibv_mr *mr = ibv_reg_mr(b->side->pd, p, len, ALL);

		if (!mr)
			die("ibv_reg_mr: %s", strerror(errno));
		r.addr = (uintptr_t)p;
		r.rkey = mr->rkey;
		usleep(300);
		ibv_dereg_mr(mr);
		memset(p, 0, len);
		usleep(300);
		for (size_t k = 0; k < len; k++)
			touched += p[k] != 0;
		munmap(p, len);
	}
	r.stop = true;
	pthread_join(thread, NULL);
	ok(!touched && r.writes >= WRITES, "memory is not touched after ibv_dereg_mr (%ld writes)",
	   (long)r.writes);
	if (touched)
		note("%ld bytes were", touched);
}

int main(void)
{
	a = end_local();
	b = end_local();
	end_open(a);
	end_open(b);
	test_register();
	test_stale();
	test_wanted();
	test_iova();
	test_rereg();
	test_busy();
	test_dereg_race();
	return tap_failed != 0;
}
