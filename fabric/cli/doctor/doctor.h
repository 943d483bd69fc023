/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu doctor`: a report for each thing that rdmaemu needs of a machine or a program. */
#ifndef FABRIC_CLI_DOCTOR_DOCTOR_H
#define FABRIC_CLI_DOCTOR_DOCTOR_H

#include "fabric/common/daemon_start.h"
#include "fabric/common/opts.h"

#include <json-c/json.h>

/** DOCTOR_PROBE_ENV - set for the process that `rdmaemu doctor` runs on a fabric of its own. */
#define DOCTOR_PROBE_ENV DAEMON_NO_JOURNAL_ENV

/** enum doctor_level - what a check has found. */
enum doctor_level {
	DOCTOR_OK,
	DOCTOR_NOTE, /* works, but slower or with a restriction */
	DOCTOR_FAIL,
};

/**
 * struct doctor - the report so far.
 * @checks: for --json, else NULL: lines are printed at once
 */
struct doctor {
	struct json_object *checks;
	u32 n_fail;
};

/**
 * doctor_report() - add a line.
 * @remedy: what to do about it, or NULL
 */
void doctor_report(struct doctor *d, enum doctor_level level, const char *check, const char *remedy,
		   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* --- machine.c --- */

/** doctor_read_line() - the first line of a file of the kernel. Return: whether it was read. */
bool doctor_read_line(const char *path, char *line, size_t size);
/** doctor_check_machine() - versions, libraries, preloads. */
void doctor_check_machine(struct doctor *d);
/** doctor_check_limits() - resource limits and memory. */
void doctor_check_limits(struct doctor *d);

/* --- kernel.c --- */

/** doctor_check_kernel() - namespaces, seccomp, copies between processes, system calls. */
void doctor_check_kernel(struct doctor *d);

/* --- probe.c --- */

/** doctor_check_real() - the machine's own RDMA devices, for --real, and whether they open. */
void doctor_check_real(struct doctor *d);
/** doctor_check_state() - the state directory. Return: whether it can be used; @dir: its path. */
bool doctor_check_state(struct doctor *d, const struct opts *o, char dir[PATH_MAX]);
/** doctor_check_device() - start a fabric and open a device on it, in a process of its own. */
void doctor_check_device(struct doctor *d, const char *dir);
/** doctor_probe() - what that process does. Return: exit status. */
int doctor_probe(void);

/* --- program.c --- */

/** doctor_check_program() - a program, through wrappers such as env(1). */
void doctor_check_program(struct doctor *d, char **argv);

#endif
