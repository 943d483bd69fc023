/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of functions that start programs: they set the order of LD_PRELOAD that the new program
 * needs (fabric/proto/preload.c), and otherwise pass everything on. `rdmaemu run` does the same for
 * the program that it becomes; here it is done for what that program, a shell or env(1), starts.
 *
 * They may run in a vforked child, which shares its parent's memory, and in signal handlers: they
 * change nothing but their own stack.
 *
 * Not all programs are started through these wrappers: system() starts a shell without them, and a
 * sanitizer its symbolizer. So a constructor removes from the environment what its own program
 * alone needed.
 */
#include "fabric/proto/program.h"
#include "libshim/interpose/interpose.h"

#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PRELOAD_VAR  "LD_PRELOAD="
#define PRELOAD_LEN  (sizeof(PRELOAD_VAR) - 1)
#define ENV_MAX	     2048 /* variables; with more of them the order stays as it is */
#define DEFAULT_PATH "/bin:/usr/bin"

HOOK(int, execve, const char *path, char *const argv[], char *const envp[]);
HOOK(int, execv, const char *path, char *const argv[]);
HOOK(int, execvp, const char *file, char *const argv[]);
HOOK(int, execvpe, const char *file, char *const argv[], char *const envp[]);
HOOK(int, execl, const char *path, const char *arg, ...);
HOOK(int, execlp, const char *file, const char *arg, ...);
HOOK(int, execle, const char *path, const char *arg, ...);
HOOK(int, fexecve, int fd, char *const argv[], char *const envp[]);
HOOK(int, posix_spawn, pid_t *pid, const char *path, const posix_spawn_file_actions_t *fa,
     const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
HOOK(int, posix_spawnp, pid_t *pid, const char *file, const posix_spawn_file_actions_t *fa,
     const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);

/** struct exec_env - an environment with another LD_PRELOAD. */
struct exec_env {
	char preload[PRELOAD_LEN + PATH_MAX];
	char *vars[ENV_MAX + 1];
};

extern char **environ;

/* The index of LD_PRELOAD if the shim is in it, or -1. */
static int env_find_preload(char *const envp[])
{
	int i;

	for (i = 0; envp && envp[i]; i++)
		if (!strncmp(envp[i], PRELOAD_VAR, PRELOAD_LEN))
			return strstr(envp[i] + PRELOAD_LEN, interpose_soname) ? i : -1;
	return -1;
}

static const char *env_search_path(void)
{
	const char *path = getenv("PATH");

	return path ? path : DEFAULT_PATH;
}

/* The sanitizer's runtime that a program needs, or "". @search: as for program_find() */
static __attribute__((noinline)) void exec_find_sanitizer(const char *file, const char *search,
							  struct program_file *p)
{
	char path[PATH_MAX];

	p->sanitizer[0] = '\0';
	if (!file || (search && program_find(file, search, path)))
		return;
	/* What cannot be read has the order that others have. */
	if (program_read(search ? path : file, p))
		p->sanitizer[0] = '\0';
}

/* Whether the program needs another LD_PRELOAD than envp[at]. */
static bool exec_env_prepare(struct exec_env *e, const struct program_file *p, char *const envp[],
			     int at)
{
	int n;

	/* cppcheck-suppress ctuuninitvar ; @e is where the result goes */
	if (!preload_arrange(envp[at] + PRELOAD_LEN, p->sanitizer, e->preload + PRELOAD_LEN,
			     sizeof(e->preload) - PRELOAD_LEN))
		return false;
	memcpy(e->preload, PRELOAD_VAR, PRELOAD_LEN);
	for (n = 0; envp[n]; n++) {
		if (n == ENV_MAX)
			return false;
		e->vars[n] = n == at ? e->preload : envp[n];
	}
	e->vars[n] = NULL;
	return true;
}

/* Call @start with the environment that the program needs. @search: NULL for a path */
#define EXEC_WITH(file, search, envp, start)                                                       \
	({                                                                                         \
		char *const *env_ = (envp);                                                        \
		int saved_ = errno, at_ = env_find_preload(env_);                                  \
		struct program_file p_;                                                            \
		struct exec_env e_;                                                                \
                                                                                                   \
		if (at_ >= 0) {                                                                    \
			exec_find_sanitizer(file, search, &p_);                                    \
			if (exec_env_prepare(&e_, &p_, env_, at_))                                 \
				env_ = e_.vars;                                                    \
		}                                                                                  \
		errno = saved_;                                                                    \
		start;                                                                             \
	})

int hook_execve(const char *path, char *const argv[], char *const envp[])
{
	return EXEC_WITH(path, NULL, envp, libc_next(execve)(path, argv, env_));
}

int hook_execv(const char *path, char *const argv[])
{
	return EXEC_WITH(path, NULL, environ, libc_next(execve)(path, argv, env_));
}

int hook_execvpe(const char *file, char *const argv[], char *const envp[])
{
	return EXEC_WITH(file, env_search_path(), envp, libc_next(execvpe)(file, argv, env_));
}

int hook_execvp(const char *file, char *const argv[])
{
	return EXEC_WITH(file, env_search_path(), environ, libc_next(execvpe)(file, argv, env_));
}

/* The arguments of execl() and its like as an array, which lives until the caller returns. */
#define EXEC_ARGV(arg, ap)                                                                         \
	({                                                                                         \
		size_t n_ = 1, i_;                                                                 \
		char **argv_;                                                                      \
                                                                                                   \
		va_start(ap, arg);                                                                 \
		while (va_arg(ap, char *))                                                         \
			n_++;                                                                      \
		va_end(ap);                                                                        \
		argv_ = __builtin_alloca((n_ + 1) * sizeof(*argv_));                               \
		argv_[0] = (char *)(uintptr_t)(arg);                                               \
		va_start(ap, arg);                                                                 \
		for (i_ = 1; i_ <= n_; i_++)                                                       \
			argv_[i_] = va_arg(ap, char *);                                            \
		argv_;                                                                             \
	})

int hook_execl(const char *path, const char *arg, ...)
{
	va_list ap;
	char **argv = EXEC_ARGV(arg, ap);

	va_end(ap);
	return hook_execv(path, argv);
}

int hook_execlp(const char *file, const char *arg, ...)
{
	va_list ap;
	char **argv = EXEC_ARGV(arg, ap);

	va_end(ap);
	return hook_execvp(file, argv);
}

int hook_execle(const char *path, const char *arg, ...)
{
	va_list ap;
	char **argv = EXEC_ARGV(arg, ap);
	char **envp = va_arg(ap, char **);

	va_end(ap);
	return hook_execve(path, argv, envp);
}

int hook_fexecve(int fd, char *const argv[], char *const envp[])
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return EXEC_WITH(path, NULL, envp, libc_next(fexecve)(fd, argv, env_));
}

int hook_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *fa,
		     const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return EXEC_WITH(path, NULL, envp, libc_next(posix_spawn)(pid, path, fa, attr, argv, env_));
}

int hook_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *fa,
		      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return EXEC_WITH(file, env_search_path(), envp,
			 libc_next(posix_spawnp)(pid, file, fa, attr, argv, env_));
}

/* Remove this program's own runtime from the environment, which is as the kernel made it. */
static void env_forget_sanitizer(void)
{
	int at = env_find_preload(environ);
	char *list = at < 0 ? NULL : environ[at] + PRELOAD_LEN;
	size_t own = list ? preload_own_len(list) : 0;

	if (own)
		memmove(list, list + own, strlen(list + own) + 1);
}

static __attribute__((constructor)) void interpose_load(void)
{
	env_forget_sanitizer();
	if (clock_gettime_look_up)
		clock_gettime_look_up();
}
