/* SPDX-License-Identifier: MIT */
/**
 * DOC: registration of memory.
 *
 * Registration grants the right to access memory, which stays the program's own, or is lent
 * (libshim/lend). On-demand regions differ from others only in that they are neither faulted in nor
 * lent. Relaxed ordering changes nothing.
 */
#include "emulator/obj.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/valgrind.h"
#include "libshim/interpose/export.h"
#include "libshim/lend/region.h"
#include "libshim/memory/pages.h"
#include "libshim/memory/shadow.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/memory.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096u

#define ACCESS_KNOWN                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | ACC_FLUSH)

/*
 * ibv_reg_mr(3): remote write and atomic rights need local write. Rights of the optional range that
 * the emulator does not know are dropped.
 */
int shim_mr_check_access(u32 access)
{
	u32 remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	if (access & ~(u32)(ACCESS_KNOWN | IBV_ACCESS_OPTIONAL_RANGE))
		return -EINVAL;
	if ((access & remote) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if ((access & IBV_ACCESS_HUGETLB) && !(access & IBV_ACCESS_ON_DEMAND))
		return -EINVAL;
	return 0;
}

static int mr_range_check(const void *addr, size_t len, u32 access)
{
	/* Implicit: the whole address space, with mappings that come later. */
	if ((access & IBV_ACCESS_ON_DEMAND) && !addr && len == SIZE_MAX)
		return access & IBV_ACCESS_HUGETLB ? -EINVAL : 0;
	/* The end, rounded up to pages, must be a valid address, too. */
	if ((uintptr_t)addr > UINTPTR_MAX - PAGE || len > UINTPTR_MAX - PAGE - (uintptr_t)addr)
		return -EINVAL;
	if (!addr && len)
		return access & IBV_ACCESS_ON_DEMAND ? -EINVAL : -EFAULT;
	return 0;
}

static int mr_range_pin(const void *addr, size_t len, u32 access)
{
	/* An empty region at a page's start has no page to pin. The device may refuse it. */
	if (!len && !((uintptr_t)addr & (PAGE - 1)))
		return 0;
	if (access & IBV_ACCESS_ON_DEMAND)
		return 0;
	return shim_mem_pin(addr, len, access & IBV_ACCESS_LOCAL_WRITE);
}

/*
 * Lend the memory of a region that the HCA does not know yet. Valgrind would forget which bytes are
 * defined.
 */
static u64 mr_range_lend(const struct cmd_reg_mr *c)
{
	bool may = !(c->access & IBV_ACCESS_ON_DEMAND) && !shim_on_valgrind;

	return lend_region_add(c->addr, c->len, may);
}

/*
 * Lend the memory of a new region, and pin it. Pages that pinning faults in would be copied when
 * they are lent, so it comes later, except where it faults in next to nothing and may find that
 * the region is none. *lend: for lend_region_drop(). Return: 0 or -errno.
 */
static int mr_range_lend_and_pin(const struct cmd_reg_mr *c, u64 *lend)
{
	bool late = c->len <= SHIM_POPULATE_MAX;
	const void *addr = (const void *)(uintptr_t)c->addr;
	int ret = late ? 0 : mr_range_pin(addr, c->len, c->access);

	if (ret)
		return ret;
	*lend = mr_range_lend(c);
	if (late)
		ret = mr_range_pin(addr, c->len, c->access);
	if (ret)
		lend_region_drop(*lend);
	return ret;
}

/* The device is to reach the memory at its alias. Return: that, with *map_len; NULL: none. */
static void *mr_range_alias(struct cmd_reg_mr *c, size_t *map_len)
{
	void *map = NULL;

	if (!(c->access & IBV_ACCESS_ON_DEMAND))
		map = shim_alias_make(c->addr, c->len, map_len);
	if (map)
		c->addr = (uintptr_t)map + (c->addr & (PAGE - 1));
	return map;
}

static void mr_range_unmap(void *map, size_t map_len)
{
	if (map)
		munmap(map, map_len);
}

static __thread u32 wanted __attribute__((tls_model("initial-exec")));

SHIM_EXPORT void rdmaemu_next_key(u32 key)
{
	wanted = key;
}

u32 shim_mr_wanted_key(void)
{
	u32 key = wanted;

	wanted = 0;
	return key;
}

static int mr_create_cmd(struct shim_context *ctx, struct shim_mr *mr, struct hca_cmd *cmd)
{
	struct cmd_reg_mr *c = &cmd->mr;
	int ret = shim_obj_cmd(ctx, cmd);

	if (ret)
		return ret;
	/* Null MRs have no memory to copy from or to. */
	if (mr->type != MRT_NULL)
		ret = shim_mr_shadow_set(c->key, c->pd, c->access, c->addr, c->iova, c->len);
	if (ret) {
		shim_obj_destroy_cmd(ctx, CMD_DEREG_MR, cmd->handle);
		return ret;
	}
	mr->mr.handle = cmd->handle;
	mr->mr.lkey = c->key;
	mr->mr.rkey = mr->type == MRT_NULL ? 0 : c->key;
	mr->access = c->access;
	mr->iova = c->iova;
	mr->magic = MAGIC_MR;
	return 0;
}

struct shim_mr *shim_mr_new(struct ibv_pd *pd, enum shim_mr_type type, struct hca_cmd *cmd,
			    void *addr, size_t len)
{
	struct shim_context *ctx = shim_context_of(pd->context);
	struct shim_mr *mr = ctx ? shim_obj_alloc(sizeof(*mr)) : NULL;
	int ret;

	if (!mr)
		return NULL;
	mr->type = type;
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.addr = addr;
	mr->mr.length = len;
	ret = mr_create_cmd(ctx, mr, cmd);
	if (ret) {
		free(mr);
		return fail_null(ret);
	}
	shim_context_get(ctx);
	return mr;
}

static struct ibv_mr *mr_reg(struct ibv_pd *pd, void *addr, size_t len, u64 iova, u32 access)
{
	struct shim_context *ctx = shim_pd_of(pd, NULL) ? shim_context_of(pd->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_REG_MR, .mr.key = shim_mr_wanted_key() };
	size_t map_len = 0;
	struct shim_mr *mr;
	void *map;
	u64 lend;
	int ret;

	if (!ctx)
		return fail_null(-shim_unknown(pd));
	ret = ctx->dead ? -EIO : shim_mr_check_access(access);
	if (!ret)
		ret = mr_range_check(addr, len, access);
	/* iova and address must have the same offset in their page; 0 is a zero-based region. */
	if (!ret && iova && ((iova ^ (uintptr_t)addr) & (PAGE - 1)))
		ret = -EINVAL;
	if (!ret && iova + len < iova)
		ret = -EINVAL;
	if (ret)
		return fail_null(ret);
	cmd.mr.addr = (uintptr_t)addr;
	cmd.mr.len = len;
	cmd.mr.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	cmd.mr.pd = pd->handle;
	cmd.mr.access = access & (u32)(ACCESS_KNOWN | IBV_ACCESS_RELAXED_ORDERING);
	ret = mr_range_lend_and_pin(&cmd.mr, &lend);
	if (ret)
		return fail_null(ret);
	map = mr_range_alias(&cmd.mr, &map_len);
	mr = shim_mr_new(pd, MRT_USER, &cmd, addr, len);
	if (!mr) {
		ret = -errno;
		lend_region_drop(lend);
		mr_range_unmap(map, map_len);
		return fail_null(ret);
	}
	mr->lend = lend;
	mr->map = map;
	mr->map_len = map_len;
	return &mr->mr;
}

/** ibv_reg_mr() - ibv_reg_mr(3). Return: MR, or NULL with errno. */
SHIM_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	if (call_fails(CALL_ibv_reg_mr))
		return NULL;
	return mr_reg(pd, addr, length, (uintptr_t)addr, (u32)access);
}

