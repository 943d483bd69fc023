/* SPDX-License-Identifier: MIT */
/** DOC: who may control an isolated fabric, and the socket of its programs. See control.c. */
#ifndef FABRIC_SERVER_CONTROL_H
#define FABRIC_SERVER_CONTROL_H

#include "fabric/core/fabric.h"

/** control_is_needed() - whether programs of an isolated fabric may not send a request. */
bool control_is_needed(u32 op);
/**
 * control_is_granted() - whether a connection that was just accepted may control the fabric.
 * @programs: it came through the socket of the programs
 */
bool control_is_granted(const struct fabric *f, const struct conn *c, bool programs);
/** control_drop() - PROTO_DROP: the process of the connection becomes a program. Return: 0. */
int control_drop(struct conn *c);
/** control_listen() - make the directory and the socket of the programs. Return: 0 or -errno. */
int control_listen(struct fabric *f);
/** control_end() - remove both. */
void control_end(struct fabric *f);

#endif
