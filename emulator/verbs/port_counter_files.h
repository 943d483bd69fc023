/* SPDX-License-Identifier: MIT */
/**
 * DOC: a port's counters as files of sysfs.
 */
#ifndef EMULATOR_VERBS_PORT_COUNTER_FILES_H
#define EMULATOR_VERBS_PORT_COUNTER_FILES_H

#include "emulator/hca.h"

/** enum port_dir - which of a port's directories. */
enum port_dir {
	DIR_COUNTERS,
	DIR_HW_COUNTERS,
};

/** port_file_name() - the name of a directory's file @i, or NULL behind the last. */
const char *port_file_name(enum port_dir dir, u32 i);
/** port_file_value() - what a file holds now. Return: false when there is no such port or file. */
bool port_file_value(const struct hca_dev *d, u32 port, enum port_dir dir, const char *name,
		     u64 *value);

#endif
