/* SPDX-License-Identifier: MIT */
/**
 * DOC: the GID table. Programs scan it, so every index below gid_tbl_len can be queried.
 */
#include "emulator/hca_port.h"
#include "emulator/limits.h"
#include "libshim/client/call_fault.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/objects.h"

/* The values of ibv_query_gid_type(), which is private to rdma-core. */
enum gid_type_sysfs {
	GID_TYPE_SYSFS_IB_ROCE_V1,
	GID_TYPE_SYSFS_ROCE_V2,
};

/*
 * Return: 0, -EINVAL (no such port or index), -EBADF (closed), -ENODATA (empty; @e then has a zero
 * GID).
 */
static int gid_entry_get(struct ibv_context *ibctx, u32 port, u32 index, struct ibv_gid_entry *e)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	const struct hca_port *p;
	struct hca_dev buf;

	memset(e, 0, sizeof(*e));
	if (!ctx)
		return -errno;
	p = shim_device_port(shim_device_now(ctx, &buf), port);
	if (!p || index >= HCA_GIDS)
		return -EINVAL;
	e->gid_index = index;
	e->port_num = port;
	if (!p->gid[index].valid)
		return -ENODATA;
	memcpy(e->gid.raw, p->gid[index].raw, sizeof(e->gid.raw));
	e->gid_type = p->gid[index].type;
	e->ndev_ifindex = p->gid[index].ifindex;
	return 0;
}

/** ibv_query_gid() - ibv_query_gid(3). Return: 0 (zero GID for an empty entry), -1 with errno. */
SHIM_EXPORT int ibv_query_gid(struct ibv_context *ibctx, uint8_t port, int index,
			      union ibv_gid *gid)
{
	struct ibv_gid_entry e;
	int ret = index < 0 ? -EINVAL : gid_entry_get(ibctx, port, (u32)index, &e);

	if (call_fails(CALL_ibv_query_gid))
		return -1;
	if (ret && ret != -ENODATA)
		return fail_minus(ret);
	*gid = e.gid;
	return 0;
}

/**
 * _ibv_query_gid_ex() - ibv_query_gid_ex(3).
 * Return: 0 or errno value; ENODATA for an empty entry.
 */
SHIM_EXPORT int _ibv_query_gid_ex(struct ibv_context *ibctx, uint32_t port, uint32_t index,
				  struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry e;
	int ret;

	if (call_fails(CALL_ibv_query_gid_ex))
		return errno;
	if (flags)
		return EOPNOTSUPP;
	ret = gid_entry_get(ibctx, port, index, &e);
	if (ret)
		return -ret;
	memset(entry, 0, entry_size);
	memcpy(entry, &e, entry_size < sizeof(e) ? entry_size : sizeof(e));
	return 0;
}

/**
 * _ibv_query_gid_table() - ibv_query_gid_table(3).
 * Return: number of entries, or negative errno value; -EINVAL if they do not fit.
 */
SHIM_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *ibctx, struct ibv_gid_entry *entries,
					 size_t max_entries, uint32_t flags, size_t entry_size)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct ibv_gid_entry e;
	size_t n = 0;
	u32 i;
	int ret;

	if (call_fails(CALL_ibv_query_gid_table))
		return -errno;
	if (flags)
		return -EOPNOTSUPP;
	if (!ctx)
		return -errno;
	if (!max_entries)
		return -EINVAL;
	for (i = 0; i < ctx->dev->info.n_ports * HCA_GIDS; i++) {
		ret = gid_entry_get(ibctx, i / HCA_GIDS + 1, i % HCA_GIDS, &e);
		if (ret == -ENODATA)
			continue;
		if (ret || n == max_entries)
			return -EINVAL;
		memset((char *)entries + n * entry_size, 0, entry_size);
		memcpy((char *)entries + n * entry_size, &e,
		       entry_size < sizeof(e) ? entry_size : sizeof(e));
		n++;
	}
	return (ssize_t)n;
}

/**
 * ibv_query_gid_type() - private to rdma-core, but ibv_devinfo and pyverbs use it.
 * @type: enum gid_type_sysfs; an empty entry counts as RoCE v1
 * Return: 0, or -1 with errno.
 */
SHIM_EXPORT int ibv_query_gid_type(struct ibv_context *ibctx, uint8_t port, unsigned int index,
				   unsigned int *type)
{
	struct ibv_gid_entry e;
	int ret = gid_entry_get(ibctx, port, index, &e);

	if (ret && ret != -ENODATA)
		return fail_minus(ret);
	*type = e.gid_type == IBV_GID_TYPE_ROCE_V2 ? GID_TYPE_SYSFS_ROCE_V2
						   : GID_TYPE_SYSFS_IB_ROCE_V1;
	return 0;
}
