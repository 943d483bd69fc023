/* SPDX-License-Identifier: MIT */
/** DOC: how many clients one process of an isolated fabric may have. See quota.c. */
#ifndef FABRIC_SERVER_QUOTA_H
#define FABRIC_SERVER_QUOTA_H

#include "fabric/core/fabric.h"

/** quota_note() - a line in the log, once for each process: it has as many @what as it may. */
void quota_note(struct fabric *f, const struct conn *c, const char *what);
/**
 * quota_check_client() - whether the process of a connection may become a client on @node.
 * Return: 0 or -EUSERS, after a note.
 */
int quota_check_client(struct fabric *f, const struct conn *c, u32 node);

#endif
