/* SPDX-License-Identifier: MIT */
/**
 * DOC: the verbs of the `rdmaemu` command.
 */
#ifndef FABRIC_CLI_CLI_H
#define FABRIC_CLI_CLI_H

#include "fabric/cli/control.h"
#include "fabric/proto/version.h"

#include <json-c/json.h>
#include <stdio.h>

/** cli_main() - run the verb that the words of a command line call. Return: exit status. */
int cli_main(int argc, char **argv);

int verb_doctor(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_completion(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_record(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_run(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_fabric_start(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_fabric_stop(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_fabric_status(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_status(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_top(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_port_up(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_port_down(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_port_lid(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_port_pkey(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_port_link(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
/** ctl_print_error() - say why there was no answer. Return: 1, the exit status. */
int ctl_print_error(const struct opts *o, int err);
/** ctl_print_text() - ask the fabric for text, by @op, and print it. Return: the exit status. */
int ctl_print_text(const struct opts *o, const struct fabric_paths *p, u32 op);
/**
 * ctl_request_json() - ask the fabric for text, by m->op and what belongs to that, and parse it.
 * Return: 0 with the object in *@root, and the answer in *@m; or -errno.
 */
int ctl_request_json(const struct fabric_paths *p, struct proto_msg *m, struct json_object **root);
int verb_fault_add(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_fault_list(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_fault_remove(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_fault_try(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_fault_clear(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_clock(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_clock_advance(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_clock_run(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_clock_stop(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_capture_start(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_capture_stop(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_capture_list(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_inject(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_report(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_log(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_trace_show(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_trace_stat(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_trace_ladder(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_trace_export(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_trace_diff(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
int verb_replay(struct opts *o, const struct fabric_paths *p, int argc, char **argv);

#endif