/** ibv_reg_mr_iova() - ibv_reg_mr_iova(3). Return: MR, or NULL with errno. */
SHIM_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					   uint64_t iova, int access)
{
	if (call_fails(CALL_ibv_reg_mr_iova))
		return NULL;
	return mr_reg(pd, addr, length, iova, (u32)access);
}

/** ibv_reg_mr_iova2() - verbs.h calls it if access is not a constant. Return: NULL with errno. */
SHIM_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					    uint64_t iova, unsigned int access)
{
	bool iova_given = iova != (uintptr_t)addr;

	if (call_fails(iova_given ? CALL_ibv_reg_mr_iova : CALL_ibv_reg_mr))
		return NULL;
	return mr_reg(pd, addr, length, iova, access);
}

struct ibv_mr *shim_alloc_null_mr(struct ibv_pd *pd)
{
	struct hca_cmd cmd = { .op = CMD_REG_MR };
	struct shim_mr *mr;

	if (call_fails(CALL_ibv_alloc_null_mr))
		return NULL;
	if (!shim_pd_of(pd, NULL))
		return fail_null(-shim_unknown(pd));
	cmd.mr.kind = MR_NULL;
	cmd.mr.len = SIZE_MAX;
	cmd.mr.pd = pd->handle;
	cmd.mr.access = IBV_ACCESS_LOCAL_WRITE;
	mr = shim_mr_new(pd, MRT_NULL, &cmd, NULL, SIZE_MAX);
	return mr ? &mr->mr : NULL;
}

