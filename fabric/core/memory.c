/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/memory.h.
 */
#include "fabric/core/memory.h"
#include "fabric/core/fabric.h"

#include <sys/mman.h>
#include <sys/stat.h>

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

/* lent_map_fn. A mapping is never longer than the file, which never gets shorter. */
static void *memory_lent_map(void *ctx, u32 client, u64 size)
{
	struct fabric *f = ctx;
	int fd = f->clients.by_id[client]->lent_fd;
	struct stat st;
	void *at;

	if (fstat(fd, &st) || (u64)st.st_size < size)
		return NULL;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	madvise(at, size, MADV_DONTDUMP);
	return at;
}

static u8 *memory_vm_lent(void *ctx, u32 client, u64 addr, u64 *len)
{
	struct fabric *f = ctx;
	struct client *cl = client < HCA_MAX_CLIENTS ? f->clients.by_id[client] : NULL;

	if (!cl || cl->dead || cl->lent_fd < 0)
		return NULL;
	return lent_map_at(&cl->lent, &cl->seg->lent, addr, len, memory_lent_map, f, client);
}

struct vm_ctx memory_vm_ctx(struct fabric *f)
{
	return (struct vm_ctx){
		.ctx = f,
		.seg = f->engine.ops->seg,
		.pid = memory_vm_pid,
		.lent = memory_vm_lent,
	};
}

int memory_copy(struct fabric *f, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		u64 soff, u64 len)
{
	struct vm_ctx vm = memory_vm_ctx(f);

	return vm_copy(&vm, dst, doff, src, soff, len);
}

/*
 * Whether a client keeps this process from its memory (struct seg_lent_table), or its helper is at
 * work: its job may be the second half of an atomic, or that of a copy that was given up.
 */
static bool memory_is_held(const struct fabric *f, u32 client)
{
	const struct client *cl = client < HCA_MAX_CLIENTS ? f->clients.by_id[client] : NULL;

	if (!cl || cl->dead || cl->helper_fd < 0)
		return false;
	return load_acquire(&cl->seg->lent.held) || cl->xfer ||
	       load_acquire(&cl->seg->job.state) == HELPER_BUSY;
}

bool memory_needs_helper(struct fabric *f, const struct hca_mem *mem, u64 off, u64 len)
{
	struct vm_ctx vm = memory_vm_ctx(f);

	if (mem->kind != MEM_VM)
		return false;
	return unlikely(memory_is_held(f, mem->client)) ||
	       (memory_vm_pid(f, mem->client) == VM_NOWAY && !vm_is_lent(&vm, mem, off, len));
}

u32 memory_lent_span(struct fabric *f, const struct hca_mem *mem, u64 off, u64 len, struct iovec *v,
		     u32 max)
{
	struct vm_ctx vm = memory_vm_ctx(f);

	if (mem->kind != MEM_VM || memory_is_held(f, mem->client))
		return 0;
	return vm_lent_span(&vm, mem, off, len, v, max);
}

void memory_store(void *dst, const void *src, u64 len)
{
	vm_store(dst, src, len);
}
