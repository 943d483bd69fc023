/* SPDX-License-Identifier: MIT */
/** DOC: can the emulated device be preloaded into this program? See fabric/cli/program_check.h. */
#include "fabric/cli/program_check.h"
#include "fabric/common/opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Why the kernel gives a program rights that its caller does not have, or NULL. */
static const char *program_gained_right(const char *path)
{
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) || statvfs(path, &fs) || (fs.f_flag & ST_NOSUID) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return NULL;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return "setuid";
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
		return "setgid";
	if (getuid() && getxattr(path, "security.capability", NULL, 0) > 0)
		return "a program with file capabilities";
	return NULL;
}

static enum program_verdict program_check_abi(const char *name, const struct program_file *p,
					      char *why, size_t size)
{
	if (p->abi == PROGRAM_ABI_WORD_SIZE)
		snprintf(why, size,
			 "%s is a %u-bit program and librdmaemu.so has %zu bits: it finds no "
			 "emulated device; build it for %zu bits",
			 name, p->bits, 8 * sizeof(void *), 8 * sizeof(void *));
	else
		snprintf(why, size,
			 "%s is a program for another machine (elf(5) number %u): it finds no "
			 "emulated device; build it for this one",
			 name, p->machine);
	return PROGRAM_NO_DEVICE;
}

/* The loader of this command, which is that of librdmaemu.so. */
static bool program_has_our_loader(const struct program_file *p)
{
	struct program_file own;

	return program_read("/proc/self/exe", &own) || !own.loader[0] ||
	       !strcmp(path_base(own.loader), path_base(p->loader));
}

static enum program_verdict program_check_loader(const char *name, const struct program_file *p,
						 char *why, size_t size)
{
	if (!p->loader[0] && !p->is_library) {
		snprintf(why, size,
			 "%s is statically linked: it finds no emulated device, only programs that "
			 "it starts do; link it dynamically",
			 name);
		return PROGRAM_NO_DEVICE;
	}
	if (!p->loader[0] || program_has_our_loader(p))
		return PROGRAM_OK;
	snprintf(why, size,
		 "%s needs the loader %s, but librdmaemu.so was built for another libc and cannot "
		 "be preloaded; build both for the same libc",
		 name, p->loader);
	return PROGRAM_FAILS;
}

enum program_verdict program_check(const char *name, struct program_file *p, char *why, size_t size)
{
	char path[PATH_MAX];
	const char *right;
	int ret;

	memset(p, 0, sizeof(*p));
	/* execvp(3) says what is wrong with what cannot be found or read. */
	if (program_find(name, getenv("PATH"), path))
		return PROGRAM_OK;
	right = program_gained_right(path);
	ret = program_read(path, p);
	if (right) {
		snprintf(why, size,
			 "%s is %s: the loader preloads nothing into it, so it finds no emulated "
			 "device; start 'rdmaemu run' with its rights instead",
			 name, right);
		return PROGRAM_NO_DEVICE;
	}
	if (ret)
		return PROGRAM_OK;
	if (p->abi != PROGRAM_ABI_OURS)
		return program_check_abi(name, p, why, size);
	return program_check_loader(name, p, why, size);
}

int program_check_command(char **argv)
{
	enum program_verdict verdict;
	struct program_file p;
	char why[PATH_MAX + 256];
	int n;

	do {
		verdict = program_check(argv[0], &p, why, sizeof(why));
		if (verdict == PROGRAM_FAILS)
			return print_error("%s", why);
		if (verdict != PROGRAM_OK)
			print_error("warning: %s", why);
		n = wrapper_command(argv);
		argv += n;
	} while (n);
	return 0;
}

int program_arrange_preload(const char *name)
{
	const char *list = getenv("LD_PRELOAD");
	char path[PATH_MAX], preload[PATH_MAX];
	struct program_file p;

	if (!list || program_find(name, getenv("PATH"), path))
		return 0;
	if (program_read(path, &p))
		p.sanitizer[0] = '\0';
	if (preload_arrange(list, p.sanitizer, preload, sizeof(preload)) &&
	    setenv("LD_PRELOAD", preload, 1))
		return print_error("environment: %s", strerror(errno));
	return 0;
}
