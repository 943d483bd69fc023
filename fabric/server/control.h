/* SPDX-License-Identifier: MIT */
/** DOC: who may control an isolated fabric, and who is on which node. See control.c. */
#ifndef FABRIC_SERVER_CONTROL_H
#define FABRIC_SERVER_CONTROL_H

#include "fabric/core/fabric.h"

/** control_is_needed() - whether programs of an isolated fabric may not send a request. */
bool control_is_needed(u32 op);
/**
 * control_admit() - decide what a connection that was just accepted may do: conn.control and
 * conn.node.
 * @door: the node whose socket it came by; CONN_NO_NODE: by the one for control
 */
void control_admit(const struct fabric *f, struct conn *c, s32 door);
/**
 * control_check_node() - whether the process of a connection may be on the node @name, which may
 * not exist yet; "": the host. Return: 0 or -EPERM, after a note.
 */
int control_check_node(struct fabric *f, const struct conn *c, const char *name);
/** control_drop() - PROTO_DROP: the process of the connection becomes a program. Return: 0. */
int control_drop(struct conn *c);

#endif
