/* SPDX-License-Identifier: MIT */
/**
 * DOC: the memory file whose descriptor is a context's cmd_fd.
 *
 * Its head names the context and the fabric; the context's device memory follows (dm.c). The number
 * of the context in the head is random and makes the HCA hand out the objects of that context, so
 * that possession of the descriptor is the right to import them, as with a real device. A seal
 * keeps processes that share the file from truncating it under the mappings of others.
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/command.h"
#include "libshim/interpose/syscall.h"
#include "libshim/verbs/device.h"

#include <sys/mman.h>

#define FILE_MAGIC   0x78746352u /* "Rctx" */
#define FILE_VERSION 1u

/** struct ctx_head - the head of a context's file. */
struct ctx_head {
	u32 magic;
	u32 version;
	u64 fabric; /* as CMD_IMPORT returns it */
	u64 id;
	u32 dev; /* index in the HCA */
	u32 pad;
};

static int fabric_id_query(u64 *fabric)
{
	struct hca_cmd cmd = { .op = CMD_IMPORT };
	int ret;

	cmd.import.kind = IMPORT_FABRIC;
	ret = shim_cmd_exec(&cmd);
	*fabric = cmd.import.fabric;
	return ret;
}

int shim_context_fd_make(u32 dev, u64 *id)
{
	struct ctx_head head = { .magic = FILE_MAGIC, .version = FILE_VERSION, .dev = dev };
	int ret = fabric_id_query(&head.fabric);
	int fd;

	if (ret)
		return ret;
	if (sys_getrandom(&head.id, sizeof(head.id)) != sizeof(head.id))
		return -EIO;
	fd = memfd_create("rdmaemu-context", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (sys_pwrite(fd, &head, sizeof(head), 0) != sizeof(head))
		ret = -ENOSPC;
	if (!ret && sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL))
		ret = -EPERM;
	if (ret) {
		sys_close(fd);
		return ret;
	}
	*id = head.id;
	return fd;
}

int shim_context_fd_read(int cmd_fd, struct shim_device **dev, u64 *id)
{
	struct ctx_head head;
	u64 fabric;
	int ret;

	if (sys_pread(cmd_fd, &head, sizeof(head), 0) != sizeof(head) || head.magic != FILE_MAGIC ||
	    head.version != FILE_VERSION)
		return -EINVAL;
	*dev = shim_device_by_index(head.dev);
	if (!*dev)
		return -errno;
	ret = fabric_id_query(&fabric);
	if (!ret && fabric != head.fabric)
		ret = -ENODEV;
	*id = head.id;
	return ret;
}