/* The checks of a re-registration that libibverbs itself does. */
static bool mr_rereg_is_valid(const struct shim_mr *mr, int flags, const void *addr, size_t length,
			      u32 access)
{
	if (mr->type != MRT_USER || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED))
		return false;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && (!length || !addr))
		return false;
	return !access || (flags & IBV_REREG_MR_CHANGE_ACCESS);
}

/* The arguments of a re-registration as a command. Return: 0 or -errno. */
static int mr_rereg_prepare(const struct shim_mr *mr, int flags, struct ibv_pd *pd, void *addr,
			    size_t length, u32 access, struct hca_cmd *cmd)
{
	bool move = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	int ret;

	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		access = mr->access;
	if (!(flags & IBV_REREG_MR_CHANGE_PD))
		pd = mr->mr.pd;
	else if (!shim_pd_of(pd, mr->mr.context))
		return -shim_unknown(pd);
	cmd->mr.addr = move ? (uintptr_t)addr : (uintptr_t)mr->mr.addr;
	cmd->mr.len = move ? length : mr->mr.length;
	cmd->mr.iova = mr->iova;
	if (move && !(access & IBV_ACCESS_ZERO_BASED))
		cmd->mr.iova = (uintptr_t)addr;
	ret = shim_mr_check_access(access);
	if (!ret)
		ret = mr_range_check((void *)(uintptr_t)cmd->mr.addr, cmd->mr.len, access);
	if (!ret)
		ret = mr_range_pin((void *)(uintptr_t)cmd->mr.addr, cmd->mr.len, access);
	cmd->mr.pd = pd->handle;
	cmd->mr.access = access & (u32)(ACCESS_KNOWN | IBV_ACCESS_RELAXED_ORDERING);
	cmd->mr.flags = (u32)flags;
	return ret;
}

