/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu record`: a trace directory, and the recorder preloaded before the program's
 * libraries.
 *
 * A directory is being recorded as long as a program holds a shared lock on its file "trace", by a
 * descriptor that programs inherit and that outlives exec. Programs that start meanwhile join the
 * recording: the sides of a connection are started one by one. Once no process holds the lock the
 * trace is complete, and nothing is added to it.
 */
#include "fabric/cli/record.h"
#include "fabric/cli/cli.h"
#include "fabric/cli/program_check.h"
#include "fabric/cli/real.h"
#include "fabric/common/profile.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLOCK_ENV "RDMAEMU_RECORD_CLOCK" /* read by the recorder */
#define FD_HIGH	  950 /* where programs do not expect to get one */

/* --- the file "trace" ------------------------------------------------------------------------- */

/* The version of an installed library is in its file's name. */
static void record_put_library(FILE *f, const char *key, const char *soname)
{
	void *handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
	char path[PATH_MAX];
	struct link_map *map;

	if (handle && !dlinfo(handle, RTLD_DI_LINKMAP, &map) && realpath(map->l_name, path))
		fprintf(f, "%s %s\n", key, basename(path));
	else
		fprintf(f, "%s none\n", key);
	/* The library stays loaded: this process must not run its destructors. */
}

static void record_put_words(FILE *f, const char *key, char **argv)
{
	fputs(key, f);
	for (; *argv; argv++) {
		const char *c;

		fputc(' ', f);
		for (c = *argv; *c; c++)
			fputc((u8)*c < ' ' ? ' ' : *c, f);
	}
	fputc('\n', f);
}

static int record_copy_file(const char *from, const char *dir, const char *name)
{
	char path[PATH_MAX + 32], buf[4096];
	FILE *in = fopen(from, "re"), *out;
	size_t n;
	int bad;

	if (!in)
		return print_error("%s: %s", from, strerror(errno));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "wxe");
	while (out && (n = fread(buf, 1, sizeof(buf), in)) > 0)
		fwrite(buf, 1, n, out);
	bad = !out || ferror(in) || ferror(out);
	fclose(in);
	if ((out && fclose(out)) || bad)
		return print_error("%s: %s", path, strerror(errno));
	return 0;
}

static int record_copy_settings(const struct opts *o, const char *dir)
{
	size_t i;

	if (o->real)
		return 0;
	if ((!profile_builtin(o->profile, &i) &&
	     record_copy_file(o->profile, dir, "profile.conf")) ||
	    (o->scenario[0] && record_copy_file(o->scenario, dir, "scenario.txt")) ||
	    (o->topology[0] && record_copy_file(o->topology, dir, "topology.txt")))
		return -1;
	return 0;
}

static int record_write_trace(const struct opts *o, const char *dir, int fd, char **argv)
{
	FILE *f = fdopen(dup(fd), "w");
	int bad;

	if (!f)
		return print_error("%s/trace: %s", dir, strerror(errno));
	fprintf(f, "rdmaemu trace 1\nrdmaemu %s\n", RDMAEMU_VERSION);
	record_put_library(f, "libibverbs", "libibverbs.so.1");
	record_put_library(f, "librdmacm", "librdmacm.so.1");
	record_put_words(f, "command", argv);
	fprintf(f, "payload %s\nreal %s\n", o->payload[0] ? o->payload : "full",
		o->real ? "yes" : "no");
	if (!o->real) {
		fprintf(f, "fabric %s\nuid %u\n", o->fabric, (unsigned)geteuid());
		fprintf(f, "seed %llu\nprofile %s\nisolated %s\nsubnet %s\n",
			(unsigned long long)o->seed, o->profile, o->isolated ? "yes" : "no",
			o->subnet);
		fprintf(f, "clock %s\ntime-scale %u.%06u\n", o->manual ? "manual" : "run",
			o->ppm / CLOCK_PPM, o->ppm % CLOCK_PPM);
		if (o->chaos)
			fprintf(f, "chaos %llu\n", (unsigned long long)o->chaos_seed);
		else
			fputs("chaos no\n", f);
	}
	bad = ferror(f);
	if (fclose(f) || bad)
		return print_error("%s/trace: %s", dir, strerror(errno));
	return record_copy_settings(o, dir);
}

/* --- the directory ---------------------------------------------------------------------------- */

static bool record_dir_is_empty(const char *path)
{
	DIR *dir = opendir(path);
	u32 n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n <= 2;
}

/*
 * Called with the directory locked. Return: a descriptor of "trace" with a shared lock, or -1 after
 * one line on stderr.
 */
static int record_enter_trace(struct opts *o, const char *dir, char **argv)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/trace", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (!record_dir_is_empty(dir))
			return print_error("%s: expected a new or empty directory, or one that is "
					   "being recorded",
					   o->out);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 && record_write_trace(o, dir, fd, argv))
			return -1;
		if (o->wire && snprintf(o->capture, sizeof(o->capture), "%s/wire.pcapng", dir) >=
				       (int)sizeof(o->capture))
			return print_error("%s: %s", o->out, strerror(ENAMETOOLONG));
	} else if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB)) {
		return print_error("%s: has a trace that is complete; give another directory",
				   o->out);
	}
	if (fd < 0 || flock(fd, LOCK_SH))
		return print_error("%s: %s", path, strerror(errno));
	return fd;
}

/*
 * Return: a descriptor of "trace" with a shared lock, or -1 after one line on stderr. @dir:
 * receives the path
 */
static int record_enter_dir(struct opts *o, char dir[PATH_MAX], char **argv)
{
	struct stat st;
	int lock, fd;

	/* A pipe has been read: the copy in the trace would be empty. */
	if (!o->real && o->scenario[0] && !stat(o->scenario, &st) && !S_ISREG(st.st_mode))
		return print_error("scenario %s: expected a file, not a pipe: a trace has a copy",
				   o->scenario);
	if (mkdir(o->out, 0777) && errno != EEXIST)
		return print_error("%s: %s", o->out, strerror(errno));
	if (!realpath(o->out, dir))
		return print_error("%s: %s", o->out, strerror(errno));
	lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX))
		return print_error("%s: %s", o->out, strerror(errno));
	fd = record_enter_trace(o, dir, argv);
	close(lock);
	return fd;
}

int record_make(struct opts *o, char **argv)
{
	char dir[PATH_MAX];

	return record_enter_dir(o, dir, argv);
}

int record_start(struct opts *o, char **argv)
{
	char lib[PATH_MAX], dir[PATH_MAX];
	int fd = record_enter_dir(o, dir, argv), kept;

	if (fd < 0)
		return -1;
	kept = fcntl(fd, F_DUPFD, FD_HIGH);
	if (kept < 0)
		kept = fcntl(fd, F_DUPFD, 3);
	close(fd);
	if (kept < 0)
		return print_error("%s: %s", o->out, strerror(errno));
	if (run_find_tap(lib))
		return -1;
	if (run_preload(lib) || setenv(RECORD_ENV, dir, 1) ||
	    (o->real && setenv("RDMAEMU_RECORD_REAL", "1", 1)) ||
	    (o->payload[0] && setenv("RDMAEMU_RECORD_PAYLOAD", o->payload, 1)))
		return print_error("environment: %s", strerror(errno));
	return 0;
}

int record_note_clock(const struct opts *o, int sock)
{
	struct proto_msg m = { .op = PROTO_CLOCK, .clock.what = PROTO_CLOCK_SHOW };
	char text[64];
	int ret = sock < 0 ? 0 : ctl_call(sock, &m, NULL);

	if (ret)
		return ctl_print_error(o, ret);
	if (sock < 0 || !m.clock.running)
		return unsetenv(CLOCK_ENV);
	snprintf(text, sizeof(text), "%llu %llu %u", (unsigned long long)m.clock.real,
		 (unsigned long long)m.clock.now, m.clock.ppm);
	return setenv(CLOCK_ENV, text, 1) ? print_error("environment: %s", strerror(errno)) : 0;
}

int verb_record(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	if (!o->out[0]) {
		print_error("record: expected a directory for the trace, -o DIR; see 'rdmaemu "
			    "record --help'");
		return EXIT_USAGE;
	}
	/* Also where no device is: that is what a program then sees. */
	if (real_choose(o, "record", false, false))
		return EXIT_USAGE;
	if (o->real == REAL_NO)
		return verb_run(o, p, argc, argv);
	if (o->report[0]) {
		print_error("record: --report: expected a fabric; 'rdmaemu report' makes a page of "
			    "the trace");
		return EXIT_USAGE;
	}
	if (record_start(o, argv) || record_note_clock(o, -1) || program_arrange_preload(argv[0]))
		return EXIT_TROUBLE;
	return real_run(o, argv);
}
