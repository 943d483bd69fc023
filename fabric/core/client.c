/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/client.h.
 */
#include "fabric/core/fabric.h"

struct client *client_find(struct fabric *f, u32 id, u32 gen)
{
	struct client *cl = id < HCA_MAX_CLIENTS ? f->clients.by_id[id] : NULL;

	return cl && cl->gen == gen && !cl->dead ? cl : NULL;
}
