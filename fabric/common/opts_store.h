/* SPDX-License-Identifier: MIT */
/** DOC: what the value of a setting may be, and where it goes. */
#ifndef FABRIC_COMMON_OPTS_STORE_H
#define FABRIC_COMMON_OPTS_STORE_H

#include "fabric/common/opts.h"

#define CHAOS_RANDOM "random"

/**
 * opt_store() - take a setting's value.
 * @value: as it was given; of a switch, anything
 * Return: NULL, or what was expected of it.
 */
const char *opt_store(struct opts *o, enum opt_id id, const char *value);

#endif
