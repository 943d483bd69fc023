/* SPDX-License-Identifier: MIT */
/** DOC: objects, and the current values of recorded keys and numbers. */
#ifndef TRACES_REPLAY_OBJECTS_H
#define TRACES_REPLAY_OBJECTS_H

#include "traces/replay/replay.h"

int rp_objects_init(struct rp_prog *g);
void *rp_obj(const struct rp_prog *g, enum vobj kind, uint32_t ord);
/** rp_obj_find() - the ordinal of an object; 0: none. */
uint32_t rp_obj_find(const struct rp_prog *g, enum vobj kind, const void *obj);
/** rp_qp_find() - the ordinal of the QP with that number in this run; 0: none. */
uint32_t rp_qp_find(struct rp_prog *g, uint32_t qpn);
/** rp_env() - callbacks for the parser and the walker of calls. */
struct vcall_env rp_env(struct rp_thread *t);
/** rp_key_map(), rp_qpn_map() - the key or number of this run for a recorded one. */
uint32_t rp_key_map(const struct rp_prog *g, uint32_t key, uint64_t when, int64_t *delta);
uint32_t rp_qpn_map(const struct rp_prog *g, uint32_t qpn, uint64_t when);
/**
 * rp_port_map() - the same for a port number. Ports that no identifier was given are the program's
 * choice, and stay.
 */
uint16_t rp_port_map(const struct rp_thread *t, uint16_t port);
/** rp_port_publish() - publish the port of an identifier, if it has one. */
void rp_port_publish(struct rp_prog *g, uint32_t id);
/** rp_handle_map() - the same for the handle by which an object of that kind is imported. */
uint32_t rp_handle_map(const struct rp_prog *g, enum rp_made_kind kind, uint32_t handle,
		       uint64_t when);

#endif
