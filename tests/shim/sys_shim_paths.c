/* SPDX-License-Identifier: MIT */
/*
 * Reaches the devices of sys_shim_tree through every libc function that the shim wraps. Run with
 * the shim preloaded and RDMAEMU_SYSFS set.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLASS "/sys/class/infiniband"
#define EMU0  CLASS "/emu0"
#define PCI   "/sys/devices/pci0fab:01/0fab:01:08.0"
#define REAL0 PCI "/infiniband/emu0"
#define NODE  "/dev/infiniband/uverbs0"
#define PTP   "ptp2310039"

/* What _FORTIFY_SOURCE and programs older than glibc 2.33 call; declared in no header. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t buflen);
char *__realpath_chk(const char *path, char *resolved, size_t len);

static int failures;

/* Not known to the compiler: the headers say that NULL is never passed. */
static const char *volatile nowhere;

/* Sanitizers take it for a mistake and do not go on. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void ok(int good, const char *what)
{
	if (!good)
		failures += printf("not ok %s (%s)\n", what, strerror(errno)) > 0;
	errno = 0;
}

#define OK(cond) ok(cond, #cond)

static int reads(int fd, const char *wanted)
{
	char buf[256];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	return n == (ssize_t)strlen(wanted) && !memcmp(buf, wanted, (size_t)n);
}

static int fails(int ret, int error)
{
	return ret == -1 && errno == error;
}

static int fopen_error(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f)
		return errno;
	fclose(f);
	return 0;
}

static void test_open(void)
{
	static const char guid[] = "0211:2233:4455:6600\n";
	static const char file[] = EMU0 "/node_guid";
	int root = open("/", O_RDONLY | O_DIRECTORY), dir = open(EMU0, O_RDONLY | O_DIRECTORY);
	char line[64] = "";
	FILE *f;

	OK(reads(open(file, O_RDONLY), guid));
	OK(reads(open64(file, O_RDONLY), guid));
	OK(reads(openat(AT_FDCWD, file, O_RDONLY), guid));
	OK(reads(openat64(AT_FDCWD, file, O_RDONLY), guid));
	OK(reads(openat(root, file + 1, O_RDONLY), guid));
	OK(reads(openat(dir, "node_guid", O_RDONLY), guid));
	OK(fails(openat(dir, file + 1, O_RDONLY), ENOENT));
	OK(reads(__open_2(file, O_RDONLY), guid));
	OK(reads(__open64_2(file, O_RDONLY), guid));
	OK(reads(__openat_2(AT_FDCWD, file, O_RDONLY), guid));
	OK(reads(open("//sys/./class///infiniband/emu0/./node_guid", O_RDONLY), guid));
	OK(reads(open(EMU0 "/device/../0fab:01:08.0/numa_node", O_RDONLY), "-1\n"));
	OK(reads(open(CLASS "_verbs/uverbs0/ibdev", O_RDONLY), "emu0\n"));
	OK(reads(open(CLASS "_verbs/uverbs1/dev", O_RDONLY), "231:193\n"));
	OK(reads(open(CLASS "/emu1/ports/1/state", O_RDONLY), "1: DOWN\n"));
	OK(fails(open(CLASS "/emu2", O_RDONLY), ENOENT));
	OK(fails(open(CLASS "_mad/umad0/port", O_RDONLY), ENOENT));
	OK(fails(open(EMU0 "/new", O_RDWR | O_CREAT, 0600), ENOENT));
	OK(fails(open(EMU0, O_RDWR | O_TMPFILE, 0600), EOPNOTSUPP));

	f = fopen(file, "re");
	OK(f && fgets(line, sizeof(line), f) && !strcmp(line, guid));
	if (f)
		fclose(f);
	f = fopen64(file, "r");
	OK(f && fcntl(fileno(f), F_GETFD) == 0);
	if (f)
		fclose(f);
	OK(fopen_error(CLASS "/emu2/node_guid") == ENOENT);

	OK(fails(open(NODE, O_RDWR | O_CLOEXEC), ENXIO));
	OK(fopen_error(NODE) == ENXIO);
	OK(fails(open("/dev/infiniband/rdma_cm", O_RDWR), ENOENT));
	close(root);
	close(dir);
}

static void test_gid_attrs(void)
{
	char buf[32];
	FILE *f;
	int fd;

	OK(reads(open(EMU0 "/ports/1/gid_attrs/types/1", O_RDONLY), "RoCE v2\n"));
	OK(reads(open(EMU0 "/ports/1/gid_attrs/ndevs/1", O_RDONLY), "lo\n"));
	OK(reads(open(EMU0 "/ports/1/gids/1", O_RDONLY),
		 "0000:0000:0000:0000:0000:ffff:0a00:0007\n"));
	OK(reads(open(EMU0 "/ports/1/gids/15", O_RDONLY),
		 "0000:0000:0000:0000:0000:0000:0000:0000\n"));
	fd = open(EMU0 "/ports/1/gid_attrs/types/0", O_RDONLY | O_CLOEXEC);
	OK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	OK(fails((int)read(fd, buf, sizeof(buf)), EINVAL));
	close(fd);
	f = fopen(EMU0 "/ports/1/gid_attrs/ndevs/0", "r");
	OK(f && !fgets(buf, sizeof(buf), f) && ferror(f) && errno == EINVAL);
	if (f)
		fclose(f);
	OK(fails(open(EMU0 "/ports/1/gid_attrs/types/16", O_RDONLY), ENOENT));
}

static int is_node(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && (st->st_mode & 0666) == 0666 &&
	       st->st_rdev == makedev(231, 192) && !st->st_size;
}

static void test_stat(void)
{
	struct stat st;
	struct stat64 st64;
	struct statx stx;
	int (*xstat)(int, const char *, struct stat *);
	int (*lxstat)(int, const char *, struct stat *);

	OK(!stat(NODE, &st) && is_node(&st));
	OK(!lstat(NODE, &st) && is_node(&st));
	OK(!stat64(NODE, &st64) && S_ISCHR(st64.st_mode));
	OK(!lstat64(NODE, &st64) && S_ISCHR(st64.st_mode));
	OK(!fstatat(AT_FDCWD, NODE, &st, 0) && is_node(&st));
	OK(!fstatat64(AT_FDCWD, NODE, &st64, 0) && S_ISCHR(st64.st_mode));
	OK(!statx(AT_FDCWD, NODE, 0, STATX_BASIC_STATS, &stx) && S_ISCHR(stx.stx_mode) &&
	   stx.stx_rdev_major == 231 && stx.stx_rdev_minor == 192);
	xstat = (int (*)(int, const char *, struct stat *))dlsym(RTLD_DEFAULT, "__xstat");
	OK(xstat && !xstat(1, NODE, &st) && is_node(&st));
	lxstat = (int (*)(int, const char *, struct stat *))dlsym(RTLD_DEFAULT, "__lxstat");
	OK(lxstat && !lxstat(1, EMU0, &st) && S_ISLNK(st.st_mode));
	OK(!stat("/dev/infiniband", &st) && S_ISDIR(st.st_mode));
	OK(!stat(EMU0, &st) && S_ISDIR(st.st_mode));
	OK(!lstat(EMU0, &st) && S_ISLNK(st.st_mode));
	OK(!stat(PCI "/device", &st) && S_ISREG(st.st_mode));
	OK(fails(stat("/dev/infiniband/uverbs2", &st), ENOENT));
	OK(SANITIZED || fails(stat(nowhere, &st), EFAULT));

	OK(!access(NODE, R_OK | W_OK));
	OK(!eaccess(NODE, R_OK | W_OK));
	OK(!euidaccess(NODE, R_OK));
	OK(!faccessat(AT_FDCWD, NODE, R_OK | W_OK, 0));
	OK(!faccessat(AT_FDCWD, NODE, R_OK | W_OK, AT_EACCESS));
	OK(fails(access(CLASS "/emu2", F_OK), ENOENT));
}

static void test_links(void)
{
	static const char target[] = "../../devices/pci0fab:01/0fab:01:08.0/infiniband/emu0";
	char buf[PATH_MAX] = "", cwd[PATH_MAX], *p;

	OK(readlink(EMU0, buf, sizeof(buf)) == (ssize_t)strlen(target) &&
	   !memcmp(buf, target, strlen(target)));
	OK(readlinkat(AT_FDCWD, EMU0, buf, 7) == 7);
	OK(__readlink_chk(EMU0, buf, 7, sizeof(buf)) == 7);
	OK(realpath(EMU0, buf) == buf && !strcmp(buf, REAL0));
	OK(__realpath_chk(EMU0 "/device", buf, sizeof(buf)) == buf && !strcmp(buf, PCI));
	p = canonicalize_file_name(EMU0 "/../..");
	OK(p && !strcmp(p, PCI));
	free(p);
	p = realpath(CLASS, NULL);
	OK(p && !strcmp(p, CLASS));
	free(p);
	OK(!realpath(CLASS "/emu2", buf) && errno == ENOENT);
	OK(realpath(EMU0 "/device/net/lo", buf) && !strcmp(buf, "/sys/devices/virtual/net/lo"));

	OK(getcwd(cwd, sizeof(cwd)) == cwd);
	OK(!chdir(EMU0));
	OK(getcwd(buf, sizeof(buf)) == buf && !strcmp(buf, REAL0));
	OK(realpath("ports", buf) && !strcmp(buf, REAL0 "/ports"));
	OK(readlink("/proc/self/cwd", buf, sizeof(buf)) == (ssize_t)strlen(REAL0) &&
	   !memcmp(buf, REAL0, strlen(REAL0)));
	OK(reads(open("node_type", O_RDONLY), "1: CA\n"));
	OK(!chdir(cwd));
}

static int not_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void test_lists(void)
{
	struct dirent **list;
	glob_t g = { 0 };
	DIR *dir;
	int n;

	dir = opendir(CLASS);
	OK(dir && readdir(dir));
	if (dir)
		closedir(dir);
	n = scandir(CLASS, &list, not_hidden, alphasort);
	OK(n == 2 && !strcmp(list[0]->d_name, "emu0") && !strcmp(list[1]->d_name, "emu1"));
	while (n > 0)
		free(list[--n]);
	free(list);

	OK(!glob("/dev/infiniband/uverbs*", 0, NULL, &g));
	OK(!glob(CLASS "/*/ports/1/pkeys/[0]", GLOB_APPEND, NULL, &g));
	OK(g.gl_pathc == 4 && !strcmp(g.gl_pathv[0], NODE) &&
	   !strcmp(g.gl_pathv[3], CLASS "/emu1/ports/1/pkeys/0"));
	globfree(&g);
	OK(glob(CLASS "/none*", 0, NULL, &g) == GLOB_NOMATCH);
	OK(!glob(CLASS "/none*", GLOB_NOCHECK, NULL, &g) && g.gl_pathc == 1 &&
	   !strcmp(g.gl_pathv[0], CLASS "/none*"));
	globfree(&g);
}

