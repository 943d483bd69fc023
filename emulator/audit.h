/* SPDX-License-Identifier: MIT */
/**
 * DOC: the audit: whether all of HCA memory is consistent with itself.
 *
 * For tests, and for `rdmaemu status --audit`. Nothing of the model calls it.
 */
#ifndef EMULATOR_AUDIT_H
#define EMULATOR_AUDIT_H

#include "emulator/hca.h"

/**
 * hca_audit() - check every invariant of the HCA's memory. Token held, between two steps.
 * @why: gets a line about the first thing that is wrong; "" when nothing is
 * Return: 0, -EINVAL when something is wrong, -ENOMEM when it could not be found out.
 */
int hca_audit(const struct hca *hca, char *why, size_t size);

#endif
