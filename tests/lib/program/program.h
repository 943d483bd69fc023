/* SPDX-License-Identifier: MIT */
/**
 * DOC: a program next to the fabric process of tests/lib/wire/wire_world.h: a client of that world
 * that sends and receives by itself. The sources are libshim/client/wire_*.c; descriptors and the
 * clock are the test's.
 */
#ifndef TESTS_LIB_PROGRAM_PROGRAM_H
#define TESTS_LIB_PROGRAM_PROGRAM_H

#include "libshim/client/wire_receive.h"
#include "tests/lib/wire/wire_world.h"

/**
 * struct program - the program and its surroundings.
 * @refuses: socket(2) fails
 * @dies: it ends when it has given the token back, before it sends what waits for that
 * @n_opened, @n_open: sockets that it has opened so far, and has open
 * @n_kicks: how often it has woken the fabric process
 * @naps: what happens while it waits for room in a socket; NULL: room comes
 */
struct program {
	bool refuses, dies;
	u32 n_opened, n_open;
	u32 n_kicks;
	void (*naps)(void);
};

extern struct program program;

/**
 * program_begin() - the program is that client, and has no sockets yet. wire.live, which is client
 * 1's, is connected as new.
 */
void program_begin(u32 client);
/** program_ring() - run a queue pair of the program, as ibv_post_send() does. */
void program_ring(struct emu_qp *q);
/** program_send() - post a SEND of @len bytes and run it. */
void program_send(struct emu_qp *q, u32 len);
/** program_look() - a poller finds nothing, and looks at the wires. */
enum wire_look program_look(void);
/** program_open_wires() - look once, with which the program maps the wires. */
void program_open_wires(void);
/** program_wire() - the descriptor by which the program reads a wire. */
int program_wire(enum wire_to to);
/** program_port() - the source port of a socket of the program. 0: it is none of its flows'. */
u16 program_port(int fd);
/**
 * program_takes_number() - the program closes a descriptor, and a file of its own gets its number.
 */
void program_takes_number(int fd);
/** program_end() - the program has been killed: the fabric process clears away. */
void program_end(void);

#endif
