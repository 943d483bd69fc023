/* SPDX-License-Identifier: MIT */
/*
 * sys_fail KIND ERROR N FILE PROGRAM ARGS...: run PROGRAM, and let the N-th system call of a kind
 * that it or a descendant makes fail; N+: also all later ones. ERROR is an errno, or 0: kill the
 * process that makes the call, as the OOM killer does; or a path: what is there is removed before
 * the call. FILE receives the number of calls of the kind so far, and is locked (flock(2)) until
 * the last descendant has ended. Exits as PROGRAM does. Exit status 77: the kernel cannot do that
 * (seccomp_unotify(2)).
 *
 * Kinds, and which calls: create (files, directories, links, names of sockets), write (regular
 * files and memfds, also their size), fd (new descriptors), memory (shared and large maps, memfds,
 * processes, and what the kernel keeps for them). The dynamic loader's own calls are let through.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP	  77
#define CALLS	  24
#define LARGE_MAP (128u << 10)
#define N_OF(a)	  (sizeof(a) / sizeof((a)[0]))

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* Calls that one of the two architectures does not have are not in these lists under that name. */
static const struct kind {
	const char *name;
	int call[CALLS];
} kinds[] = {
	{ "create",
	  { SYS_openat, SYS_mkdirat, SYS_symlinkat, SYS_linkat, SYS_bind,
#ifdef SYS_mkdir
	    SYS_open, SYS_mkdir, SYS_rename, SYS_symlink, SYS_link,
#endif
	    SYS_renameat, SYS_renameat2 } },
	{ "write", { SYS_write, SYS_pwrite64, SYS_writev, SYS_ftruncate, SYS_fallocate } },
	{ "fd",
	  { SYS_openat, SYS_openat2, SYS_socket, SYS_accept4, SYS_pipe2, SYS_eventfd2,
	    SYS_epoll_create1, SYS_memfd_create, SYS_timerfd_create, SYS_pidfd_open, SYS_signalfd4,
	    SYS_dup,
#ifdef SYS_open
	    SYS_open, SYS_pipe, SYS_dup2,
#endif
	    SYS_inotify_init1 } },
	{ "memory",
	  { SYS_mmap, SYS_memfd_create, SYS_clone, SYS_clone3, SYS_epoll_ctl, SYS_io_setup,
	    SYS_inotify_add_watch, SYS_listen, SYS_connect,
#ifdef SYS_fork
	    SYS_fork, SYS_vfork,
#endif
	    SYS_mremap } },
};

/** struct shared - of the two processes that start PROGRAM. @fd: of the listener, plus one */
struct shared {
	volatile int fd;
	volatile int err;
};

static const struct kind *kind;
static int fail_errno;
static const char *fail_path; /* the directory that gets another name, instead of fail_errno */
static unsigned long fail_at;
static bool fail_later; /* calls after that one fail, too */
static char *count_path;

/* Install the filter: calls of the kind ask the listener. Return: its descriptor or -1. */
static int filter_install(void)
{
	struct sock_filter code[CALLS + 8];
	struct sock_fprog prog = { .filter = code };
	unsigned int n, calls = 0, i;

	while (calls < CALLS && kind->call[calls])
		calls++;
	n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (i = 0; i < calls; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned int)kind->call[i],
							 (unsigned char)(calls - i), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	prog.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &prog);
}

/* --- which calls count ------------------------------------------------------------------------ */

/* Whether the caller opens a library or what its loader reads before that. */
static bool path_is_loaders(pid_t pid, uint64_t at)
{
	char path[PATH_MAX] = "";
	struct iovec to = { path, sizeof(path) - 1 }, from = { (void *)(uintptr_t)at, 0 };
	size_t page = 4096 - at % 4096;

	from.iov_len = page < to.iov_len ? page : to.iov_len;
	to.iov_len = from.iov_len;
	if (process_vm_readv(pid, &to, 1, &from, 1, 0) < 0)
		return false;
	return strstr(path, ".so") || strstr(path, "locale") || strstr(path, "gconv");
}

static bool fd_is_file(pid_t pid, int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	return !strncmp(path, "/dev/shm/", 9) || (path[0] == '/' && strncmp(path, "/dev/", 5) != 0);
}

