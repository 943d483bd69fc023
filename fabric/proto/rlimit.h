/* SPDX-License-Identifier: MIT */
/** DOC: the resource limit that causes an error, for messages. */
#ifndef FABRIC_PROTO_RLIMIT_H
#define FABRIC_PROTO_RLIMIT_H

#include "emulator/types.h"

#include <stddef.h>

#define RLIMIT_TEXT 160

/**
 * rlimit_explain() - the limit of this process that may be the cause of an error.
 * @err: -ENOMEM, -EFBIG or -EMFILE; no limit explains others
 * @bytes: how much memory, or how long a file, was wanted; 0: unknown
 *
 * Return: @buf, with text that follows an error's name, or empty: there is no such limit.
 */
const char *rlimit_explain(int err, u64 bytes, char *buf, size_t size);

#endif
