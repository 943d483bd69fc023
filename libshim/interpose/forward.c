/* SPDX-License-Identifier: MIT */
/*
 * Exports of libibverbs that providers and librdmacm call with plain data. They touch neither our
 * devices nor our contexts, so the installed library's functions do the work. The shim exports them
 * for programs that search a dlopen() handle.
 */
#include "emulator/types.h"
#include "libshim/interpose/export.h"
#include "libshim/interpose/interpose.h"

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

/*
 * FORWARD_COPY() - a conversion between a kernel structure and its verbs counterpart. A caller that
 * has such a kernel structure has the library, too; without the library nothing is converted.
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): types and parameter lists */
#define FORWARD_COPY(name, dst_type, src_type)                                                     \
	SHIM_EXPORT void name(struct dst_type *dst, struct src_type *src);                         \
	void name(struct dst_type *dst, struct src_type *src)                                      \
	{                                                                                          \
		static void *slot;                                                                 \
		__typeof__(&name) fn = (__typeof__(&name))real_symbol(&slot, REAL_VERBS, #name);   \
                                                                                                   \
		if (fn)                                                                            \
			fn(dst, src);                                                              \
	}

/* NOLINTEND(bugprone-macro-parentheses) */

FORWARD_COPY(ibv_copy_ah_attr_from_kern, ibv_ah_attr, ib_uverbs_ah_attr)
FORWARD_COPY(ibv_copy_qp_attr_from_kern, ibv_qp_attr, ib_uverbs_qp_attr)
FORWARD_COPY(ibv_copy_path_rec_from_kern, ibv_sa_path_rec, ib_user_path_rec)
FORWARD_COPY(ibv_copy_path_rec_to_kern, ib_user_path_rec, ibv_sa_path_rec)

/*
 * The MAC address of a GID in the machine's neighbour table. The library asks the kernel by
 * netlink, and takes the source GID from ibv_query_gid(), which is ours.
 */
SHIM_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
					    uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	static void *slot;
	__typeof__(&ibv_resolve_eth_l2_from_gid) fn;

	fn = (__typeof__(fn))real_symbol(&slot, REAL_VERBS, "ibv_resolve_eth_l2_from_gid");
	return fn ? fn(context, attr, eth_mac, vid) : -ENOSYS;
}

/*
 * A fork's copy-on-write does no harm: the emulator reaches memory through the process that
 * registered it, by virtual address, and not through pinned pages.
 */
SHIM_EXPORT int ibv_dontfork_range(void *base, size_t size);
SHIM_EXPORT int ibv_dofork_range(void *base, size_t size);

int ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
