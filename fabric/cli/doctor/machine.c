/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu doctor`: versions, libraries and limits. See fabric/cli/doctor/doctor.h. */
#include "emulator/hca.h"
#include "emulator/seg.h"
#include "fabric/cli/doctor/doctor.h"
#include "fabric/cli/record.h"
#include "fabric/proto/version.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FILES_MIN  64u /* descriptors of a small program */
#define FILES_GOOD 512u

bool doctor_read_line(const char *path, char *line, size_t size)
{
	FILE *f = fopen(path, "re");
	bool done = f && fgets(line, (int)size, f);

	if (f)
		fclose(f);
	if (done)
		line[strcspn(line, "\n")] = '\0';
	return done;
}

/* The file of an installed library, whose name has its version, or NULL. */
static const char *library_file(const char *soname, char path[PATH_MAX])
{
	void *handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map;

	/* It stays loaded: this process must not run its destructors. */
	return handle && !dlinfo(handle, RTLD_DI_LINKMAP, &map) ? realpath(map->l_name, path)
								: NULL;
}

static void check_libraries(struct doctor *d)
{
	char verbs[PATH_MAX], cm[PATH_MAX], lib[PATH_MAX];
	const char *verbs_file = library_file("libibverbs.so.1", verbs);
	const char *cm_file = library_file("librdmacm.so.1", cm);

	if (run_find_shim(lib))
		doctor_report(d, DOCTOR_FAIL, "library", "install rdmaemu again",
			      "librdmaemu.so cannot be preloaded");
	else
		doctor_report(d, DOCTOR_OK, "library", NULL, "%s", lib);
	if (verbs_file && cm_file)
		doctor_report(d, DOCTOR_OK, "rdma-core", NULL, "%s, %s", verbs_file, cm_file);
	else
		doctor_report(d, DOCTOR_NOTE, "rdma-core",
			      "install the packages libibverbs1 and librdmacm1",
			      "%s is not installed: programs that link it cannot start",
			      verbs_file ? "librdmacm" : "libibverbs");
}

static void check_preloads(struct doctor *d)
{
	const char *list = getenv("LD_PRELOAD");
	char line[256];

	if (list && *list)
		doctor_report(d, DOCTOR_NOTE, "preload", NULL, "LD_PRELOAD is %s", list);
	if (doctor_read_line("/etc/ld.so.preload", line, sizeof(line)))
		doctor_report(d, DOCTOR_NOTE, "preload", NULL, "/etc/ld.so.preload has %s", line);
}

void doctor_check_machine(struct doctor *d)
{
	char os[256] = "", name[300] = "";
	struct utsname u;
	FILE *f;

	uname(&u);
	f = fopen("/etc/os-release", "re");
	while (f && fgets(os, sizeof(os), f))
		if (sscanf(os, "PRETTY_NAME=\"%255[^\"]", name) == 1)
			break;
	if (f)
		fclose(f);
	doctor_report(d, DOCTOR_OK, "rdmaemu", NULL, "%s", RDMAEMU_VERSION);
	doctor_report(d, DOCTOR_OK, "machine", NULL, "%s, %s %s %s, %ld CPUs, user %u",
		      name[0] ? name : "Linux", u.sysname, u.release, u.machine,
		      sysconf(_SC_NPROCESSORS_ONLN), (unsigned)geteuid());
	check_libraries(d);
	check_preloads(d);
}

/* --- limits --------------------------------------------------------------------------------- */

static const char *limit_text(rlim_t value, char text[32])
{
	if (value == RLIM_INFINITY)
		return "unlimited";
	snprintf(text, 32, "%llu", (unsigned long long)value);
	return text;
}

static void check_files(struct doctor *d)
{
	struct rlimit r;
	char text[32];

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	doctor_report(d,
		      r.rlim_cur < FILES_MIN	? DOCTOR_FAIL
		      : r.rlim_cur < FILES_GOOD ? DOCTOR_NOTE
						: DOCTOR_OK,
		      "nofile", r.rlim_cur < FILES_GOOD ? "ulimit -n 1024" : NULL,
		      "%s open files: a program has about 8 more here, and one for each channel",
		      limit_text(r.rlim_cur, text));
}

static void check_address_space(struct doctor *d)
{
	struct rlimit r;
	char text[32];

	if (getrlimit(RLIMIT_AS, &r) || r.rlim_cur == RLIM_INFINITY)
		doctor_report(d, DOCTOR_OK, "as", NULL, "the address space is not limited");
	else
		doctor_report(d, DOCTOR_NOTE, "as", "ulimit -v unlimited, if 'device' fails",
			      "the address space is limited to %s bytes",
			      limit_text(r.rlim_cur, text));
	if (!getrlimit(RLIMIT_MEMLOCK, &r))
		doctor_report(d, DOCTOR_OK, "memlock", NULL,
			      "%s bytes: rdmaemu pins no memory and needs none",
			      limit_text(r.rlim_cur, text));
}

/* Memory files count as files. */
static void check_file_size(struct doctor *d)
{
	struct rlimit r;
	char text[32];

	/* The fabric process raises the limit as far as it may. */
	if (getrlimit(RLIMIT_FSIZE, &r) || r.rlim_max >= SEG_SIZE)
		return;
	doctor_report(d, r.rlim_max < sizeof(struct hca) ? DOCTOR_FAIL : DOCTOR_NOTE, "fsize",
		      "ulimit -f unlimited",
		      "files are limited to %s bytes: a fabric has one of %zu in memory, and a "
		      "program has one as large as its queues",
		      limit_text(r.rlim_max, text), sizeof(struct hca));
}

static void check_memory(struct doctor *d)
{
	int fd = memfd_create("rdmaemu-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map = MAP_FAILED;
	struct statvfs fs;

	if (fd < 0) {
		doctor_report(d, DOCTOR_FAIL, "memfd",
			      "allow memfd_create(2) in the seccomp profile", "memfd_create: %s",
			      strerror(errno));
		return;
	}
	if (!ftruncate(fd, 1 << 20))
		map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		doctor_report(d, DOCTOR_FAIL, "memfd", NULL, "shared memory: %s", strerror(errno));
	else
		doctor_report(d, DOCTOR_OK, "memfd", NULL, "shared memory can be mapped");
	if (map != MAP_FAILED)
		munmap(map, 1 << 20);
	close(fd);
	if (statvfs("/dev/shm", &fs) || (fs.f_flag & ST_RDONLY))
		doctor_report(
			d, DOCTOR_NOTE, "shm", "mount a tmpfs there",
			"/dev/shm cannot be used: sysfs trees are on the disk, which is slow");
	else
		doctor_report(d, DOCTOR_OK, "shm", NULL, "/dev/shm has %llu MiB free",
			      (unsigned long long)fs.f_bavail * fs.f_frsize >> 20);
}

void doctor_check_limits(struct doctor *d)
{
	check_files(d);
	check_address_space(d);
	check_file_size(d);
	check_memory(d);
}
