/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of functions that read open files: a counter's file that is read from its start has the
 * value of that moment, as in sysfs, where each such read makes the content anew. What follows is
 * read from the same content.
 *
 * stdio reads by calls inside of libc, which no wrapper sees: there the value is that of the
 * moment when the program goes back to the start, by rewind(), fseek() or lseek().
 *
 * A descriptor that was never a counter's costs a look at one bit.
 */
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/path.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

HOOK(ssize_t, read, int fd, void *buf, size_t len);
HOOK(ssize_t, __read_chk, int fd, void *buf, size_t len, size_t size);
HOOK(ssize_t, readv, int fd, const struct iovec *iov, int n);
HOOK(ssize_t, pread, int fd, void *buf, size_t len, off_t off);
HOOK(ssize_t, pread64, int fd, void *buf, size_t len, off_t off);
HOOK(ssize_t, __pread_chk, int fd, void *buf, size_t len, off_t off, size_t size);
HOOK(ssize_t, __pread64_chk, int fd, void *buf, size_t len, off_t off, size_t size);
HOOK(ssize_t, preadv, int fd, const struct iovec *iov, int n, off_t off);
HOOK(ssize_t, preadv64, int fd, const struct iovec *iov, int n, off_t off);
HOOK(off_t, lseek, int fd, off_t off, int whence);
HOOK(off_t, lseek64, int fd, off_t off, int whence);
HOOK(void, rewind, FILE *file);
HOOK(int, fseek, FILE *file, long off, int whence);
HOOK(int, fseeko, FILE *file, off_t off, int whence);
HOOK(int, fseeko64, FILE *file, off_t off, int whence);
HOOK(int, fsetpos, FILE *file, const fpos_t *pos);
HOOK(int, fsetpos64, FILE *file, const fpos_t *pos);

static bool may_be_counter(int fd)
{
	return fd >= 0 && fd < PATH_COUNTER_FDS &&
	       unlikely(load_relaxed(&path_counter_fds[fd / 64]) & BIT64(fd % 64));
}

/* The descriptor is about to be read at @off. */
static void refresh_at(int fd, off_t off)
{
	if (may_be_counter(fd) && !off)
		path_counter_refresh(fd);
}

/* The descriptor is about to be read where it stands. */
static void refresh_here(int fd)
{
	int saved = errno;

	if (may_be_counter(fd) && !syscall(SYS_lseek, fd, 0, SEEK_CUR))
		path_counter_refresh(fd);
	errno = saved;
}

ssize_t hook_read(int fd, void *buf, size_t len)
{
	refresh_here(fd);
	return libc_next(read)(fd, buf, len);
}

ssize_t hook___read_chk(int fd, void *buf, size_t len, size_t size)
{
	refresh_here(fd);
	return libc_next(__read_chk)(fd, buf, len, size);
}

ssize_t hook_readv(int fd, const struct iovec *iov, int n)
{
	refresh_here(fd);
	return libc_next(readv)(fd, iov, n);
}

ssize_t hook_pread(int fd, void *buf, size_t len, off_t off)
{
	refresh_at(fd, off);
	return libc_next(pread)(fd, buf, len, off);
}

ssize_t hook_pread64(int fd, void *buf, size_t len, off_t off)
{
	refresh_at(fd, off);
	return libc_next(pread64)(fd, buf, len, off);
}

ssize_t hook___pread_chk(int fd, void *buf, size_t len, off_t off, size_t size)
{
	refresh_at(fd, off);
	return libc_next(__pread_chk)(fd, buf, len, off, size);
}

ssize_t hook___pread64_chk(int fd, void *buf, size_t len, off_t off, size_t size)
{
	refresh_at(fd, off);
	return libc_next(__pread64_chk)(fd, buf, len, off, size);
}

ssize_t hook_preadv(int fd, const struct iovec *iov, int n, off_t off)
{
	refresh_at(fd, off);
	return libc_next(preadv)(fd, iov, n, off);
}

ssize_t hook_preadv64(int fd, const struct iovec *iov, int n, off_t off)
{
	refresh_at(fd, off);
	return libc_next(preadv64)(fd, iov, n, off);
}

off_t hook_lseek(int fd, off_t off, int whence)
{
	off_t at = libc_next(lseek)(fd, off, whence);

	refresh_at(fd, at);
	return at;
}

off_t hook_lseek64(int fd, off_t off, int whence)
{
	off_t at = libc_next(lseek64)(fd, off, whence);

	refresh_at(fd, at);
	return at;
}

/* A stream goes elsewhere in its file: it may be the start. */
static void refresh_stream(FILE *file)
{
	int fd, saved = errno;

	if (!file)
		return;
	fd = fileno(file);
	if (may_be_counter(fd))
		path_counter_refresh(fd);
	errno = saved;
}

void hook_rewind(FILE *file)
{
	refresh_stream(file);
	libc_next(rewind)(file);
}

int hook_fseek(FILE *file, long off, int whence)
{
	refresh_stream(file);
	return libc_next(fseek)(file, off, whence);
}

int hook_fseeko(FILE *file, off_t off, int whence)
{
	refresh_stream(file);
	return libc_next(fseeko)(file, off, whence);
}

int hook_fseeko64(FILE *file, off_t off, int whence)
{
	refresh_stream(file);
	return libc_next(fseeko64)(file, off, whence);
}

int hook_fsetpos(FILE *file, const fpos_t *pos)
{
	refresh_stream(file);
	return libc_next(fsetpos)(file, pos);
}

int hook_fsetpos64(FILE *file, const fpos_t *pos)
{
	refresh_stream(file);
	return libc_next(fsetpos64)(file, pos);
}
