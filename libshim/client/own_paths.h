/* SPDX-License-Identifier: MIT */
/** DOC: what the paths of this program's queue pairs lead by: pollers wait accordingly. */
#ifndef LIBSHIM_CLIENT_OWN_PATHS_H
#define LIBSHIM_CLIENT_OWN_PATHS_H

#include "emulator/types.h"

/**
 * enum own_path - of a queue pair in RTR, RTS or SQD.
 * @OWN_PATH_DIRECT: connected, without a link on the way: its peer itself delivers
 * @OWN_PATH_WIRE: to a host outside of the fabric; that of a UD queue pair may be one
 */
enum own_path {
	OWN_PATH_DIRECT = 1,
	OWN_PATH_WIRE = 2,
};

/**
 * shim_own_paths() - which paths there are: enum own_path, or'ed. The answer is one of the last
 * 10 ms before @now, of real time.
 */
u32 shim_own_paths(u64 now);

#endif
