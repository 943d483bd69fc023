/* SPDX-License-Identifier: MIT */
/** DOC: port counters as files of sysfs. */
#ifndef EMULATOR_VERBS_PORT_COUNTER_FILES_H
#define EMULATOR_VERBS_PORT_COUNTER_FILES_H

#include "emulator/hca.h"

/** enum port_dir - the two directories of a port. */
enum port_dir {
	DIR_COUNTERS,
	DIR_HW_COUNTERS,
};

/** port_file_name() - the name of file @i of a directory, or NULL after the last. */
const char *port_file_name(enum port_dir dir, u32 i);
/**
 * port_file_value() - the current value of a file. Return: false when there is no such port or
 * file.
 */
bool port_file_value(const struct hca_dev *d, u32 port, enum port_dir dir, const char *name,
		     u64 *value);

#endif
