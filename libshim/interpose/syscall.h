/* SPDX-License-Identifier: MIT */
/**
 * DOC: raw system calls.
 *
 * The shim's own descriptors must not pass through libc's functions: librspreload and similar
 * libraries wrap those and would take the shim's sockets for the program's. Each function returns
 * the kernel's result, an error as -errno, and none is a cancellation point.
 */
#ifndef LIBSHIM_INTERPOSE_SYSCALL_H
#define LIBSHIM_INTERPOSE_SYSCALL_H

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "emulator/types.h"

#define SYS_RET(call)                                                                              \
	({                                                                                         \
		long ret_ = (call);                                                                \
		ret_ < 0 ? -(long)errno : ret_;                                                    \
	})

static inline int sys_socket(int domain, int type, int protocol)
{
	return (int)SYS_RET(syscall(SYS_socket, domain, type, protocol));
}

static inline int sys_connect(int fd, const void *addr, u32 len)
{
	return (int)SYS_RET(syscall(SYS_connect, fd, addr, len));
}

static inline ssize_t sys_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return SYS_RET(syscall(SYS_sendmsg, fd, msg, flags));
}

static inline ssize_t sys_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return SYS_RET(syscall(SYS_recvmsg, fd, msg, flags));
}

static inline ssize_t sys_read(int fd, void *buf, size_t len)
{
	return SYS_RET(syscall(SYS_read, fd, buf, len));
}

/** sys_read_nowait() - -EAGAIN instead of waiting, whatever the descriptor's own flag says. */
static inline ssize_t sys_read_nowait(int fd, void *buf, size_t len)
{
	struct iovec iov = { buf, len };

	/* From the current position: -1, as two halves. */
	return SYS_RET(syscall(SYS_preadv2, fd, &iov, 1UL, -1L, -1L, RWF_NOWAIT));
}

static inline ssize_t sys_write(int fd, const void *buf, size_t len)
{
	return SYS_RET(syscall(SYS_write, fd, buf, len));
}

/** sys_madvise() - libc's name leads to libshim/lend/hooks.c, which takes a lock. */
static inline int sys_madvise(void *addr, size_t len, int advice)
{
	return (int)SYS_RET(syscall(SYS_madvise, addr, len, (long)advice));
}

static inline ssize_t sys_pread(int fd, void *buf, size_t len, off_t off)
{
	return SYS_RET(syscall(SYS_pread64, fd, buf, len, off));
}

static inline ssize_t sys_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	return SYS_RET(syscall(SYS_pwrite64, fd, buf, len, off));
}

static inline int sys_close(int fd)
{
	return (int)SYS_RET(syscall(SYS_close, fd));
}

static inline int sys_fcntl(int fd, int cmd, long arg)
{
	return (int)SYS_RET(syscall(SYS_fcntl, fd, cmd, arg));
}

static inline int sys_eventfd(u32 count, int flags)
{
	return (int)SYS_RET(syscall(SYS_eventfd2, count, flags));
}

static inline int sys_fstat(int fd, struct stat *st)
{
	return (int)SYS_RET(syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH));
}

static inline int sys_stat(const char *path, struct stat *st)
{
	return (int)SYS_RET(syscall(SYS_newfstatat, AT_FDCWD, path, st, 0));
}

/** sys_ppoll() - without a time limit and with the thread's own signal mask. */
static inline int sys_ppoll(struct pollfd *fds, u32 n)
{
	return (int)SYS_RET(syscall(SYS_ppoll, fds, (unsigned long)n, NULL, NULL, 0UL));
}

static inline int sys_poll_all(struct pollfd *fds, u32 n, long ns)
{
	const struct timespec most = { .tv_nsec = ns };

	return (int)SYS_RET(syscall(SYS_ppoll, fds, (unsigned long)n, &most, NULL, 0UL));
}

/** sys_poll_for() - one descriptor, for @ns nanoseconds, less than a second. */
static inline int sys_poll_for(struct pollfd *fd, long ns)
{
	return sys_poll_all(fd, 1, ns);
}

/** sys_poll_now() - without waiting. */
static inline int sys_poll_now(struct pollfd *fds, u32 n)
{
	return sys_poll_all(fds, n, 0);
}

static inline int sys_prctl(int option, unsigned long arg)
{
	return (int)SYS_RET(syscall(SYS_prctl, option, arg, 0UL, 0UL, 0UL));
}

static inline ssize_t sys_getrandom(void *buf, size_t len)
{
	return SYS_RET(syscall(SYS_getrandom, buf, len, 0));
}

static inline s32 sys_getpid(void)
{
	return (s32)syscall(SYS_getpid);
}

/** sys_futex_wait() - sleep while *@word is @val, @ns at most. @flags: 0 or FUTEX_PRIVATE_FLAG */
static inline int sys_futex_wait(u32 *word, u32 val, u64 ns, int flags)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	return (int)SYS_RET(syscall(SYS_futex, word, FUTEX_WAIT | flags, val, &ts, NULL, 0));
}

static inline int sys_futex_wake(u32 *word, int n, int flags)
{
	return (int)SYS_RET(syscall(SYS_futex, word, FUTEX_WAKE | flags, n, NULL, NULL, 0));
}

/** sys_now() - real time: CLOCK_MONOTONIC in ns. */
static inline u64 sys_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

/** sys_wall() - wall clock time: CLOCK_REALTIME in ns. */
static inline u64 sys_wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

/** sys_preempted() - how often the calling thread has lost its CPU to another. */
static inline u64 sys_preempted(void)
{
	struct rusage usage = { 0 };

	syscall(SYS_getrusage, RUSAGE_THREAD, &usage);
	return (u64)usage.ru_nivcsw;
}

static inline void sys_sleep(u64 ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	syscall(SYS_nanosleep, &ts, NULL);
}

/** struct dirent_raw - what getdents64(2) returns: entries of @len bytes each. */
struct dirent_raw {
	u64 ino;
	s64 off;
	u16 len;
	u8 type;
	char name[];
};

#endif
