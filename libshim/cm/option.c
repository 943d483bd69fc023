/* SPDX-License-Identifier: MIT */
/**
 * DOC: options of identifiers, which the engine interprets. If a program sets paths, the engine
 * gets the one that the kernel would choose.
 */
#include "emulator/cm/cmd.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/cm/cm.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#define PATH_WANTED (IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL)

_Static_assert(sizeof(struct ibv_path_data) == CM_PATH_DATA, "as the engine has it");

/* Return: 0 or -EINVAL. */
static int option_pick_path(struct cmd_cm *cmd, const struct ibv_path_data *path, size_t len)
{
	size_t i, n = len / sizeof(*path);

	if (len % sizeof(*path))
		return -EINVAL;
	for (i = 0; i < n && path[i].flags != PATH_WANTED; i++)
		;
	if (i == n)
		return -EINVAL;
	cmd->optlen = sizeof(*path);
	memcpy(cmd->opt, &path[i], sizeof(*path));
	return 0;
}

/**
 * rdma_set_option() - rdma_set_option(3).
 * Return: 0, or -1 with errno (ENOSYS: no such option; EINVAL: of another length, or not now).
 */
SHIM_EXPORT int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval,
				size_t optlen)
{
	struct ucma_id *c = ucma_id_of(id);
	struct hca_cmd cmd = { 0 };

	if (call_fails(CALL_rdma_set_option))
		return -1;
	if (!c)
		return -1;
	if (optlen && !optval)
		return fail_minus(-EFAULT);
	cmd.cm.level = (u32)level;
	cmd.cm.optname = (u32)optname;
	if (level == RDMA_OPTION_IB && optname == RDMA_OPTION_IB_PATH) {
		if (option_pick_path(&cmd.cm, optval, optlen))
			return fail_minus(-EINVAL);
	} else {
		/* A truncated value is too long for every option. */
		cmd.cm.optlen = (u32)(optlen < sizeof(cmd.cm.opt) ? optlen : sizeof(cmd.cm.opt));
		memcpy(cmd.cm.opt, optval ? optval : "", cmd.cm.optlen);
	}
	return ucma_id_cmd(c, CMD_CM_SET_OPTION, &cmd);
}
