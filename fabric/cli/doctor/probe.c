/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu doctor`: the real thing, on a fabric of its own. See fabric/cli/doctor/doctor.h.
 *
 * A child becomes `rdmaemu run rdmaemu doctor`, with a variable that makes the latter, which has
 * the emulated device preloaded, open it. Seccomp, limits, namespaces and the state directory act
 * on it as on any program.
 */
#include "fabric/cli/doctor/doctor.h"
#include "fabric/cli/probe.h"
#include "fabric/cli/real_devices.h"
#include "fabric/proto/state_dir.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

void doctor_check_real(struct doctor *d)
{
	static struct real_devices r;

	real_devices_probe(&r, "");
	if (r.n)
		doctor_report(d, DOCTOR_OK, "real", NULL, "%s, for 'rdmaemu run --real'", r.names);
	if (r.n_ghosts)
		doctor_report(d, DOCTOR_NOTE, "real",
			      "give this user /dev/infiniband/uverbs*, and the device a port", "%s",
			      r.ghosts);
	else if (!r.n)
		doctor_report(d, DOCTOR_OK, "real", NULL, "no device for 'rdmaemu run --real': %s",
			      r.why_none);
}

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

/* @dir: the state directory, a string */
static void device_exec(void *dir, int out)
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
}

void doctor_check_device(struct doctor *d, const char *dir)
{
	char text[512], state[PATH_MAX];
	struct probe p = { .run = device_exec, .arg = state, .text = text, .size = sizeof(text) };
	bool ended;

	snprintf(state, sizeof(state), "%s", dir);
	ended = probe_run(&p);
	if (ended && WIFEXITED(p.status) && !WEXITSTATUS(p.status))
		doctor_report(d, DOCTOR_OK, "device", NULL, "%s", text);
	else if (!ended)
		doctor_report(d, DOCTOR_FAIL, "device",
			      "see the lines above, and NAME.log in the "
			      "state directory",
			      "no answer in %u s", PROBE_S);
	else
		doctor_report(d, DOCTOR_FAIL, "device", "see the lines above",
			      "a program on a fabric of its own ended with status %d: %s",
			      WIFEXITED(p.status) ? WEXITSTATUS(p.status)
						  : 128 + WTERMSIG(p.status),
			      text);
}

int doctor_probe(void)
{
	struct verbs_calls c;
	void **list;
	int n = 0;

	unsetenv(DOCTOR_PROBE_ENV);
	if (!verbs_calls_find(&c, RTLD_DEFAULT))
		return print_error("the library was not preloaded: %s", getenv("LD_PRELOAD")), 1;
	list = c.get_list(&n);
	if (!list || !n)
		return print_error("no device: %s", strerror(errno)), 1;
	if (!c.open_device(list[0]))
		return print_error("%s cannot be opened: %s", c.get_name(list[0]), strerror(errno)),
		       1;
	printf("a program on a fabric of its own has opened %s, of %d\n", c.get_name(list[0]), n);
	return 0;
}
