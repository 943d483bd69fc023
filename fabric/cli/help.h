/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu --help`, and that of verbs and groups.
 */
#ifndef FABRIC_CLI_HELP_H
#define FABRIC_CLI_HELP_H

#include "fabric/cli/verbs.h"

/** help_print_all() - all verbs by groups, a line each. */
void help_print_all(void);
/** help_print_group() - the verbs that have @group as their first word, a line each. */
void help_print_group(const char *group);
/** help_print_verb() - synopsis, what it does, and its options by sections. */
void help_print_verb(const struct verb *v);

#endif