static bool is_open(int call)
{
#ifdef SYS_open
	if (call == SYS_open)
		return true;
#endif
	return call == SYS_openat || call == SYS_openat2;
}

static bool call_counts(const struct seccomp_notif *q)
{
	const struct seccomp_data *d = &q->data;
	bool plain = d->nr != SYS_openat && d->nr != SYS_openat2;

	if (is_open(d->nr)) {
		if (!strcmp(kind->name, "create") && !(d->args[plain ? 1 : 2] & O_CREAT))
			return false;
		return !path_is_loaders((pid_t)q->pid, d->args[plain ? 0 : 1]);
	}
	if (!strcmp(kind->name, "write"))
		return fd_is_file((pid_t)q->pid, (int)d->args[0]);
	if (d->nr == SYS_mmap)
		return (d->args[3] & MAP_SHARED) ||
		       ((d->args[3] & MAP_ANONYMOUS) && d->args[1] >= LARGE_MAP);
	return true;
}

/* --- the listener ----------------------------------------------------------------------------- */

static void count_write(int file, unsigned long n)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%lu\n", n);

	if (pwrite(file, text, (size_t)len, 0) != len)
		_exit(1);
}

static int file_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void directory_vanish(void)
{
	nftw(fail_path, file_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void listen_answer(int fd, struct seccomp_notif *q, struct seccomp_notif_resp *r, bool fail)
{
	memset(r, 0, sizeof(*r));
	r->id = q->id;
	if (fail && fail_path) {
		directory_vanish();
		fail = false;
	}
	if (fail && !fail_errno)
		kill((pid_t)q->pid, SIGKILL);
	if (fail)
		r->error = fail_errno ? -fail_errno : -EINTR;
	else
		r->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	/* ENOENT: the process has been killed meanwhile. */
	ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, r);
}

/* Serve until no process has the filter any more. */
static void listen_serve(int fd, int file)
{
	struct seccomp_notif_sizes size;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct seccomp_notif_resp *r;
	struct seccomp_notif *q;
	unsigned long n = 0;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &size))
		return;
	q = calloc(1, size.seccomp_notif + sizeof(*q));
	r = calloc(1, size.seccomp_notif_resp + sizeof(*r));
	while (q && r && poll(&p, 1, -1) > 0 && !(p.revents & POLLHUP)) {
		memset(q, 0, size.seccomp_notif);
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, q))
			continue;
		if (!call_counts(q)) {
			listen_answer(fd, q, r, false);
			continue;
		}
		count_write(file, ++n);
		listen_answer(fd, q, r, fail_later ? n >= fail_at : n == fail_at);
	}
	free(q);
	free(r);
}

/* --- starting --------------------------------------------------------------------------------- */

/* A process apart, so that PROGRAM's parent can leave while a daemon lives on. */
static void listen_start(int fd)
{
	int file, i, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fork())
		return;
	setsid();
	for (i = 0; i < 3; i++)
		dup2(null, i);
	file = open(count_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || flock(file, LOCK_EX))
		_exit(1);
	count_write(file, 0);
	listen_serve(fd, file);
	_exit(0);
}

/* The descriptors are the parent's, until execvp(). */
static void __attribute__((noreturn)) target_run(struct shared *s, char **argv)
{
	int fd = filter_install();

	s->err = fd < 0;
	s->fd = fd + 1;
	if (fd >= 0)
		execvp(argv[0], argv);
	_exit(127);
}

static int usage(void)
{
	fprintf(stderr, "usage: sys_fail create|write|fd|memory ERROR N[+] FILE PROGRAM ARGS...\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct shared *s;
	int status = 0;
	char *end;
	pid_t pid;
	size_t i;

	if (argc < 6)
		return usage();
	for (i = 0; i < N_OF(kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kind = &kinds[i];
	if (!kind)
		return usage();
	fail_errno = atoi(argv[2]);
	fail_path = argv[2][0] == '/' ? argv[2] : NULL;
	fail_at = strtoul(argv[3], &end, 10);
	fail_later = *end == '+';
	count_path = argv[4];
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return 1;
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid)
		target_run(s, argv + 5);
	while (pid > 0 && !s->fd && !s->err)
		sched_yield();
	if (pid < 0 || s->err)
		return SKIP;
	listen_start(s->fd - 1);
	close(s->fd - 1);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
