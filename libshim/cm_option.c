/* SPDX-License-Identifier: MIT */
/**
 * DOC: options of identifiers. What they mean is the engine's. A path that the program brings along
 * takes the place of route resolution; which one it is makes no difference, since a port of the
 * emulated devices knows the way to every address that it can reach.
 */
#include "libshim/cm.h"

#define PATH_WANTED (IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL)

static int set_path(struct shim_cmid *c, const struct ibv_path_data *path, size_t len)
{
	struct hca_cmd cmd = { 0 };
	size_t i, n = len / sizeof(*path);

	if (!len || len % sizeof(*path))
		return fail_minus(-EINVAL);
	for (i = 0; i < n && path[i].flags != PATH_WANTED; i++)
		;
	return i < n ? cmid_cmd(c, CMD_CM_RESOLVE_ROUTE, &cmd) : fail_minus(-EINVAL);
}

/**
 * rdma_set_option() - rdma_set_option(3).
 * Return: 0, or -1 with errno (ENOSYS: no such option; EINVAL: of another length, or not now).
 */
SHIM_EXPORT int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval,
				size_t optlen)
{
	struct shim_cmid *c = cmid_of(id);
	struct hca_cmd cmd = { 0 };

	if (!c)
		return -1;
	if (optlen && !optval)
		return fail_minus(-EFAULT);
	if (level == RDMA_OPTION_IB && optname == RDMA_OPTION_IB_PATH)
		return set_path(c, optval, optlen);
	cmd.cm.level = (u32)level;
	cmd.cm.optname = (u32)optname;
	cmd.cm.optlen = (u32)(optlen < UINT32_MAX ? optlen : UINT32_MAX);
	memcpy(cmd.cm.opt, optval ? optval : "", min_u32(cmd.cm.optlen, sizeof(cmd.cm.opt)));
	return cmid_cmd(c, CMD_CM_SET_OPTION, &cmd);
}
