/* SPDX-License-Identifier: MIT */
/**
 * DOC: see run.h.
 *
 * The packets of the run are captured in a folder of their own, unless the user captures them: only
 * their headers, and in a ring of two files, so that a long run does not fill the disk.
 */
#include "fabric/cli/report/run.h"
#include "fabric/cli/report/report.h"
#include "fabric/cli/cli.h"
#include "fabric/common/json.h"
#include "fabric/common/text_io.h"
#include "fabric/proto/real_time.h"
#include "traces/formats/roce.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_RING  (128ULL << 20) /* bytes of a file */
#define RUN_FILES 2u
#define RUN_TEXT  (64u << 20) /* bytes of findings */

/* Of this run; "": it has none. */
static char run_dir[PATH_MAX];

static void run_remove_dir(void)
{
	char path[PATH_MAX + 300];
	struct dirent *e;
	DIR *dir = opendir(run_dir);

	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", run_dir, e->d_name);
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(run_dir);
}

bool report_run_is_wanted(const struct opts *o)
{
	return o->report[0] && !getenv(AT_END_SILENT_ENV);
}

int report_run_prepare(struct opts *o)
{
	const char *tmp = getenv("TMPDIR");

	if (!report_run_is_wanted(o))
		return 0;
	if (!report_is_page_name(o->report))
		return print_error("run: --report '%s': expected a name that ends in .html",
				   o->report);
	snprintf(run_dir, sizeof(run_dir), "%.3000s/rdmaemu-report-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(run_dir)) {
		print_error("report: %s: %s", run_dir, strerror(errno));
		run_dir[0] = '\0';
		return -1;
	}
	atexit(run_remove_dir);
	if (o->check[0] && !o->check_json[0])
		snprintf(o->check_json, sizeof(o->check_json), "%.4000s/findings.json", run_dir);
	if (o->capture[0] || o->wire || o->real == REAL_RULES)
		return 0;
	snprintf(o->capture, sizeof(o->capture), "%.4000s/packets.pcapng", run_dir);
	o->ring_size = RUN_RING;
	o->ring_files = RUN_FILES;
	if (!o->snaplen)
		o->snaplen = ROCE_HDR_MAX + 256;
	return 0;
}

/* --- what the page has ------------------------------------------------------------------------ */

static struct json_object *run_command(char **argv)
{
	char text[4096];
	size_t n = 0;
	int i;

	for (i = 0; argv[i] && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "", argv[i]);
	return json_object_new_string(text);
}

static void run_add_program(struct report *r, char **argv, int status,
			    const struct run_clock *began)
{
	struct json_object *o = json_object_new_object();

	json_add(o, "command", run_command(argv));
	json_add_int(o, "began_at", began->day);
	json_add_int(o, "took_ns", real_ns() - began->ns);
	if (r->o->real == REAL_RULES)
		json_add(o, "real", json_object_new_boolean(true));
	if (WIFSIGNALED(status)) {
		json_add_int(o, "signal", (u64)WTERMSIG(status));
		json_add_str(o, "signal_name", strsignal(WTERMSIG(status)));
	} else {
		json_add_int(o, "exit_status", (u64)WEXITSTATUS(status));
	}
	json_add(r->doc, "run", o);
	report_add_source(r, "run", json_get_str(o, "command"));
}

/* Entries about the programs of this run, equal ones as one. */
static int run_add_summary(struct report *r, const struct fabric_paths *p, u32 run)
{
	struct proto_msg m;
	size_t len = 0;
	char *text;
	int fd, ret = run_journal_summary(p, run, &m, &fd);

	if (ret)
		return ret;
	text = memfd_map(fd, &len);
	close(fd);
	if (!text)
		return 0;
	ret = report_add_text(r, "wrong", text, len);
	munmap(text, len);
	return ret;
}

/* The rules, and which of them had to fire. */
static int run_add_rules(struct report *r, const struct opts *o, const struct fabric_paths *p)
{
	struct json_object *root = NULL;
	struct proto_msg m = { .op = PROTO_FAULT_LIST, .flags = PROTO_F_SUMMARY };
	int ret;

	m.fault.n = o->must_fire;
	snprintf(m.fault.place, sizeof(m.fault.place), "%.240s", o->scenario);
	ret = ctl_request_json(p, &m, &root);
	if (!ret)
		json_add(r->doc, "rules", json_object_get(json_object_object_get(root, "faults")));
	json_object_put(root);
	return ret;
}

static int run_add_findings(struct report *r, const struct opts *o)
{
	size_t len = 0;
	char *text;
	int ret;

	if (!o->check[0] || access(o->check_json, R_OK))
		return 0;
	text = text_file_read("report", o->check_json, RUN_TEXT, &len);
	if (!text)
		return -1;
	ret = report_add_text(r, "journal", text, len);
	free(text);
	return ret ? print_error("report: %s: %s", o->check_json, strerror(-ret)) : 0;
}

/* --- packets ---------------------------------------------------------------------------------- */

static int run_is_capture(const struct dirent *e)
{
	return !strncmp(e->d_name, "packets", 7);
}

/* Those of the ring, in the order of their numbers. */
static int run_add_ring(struct report *r)
{
	struct dirent **names = NULL;
	char path[PATH_MAX + 300];
	int n = scandir(run_dir, &names, run_is_capture, alphasort), i, ret = 0;

	/* The ring numbers its files from 1 on. */
	r->packets.earlier = n > 0 && !strstr(names[0]->d_name, "_00001");
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", run_dir, names[i]->d_name);
		ret = ret ? ret : report_add_capture(r, path);
		free(names[i]);
	}
	free(names);
	return ret;
}

static int run_add_packets(struct report *r, const struct opts *o)
{
	/* Those of a trace are added with it. */
	if (o->real == REAL_RULES || o->wire || !strcmp(o->capture, "-"))
		return 0;
	if (!strncmp(o->capture, run_dir, strlen(run_dir)))
		return run_add_ring(r);
	/* A ring of the user's has files that come and go. */
	return o->ring_size ? 0 : report_add_capture(r, o->capture);
}

static int run_add_all(struct report *r, const struct opts *o, const struct fabric_paths *p,
		       u32 run)
{
	int ret = run_add_summary(r, p, run);

	if (!ret)
		ret = report_add_fabric(r, p);
	if (!ret)
		ret = run_add_rules(r, o, p);
	if (ret) {
		ctl_print_error(o, ret);
		return ret;
	}
	report_run_add_samples(r);
	ret = run_add_findings(r, o);
	if (!ret && o->out[0])
		ret = report_add_trace(r, o->out);
	return ret ? ret : run_add_packets(r, o);
}

enum run_result report_run_write(const struct opts *o, const struct fabric_paths *p, u32 run,
				 char **argv, int status, const struct run_clock *began)
{
	static struct report r;
	int ret = report_begin(&r, o);

	if (!ret) {
		run_add_program(&r, argv, status, began);
		ret = run_add_all(&r, o, p, run);
	}
	if (!ret)
		ret = report_write_page(&r, o->report);
	report_end(&r);
	run_remove_dir();
	return ret ? RUN_TROUBLE : RUN_DONE;
}
