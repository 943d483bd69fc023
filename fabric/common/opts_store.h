/* SPDX-License-Identifier: MIT */
/** DOC: which values a setting may have, and where they are stored. */
#ifndef FABRIC_COMMON_OPTS_STORE_H
#define FABRIC_COMMON_OPTS_STORE_H

#include "fabric/common/opts.h"

#define CHAOS_RANDOM "random"

/**
 * opt_store() - check the value of a setting and store it.
 * @value: as it was given; ignored for a switch
 * Return: NULL, or what was expected of it.
 */
const char *opt_store(struct opts *o, enum opt_id id, const char *value);

#endif