/* Where the region is from now on: in the HCA, in the shadow. Return: 0 or -errno. */
static int mr_rereg_run(struct shim_context *ctx, struct shim_mr *mr, struct hca_cmd *cmd)
{
	struct cmd_reg_mr *c = &cmd->mr;
	bool move = c->flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	struct shim_mr was = *mr;
	int ret;

	mr->lend = mr_range_lend(c);
	if (move)
		mr->map = mr_range_alias(c, &mr->map_len);
	else if (mr->map)
		c->addr = (uintptr_t)mr->map + (c->addr & (PAGE - 1));
	ret = shim_obj_cmd(ctx, cmd);
	if (ret) {
		lend_region_drop(mr->lend);
		if (move)
			mr_range_unmap(mr->map, mr->map_len);
		mr->lend = was.lend;
		mr->map = was.map;
		mr->map_len = was.map_len;
		return ret;
	}
	/* Place the data of unpolled receives where the region was when they were filled. */
	shim_objs_each_cq(shim_cq_place_all);
	ret = shim_mr_shadow_set(c->key, c->pd, c->access, c->addr, c->iova, c->len);
	lend_region_drop(was.lend);
	if (move)
		mr_range_unmap(was.map, was.map_len);
	return ret;
}

/**
 * ibv_rereg_mr() - ibv_rereg_mr(3). The keys stay.
 * Return: 0 or enum ibv_rereg_mr_err_code, with errno.
 */
SHIM_EXPORT int ibv_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd, void *addr,
			     size_t length, int access)
{
	struct shim_mr *mr = (struct shim_mr *)ibmr;
	struct shim_context *ctx =
		mr && mr->magic == MAGIC_MR ? shim_context_of(ibmr->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_REREG_MR };
	struct cmd_reg_mr *c = &cmd.mr;
	u64 at;
	int ret;

	if (call_fails(CALL_ibv_rereg_mr))
		return IBV_REREG_MR_ERR_CMD;
	if (!ctx) {
		errno = shim_unknown(ibmr);
		return ibmr ? IBV_REREG_MR_ERR_CMD : IBV_REREG_MR_ERR_INPUT;
	}
	if (!mr_rereg_is_valid(mr, flags, addr, length, (u32)access)) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	ret = mr_rereg_prepare(mr, flags, pd, addr, length, (u32)access, &cmd);
	cmd.handle = ibmr->handle;
	at = c->addr;
	if (!ret)
		ret = mr_rereg_run(ctx, mr, &cmd);
	if (ret) {
		errno = -ret;
		return IBV_REREG_MR_ERR_CMD;
	}
	ibmr->addr = (void *)(uintptr_t)at;
	ibmr->length = c->len;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		ibmr->pd = pd;
	mr->access = c->access;
	mr->iova = c->iova;
	return 0;
}

void shim_mr_unimport(struct shim_mr *mr)
{
	struct shim_context *ctx = shim_context_of(mr->mr.context);

	shim_obj_free(ctx, mr, &mr->magic);
}

/** ibv_dereg_mr() - ibv_dereg_mr(3). When it returns, no process accesses the memory any more. */
ERRNO_EXPORT(ibv_dereg_mr, (struct ibv_mr * ibmr), (ibmr))
{
	struct shim_mr *mr = (struct shim_mr *)ibmr;
	struct shim_context *ctx =
		mr && mr->magic == MAGIC_MR ? shim_context_of(ibmr->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_DEREG_MR };
	int ret;

	if (call_fails(CALL_ibv_dereg_mr))
		return errno;
	if (!ctx)
		return shim_unknown(ibmr);
	cmd.handle = ibmr->handle;
	cmd.mr.key = ibmr->lkey;
	ret = shim_obj_end_cmd(ctx, &cmd);
	if (ret)
		return -ret;
	if (!ctx->dead) {
		/* Place the data of unpolled receives while the memory is still registered. */
		shim_objs_each_cq(shim_cq_place_all);
		shim_mr_shadow_clear(ibmr->lkey);
	}
	lend_region_drop(mr->lend);
	mr_range_unmap(mr->map, mr->map_len);
	if (mr->dm)
		__atomic_fetch_sub(&mr->dm->users, 1, __ATOMIC_ACQ_REL);
	shim_mr_unimport(mr);
	return 0;
}

bool rdmaemu_has_alias(const struct ibv_mr *ibmr)
{
	const struct shim_mr *mr = (const struct shim_mr *)ibmr;

	return mr->magic == MAGIC_MR && mr->type == MRT_USER && mr->map;
}
