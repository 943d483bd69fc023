/* SPDX-License-Identifier: MIT */
/**
 * DOC: queue pairs of a vendor's own type, IBV_QPT_DRIVER.
 *
 * The recorder shows efadv_create_qp_ex() and efadv_create_driver_qp() as the call of verbs that
 * creates a queue pair, since traces know no vendor's attributes. SRD is the only type that can
 * be played; verbs themselves create none.
 */
#ifndef TRACES_REPLAY_DRIVER_QP_H
#define TRACES_REPLAY_DRIVER_QP_H

#include "traces/calls/calls.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * rp_is_driver_qp() - whether a call created a queue pair of a vendor's own type.
 * @want: the recorded result; a call that failed may be one of verbs, and is played as such
 */
bool rp_is_driver_qp(const struct vcall_parsed *c, const char *want);
/**
 * rp_driver_qp_create() - create an SRD queue pair by libefa, with the call's attributes.
 * Return: the queue pair, or 0 with errno: EOPNOTSUPP where there is no libefa.
 */
uint64_t rp_driver_qp_create(const struct vcall_parsed *c);

#endif
