/* SPDX-License-Identifier: MIT */
/* Thread domains, parent domains, custom allocators. */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct vb_side *s;

static struct ibv_pd *parent(struct ibv_pd *pd, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };

	errno = 0;
	return ibv_alloc_parent_domain(s->ctx, &attr);
}

static void test_rules(void)
{
	struct ibv_td_init_attr td_attr = { .comp_mask = 1 };
	struct ibv_parent_domain_init_attr attr = { .pd = s->pd, .comp_mask = 1 << 9 };
	struct ibv_pd *pd = ibv_alloc_pd(s->ctx), *p, *pp;
	struct ibv_td *td;

	errno = 0;
	ok(!ibv_alloc_td(s->ctx, &td_attr) && errno == EINVAL, "ibv_alloc_td, comp_mask: EINVAL");
	td_attr.comp_mask = 0;
	td = ibv_alloc_td(s->ctx, &td_attr);
	ok(td && td->context == s->ctx, "ibv_alloc_td");
	ok(!parent(NULL, NULL) && errno == EINVAL, "a parent domain over NULL: EINVAL");
	errno = 0;
	ok(!ibv_alloc_parent_domain(s->ctx, &attr) && errno == EINVAL, "unknown comp_mask: EINVAL");
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	errno = 0;
	ok(!ibv_alloc_parent_domain(s->ctx, &attr) && errno == EINVAL,
	   "allocators that are NULL: EINVAL");
	p = parent(pd, td);
	if (!ok(p && p != pd && p->context == s->ctx && p->handle == pd->handle,
		"a parent domain has the PD's handle"))
		return;
	pp = parent(p, NULL);
	ok(pp && pp->handle == pd->handle, "a parent domain over another");
	ok(ibv_dealloc_pd(pd) == EBUSY, "ibv_dealloc_pd of a PD that a parent has: EBUSY");
	ok(ibv_dealloc_pd(p) == EBUSY, "and of a parent that a parent has");
	ok(ibv_dealloc_td(td) == EBUSY, "ibv_dealloc_td of a parent's: EBUSY");
	ok(!ibv_dealloc_pd(pp) && !ibv_dealloc_pd(p) && !ibv_dealloc_td(td) && !ibv_dealloc_pd(pd),
	   "from the outside in they go");
}

static struct ibv_srq *make_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };

	errno = 0;
	return ibv_create_srq(pd, &attr);
}

/* Everything that takes a PD takes a parent domain, and is in the same protection domain. */
static void test_objects(void)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 16,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};
	struct ibv_pd *real = s->pd;
	struct ibv_pd *p = parent(real, NULL);
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct ibv_mr *mr, *old = s->mr;
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;
	struct vb_pair pair;

	cq_attr.parent_domain = p;
	cq = ibv_create_cq_ex(s->ctx, &cq_attr);
	ok(cq && ibv_dealloc_pd(p) == EBUSY, "a CQ in it: EBUSY");
	ok(cq && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "which goes");
	srq = make_srq(p);
	ok(srq && srq->pd == p && ibv_dealloc_pd(p) == EBUSY, "an SRQ in it: EBUSY");
	ok(srq && !ibv_destroy_srq(srq), "which goes");

	s->pd = p;
	if (!ok(!vb_pair_up(&pair, s, s, &spec) && s->qp[0].qp->pd == p, "queue pairs in it"))
		return;
	ok(ibv_dealloc_pd(p) == EBUSY, "EBUSY");
	ok(vb_pair_alive(&pair), "they use the inner PD's regions");
	s->pd = real;
	vb_pair_down(&pair);
	mr = ibv_reg_mr(p, s->buf, VB_BUF, IBV_ACCESS_LOCAL_WRITE);
	ok(mr && mr->pd == p, "a region in it");
	s->mr = mr;
	s->info.lkey = mr->lkey;
	ok(!vb_pair_up(&pair, s, s, &spec) && vb_pair_alive(&pair),
	   "which queue pairs of the inner PD use");
	vb_pair_down(&pair);
	s->mr = old;
	s->info.lkey = old->lkey;
	ok(!vb_ah(s, 0, &s->info.gid) && !vb_ah_destroy(s, 0), "an address handle");
	ok(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(p), "all goes");
}

