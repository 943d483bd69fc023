/* SPDX-License-Identifier: MIT */
/*
 * A client that asks for what other clients have: app_device_peers ERR
 *
 * It speaks the protocol itself. For each number that a client may have, it asks for that client's
 * segment, an event channel and its helper. Each answer must be -ERR, but those about itself.
 */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <stdlib.h>
#include <string.h>

#define CLIENTS 64u
#define GENS	64u

static const uint32_t ops[] = { PROTO_SEG, PROTO_CHAN, PROTO_HELPER };

int main(int argc, char **argv)
{
	static struct protocol_client me;
	uint32_t client, gen, i, others = 0;
	int wanted = argc > 1 ? -atoi(argv[1]) : 0;
	struct proto_msg m;

	if (protocol_hello(&me, "peers", SEG_FIRST))
		die("HELLO");
	for (client = 0; client < CLIENTS; client++)
		for (gen = 1; gen < GENS; gen++)
			for (i = 0; i < ARRAY_SIZE(ops); i++) {
				if (client == me.welcome.client && gen == me.welcome.gen)
					continue;
				m = (struct proto_msg){ .op = ops[i],
							.peer = { .client = client,
								  .gen = gen,
								  .size = SEG_FIRST } };
				if (!protocol_ask(me.sock, &m, NULL, 0))
					die("no answer");
				others += m.ret != wanted;
			}
	ok(!others, "%u requests about others are not refused", others);
	return tap_failed != 0;
}
