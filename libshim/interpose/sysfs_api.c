/* SPDX-License-Identifier: MIT */
/*
 * libibverbs' exports for reading sysfs. Applications use them for attributes that the verbs do not
 * report (ibv_devinfo: board_id).
 */
#include "emulator/types.h"
#include "libshim/interpose/export.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* libibverbs exports these for related libraries; no installed header declares them. */
SHIM_EXPORT const char *ibv_get_sysfs_path(void);
SHIM_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

/** ibv_get_sysfs_path() - the mount point of sysfs: $SYSFS_PATH or /sys. */
const char *ibv_get_sysfs_path(void)
{
	const char *env = secure_getenv("SYSFS_PATH");

	return env && env[0] ? env : "/sys";
}

/**
 * ibv_read_sysfs_file() - read an attribute, without its newline.
 * @buf: NUL-terminated on success
 *
 * open() is the wrapper (path_open.c), which leads devices' directories to the private tree.
 * Return: the attribute's length, or -1 with errno (ENOSPC: @buf is too small for the NUL).
 */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	long n;
	int fd, saved;

	n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = syscall(SYS_read, fd, buf, size);
	saved = errno;
	syscall(SYS_close, fd);
	errno = saved;
	if (n < 0)
		return -1;
	if (n > 0 && buf[n - 1] == '\n') {
		n--;
	} else if ((size_t)n == size) {
		errno = ENOSPC;
		return -1;
	}
	buf[n] = '\0';
	return (int)n;
}
