/* SPDX-License-Identifier: MIT */
/*
 * One process that wants all of an isolated fabric: app_device_crowd MAX
 *
 * It becomes a client as often as it can. It must be refused before MAX, and again each time. The
 * clients live until standard input ends.
 */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MORE 100 /* refusals */

int main(int argc, char **argv)
{
	unsigned int n = 0, refused = 0, i, max = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	static struct protocol_client c;
	int ret = 0;

	for (i = 0; i < max + MORE && refused < MORE; i++) {
		ret = protocol_hello(&c, "crowd", SEG_FIRST);
		n += !ret;
		refused += ret == -EUSERS;
	}
	ok(n > 0 && n < max, "%u of at most %u clients", n, max);
	ok(refused == MORE, "more are refused: %d", ret);
	while (getchar() != EOF)
		;
	return tap_failed != 0;
}
