/* SPDX-License-Identifier: MIT */
/** DOC: a fabric's state, as `rdmaemu status` shows it, in formats that other programs read. */
#ifndef FABRIC_CLI_VIEW_VIEW_H
#define FABRIC_CLI_VIEW_VIEW_H

#include "fabric/common/opts.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

/* --- openmetrics.c --- */

/**
 * metrics_print() - print a fabric's state as metrics.
 * @status, @faults: what the fabric process answers to PROTO_STATUS and PROTO_FAULT_LIST
 * @format: METRICS_OPEN or METRICS_TEXT
 */
void metrics_print(FILE *out, struct json_object *status, struct json_object *faults,
		   enum metrics_format format);

#endif
