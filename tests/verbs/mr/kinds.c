/* SPDX-License-Identifier: MIT */
/*
 * Kinds of memory: null MRs, on-demand and implicit regions and their prefetching, mappings of all
 * kinds.
 *	app_mr_kinds [local|remote]: where the target lives
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define HUGE (2u << 20)

static struct vb_side *a, *b;
static struct vb_pair p;

static void fresh(void)
{
	vb_pair_fresh(&p, a, b);
}

/* --- Null MRs: one on each side */

static struct ibv_mr *null_mr[2];

struct null {
	int i;
	uint32_t lkey;
};

static int do_null(struct vb_side *s, void *arg)
{
	struct null *v = arg;
	struct ibv_mr *mr = ibv_alloc_null_mr(s->pd);

	if (!mr)
		return errno;
	null_mr[v->i] = mr;
	v->lkey = mr->lkey;
	return mr->rkey || mr->length != SIZE_MAX || mr->addr ? EPROTO : 0;
}

static int do_null_free(struct vb_side *s, void *arg)
{
	(void)s;
	return ibv_dereg_mr(null_mr[((struct null *)arg)->i]);
}

static bool zero(const uint8_t *at, size_t len)
{
	while (len && !*at)
		at++, len--;
	return !len;
}

/* SEND of [a's data][@hole zeros][a's data], received as [data][swallowed][data]. */
static bool null_send(uint32_t alkey, uint32_t blkey, uint32_t part, uint32_t hole)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_SEND, 1, 0, part);
	struct ibv_sge rsge[3] = {
		{ (uintptr_t)b->buf, part / 2, b->info.lkey },
		{ 0x123456789abcULL, part / 2 + 5, blkey },
		{ (uintptr_t)b->buf + part, part + hole, b->info.lkey },
	};
	struct ibv_wc wc;

	fill(a->buf, 2 * part, part);
	memset(b->buf, 0xee, 4 * part + hole);
	wr.num_sge = 3;
	wr.sge[1] = (struct ibv_sge){ ~0ULL - (1u << 20), hole, alkey };
	wr.sge[2] = (struct ibv_sge){ (uintptr_t)a->buf + part, part, a->info.lkey };
	if (vb_recv(b, 1, 2, rsge, 3) || vb_pair_run(&p, &wr) ||
	    !vb_poll(b, 1, VB_RCQ, VB_WAIT, &wc) || wc.status || wc.byte_len != 2 * part + hole)
		return false;
	/* The first half, then from the sixth byte of the hole on. */
	return filled(b->buf, part / 2, part) && b->buf[part / 2] == 0xee &&
	       zero(b->buf + part, hole - 5) && filled(b->buf + part + hole - 5, part, 2 * part) &&
	       b->buf[2 * part + hole - 5] == 0xee;
}

static void test_null(void)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 0);
	struct ibv_mw *mw;
	struct ibv_mw_bind bind = { .bind_info = { .length = 8 } };
	struct null na = { .i = 0 }, nb = { .i = 1 };
	uint32_t alkey, blkey;
	struct ibv_wc wc;

	ok(!vb_call(a, do_null, &na, sizeof(na)) && !vb_call(b, do_null, &nb, sizeof(nb)),
	   "ibv_alloc_null_mr on both sides");
	alkey = na.lkey;
	blkey = nb.lkey;
	ok(null_send(alkey, blkey, 20, 10), "a small SEND, with holes on both sides");
	ok(null_send(alkey, blkey, 20000, 70000), "a SEND, with holes on both sides");
	ok(null_send(alkey, blkey, 300000, 300001), "a long one");

	memset(b->buf, 0xee, 1 << 20);
	wr.num_sge = 1;
	wr.sge[0] = (struct ibv_sge){ 0, 1 << 20, alkey };
	ok(!vb_pair_run(&p, &wr) && zero(b->buf, 1 << 20), "WRITE of zeros from nowhere");
	wr.op = IBV_WR_RDMA_READ;
	ok(!vb_pair_run(&p, &wr), "READ to nowhere");
	wr.op = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.compare = 5;
	wr.sge[0].length = 8;
	ok(!vb_pair_run(&p, &wr) && b->buf[0] == 5, "an atomic whose result nobody wants");
	ok(!vb_recv(b, 1, 3, &(struct ibv_sge){ 1, 60, blkey }, 1), "a receive into nothing");
	wr = vb_pair_send(&p, 4, 60);
	ok(!vb_pair_run(&p, &wr) && vb_poll(b, 1, VB_RCQ, VB_WAIT, &wc) && !wc.status &&
		   wc.byte_len == 60,
	   "takes a small SEND");
	wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 8);
	wr.rkey = blkey;
	ok(vb_pair_run(&p, &wr) == IBV_WC_REM_ACCESS_ERR, "its lkey is no rkey");
	fresh();
	mw = ibv_alloc_mw(a->pd, IBV_MW_TYPE_1);
	bind.bind_info.mr = null_mr[0];
	bind.bind_info.addr = 8;
	ok(mw && ibv_bind_mw(a->qp[0].qp, mw, &bind) == EINVAL && !ibv_dealloc_mw(mw),
	   "ibv_bind_mw to it: EINVAL");
	ok(ibv_rereg_mr(null_mr[0], IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LW) ==
			   IBV_REREG_MR_ERR_INPUT &&
		   errno == EINVAL,
	   "ibv_rereg_mr of it: IBV_REREG_MR_ERR_INPUT");
	ok(!vb_call(a, do_null_free, &na, sizeof(na)) && !vb_call(b, do_null_free, &nb, sizeof(nb)),
	   "ibv_dereg_mr");
}