/* Everything else passes, with its arguments and errno. */
static void test_others(void)
{
	char name[] = "/tmp/rdmaemu-paths.XXXXXX", buf[PATH_MAX];
	struct stat st;
	int fd = mkstemp(name);

	OK(fd >= 0);
	close(fd);
	OK(!unlink(name));
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0640);
	OK(fd >= 0 && !fstat(fd, &st) && (st.st_mode & 0777) == 0640);
	close(fd);
	OK(fails(open(name, O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST));
	OK(!unlink(name));
	errno = ERANGE;
	fd = open("/sys/class", O_RDONLY);
	OK(fd >= 0 && errno == ERANGE);
	close(fd);
	OK(!stat("/sys/class/net", &st) && S_ISDIR(st.st_mode));
	OK(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));
	OK(realpath("/dev/../dev/null", buf) && !strcmp(buf, "/dev/null"));
	OK(fails(open("/sys/class/infini", O_RDONLY), ENOENT));
	OK(SANITIZED || fails(open(nowhere, O_RDONLY), EFAULT));
	OK(fails(open("", O_RDONLY), ENOENT));
}

/*
 * The child of vfork() runs on its parent's memory, and programs do call such functions there.
 * NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork)
 */
static void test_vfork(void)
{
	int status = -1;
	pid_t pid = vfork();

	if (!pid)
		_exit(access(NODE, R_OK | W_OK) || close(open(EMU0 "/fw_ver", O_RDONLY)));
	OK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
}
/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */

