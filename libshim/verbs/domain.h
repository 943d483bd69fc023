/* SPDX-License-Identifier: MIT */
/**
 * DOC: protection domains, thread domains, parent domains, XRC domains, address handles.
 */
#ifndef LIBSHIM_VERBS_DOMAIN_H
#define LIBSHIM_VERBS_DOMAIN_H

#include "libshim/verbs/objects.h"

/* --- pd.c ----------------------------------------------------------------------------------- */

/** shim_pd_of() - the shim's view of a PD, or NULL when it is not one of this context. */
struct shim_pd *shim_pd_of(struct ibv_pd *pd, const struct ibv_context *ibctx);

/* --- domain.c --------------------------------------------------------------------------------- */

struct ibv_td *shim_alloc_td(struct ibv_context *ibctx, struct ibv_td_init_attr *attr);
int shim_dealloc_td(struct ibv_td *td);
struct ibv_pd *shim_alloc_parent_domain(struct ibv_context *ibctx,
					struct ibv_parent_domain_init_attr *attr);
/** shim_parent_dealloc() - ibv_dealloc_pd(3) of a parent domain. Return: 0 or EBUSY. */
int shim_parent_dealloc(struct shim_pd *pd);
/** shim_parent_get() - an object is made in @pd. Return: the parent domain that it is, now held, or NULL. */
struct shim_pd *shim_parent_get(struct ibv_pd *pd);
/** shim_parent_put() - the object is gone. @parent: as shim_parent_get() returned it */
void shim_parent_put(struct shim_pd *parent);

/** enum domain_resource - what custom allocators are asked for, with RDMA_DRIVER_UNKNOWN above. */
enum domain_resource {
	DOMAIN_SRQ_SLOTS = 1,
};

/** shim_domain_alloc() - memory from @parent's allocator (*custom), or malloc()'s. NULL: none left. */
void *shim_domain_alloc(struct shim_pd *parent, size_t size, enum domain_resource what,
			bool *custom);
void shim_domain_free(struct shim_pd *parent, void *ptr, enum domain_resource what, bool custom);

/* --- xrcd.c --------------------------------------------------------------------------------- */

struct ibv_xrcd *shim_open_xrcd(struct ibv_context *ibctx, struct ibv_xrcd_init_attr *attr);
int shim_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *shim_open_qp(struct ibv_context *ibctx, struct ibv_qp_open_attr *attr);

/* --- qp_attr.c, ah.c -------------------------------------------------------------------------- */

void shim_av_from_ah(struct hca_av *av, const struct ibv_ah_attr *ah);
void shim_ah_from_av(struct ibv_ah_attr *ah, const struct hca_av *av);
/** shim_qp_attr_to_ib() - all attributes but the capabilities, which become 0. */
void shim_qp_attr_to_ib(struct ibv_qp_attr *ib, const struct hca_qp_attr *a);

#endif