/* --- On demand */

static bool prefetch_is(int want, enum ibv_advise_mr_advice advice, uint32_t flags, uint32_t lkey,
			void *addr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, lkey };
	int got = ibv_advise_mr(a->pd, advice, flags, &sge, 1);

	if (got != want)
		note("advice %d: %d, wanted %d", (int)advice, got, want);
	return got == want;
}

static bool present(void *addr)
{
	unsigned char v = 0;

	return !mincore(addr, PAGE, &v) && (v & 1);
}

static void test_advise(void)
{
	const enum ibv_advise_mr_advice rd = IBV_ADVISE_MR_ADVICE_PREFETCH,
					wr = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
					no = IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
	uint8_t *mem =
		mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(a->pd, mem, 8 * PAGE, LW | OD);
	struct ibv_mr *ro = ibv_reg_mr(a->pd, mem, 8 * PAGE, OD);
	struct ibv_mr *all = ibv_reg_mr(a->pd, NULL, SIZE_MAX, LW | OD);
	struct ibv_pd *pd2 = ibv_alloc_pd(a->ctx);
	struct ibv_mr *other = ibv_reg_mr(pd2, mem, PAGE, LW | OD);
	struct ibv_mw *mw = ibv_alloc_mw(a->pd, IBV_MW_TYPE_1);
	struct ibv_sge sge = { (uintptr_t)mem, PAGE, 0 };
	uint32_t gone;

	if (!ok(mr && ro && all && other && mw, "on-demand regions, one implicit"))
		return;
	sge.lkey = mr->lkey;
	ok(!present(mem), "an on-demand region is not faulted in");
	ok(prefetch_is(0, no, IBV_ADVISE_MR_FLAG_FLUSH, mr->lkey, mem, PAGE) && !present(mem),
	   "NO_FAULT faults nothing in");
	ok(prefetch_is(0, rd, IBV_ADVISE_MR_FLAG_FLUSH, mr->lkey, mem, PAGE) && present(mem),
	   "PREFETCH");
	ok(prefetch_is(0, wr, 0, mr->lkey, mem + PAGE, 2 * PAGE) && present(mem + 2 * PAGE),
	   "PREFETCH_WRITE, without FLUSH");
	ok(prefetch_is(0, wr, 1, all->lkey, mem + 3 * PAGE, PAGE) && present(mem + 3 * PAGE),
	   "of the implicit region");
	ok(prefetch_is(0, rd, 1, mr->lkey, mem + 7 * PAGE, PAGE), "up to the end");
	ok(prefetch_is(EFAULT, rd, 1, mr->lkey, mem + 7 * PAGE, PAGE + 1) &&
		   prefetch_is(EFAULT, no, 1, mr->lkey, mem - 1, 8),
	   "out of the region's bounds: EFAULT");
	ok(prefetch_is(EPERM, wr, 1, ro->lkey, mem, 8) && prefetch_is(0, rd, 1, ro->lkey, mem, 8),
	   "PREFETCH_WRITE of a region to read: EPERM");
	ok(prefetch_is(EPERM, rd, 1, other->lkey, mem, 8), "a region of another PD: EPERM");
	ok(prefetch_is(ENOENT, rd, 1, a->info.lkey, a->buf, 8),
	   "one that is not on demand: ENOENT");
	ok(prefetch_is(EINVAL, rd, 1, mw->rkey, mem, 8), "a window's key: EINVAL");
	gone = ro->lkey;
	ibv_dereg_mr(ro);
	ok(prefetch_is(EFAULT, rd, 1, gone, mem, 8) && prefetch_is(EFAULT, rd, 1, 0, mem, 8),
	   "an invalid lkey: EFAULT");
	ok(prefetch_is(EINVAL, rd, 2, mr->lkey, mem, 8), "unknown flags: EINVAL");
	ok(prefetch_is(ENOTSUP, 77, 0, mr->lkey, mem, 8), "unknown advice: ENOTSUP");
	ok(ibv_advise_mr(a->pd, rd, 0, &sge, 0) == EINVAL, "nothing to prefetch: EINVAL");
	munmap(mem + 4 * PAGE, PAGE);
	ok(prefetch_is(EFAULT, rd, 1, mr->lkey, mem + 3 * PAGE, 2 * PAGE) &&
		   prefetch_is(EFAULT, rd, 1, all->lkey, mem + 4 * PAGE, 8),
	   "memory that is not there: EFAULT");
	ibv_dealloc_mw(mw);
	ibv_dereg_mr(mr);
	ibv_dereg_mr(all);
	ibv_dereg_mr(other);
	ibv_dealloc_pd(pd2);
	munmap(mem, 8 * PAGE);
}

