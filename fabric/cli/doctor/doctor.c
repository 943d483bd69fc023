/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu doctor`: the report. See fabric/cli/doctor/doctor.h. */
#include "fabric/cli/doctor/doctor.h"
#include "fabric/cli/cli.h"
#include "fabric/common/json.h"

#include <stdarg.h>
#include <stdlib.h>

static const char *const level_words[] = {
	[DOCTOR_OK] = "ok", [DOCTOR_NOTE] = "note", [DOCTOR_FAIL] = "FAIL"
};

void doctor_report(struct doctor *d, enum doctor_level level, const char *check, const char *remedy,
		   const char *fmt, ...)
{
	struct json_object *o;
	char found[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(found, sizeof(found), fmt, ap);
	va_end(ap);
	d->n_fail += level == DOCTOR_FAIL;
	if (!d->checks) {
		printf("%-4s  %-10s  %s\n", level_words[level], check, found);
		if (remedy)
			printf("%-4s  %-10s  -> %s\n", "", "", remedy);
		fflush(stdout);
		return;
	}
	o = json_object_new_object();
	json_add_str(o, "check", check);
	json_add_str(o, "result", level == DOCTOR_FAIL ? "fail" : level_words[level]);
	json_add_str(o, "found", found);
	if (remedy)
		json_add_str(o, "remedy", remedy);
	json_object_array_add(d->checks, o);
}

static void doctor_check_all(struct doctor *d, const struct opts *o, int argc, char **argv)
{
	char dir[PATH_MAX];

	doctor_check_machine(d);
	doctor_check_limits(d);
	doctor_check_kernel(d);
	doctor_check_real(d);
	if (doctor_check_state(d, o, dir))
		doctor_check_device(d, dir);
	if (argc)
		doctor_check_program(d, argv);
}

int verb_doctor(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct json_object *all;
	struct doctor d = { 0 };

	(void)p;
	if (getenv(DOCTOR_PROBE_ENV))
		return doctor_probe();
	if (opts_env(o))
		return 1;
	if (o->json)
		d.checks = json_object_new_array();
	doctor_check_all(&d, o, argc, argv);
	if (!d.checks) {
		printf(d.n_fail ? "%u of these fail\n" : "all can work\n", d.n_fail);
		return d.n_fail != 0;
	}
	all = json_object_new_object();
	json_add_str(all, "rdmaemu", RDMAEMU_VERSION);
	json_object_object_add(all, "ok", json_object_new_boolean(!d.n_fail));
	json_object_object_add(all, "checks", d.checks);
	json_print(stdout, all);
	return d.n_fail != 0;
}
