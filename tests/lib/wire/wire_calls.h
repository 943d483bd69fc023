/* SPDX-License-Identifier: MIT */
/**
 * DOC: the calls that a fabric process in a test makes, and what the world gives them.
 */
#ifndef TESTS_LIB_WIRE_WIRE_CALLS_H
#define TESTS_LIB_WIRE_WIRE_CALLS_H

#include "tests/lib/wire/wire_world.h"

#include <stdio.h>
#include <stdlib.h>

#define FD_EPOLL   (1 << 19)
#define FD_SOCKET  (1 << 20) /* of the fabric process; programs have the numbers after it */
#define FD_SOCKETS 1024

#define WIRE_MUST(cond)                                                                            \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Datagrams that have not been read. */
struct wire_arriving {
	const u8 *data; /* NULL: there are none */
	u32 len;
	u32 step; /* bytes of each but the last; 0: there is one */
	u8 tclass;
	struct sockaddr_in6 from;
	socklen_t from_len;
};

extern struct wire_arriving wire_arriving;

#endif