/* All of the address space in one region, memory mapped after it was made included. */
static void test_implicit(void)
{
	struct ibv_mr *all = ibv_reg_mr(a->pd, NULL, SIZE_MAX, LW | RW | RR | OD);
	uint8_t *mem =
		mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 16 * PAGE);

	if (!ok(all && !all->addr && all->length == SIZE_MAX, "an implicit on-demand region"))
		return;
	fill(mem, 16 * PAGE, 7);
	memset(b->buf, 0, 16 * PAGE);
	wr.sge[0].addr = (uintptr_t)mem;
	wr.sge[0].lkey = all->lkey;
	ok(!vb_pair_run(&p, &wr) && filled(b->buf, 16 * PAGE, 7), "WRITE from memory mapped later");
	memset(mem, 0, 16 * PAGE);
	wr.op = IBV_WR_RDMA_READ;
	ok(!vb_pair_run(&p, &wr) && filled(mem, 16 * PAGE, 7), "READ to it");
	munmap(mem, 16 * PAGE);
	ibv_dereg_mr(all);
	ok(!ibv_reg_mr(a->pd, NULL, SIZE_MAX, LW) && errno == EINVAL, "not on demand: EINVAL");
	ok(!ibv_reg_mr(a->pd, NULL, SIZE_MAX, LW | OD | IBV_ACCESS_HUGETLB) && errno == EINVAL,
	   "implicit with HUGETLB: EINVAL");
	ok(!ibv_reg_mr(a->pd, a->buf, PAGE, LW | IBV_ACCESS_HUGETLB) && errno == EINVAL,
	   "HUGETLB without ON_DEMAND: EINVAL");
}

/* --- Mappings of all kinds */

struct area {
	uint64_t addr, len;
	int access;
	uint32_t rkey;
};

static struct ibv_mr *area_mr;

static int do_area(struct vb_side *s, void *arg)
{
	struct area *v = arg;

	area_mr = ibv_reg_mr(s->pd, (void *)(uintptr_t)v->addr, v->len, v->access);
	if (!area_mr)
		return errno;
	v->rkey = area_mr->rkey;
	return 0;
}

