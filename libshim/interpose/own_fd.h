/* SPDX-License-Identifier: MIT */
/**
 * DOC: descriptors of ours in the process of a program.
 *
 * Some programs expect the low numbers for themselves (select(2), tables indexed by descriptor,
 * "the next one will be 3"), so ours have high ones. A program that closes all its descriptors
 * closes ours, too, and may get their numbers again: before each use the file is compared.
 */
#ifndef LIBSHIM_INTERPOSE_OWN_FD_H
#define LIBSHIM_INTERPOSE_OWN_FD_H

#include "libshim/interpose/syscall.h"

#define OWN_FD_HIGH 512

/** struct own_fd - a descriptor, and its file. @fd: -1: none */
struct own_fd {
	int fd;
	dev_t dev;
	ino_t ino;
};

/** own_fd_move_high() - move a descriptor to a high number, if it can be. Return: its number. */
static inline int own_fd_move_high(int fd)
{
	int at, high;

	if (fd < 0 || fd >= OWN_FD_HIGH)
		return fd;
	/* A low RLIMIT_NOFILE leaves less room: EINVAL when the wanted number is beyond it. */
	for (at = OWN_FD_HIGH; at > fd; at /= 2) {
		high = sys_fcntl(fd, F_DUPFD_CLOEXEC, at);
		if (high >= 0) {
			sys_close(fd);
			return high;
		}
	}
	return fd;
}

/** own_fd_set() - note a descriptor and its file. Return: 0 or -errno: it is not open. */
static inline int own_fd_set(struct own_fd *own, int fd)
{
	struct stat st;
	int ret = sys_fstat(fd, &st);

	if (!ret)
		*own = (struct own_fd){ fd, st.st_dev, st.st_ino };
	return ret;
}

/** own_fd_is_open() - whether the number still is that of the same file. */
static inline bool own_fd_is_open(const struct own_fd *own)
{
	struct stat st;

	return own->fd >= 0 && !sys_fstat(own->fd, &st) && st.st_dev == own->dev &&
	       st.st_ino == own->ino;
}

/** own_fd_close() - close it, unless the program has. */
static inline void own_fd_close(struct own_fd *own)
{
	if (own_fd_is_open(own))
		sys_close(own->fd);
	own->fd = -1;
}

#endif
