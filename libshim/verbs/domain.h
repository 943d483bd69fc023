/* SPDX-License-Identifier: MIT */
/**
 * DOC: protection domains, thread domains, parent domains, XRC domains, address handles.
 */
#ifndef LIBSHIM_VERBS_DOMAIN_H
#define LIBSHIM_VERBS_DOMAIN_H

#include "libshim/verbs/objects.h"

struct shim_td;

/**
 * struct shim_pd - a protection domain, or a parent domain, which has the handle of its inner PD.
 * @real: the inner PD of a parent domain; NULL: this is no parent domain
 * @ref: imported: handle of the reference in the HCA
 * @users: parent domains over it; for a parent domain also the objects made in it
 */
struct shim_pd {
	struct ibv_pd pd;
	u32 magic;
	bool imported;
	u32 ref;
	u32 users;
	struct shim_pd *real;
	struct shim_td *td;
};

struct shim_ah {
	struct ibv_ah ah;
	u32 magic;
	u16 ahn; /* on an EFA device: ahn.h */
};

struct shim_xrcd {
	struct ibv_xrcd xrcd;
	u32 magic;
	u32 handle;
	u32 users; /* SRQs and QPs that this process made in it */
};

/** shim_pd_of() - the shim's view of a PD, or NULL if it is none of @ibctx (NULL: any context). */
static inline struct shim_pd *shim_pd_of(struct ibv_pd *ibpd, const struct ibv_context *ibctx)
{
	struct shim_pd *pd = (struct shim_pd *)ibpd;

	return pd && pd->magic == MAGIC_PD && (!ibctx || ibpd->context == ibctx) ? pd : NULL;
}

/** shim_pd_check() - Return: 0, or a negative errno value for a PD that is none of @ibctx. */
static inline int shim_pd_check(struct ibv_pd *ibpd, const struct ibv_context *ibctx)
{
	return shim_pd_of(ibpd, ibctx) ? 0 : -shim_unknown(ibpd);
}

/** shim_xrcd_of() - the shim's view of an XRC domain, or NULL if it is none of @ibctx. */
static inline struct shim_xrcd *shim_xrcd_of(struct ibv_xrcd *ibxrcd,
					     const struct ibv_context *ibctx)
{
	struct shim_xrcd *xrcd = (struct shim_xrcd *)ibxrcd;

	return xrcd && xrcd->magic == MAGIC_XRCD && ibxrcd->context == ibctx ? xrcd : NULL;
}

/* --- domain.c --- */

struct ibv_td *shim_alloc_td(struct ibv_context *ibctx, struct ibv_td_init_attr *attr);
int shim_dealloc_td(struct ibv_td *td);
struct ibv_pd *shim_alloc_parent_domain(struct ibv_context *ibctx,
					struct ibv_parent_domain_init_attr *attr);
/** shim_parent_dealloc() - ibv_dealloc_pd(3) of a parent domain. Return: 0 or EBUSY. */
int shim_parent_dealloc(struct shim_pd *pd);
/**
 * shim_parent_get() - an object is made in @pd. Return: @pd, now held, if it is a parent domain.
 */
struct shim_pd *shim_parent_get(struct ibv_pd *pd);
/** shim_parent_put() - the object is destroyed. @parent: result of shim_parent_get() */
void shim_parent_put(struct shim_pd *parent);

/** enum domain_resource - what custom allocators allocate, with RDMA_DRIVER_UNKNOWN above. */
enum domain_resource {
	DOMAIN_SRQ_SLOTS = 1,
};

/** shim_domain_alloc() - memory from @parent's allocator (*custom) or malloc(). NULL: none left. */
void *shim_domain_alloc(struct shim_pd *parent, size_t size, enum domain_resource what,
			bool *custom);
void shim_domain_free(struct shim_pd *parent, void *ptr, enum domain_resource what, bool custom);

/* --- xrcd.c --- */

struct ibv_xrcd *shim_open_xrcd(struct ibv_context *ibctx, struct ibv_xrcd_init_attr *attr);
int shim_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *shim_open_qp(struct ibv_context *ibctx, struct ibv_qp_open_attr *attr);

#endif
