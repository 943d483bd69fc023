/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu doctor PROGRAM`. See fabric/cli/doctor/doctor.h. */
#include "fabric/cli/doctor/doctor.h"
#include "fabric/cli/program_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check_good(struct doctor *d, const char *path, const struct program_file *p)
{
	if (p->sanitizer[0])
		doctor_report(d, DOCTOR_OK, "program", NULL,
			      "%s needs %s, which is preloaded before librdmaemu.so", path,
			      p->sanitizer);
	else if (p->script[0])
		doctor_report(d, DOCTOR_OK, "program", NULL, "%s is a script of %s", path,
			      p->script);
	else
		doctor_report(d, DOCTOR_OK, "program", NULL, "%s is a dynamic program", path);
}

static void check_one(struct doctor *d, const char *name)
{
	char path[PATH_MAX], why[PATH_MAX + 256];
	struct program_file p;
	int ret;

	if (program_find(name, getenv("PATH"), path) || access(path, X_OK)) {
		doctor_report(d, DOCTOR_FAIL, "program", NULL, "%s: %s", name, strerror(errno));
		return;
	}
	if (program_check(name, &p, why, sizeof(why)) != PROGRAM_OK) {
		doctor_report(d, DOCTOR_FAIL, "program", NULL, "%s", why);
		return;
	}
	ret = program_read(path, &p);
	if (ret == -EACCES)
		doctor_report(d, DOCTOR_NOTE, "program", NULL, "%s cannot be read, only executed",
			      path);
	else if (ret)
		doctor_report(d, DOCTOR_FAIL, "program", NULL,
			      "%s: expected an ELF program or a script: %s", path, strerror(-ret));
	else
		check_good(d, path, &p);
}

void doctor_check_program(struct doctor *d, char **argv)
{
	int n;

	do {
		check_one(d, argv[0]);
		n = wrapper_command(argv);
		argv += n;
	} while (n);
}