/* WRITE to and READ from memory of this process, registered as a target. */
static void traffic(const char *what, uint8_t *mem, size_t len, int access)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 3 * PAGE);
	struct area v = { (uintptr_t)mem, len, access, 0 };
	bool good = true;

	if (!ok(!do_area(a, &v), "%s: ibv_reg_mr", what))
		return;
	if (access & RW) {
		fill(a->buf, 3 * PAGE, len);
		wr.rkey = v.rkey;
		wr.raddr = (uintptr_t)mem + 5;
		/* Back to ourselves: from the peer's QP. */
		memcpy(b->buf, a->buf, 3 * PAGE);
		wr.sge[0].addr = (uintptr_t)b->buf;
		wr.sge[0].lkey = b->info.lkey;
		good = !vb_send(b, 1, false, &wr) &&
		       vb_done(b, 1, VB_SCQ, 1, IBV_WC_RDMA_WRITE, &(struct ibv_wc){ 0 }) &&
		       filled(mem + 5, 3 * PAGE, len);
	}
	memset(b->buf, 0, 3 * PAGE);
	wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 2, 0, 3 * PAGE);
	wr.sge[0].addr = (uintptr_t)mem + 5;
	wr.sge[0].lkey = area_mr->lkey;
	good = good && !vb_pair_run(&p, &wr) && !memcmp(b->buf, mem + 5, 3 * PAGE);
	ok(good && !ibv_dereg_mr(area_mr), "%s: in and out", what);
}

static void test_mappings(void)
{
	char path[] = "/tmp/rdmaemu-app-mem.XXXXXX";
	int fd = mkstemp(path);
	uint8_t *shared, *priv, *ro, *huge;

	if (fd < 0 || ftruncate(fd, 8 * PAGE) || unlink(path))
		die("a file: %s", strerror(errno));
	shared = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	priv = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ro = mmap(NULL, 8 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	traffic("a file, MAP_SHARED", shared, 8 * PAGE, ALL);
	ok(ro[5] == shared[5], "the written data are in the file");
	traffic("a file, MAP_PRIVATE", priv, 8 * PAGE, ALL);
	traffic("a read-only mapping", ro, 8 * PAGE, RR);
	ok(!ibv_reg_mr(a->pd, ro, PAGE, LW) && errno == EFAULT,
	   "a read-only mapping with LOCAL_WRITE: EFAULT");
	munmap(shared, 8 * PAGE);
	shared = mmap(NULL, 12 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ok(!ibv_reg_mr(a->pd, shared, 12 * PAGE, LW) && errno == EFAULT,
	   "a mapping beyond the file's end: EFAULT");
	munmap(shared, 12 * PAGE);
	munmap(priv, 8 * PAGE);
	munmap(ro, 8 * PAGE);
	close(fd);
	traffic("relaxed ordering", a->buf + (1 << 20), 8 * PAGE,
		ALL | IBV_ACCESS_RELAXED_ORDERING);
	huge = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
		    -1, 0);
	if (huge == MAP_FAILED) {
		puts("ok huge pages # SKIP the machine has none to give");
		return;
	}
	traffic("huge pages", huge, HUGE, ALL);
	traffic("huge pages on demand", huge, HUGE, ALL | OD | IBV_ACCESS_HUGETLB);
	munmap(huge, HUGE);
}

/*
 * Memory that is given back before its region and its queue pair are: what waits for a poll goes
 * nowhere.
 */
static void test_gone(bool qp_first)
{
	uint8_t *mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(a->pd, mem, PAGE, LW);
	struct ibv_sge sge = { (uintptr_t)mem, 64, mr ? mr->lkey : 0 };
	struct vb_wr wr = { .op = IBV_WR_SEND,
			    .wr_id = 9,
			    .flags = IBV_SEND_SIGNALED,
			    .sge = { { (uintptr_t)b->buf, 64, b->info.lkey } },
			    .num_sge = 1 };
	struct ibv_wc wc = { 0 };

	if (!ok(mr && !vb_recv(a, 0, 1, &sge, 1) && !vb_send(b, 1, false, &wr) &&
			vb_done(b, 1, VB_SCQ, 9, IBV_WC_SEND, &wc),
		"a message waits for a poll"))
		return;
	munmap(mem, PAGE);
	if (qp_first)
		fresh();
	ok(!ibv_dereg_mr(mr), "its memory goes before the %s", qp_first ? "queue pair" : "region");
	if (!qp_first)
		ok(vb_done(a, 0, VB_RCQ, 1, IBV_WC_RECV, &wc) && wc.byte_len == 64,
		   "the error is still reported");
}

static void test_caps(void)
{
	struct ibv_odp_caps *odp = &a->info.dev.odp_caps;

	ok(odp->general_caps == (IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT),
	   "on-demand paging is stated, implicit too");
	ok(odp->per_transport_caps.rc_odp_caps ==
		   (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
		    IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV |
		    3u << 6),
	   "for all that RC does");
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	fresh();
	test_caps();
	test_null();
	test_advise();
	test_implicit();
	test_mappings();
	test_gone(false);
	test_gone(true);
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