/* --- Allocators */

enum answer { GIVE, DEFAULT, REFUSE };

static struct {
	enum answer answer;
	int allocs, frees;
	bool wrong;
	struct ibv_pd *pd;
	pthread_t thread;
	void *live[8];
} heap;

static void check(struct ibv_pd *pd, const void *context)
{
	heap.wrong |=
		pd != heap.pd || context != &heap || !pthread_equal(heap.thread, pthread_self());
}

static void *my_alloc(struct ibv_pd *pd, void *context, size_t size, size_t align, uint64_t type)
{
	void *p;

	(void)type;
	check(pd, context);
	if (heap.answer != GIVE)
		return heap.answer == DEFAULT ? IBV_ALLOCATOR_USE_DEFAULT : NULL;
	if (heap.allocs - heap.frees >= 8 || posix_memalign(&p, align < 8 ? 8 : align, size))
		return NULL;
	memset(p, 0, size);
	heap.allocs++;
	for (int i = 0; i < 8; i++) {
		if (!heap.live[i]) {
			heap.live[i] = p;
			break;
		}
	}
	return p;
}

static void my_free(struct ibv_pd *pd, void *context, void *ptr, uint64_t type)
{
	bool found = false;

	(void)type;
	check(pd, context);
	for (int i = 0; i < 8 && !found; i++) {
		found = ptr && heap.live[i] == ptr;
		if (found)
			heap.live[i] = NULL;
	}
	heap.wrong |= !found;
	heap.frees++;
	free(ptr);
}

static bool srq_works(struct ibv_srq *srq)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 64, s->info.lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int n = 0;

	while (n < 16 && !ibv_post_srq_recv(srq, &wr, &bad))
		n++;
	return n == 16;
}

static void test_allocators(void)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = s->pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = my_alloc,
		.free = my_free,
		.pd_context = &heap,
	};
	struct ibv_srq_attr bigger = { .max_wr = 64 };
	struct ibv_srq *srq;

	heap.pd = ibv_alloc_parent_domain(s->ctx, &attr);
	heap.thread = pthread_self();
	if (!ok(heap.pd, "a parent domain with allocators"))
		return;
	heap.answer = GIVE;
	srq = make_srq(heap.pd);
	ok(srq && heap.allocs == 1 && srq_works(srq), "an SRQ's memory comes from them");
	ok(srq && !ibv_modify_srq(srq, &bigger, IBV_SRQ_MAX_WR) && heap.allocs == 2 &&
		   heap.frees == 1,
	   "so does that of its resize");
	ok(srq && !ibv_destroy_srq(srq) && heap.frees == 2, "and goes back to them");
	heap.answer = DEFAULT;
	srq = make_srq(heap.pd);
	ok(srq && heap.allocs == 2 && srq_works(srq), "IBV_ALLOCATOR_USE_DEFAULT");
	heap.answer = GIVE;
	ok(srq && !ibv_modify_srq(srq, &bigger, IBV_SRQ_MAX_WR) && heap.allocs == 3 &&
		   heap.frees == 2,
	   "the default's is not given to them");
	ok(srq && !ibv_destroy_srq(srq) && heap.frees == 3, "each to whom it came from");
	heap.answer = REFUSE;
	ok(!make_srq(heap.pd) && errno == ENOMEM, "NULL: ENOMEM");
	ok(heap.allocs == 3 && heap.frees == 3 && !heap.wrong,
	   "with their domain, context and thread");
	ok(!ibv_dealloc_pd(heap.pd), "and the domain goes");
}

int main(void)
{
	s = vb_local();
	vb_open(s);
	test_rules();
	test_objects();
	test_allocators();
	return tap_failed != 0;
}
