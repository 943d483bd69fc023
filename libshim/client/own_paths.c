/* SPDX-License-Identifier: MIT */
/**
 * DOC: the paths of this program's queue pairs: see own_paths.h. Pollers ask each time they have
 * found nothing for a while, and paths seldom change: so the table of queue pairs is searched once
 * in a while, without the token.
 */
#include "libshim/client/own_paths.h"

#include "emulator/peer.h"
#include "emulator/qp.h"
#include "libshim/client/client.h"

#define CACHED_NS 10000000ull

static u32 qp_path_kind(const struct hca *hca, const struct hca_qp *qp)
{
	if (qp->client != shim.id + 1 ||
	    (qp->state != QPS_RTR && qp->state != QPS_RTS && qp->state != QPS_SQD))
		return 0;
	if (qp->type == QPT_UD || hca_dev_is_peer(hca, qp->path.dst_dev))
		return OWN_PATH_WIRE;
	return qp->path.via ? 0 : OWN_PATH_DIRECT;
}

u32 shim_own_paths(u64 now)
{
	static u64 searched_at;
	static u32 found;
	const struct hca *hca = shim.hca;
	const u32 high = min_u32(load_relaxed(&hca->tab[TAB_QP].high), HCA_MAX_QP);
	/* A program that does not read the wires does not ask for them. */
	const u32 asked = OWN_PATH_DIRECT | (shim.engine.leaves ? OWN_PATH_WIRE : 0);
	u32 i, kinds = 0;

	if (now - load_relaxed(&searched_at) < CACHED_NS)
		return load_relaxed(&found);
	for (i = 0; i < high && (kinds & asked) != asked; i++)
		kinds |= qp_path_kind(hca, &hca->qp[i]);
	store_relaxed(&found, kinds);
	store_relaxed(&searched_at, now);
	return kinds;
}
