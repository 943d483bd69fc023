/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu run`: prepare the environment, start the fabric if needed, and become the program,
 * or its parent if there is something to report at its end.
 */
#include "fabric/cli/run_report.h"
#include "fabric/cli/check/session.h"
#include "fabric/cli/child.h"
#include "fabric/cli/cli.h"
#include "fabric/cli/program_check.h"
#include "fabric/cli/real.h"
#include "fabric/cli/record.h"
#include "fabric/cli/report/run.h"
#include "fabric/cli/run_result.h"
#include "fabric/cli/scenario.h"
#include "fabric/common/parse.h"
#include "fabric/proto/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIB_ENV "RDMAEMU_LIB"
/* Relative to the command: where `make install` puts libraries, and where `make` builds them. */
static const char *const run_lib_dirs[] = { "../lib/rdmaemu", "../lib" };

/* The path of a library that was built or installed with this command. */
static int run_path_next_to(const char *name, char path[PATH_MAX])
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t i;

	if (n < 0)
		return print_error("/proc/self/exe: %s", strerror(errno));
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	for (i = 0; i < ARRAY_SIZE(run_lib_dirs); i++) {
		if (snprintf(path, PATH_MAX, "%s/%s/%s", exe, run_lib_dirs[i], name) >= PATH_MAX)
			return print_error("%s: %s", exe, strerror(ENAMETOOLONG));
		if (!access(path, F_OK))
			break;
	}
	return 0;
}

static int run_check_lib(const char *path, char lib[PATH_MAX])
{
	if (!realpath(path, lib) || access(lib, R_OK))
		return print_error("%s: %s", path, strerror(errno));
	/* ld.so(8) separates paths by either and cannot quote them. */
	if (strpbrk(lib, ": \t\n"))
		return print_error("%s: a preloaded library's path may not have a space or colon",
				   lib);
	return 0;
}

int run_find_shim(char lib[PATH_MAX])
{
	const char *given = getenv(LIB_ENV);
	char path[PATH_MAX];

	if (given && *given)
		snprintf(path, sizeof(path), "%s", given);
	else if (run_path_next_to("librdmaemu.so", path))
		return -1;
	return run_check_lib(path, lib);
}

static int run_find_lib(const char *name, char lib[PATH_MAX])
{
	char path[PATH_MAX];

	return run_path_next_to(name, path) ? -1 : run_check_lib(path, lib);
}

int run_find_tap(char lib[PATH_MAX])
{
	return run_find_lib("librdmaemu-tap.so", lib);
}

/* Whether a library is already in LD_PRELOAD. */
static bool run_is_preloaded(const char *list, const char *lib)
{
	size_t n = strlen(lib), len;

	for (; list && *list; list += len + strspn(list + len, ": ")) {
		len = strcspn(list, ": ");
		if (len == n && !memcmp(list, lib, n))
			return true;
	}
	return false;
}

/* Length of the list's beginning that has sanitizers' runtimes, which must stay the first. */
static size_t run_sanitizers_len(const char *list)
{
	size_t end = 0, n, len;

	for (n = 0; (len = strcspn(list + n, ": ")) && preload_is_sanitizer(list + n, len);) {
		end = n + len;
		n = end + strspn(list + end, ": ");
	}
	return end;
}

int run_preload(const char *lib)
{
	const char *old = getenv("LD_PRELOAD");
	size_t n;
	char *both;
	int ret;

	if (!old || !*old)
		return setenv("LD_PRELOAD", lib, 1);
	/* rdmaemu under rdmaemu: the library is preloaded once. */
	if (run_is_preloaded(old, lib))
		return 0;
	n = run_sanitizers_len(old);
	if (asprintf(&both, "%.*s%s%s%s%s", (int)n, old, n ? ":" : "", lib, old[n] && !n ? ":" : "",
		     old + n) < 0)
		return -1;
	ret = setenv("LD_PRELOAD", both, 1);
	free(both);
	return ret;
}

/* Set the environment of a run on real devices with rules: the tap, and where the rules are. */
static int run_set_real_env(const struct opts *o, const struct fabric_paths *p)
{
	char lib[PATH_MAX];

	if (run_find_tap(lib))
		return -1;
	return run_preload(lib) || setenv(PROTO_REAL_ENV, p->sock, 1) ||
			       setenv(PROTO_REAL_REQUESTS_ENV, real_keeps_requests(o) ? "1" : "0",
				      1)
		       ? print_error("environment: %s", strerror(errno))
		       : 0;
}

/* Put the checker in front of the libraries, unless nobody would print what it finds. */
static int run_set_check_env(const struct opts *o)
{
	char lib[PATH_MAX];

	if (!o->check[0] || getenv(AT_END_SILENT_ENV))
		return 0;
	if (run_find_tap(lib) || check_session_start(o))
		return -1;
	return run_preload(lib) ? print_error("environment: %s", strerror(errno)) : 0;
}

/*
 * Where the program's shim finds what. It is preloaded, or else the dispatcher, which loads the
 * shim next to the libraries of real devices: those may be an outer run's, with its variables.
 */
static int run_set_shim_env(const struct opts *o, const char *sock, const char *tree)
{
	char shim[PATH_MAX], dispatch[PATH_MAX];

	if (run_find_shim(shim) || (o->emulate && run_find_lib("librdmaemu-dispatch.so", dispatch)))
		return -1;
	if (o->emulate)
		return run_preload(dispatch) || setenv(PROTO_BESIDE_LIB_ENV, shim, 1) ||
				       setenv(PROTO_BESIDE_ENV, sock, 1) ||
				       setenv(PROTO_BESIDE_NODE_ENV, o->node, 1)
			       ? print_error("environment: %s", strerror(errno))
			       : 0;
	return run_preload(shim) || unsetenv(PROTO_REAL_ENV) || setenv(PROTO_ENV, sock, 1) ||
			       setenv(PROTO_SYSFS_ENV, tree, 1) ||
			       (o->node[0] && setenv(PROTO_NODE_ENV, o->node, 1)) ||
			       (o->lend[0] && setenv(PROTO_LEND_ENV, o->lend, 1))
		       ? print_error("environment: %s", strerror(errno))
		       : 0;
}

/* @m: the answer to PROTO_LEASE */
static int run_set_env(const struct opts *o, const struct fabric_paths *p,
		       const struct proto_msg *m)
{
	bool apart = (m->flags & PROTO_F_ISOLATED) && !o->control;
	char tree[PATH_MAX], sock[PATH_MAX], number[16];

	if (o->real == REAL_RULES)
		return run_set_real_env(o, p);
	if (statedir_node_sysfs(tree, p->sysfs, o->node))
		return print_error("path %s/nodes/... is too long", p->sysfs);
	snprintf(sock, sizeof(sock), "%s", p->sock);
	if (apart && statedir_node_sock(sock, p->programs, o->node))
		return print_error("path %s/... is too long", p->programs);
	snprintf(number, sizeof(number), "%u", m->lease.number);
	if (run_set_shim_env(o, sock, tree))
		return -1;
	if (setenv(PROTO_NODE_NUMBER_ENV, number, 1) || setenv("RDMAEMU_FABRIC", o->fabric, 1) ||
	    setenv("RDMAEMU_DIR", p->dir, 1))
		return print_error("environment: %s", strerror(errno));
	return 0;
}

/*
 * The lease belongs to this process and outlives exec. If the fabric cannot watch the process
 * (another PID namespace and an old kernel), the program inherits the connection, at a descriptor
 * number that programs do not expect to get.
 */
static int run_keep_lease(int sock, u32 flags)
{
	struct rlimit r;
	int fd, high = 1000;

	if (!(flags & PROTO_F_HOLD)) {
		close(sock);
		return 0;
	}
	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur > 16 && r.rlim_cur <= 1010)
		high = (int)r.rlim_cur - 10;
	fd = fcntl(sock, F_DUPFD, high);
	close(sock);
	return fd < 0 ? print_error("lease: %s", strerror(errno)) : 0;
}

/*
 * The connection of the lease is no longer needed. A run that becomes the program drops its control
 * of the fabric first; one that stays as its parent needs it for the report.
 */
static int run_end_lease_setup(const struct opts *o, int sock, u32 flags, bool parent)
{
	struct proto_msg m = { .op = PROTO_DROP };
	int ret;

	if (parent) {
		if (!(flags & PROTO_F_HOLD))
			close(sock);
		return 0;
	}
	ret = ctl_call(sock, &m, NULL);
	return ret ? ctl_print_error(o, ret) : run_keep_lease(sock, flags);
}

/*
 * The fabric knows the programs of this run by this number. A run inside a run belongs to that one,
 * unless it has something of its own that its end concerns.
 */
static int run_set_number(const struct opts *o, u32 *run)
{
	const char *var = o->real == REAL_RULES ? PROTO_REAL_RUN_ENV
			  : o->emulate		? PROTO_BESIDE_RUN_ENV
						: PROTO_RUN_ENV;
	const char *outer = getenv(var);
	char text[16];
	u64 n;

	if (outer && !o->scenario[0] && !o->explain && !o->capture[0] && !o->junit[0] &&
	    !o->tap[0] && !o->report[0] && parse_number(outer, ~0u, &n))
		*run = (u32)n;
	while (!*run)
		if (getrandom(run, sizeof(*run), 0) < 0 && errno != EINTR)
			return print_error("random number: %s", strerror(errno));
	snprintf(text, sizeof(text), "%u", *run);
	return setenv(var, text, 1) ? print_error("environment: %s", strerror(errno)) : 0;
}

int run_print_exec_error(const char *program, int err)
{
	print_error("%s: %s", program, strerror(err));
	return err == ENOENT || err == ENOTDIR ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC;
}

/* End as the program has ended, unless a report says more than its status. */
static int run_end_as(const struct opts *o, enum run_result result, int status)
{
	/* A program that fails without its fault proves as little as one that succeeds. */
	if (result == RUN_NOT_FIRED && WIFEXITED(status))
		return EXIT_NOT_FIRED;
	if (result == RUN_FOUND && WIFEXITED(status))
		return (int)o->check_exit;
	if (result == RUN_TROUBLE && WIFEXITED(status) && !WEXITSTATUS(status))
		return EXIT_TROUBLE;
	child_exit_as(status);
}

/* The check of a run that has no fabric. */
static int run_real_checked(const struct opts *o, char **argv)
{
	int status, ret;

	if (run_set_check_env(o) || program_arrange_preload(argv[0]))
		return EXIT_TROUBLE;
	ret = child_run(argv, NULL, run_check_overdue, &status);
	if (ret)
		return run_print_exec_error(argv[0], -ret);
	return run_end_as(o, run_check_report(o, NULL, 0, argv[0]), status);
}

/* Stay as the program's parent, to report at its end. */
static int run_as_parent(const struct opts *o, const struct fabric_paths *p, u32 run, char **argv)
{
	enum run_result result, written = RUN_DONE, page = RUN_DONE;
	struct run_clock began;
	int status, ret;

	run_result_begin(&began);
	ret = child_run(argv, report_run_watch(o, p), run_check_overdue, &status);
	if (ret)
		return run_print_exec_error(argv[0], -ret);
	result = run_report_print(o, p, run, wrapper_innermost(argv));
	if (run_result_is_wanted(o))
		written = run_result_write(o, p, run, argv, status, &began);
	if (report_run_is_wanted(o))
		page = report_run_write(o, p, run, argv, status, &began);
	written = written > page ? written : page;
	return run_end_as(o, result > written ? result : written, status);
}

/* Also for a program that is recorded by a command around this one, on another fabric. */
static int run_note_clock(const struct opts *o, int sock)
{
	return o->out[0] || getenv(RECORD_ENV) ? record_note_clock(o, sock) : 0;
}

int verb_run(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	static struct fabric_paths real;
	struct scenario s;
	struct proto_msg m;
	u32 run = 0, flags = o->control ? PROTO_F_CONTROL : 0;
	bool parent;
	int sock;

	(void)argc;
	if (real_choose(o, "run", true, true))
		return EXIT_USAGE;
	if (o->real == REAL_YES && o->check[0])
		return run_real_checked(o, argv);
	if (o->real == REAL_YES)
		return real_run(o, argv);
	if (o->real == REAL_RULES) {
		if (statedir_paths(&real, p->dir, o->fabric))
			return EXIT_TROUBLE;
		p = &real;
		flags |= PROTO_F_REAL;
	}
	if (scenario_load(&s, o))
		return EXIT_TROUBLE;
	if (o->dry_run) {
		scenario_print(&s, false);
		return 0;
	}
	if (program_check_command(argv))
		return EXIT_CANNOT_EXEC;
	if (run_set_number(o, &run) || report_run_prepare(o))
		return EXIT_TROUBLE;
	sock = ctl_start(o, p, flags, run, &m);
	if (sock < 0 || scenario_add(&s, sock, o, PROTO_F_RUN))
		return EXIT_TROUBLE;
	/* As the process has set it that started the fabric. */
	o->chaos = m.lease.chaos;
	o->chaos_seed = m.lease.chaos_seed;
	o->faults = m.lease.faults || o->scenario[0];
	if (run_set_env(o, p, &m) || run_set_check_env(o) || (o->out[0] && record_start(o, argv)) ||
	    run_note_clock(o, sock) || run_capture_start(o, p) || program_arrange_preload(argv[0]))
		return EXIT_TROUBLE;
	parent = run_report_is_wanted(o, p) || run_result_is_wanted(o) || report_run_is_wanted(o);
	if (run_end_lease_setup(o, sock, m.flags, parent))
		return EXIT_TROUBLE;
	if (parent)
		return run_as_parent(o, p, run, argv);
	execvp(argv[0], argv);
	return run_print_exec_error(argv[0], errno);
}
