/* SPDX-License-Identifier: MIT */
/*
 * One process that wants all of an isolated fabric: app_device_crowd clients|nodes MAX
 *
 * It becomes a client as often as it can, on its own node or each time on another one. It must be
 * refused before MAX, and again each time. The clients live until standard input ends.
 */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MORE 100 /* refusals */

int main(int argc, char **argv)
{
	unsigned int n = 0, refused = 0, i, max = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	bool nodes = argc > 1 && !strcmp(argv[1], "nodes");
	static struct protocol_client c;
	char name[32];
	int ret = 0;

	for (i = 0; i < max + MORE && refused < MORE; i++) {
		snprintf(name, sizeof(name), "crowd%u", i);
		if (nodes)
			setenv(PROTO_NODE_ENV, name, 1);
		ret = protocol_hello(&c, "crowd", SEG_FIRST);
		n += !ret;
		refused += ret == -EUSERS;
		/* A node stays without its client. */
		if (!ret && nodes)
			protocol_leave(&c);
	}
	ok(n > 0 && n < max, "%u of at most %u %s", n, max, argv[1]);
	ok(refused == MORE, "more are refused: %d", ret);
	while (getchar() != EOF)
		;
	return tap_failed != 0;
}
