/* SPDX-License-Identifier: MIT */
/** DOC: `--real`: whether a program gets the machine's own RDMA devices, or the emulator's. */
#ifndef FABRIC_CLI_REAL_H
#define FABRIC_CLI_REAL_H

#include "fabric/common/opts.h"

/**
 * real_choose() - decide whose devices a program gets, and check that the options agree.
 * @o: @real is REAL_YES, REAL_RULES or REAL_NO afterwards. With REAL_NO and @emulate the program
 *	has real devices as well
 * @verb: for messages
 * @must: real devices must exist unless the emulator may take their place
 * @may_have_fabric: the run may have fault rules and a journal. Then @real is REAL_RULES if options
 *	ask for them, and @fabric names the fabric that has them
 *
 * With --explain a line on stderr says which devices they are. Programs that the program starts by
 * `rdmaemu run` get the same: a variable that says otherwise is changed. Only where devices are
 * named, the tap is preloaded, which hides the others.
 * Return: 0, or -1 after one line on stderr.
 */
int real_choose(struct opts *o, const char *verb, bool must, bool may_have_fabric);
/**
 * real_run() - become a program. Unless devices are named, nothing is changed: its environment,
 * descriptors and libraries are those that rdmaemu was started with.
 * Return: exit status if it cannot be executed.
 */
int real_run(const struct opts *o, char **argv);

/**
 * real_keeps_requests() - whether the journal of a run on real devices is to describe the requests
 * that fail, which costs each post something: not if the run has a fabric only for its rules.
 */
bool real_keeps_requests(const struct opts *o);

#endif
