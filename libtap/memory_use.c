/* SPDX-License-Identifier: MIT */
/*
 * System calls that use memory which a user of the tap watches. The kernel answers EFAULT where the
 * program would fault, after it may have taken bytes from a socket: so the user gives the rights
 * back before the call. libc's functions inside of libc, as those of stdio, and system calls
 * without libc are not seen.
 *
 * While nothing is watched, each of them costs a look at one word.
 */
#include "libtap/memory_use.h"
#include "libshim/interpose/maps.h"
#include "libtap/async_file.h"
#include "libtap/process.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

TAP_HOOK(int, munmap, void *addr, size_t len);
TAP_HOOK(int, mprotect, void *addr, size_t len, int prot);
TAP_HOOK(ssize_t, read, int fd, void *buf, size_t len);
TAP_HOOK(ssize_t, __read_chk, int fd, void *buf, size_t len, size_t size);
TAP_HOOK(ssize_t, pread, int fd, void *buf, size_t len, off_t off);
TAP_HOOK(ssize_t, pread64, int fd, void *buf, size_t len, off_t off);
TAP_HOOK(ssize_t, readv, int fd, const struct iovec *iov, int n);
TAP_HOOK(ssize_t, write, int fd, const void *buf, size_t len);
TAP_HOOK(ssize_t, pwrite, int fd, const void *buf, size_t len, off_t off);
TAP_HOOK(ssize_t, pwrite64, int fd, const void *buf, size_t len, off_t off);
TAP_HOOK(ssize_t, writev, int fd, const struct iovec *iov, int n);
TAP_HOOK(ssize_t, recv, int fd, void *buf, size_t len, int flags);
TAP_HOOK(ssize_t, __recv_chk, int fd, void *buf, size_t len, size_t size, int flags);
TAP_HOOK(ssize_t, recvfrom, int fd, void *buf, size_t len, int flags, struct sockaddr *from,
	 socklen_t *from_len);
TAP_HOOK(ssize_t, recvmsg, int fd, struct msghdr *msg, int flags);
TAP_HOOK(ssize_t, send, int fd, const void *buf, size_t len, int flags);
TAP_HOOK(ssize_t, sendto, int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
	 socklen_t to_len);
TAP_HOOK(ssize_t, sendmsg, int fd, const struct msghdr *msg, int flags);

static bool is_watching;

void tap_memory_watch(bool on)
{
	store_relaxed(&is_watching, on);
}

static bool use_is_device(const struct mapping *v)
{
	return !strncmp(v->name, "/dev/", 5) && strncmp(v->name, "/dev/shm/", 9) != 0 &&
	       strncmp(v->name, "/dev/zero", 9) != 0;
}

enum tap_memory_kind tap_memory_kind(u64 addr, u64 len)
{
	u64 at = addr, own = (u64)(uintptr_t)__builtin_frame_address(0);
	bool good = true, shared = false;
	struct mapping v;
	struct maps m;

	if (!len || maps_open(&m, false))
		return TAP_MEMORY_OTHER;
	while (good && at < addr + len && maps_next(&m, &v)) {
		if (v.to <= at)
			continue;
		good = v.from <= at && v.read && v.write && !v.exec && !use_is_device(&v) &&
		       !(own >= v.from && own < v.to) && strcmp(v.name, "[stack]") != 0;
		shared |= v.shared;
		at = v.to;
	}
	maps_close(&m);
	if (!good || at < addr + len)
		return TAP_MEMORY_OTHER;
	return shared ? TAP_MEMORY_SHARED : TAP_MEMORY_PRIVATE;
}

bool tap_memory_find(u64 addr, struct tap_mapping *found)
{
	struct mapping v;

	if (maps_find(addr, &v))
		return false;
	*found = (struct tap_mapping){ v.from, v.to, v.read, v.write };
	return true;
}

/* --- what a call uses --- */

/* The caller is the wrapper, so that the stack begins with the program's line. */
static inline __attribute__((always_inline)) void use_show(const void *buf, size_t len,
							   enum tap_memory use)
{
	int saved = errno;

	if (likely(!load_relaxed(&is_watching)) || !tap_enter())
		return;
	TAP_EACH(memory, (u64)(uintptr_t)buf, len, use);
	tap_leave();
	errno = saved;
}

