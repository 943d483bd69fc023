/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu report PAGE [FILE]...`: a page of captures, traces and journals, or of the fabric
 * that is running, or has ended last.
 */
#include "fabric/cli/report/report.h"
#include "fabric/cli/cli.h"
#include "fabric/common/journal_dir.h"
#include "fabric/common/json.h"
#include "fabric/common/text_io.h"
#include "traces/formats/capture_file.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMAND_TEXT (64u << 20) /* bytes of a journal or of findings */

/* --- a fabric --------------------------------------------------------------------------------- */

static int fabric_add_journal(struct report *r, const struct fabric_paths *p)
{
	struct proto_msg m = { .op = PROTO_LOG, .flags = PROTO_F_JSON | PROTO_F_LINES };
	int sock = ctl_connect(p->sock), fd = -1, ret;
	size_t len = 0;
	char *text;

	if (sock < 0)
		return sock;
	ret = ctl_call(sock, &m, &fd);
	close(sock);
	if (ret || fd < 0)
		return ret ? ret : -EPROTO;
	text = memfd_map(fd, &len);
	close(fd);
	if (!text)
		return 0;
	ret = report_add_text(r, "journal", text, len);
	munmap(text, len);
	if (m.log.lost)
		json_add_int(r->doc, "journal_lost", m.log.lost);
	return ret;
}

int report_add_fabric(struct report *r, const struct fabric_paths *p)
{
	struct proto_msg status = { .op = PROTO_STATUS };
	struct json_object *root = NULL;
	int ret = ctl_request_json(p, &status, &root);

	if (ret)
		return ret;
	json_add(r->doc, "status", root);
	return fabric_add_journal(r, p);
}

static int fabric_add_rules(struct report *r, const struct fabric_paths *p)
{
	struct proto_msg list = { .op = PROTO_FAULT_LIST };
	struct json_object *root = NULL;
	int ret = ctl_request_json(p, &list, &root);

	if (!ret)
		json_add(r->doc, "rules", json_object_get(json_object_object_get(root, "faults")));
	json_object_put(root);
	return ret;
}

/* --- files ------------------------------------------------------------------------------------ */

static int file_add_text(struct report *r, const char *path)
{
	size_t len = 0;
	char *text = text_input_read("report", path, COMMAND_TEXT, &len);
	int ret;

	if (!text)
		return -1;
	ret = report_add_text(r, "journal", text, len);
	free(text);
	if (ret)
		return print_error("report: %s: expected a capture, a trace directory, a journal, "
				   "or JSON of 'rdmaemu log', 'fault list', 'status' or "
				   "'run --check-json'",
				   path);
	report_add_source(r, "json", path);
	return 0;
}

static int file_add(struct report *r, const char *path)
{
	struct capture_file f;
	struct stat st;
	int ret;

	if (stat(path, &st))
		return print_error("report: %s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return report_add_trace(r, path);
	ret = capture_file_open(&f, path);
	if (ret)
		return file_add_text(r, path);
	capture_file_close(&f);
	report_add_source(r, "capture", path);
	return report_add_capture(r, path);
}

/* The running fabric, or else the journal of the one that ended last. Return: 0 or -1. */
static int files_add_default(struct report *r, const struct opts *o, const struct fabric_paths *p)
{
	const char *fabric = o->level[OPT_FABRIC] ? o->fabric : NULL;
	char path[PATH_MAX];
	u32 kept;
	int ret = report_add_fabric(r, p);

	if (!ret)
		ret = fabric_add_rules(r, p);
	if (!ret) {
		report_add_source(r, "fabric", o->fabric);
		return 0;
	}
	if ((ret == -ENOENT || ret == -ECONNREFUSED) &&
	    !journal_dir_find(p->dir, fabric, 1, path, &kept))
		return file_add_text(r, path);
	ctl_print_error(o, ret);
	return -1;
}

int verb_report(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	static struct report r;
	int ret, i;

	if (!report_is_page_name(argv[0])) {
		print_error("report: '%s': expected a name that ends in .html for the page",
			    argv[0]);
		return EXIT_USAGE;
	}
	ret = report_begin(&r, o);
	if (ret)
		print_error("report: %s", strerror(-ret));
	else if (argc == 1)
		ret = files_add_default(&r, o, p);
	for (i = 1; i < argc && !ret; i++)
		ret = file_add(&r, argv[i]);
	if (!ret)
		ret = report_write_page(&r, argv[0]);
	report_end(&r);
	return ret ? 1 : 0;
}
