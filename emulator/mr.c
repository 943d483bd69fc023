/* SPDX-License-Identifier: MIT */
/**
 * DOC: protection domains and memory regions, and the checks of keys.
 *
 * A region's key is its index << 8 with the low byte of the slot's generation, so a stale key is
 * refused until 256 regions later. lkey and rkey are the same number, as on most HCAs.
 */
#include "emulator/model.h"

struct hca_pd *own_pd(struct hca *hca, u32 client, u32 handle)
{
	struct hca_pd *pd = handle && handle < HCA_MAX_PD ? &hca->pd[handle] : NULL;

	return pd && pd->client == client + 1 ? pd : NULL;
}

struct hca_mr *hca_mr_by_key(struct hca *hca, u32 key)
{
	struct hca_mr *mr = &hca->mr[(key >> 8) & (HCA_MAX_MR - 1)];

	return key && mr->client && mr->key == key ? mr : NULL;
}

/* Translate [va, va + len) of a region into its owner's memory. */
static bool mr_range(const struct hca_mr *mr, u64 va, u64 len, struct hca_iov *iov)
{
	if (va < mr->iova || len > mr->len || va - mr->iova > mr->len - len)
		return false;
	iov->addr = mr->addr + (va - mr->iova);
	iov->len = len;
	return true;
}

int mem_local(struct hca *hca, const struct hca_qp *qp, const struct wq_sge *sge, u32 n, u32 need,
	      u64 used, struct hca_mem *mem, u64 *total, u32 *bad)
{
	u32 i;

	mem->client = qp->client - 1;
	mem->kind = MEM_VM;
	mem->n = 0;
	*total = 0;
	for (i = 0; i < n && i < LIM_SGE; i++) {
		/* Each entry is read once: the ring stays writable to the client. */
		struct wq_sge s = *(const volatile struct wq_sge *)&sge[i];
		const struct hca_mr *mr;

		if (!s.len)
			continue;
		if (*total >= used) {
			*total += s.len;
			continue;
		}
		mr = hca_mr_by_key(hca, s.lkey);
		if (!mr || mr->client != qp->client || mr->pd != qp->pd ||
		    (mr->access & need) != need ||
		    !mr_range(mr, s.addr, s.len, &mem->iov[mem->n])) {
			*bad = s.lkey;
			return -EACCES;
		}
		*total += s.len;
		mem->n++;
	}
	return 0;
}

int mem_remote(struct hca *hca, const struct hca_qp *qp, u32 rkey, u64 va, u64 len, u32 need,
	       struct hca_mem *mem)
{
	const struct hca_mr *mr;

	mem->client = qp->client - 1;
	mem->kind = MEM_VM;
	mem->n = 0;
	if (!len)
		return 0;
	mr = hca_mr_by_key(hca, rkey);
	if (!mr || mr->client != qp->client || mr->pd != qp->pd || (mr->access & need) != need)
		return -EACCES;
	if (!mr_range(mr, va, len, &mem->iov[0]))
		return -EACCES;
	mem->n = 1;
	return 0;
}

int mr_invalidate(struct hca *hca, const struct hca_qp *qp, u32 rkey)
{
	struct hca_mr *mr = hca_mr_by_key(hca, rkey);

	if (!mr || mr->client != qp->client || mr->pd != qp->pd)
		return -EACCES;
	mr->key = 0;
	return 0;
}

int cmd_alloc_pd(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	u32 i, n;

	if (cmd->dev >= hca->n_devs)
		return -EINVAL;
	if (hca->n_pd >= LIM_PD)
		return -ENOMEM;
	for (i = hca->pd_cursor, n = 0; n < HCA_MAX_PD && hca->pd[i].client; n++)
		i = next_slot(i, hca->n_pd, 1, HCA_MAX_PD);
	if (n == HCA_MAX_PD)
		return -ENOMEM;
	hca->pd[i].refs = 0;
	hca->pd[i].dev = cmd->dev;
	store_release(&hca->pd[i].client, client + 1);
	hca->pd_cursor = next_slot(i, hca->n_pd, 1, HCA_MAX_PD);
	hca->pd_high = max_u32(hca->pd_high, i + 1);
	hca->n_pd++;
	hca->client[client].n_pd++;
	cmd->handle = i;
	return 0;
}

