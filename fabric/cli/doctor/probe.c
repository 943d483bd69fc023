/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu doctor`: the real thing, on a fabric of its own. See fabric/cli/doctor/doctor.h.
 *
 * A child becomes `rdmaemu run rdmaemu doctor`, with a variable that makes the latter, which has
 * the emulated device preloaded, open it. Seccomp, limits, namespaces and the state directory act
 * on it as on any program.
 */
#include "fabric/cli/doctor/doctor.h"
#include "fabric/proto/state_dir.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROBE_S 60 /* a busy machine takes a second */

bool doctor_check_state(struct doctor *d, const struct opts *o, char dir[PATH_MAX])
{
	struct fabric_paths p;
	struct statvfs fs;

	/* Each prints its reason. */
	if (statedir_open(o->dir, dir) || statedir_paths(&p, dir, o->fabric)) {
		doctor_report(d, DOCTOR_FAIL, "state", "choose another --dir",
			      "the state directory cannot be used");
		return false;
	}
	if (statvfs(dir, &fs) || access(dir, W_OK | X_OK) || (fs.f_flag & ST_RDONLY) ||
	    !fs.f_bavail) {
		doctor_report(d, DOCTOR_FAIL, "state", "choose another --dir",
			      "%s is read-only or full", dir);
		return false;
	}
	doctor_report(d, DOCTOR_OK, "state", NULL, "%s, %llu MiB free", dir,
		      (unsigned long long)fs.f_bavail * fs.f_frsize >> 20);
	return true;
}

static void __attribute__((noreturn)) probe_exec(const char *dir, int out)
{
	char self[PATH_MAX], fabric[32];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *argv[] = { "rdmaemu",  "run",  "--dir",	 (char *)(uintptr_t)dir,
			 "--fabric", fabric, "--config", "/dev/null",
			 "--linger", "0",    "--",	 self,
			 "doctor",   NULL };

	snprintf(fabric, sizeof(fabric), "doctor-%d", (int)getpid());
	opts_env_clear(0);
	if (n > 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2 && !setenv(DOCTOR_PROBE_ENV, "1", 1)) {
		self[n] = '\0';
		execv("/proc/self/exe", argv);
	}
	_exit(127);
}

/* Read all that the child prints. Return: whether it closed its output in time. */
static bool probe_read(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	time_t end = time(NULL) + PROBE_S;
	size_t got = 0;
	ssize_t n = 1;

	while (n > 0 && got < size - 1 && time(NULL) < end) {
		if (poll(&p, 1, 1000) <= 0)
			continue;
		n = read(fd, text + got, size - 1 - got);
		got += n > 0 ? (size_t)n : 0;
	}
	text[got] = '\0';
	while (got && text[got - 1] == '\n')
		text[--got] = '\0';
	return n <= 0;
}

void doctor_check_device(struct doctor *d, const char *dir)
{
	char text[512] = "";
	int fds[2], status = -1;
	bool ended;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid)
		probe_exec(dir, fds[1]);
	close(fds[1]);
	ended = pid > 0 && probe_read(fds[0], text, sizeof(text));
	close(fds[0]);
	if (pid > 0) {
		if (!ended)
			kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	if (ended && WIFEXITED(status) && !WEXITSTATUS(status))
		doctor_report(d, DOCTOR_OK, "device", NULL, "%s", text);
	else if (!ended)
		doctor_report(d, DOCTOR_FAIL, "device",
			      "see the lines above, and NAME.log in the "
			      "state directory",
			      "no answer in %u s", PROBE_S);
	else
		doctor_report(d, DOCTOR_FAIL, "device", "see the lines above",
			      "a program on a fabric of its own ended with status %d: %s",
			      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
			      text);
}

int doctor_probe(void)
{
	void **(*get_list)(int *) = (void **(*)(int *))dlsym(RTLD_DEFAULT, "ibv_get_device_list");
	void *(*open_device)(void *) = (void *(*)(void *))dlsym(RTLD_DEFAULT, "ibv_open_device");
	const char *(*get_name)(void *) =
		(const char *(*)(void *))dlsym(RTLD_DEFAULT, "ibv_get_device_name");
	void **list;
	int n = 0;

	unsetenv(DOCTOR_PROBE_ENV);
	if (!get_list || !open_device || !get_name)
		return print_error("the library was not preloaded: %s", getenv("LD_PRELOAD")), 1;
	list = get_list(&n);
	if (!list || !n)
		return print_error("no device: %s", strerror(errno)), 1;
	if (!open_device(list[0]))
		return print_error("%s cannot be opened: %s", get_name(list[0]), strerror(errno)),
		       1;
	printf("a program on a fabric of its own has opened %s, of %d\n", get_name(list[0]), n);
	return 0;
}
