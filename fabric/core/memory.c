/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/memory.h.
 */
#include "fabric/core/memory.h"
#include "fabric/core/fabric.h"

static s32 memory_vm_pid(void *ctx, u32 client)
{
	struct fabric *f = ctx;
	struct client *cl = client < HCA_MAX_CLIENTS ? f->clients.by_id[client] : NULL;

	if (client == HCA_PROC)
		return VM_OWN;
	if (!cl || cl->dead)
		return VM_GONE;
	return f->hca->client[client].fabric_reach ? f->hca->client[client].fabric_pid : VM_NOWAY;
}

struct vm_ctx memory_vm_ctx(struct fabric *f)
{
	return (struct vm_ctx){ .ctx = f, .seg = f->engine.ops->seg, .pid = memory_vm_pid };
}

int memory_copy(struct fabric *f, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		u64 soff, u64 len)
{
	struct vm_ctx vm = memory_vm_ctx(f);

	return vm_copy(&vm, dst, doff, src, soff, len);
}

bool memory_needs_helper(struct fabric *f, u32 client, u32 kind)
{
	return kind == MEM_VM && memory_vm_pid(f, client) == VM_NOWAY;
}