int cmd_dealloc_pd(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_pd *pd = own_pd(e->hca, client, cmd->handle);

	if (!pd)
		return -EINVAL;
	if (pd->refs)
		return -EBUSY;
	pd->client = 0;
	e->hca->n_pd--;
	e->hca->client[client].n_pd--;
	return 0;
}

static const u32 access_known = ACC_LOCAL_WRITE | ACC_REMOTE_WRITE | ACC_REMOTE_READ |
				ACC_REMOTE_ATOMIC | ACC_MW_BIND | ACC_ZERO_BASED | ACC_ON_DEMAND |
				ACC_HUGETLB | 0x3ff00000u; /* IBV_ACCESS_OPTIONAL_RANGE */

/* ibv_reg_mr(3): remote write and remote atomic need local write. */
static int access_check(u32 access)
{
	if (access & ~access_known)
		return -EINVAL;
	if ((access & (ACC_REMOTE_WRITE | ACC_REMOTE_ATOMIC)) && !(access & ACC_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

static int range_check(const struct cmd_reg_mr *c)
{
	return c->addr + c->len < c->addr || c->iova + c->len < c->iova ? -EINVAL : 0;
}

/* A fresh key for the slot: the generation moves on, a key is never 0. */
static u32 fresh_key(struct hca *hca, struct hca_mr *mr)
{
	mr->gen++;
	return (u32)(mr - hca->mr) << 8 | (mr->gen & 0xff);
}

int cmd_reg_mr(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct cmd_reg_mr *c = &cmd->mr;
	struct hca_pd *pd = own_pd(hca, client, c->pd);
	struct hca_mr *mr;
	u32 i, n;

	if (!pd || access_check(c->access) || range_check(c))
		return -EINVAL;
	if (hca->n_mr >= LIM_MR)
		return -ENOMEM;
	for (i = hca->mr_cursor, n = 0; n < HCA_MAX_MR && hca->mr[i].client; n++)
		i = next_slot(i, hca->n_mr, 1, HCA_MAX_MR);
	if (n == HCA_MAX_MR)
		return -ENOMEM;
	mr = &hca->mr[i];
	mr->pd = c->pd;
	mr->access = c->access;
	mr->addr = c->addr;
	mr->iova = c->iova;
	mr->len = c->len;
	mr->key = fresh_key(hca, mr);
	store_release(&mr->client, client + 1);
	pd->refs++;
	hca->mr_cursor = next_slot(i, hca->n_mr, 1, HCA_MAX_MR);
	hca->mr_high = max_u32(hca->mr_high, i + 1);
	hca->n_mr++;
	hca->client[client].n_mr++;
	cmd->handle = i;
	c->key = mr->key;
	return 0;
}

static struct hca_mr *own_mr(struct hca *hca, u32 client, u32 handle)
{
	struct hca_mr *mr = handle && handle < HCA_MAX_MR ? &hca->mr[handle] : NULL;

	return mr && mr->client == client + 1 ? mr : NULL;
}

int cmd_rereg_mr(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	enum { TRANSLATION = 1, PD = 2, ACCESS = 4 };
	struct hca *hca = e->hca;
	struct cmd_reg_mr *c = &cmd->mr;
	struct hca_mr *mr = own_mr(hca, client, cmd->handle);
	struct hca_pd *pd = own_pd(hca, client, c->pd);

	if (!mr || !c->flags || (c->flags & ~(u32)(TRANSLATION | PD | ACCESS)))
		return -EINVAL;
	if ((c->flags & PD) && !pd)
		return -EINVAL;
	if ((c->flags & ACCESS) && access_check(c->access))
		return -EINVAL;
	if ((c->flags & TRANSLATION) && range_check(c))
		return -EINVAL;
	if (c->flags & PD) {
		hca->pd[mr->pd].refs--;
		pd->refs++;
		mr->pd = c->pd;
	}
	if (c->flags & ACCESS)
		mr->access = c->access;
	if (c->flags & TRANSLATION) {
		mr->addr = c->addr;
		mr->iova = c->iova;
		mr->len = c->len;
	}
	mr->key = fresh_key(hca, mr);
	c->key = mr->key;
	return 0;
}

int cmd_dereg_mr(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_mr *mr = own_mr(e->hca, client, cmd->handle);

	if (!mr)
		return -EINVAL;
	mr->key = 0;
	e->hca->pd[mr->pd].refs--;
	store_release(&mr->client, 0);
	e->hca->n_mr--;
	e->hca->client[client].n_mr--;
	return 0;
}
