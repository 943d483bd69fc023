/* SPDX-License-Identifier: MIT */
/**
 * DOC: thread domains and parent domains.
 *
 * A parent domain wraps another PD and has its number in the HCA, so objects made in it have the
 * protection of the inner PD. A thread domain promises that one thread at a time uses its objects.
 * They have locks like others, which no thread then waits for.
 *
 * Custom allocators, ibv_alloc_parent_domain(3), allocate what an object needs in the program's own
 * memory apart from the object itself: the list of free slots of an SRQ (enum domain_resource). The
 * queues must lie in the client's segment, where the engine finds them. The thread that creates,
 * resizes or destroys the object calls the callbacks, no other.
 */
#include "libshim/verbs/domain.h"

#include "libshim/client/call_fault.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>

/** struct shim_td - a thread domain. @users: parent domains that have it */
struct shim_td {
	struct ibv_td td;
	u32 magic;
	u32 users;
};

/** struct parent_domain - each struct shim_pd with @real is embedded in one. */
struct parent_domain {
	struct shim_pd pd;
	void *(*alloc)(struct ibv_pd *pd, void *ctx, size_t size, size_t align, uint64_t type);
	void (*free)(struct ibv_pd *pd, void *ctx, void *ptr, uint64_t type);
	void *ctx;
};

static struct shim_td *td_of(struct ibv_td *ibtd)
{
	struct shim_td *td = (struct shim_td *)ibtd;

	return td && td->magic == MAGIC_TD ? td : NULL;
}

static struct parent_domain *parent_of(struct ibv_pd *ibpd)
{
	struct shim_pd *pd = shim_pd_of(ibpd, NULL);

	return pd && pd->real ? container_of(pd, struct parent_domain, pd) : NULL;
}

static void users_inc(u32 *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
}

static void users_dec(u32 *count)
{
	__atomic_fetch_sub(count, 1, __ATOMIC_ACQ_REL);
}

/** shim_alloc_td() - ibv_alloc_td(3). Return: thread domain, or NULL with errno. */
struct ibv_td *shim_alloc_td(struct ibv_context *ibctx, struct ibv_td_init_attr *attr)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct shim_td *td;

	if (call_fails(CALL_ibv_alloc_td))
		return NULL;
	if (!ctx)
		return NULL;
	if (attr->comp_mask)
		return fail_null(-EINVAL);
	if (ctx->dead)
		return fail_null(-EIO);
	td = shim_obj_alloc(sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = ibctx;
	td->magic = MAGIC_TD;
	shim_context_get(ctx);
	return &td->td;
}

/** shim_dealloc_td() - ibv_dealloc_td(3). Return: 0 or errno value (EBUSY: a parent domain's). */
ERRNO_VERB(shim_dealloc_td, (struct ibv_td * ibtd), (ibtd))
{
	struct shim_td *td = td_of(ibtd);
	struct shim_context *ctx = td ? shim_context_of(ibtd->context) : NULL;

	if (call_fails(CALL_ibv_dealloc_td))
		return errno;
	if (!ctx)
		return shim_unknown(ibtd);
	if (__atomic_load_n(&td->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	shim_obj_free(ctx, td, &td->magic);
	return 0;
}

/*
 * IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC, newer than rdma-core 44: queues may lie
 * in memory that a confidential guest shares with its host. Here they do in any case.
 */
#define PARENT_ALLOW_CC_UNPROTECTED (1u << 2)

static int parent_check_attr(struct ibv_context *ibctx,
			     const struct ibv_parent_domain_init_attr *attr)
{
	u32 known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
		    IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | PARENT_ALLOW_CC_UNPROTECTED;

	if (!shim_pd_of(attr->pd, ibctx) || (attr->comp_mask & ~known))
		return -EINVAL;
	if (attr->td && (!td_of(attr->td) || attr->td->context != ibctx))
		return -EINVAL;
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) &&
	    (!attr->alloc || !attr->free))
		return -EINVAL;
	return 0;
}

/** shim_alloc_parent_domain() - ibv_alloc_parent_domain(3). Return: PD, or NULL with errno. */
struct ibv_pd *shim_alloc_parent_domain(struct ibv_context *ibctx,
					struct ibv_parent_domain_init_attr *attr)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct parent_domain *p;
	int ret;

	if (call_fails(CALL_ibv_alloc_parent_domain))
		return NULL;
	if (!ctx)
		return NULL;
	ret = ctx->dead ? -EIO : parent_check_attr(ibctx, attr);
	if (ret)
		return fail_null(ret);
	p = shim_obj_alloc(sizeof(*p));
	if (!p)
		return NULL;
	p->pd.pd.context = ibctx;
	p->pd.pd.handle = attr->pd->handle;
	p->pd.magic = MAGIC_PD;
	p->pd.real = (struct shim_pd *)attr->pd;
	p->pd.td = td_of(attr->td);
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		p->alloc = attr->alloc;
		p->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		p->ctx = attr->pd_context;
	users_inc(&p->pd.real->users);
	if (p->pd.td)
		users_inc(&p->pd.td->users);
	shim_context_get(ctx);
	return &p->pd.pd;
}

int shim_parent_dealloc(struct shim_pd *pd)
{
	struct parent_domain *p = container_of(pd, struct parent_domain, pd);
	struct shim_context *ctx = shim_context_of(pd->pd.context);

	if (__atomic_load_n(&pd->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	users_dec(&pd->real->users);
	if (pd->td)
		users_dec(&pd->td->users);
	shim_obj_free(ctx, p, &pd->magic);
	return 0;
}

struct shim_pd *shim_parent_get(struct ibv_pd *ibpd)
{
	struct parent_domain *p = parent_of(ibpd);

	if (!p)
		return NULL;
	users_inc(&p->pd.users);
	return &p->pd;
}

void shim_parent_put(struct shim_pd *parent)
{
	if (parent)
		users_dec(&parent->users);
}

void *shim_domain_alloc(struct shim_pd *parent, size_t size, enum domain_resource what,
			bool *custom)
{
	struct parent_domain *p = parent ? container_of(parent, struct parent_domain, pd) : NULL;
	void *ptr = IBV_ALLOCATOR_USE_DEFAULT;

	if (p && p->alloc)
		ptr = p->alloc(&p->pd.pd, p->ctx, size, 64, what);
	*custom = ptr != IBV_ALLOCATOR_USE_DEFAULT;
	return *custom ? ptr : malloc(size);
}

void shim_domain_free(struct shim_pd *parent, void *ptr, enum domain_resource what, bool custom)
{
	struct parent_domain *p;

	if (custom) {
		p = container_of(parent, struct parent_domain, pd);
		p->free(&p->pd.pd, p->ctx, ptr, what);
	} else {
		free(ptr);
	}
}