static inline __attribute__((always_inline)) void use_show_list(const struct iovec *iov, size_t n,
								enum tap_memory use)
{
	size_t i;

	for (i = 0; load_relaxed(&is_watching) && i < n; i++)
		use_show(iov[i].iov_base, iov[i].iov_len, use);
}

/* --- mappings --- */

int tap_hook_munmap(void *addr, size_t len)
{
	use_show(addr, len, TAP_MEMORY_UNMAPPED);
	return (int)syscall(SYS_munmap, addr, len);
}

int tap_hook_mprotect(void *addr, size_t len, int prot)
{
	use_show(addr, len, TAP_MEMORY_CHANGED);
	return (int)syscall(SYS_mprotect, addr, len, (long)prot);
}

/* --- files --- */

ssize_t tap_hook_read(int fd, void *buf, size_t len)
{
	use_show(buf, len, TAP_MEMORY_WRITTEN);
	return tap_next(read)(tap_async_file(fd), buf, len);
}

ssize_t tap_hook___read_chk(int fd, void *buf, size_t len, size_t size)
{
	use_show(buf, len, TAP_MEMORY_WRITTEN);
	return tap_next(__read_chk)(tap_async_file(fd), buf, len, size);
}

ssize_t tap_hook_pread(int fd, void *buf, size_t len, off_t off)
{
	use_show(buf, len, TAP_MEMORY_WRITTEN);
	return tap_next(pread)(fd, buf, len, off);
}

ssize_t tap_hook_pread64(int fd, void *buf, size_t len, off_t off)
{
	use_show(buf, len, TAP_MEMORY_WRITTEN);
	return tap_next(pread64)(fd, buf, len, off);
}

ssize_t tap_hook_readv(int fd, const struct iovec *iov, int n)
{
	use_show_list(iov, (size_t)n, TAP_MEMORY_WRITTEN);
	return tap_next(readv)(fd, iov, n);
}

ssize_t tap_hook_write(int fd, const void *buf, size_t len)
{
	use_show(buf, len, TAP_MEMORY_READ);
	return tap_next(write)(fd, buf, len);
}

ssize_t tap_hook_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	use_show(buf, len, TAP_MEMORY_READ);
	return tap_next(pwrite)(fd, buf, len, off);
}

ssize_t tap_hook_pwrite64(int fd, const void *buf, size_t len, off_t off)
{
	use_show(buf, len, TAP_MEMORY_READ);
	return tap_next(pwrite64)(fd, buf, len, off);
}

ssize_t tap_hook_writev(int fd, const struct iovec *iov, int n)
{
	use_show_list(iov, (size_t)n, TAP_MEMORY_READ);
	return tap_next(writev)(fd, iov, n);
}

/* --- sockets --- */

ssize_t tap_hook_recv(int fd, void *buf, size_t len, int flags)
{
	use_show(buf, len, TAP_MEMORY_WRITTEN);
	return tap_next(recv)(fd, buf, len, flags);
}

ssize_t tap_hook___recv_chk(int fd, void *buf, size_t len, size_t size, int flags)
{
	use_show(buf, len, TAP_MEMORY_WRITTEN);
	return tap_next(__recv_chk)(fd, buf, len, size, flags);
}

ssize_t tap_hook_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
			  socklen_t *from_len)
{
	use_show(buf, len, TAP_MEMORY_WRITTEN);
	return tap_next(recvfrom)(fd, buf, len, flags, from, from_len);
}

ssize_t tap_hook_recvmsg(int fd, struct msghdr *msg, int flags)
{
	use_show_list(msg->msg_iov, msg->msg_iovlen, TAP_MEMORY_WRITTEN);
	return tap_next(recvmsg)(fd, msg, flags);
}

ssize_t tap_hook_send(int fd, const void *buf, size_t len, int flags)
{
	use_show(buf, len, TAP_MEMORY_READ);
	return tap_next(send)(fd, buf, len, flags);
}

ssize_t tap_hook_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
			socklen_t to_len)
{
	use_show(buf, len, TAP_MEMORY_READ);
	return tap_next(sendto)(fd, buf, len, flags, to, to_len);
}

ssize_t tap_hook_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	use_show_list(msg->msg_iov, msg->msg_iovlen, TAP_MEMORY_READ);
	return tap_next(sendmsg)(fd, msg, flags);
}