/* The clock of a descriptor: clock_gettime(2), "Dynamic clocks". */
static int ptp_gettime(int fd, struct timespec *ts)
{
	return clock_gettime((clockid_t)((~(unsigned)fd << 3) | 3), ts);
}

static int in_order(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec <= b->tv_nsec);
}

static void test_ptp_clock(void)
{
	int fd = open("/dev/" PTP, O_RDONLY | O_CLOEXEC), copy = dup(fd);
	int other = open("/dev/null", O_RDONLY);
	struct timespec before, now, after;

	OK(reads(open(EMU0 "/device/ptp/" PTP "/clock_name", O_RDONLY), "rdmaemu\n"));
	OK(reads(open("/sys/class/ptp/" PTP "/n_alarms", O_RDONLY), "0\n"));
	OK(fails(open(CLASS "/emu1/device/ptp", O_RDONLY), ENOENT));
	OK(fails(open("/dev/ptp2310040", O_RDONLY), ENOENT));
	clock_gettime(CLOCK_REALTIME, &before);
	OK(!ptp_gettime(fd, &now));
	clock_gettime(CLOCK_REALTIME, &after);
	OK(in_order(&before, &now) && in_order(&now, &after));
	close(fd);
	OK(!ptp_gettime(copy, &now) && in_order(&after, &now));
	OK(fails(ptp_gettime(fd, &now), EINVAL));
	OK(fails(ptp_gettime(other, &now), EINVAL));
	OK(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now));
	close(copy);
	close(other);
}

int main(void)
{
	umask(022);
	test_vfork();
	test_open();
	test_gid_attrs();
	test_stat();
	test_links();
	test_lists();
	test_others();
	test_ptp_clock();
	return !!failures;
}
