/* SPDX-License-Identifier: MIT */
/**
 * DOC: connection management on the bare engine: identifiers, events, handshakes. See
 * tests/lib/engine/emu.h.
 */
#ifndef TESTS_LIB_C_EMU_CM_H
#define TESTS_LIB_C_EMU_CM_H

#include "emulator/cm/proto.h"
#include "tests/lib/engine/emu.h"

/** struct emu_id - an identifier of a client. Its uid is its handle + 1, but for children. */
struct emu_id {
	u32 client;
	u32 ch;
	u32 h;
};

/**
 * struct emu_cm - two programs, each with a channel: side 0 is active, side 1 passive.
 * @swap: side 0 is client 1, side 1 is client 0; else the other way round
 */
struct emu_cm {
	struct emu *m;
	u32 swap;
	u32 ch[2]; /* by side */
	struct emu_id listener;
};

/** emu_cm_new() - with a listener in port space @ps. */
struct emu_cm *emu_cm_new(u64 seed, u32 ps, u32 backlog);
struct emu_cm *emu_cm_new_swapped(u64 seed, u32 ps);
/**
 * emu_cm_again() - a new program for side @side, whose client has died: its channel, and a
 * listener.
 */
void emu_cm_again(struct emu_cm *c, u32 side, u32 ps);
void emu_cm_free(struct emu_cm *c);

u32 emu_cm_chan(struct emu *m, u32 client);
int emu_cm_cmd(struct emu *m, const struct emu_id *id, u32 op, struct cmd_cm *arg);
struct emu_id emu_cm_id(struct emu *m, u32 client, u32 ch, u32 ps);
/** emu_cm_active() - side 0's identifier, its route to the listener resolved. */
struct emu_id emu_cm_active(struct emu_cm *c);
struct hca_cmid *emu_cmid(struct emu *m, const struct emu_id *id);

/** emu_cm_next() - the next event of a side's channel, or false. */
bool emu_cm_next(struct emu_cm *c, u32 side, struct cm_event *ev);
/** emu_cm_want() - the next event must be this one. */
bool emu_cm_want(struct emu_cm *c, u32 side, u32 type, s32 status, struct cm_event *ev);
/** emu_cm_await() - the same, but it may take a while of the wire's and the timers' work. */
bool emu_cm_await(struct emu_cm *c, u32 side, u32 type, s32 status, struct cm_event *ev);
/** emu_cm_request() - the request that has come to the listener: its identifier. */
struct emu_id emu_cm_request(struct emu_cm *c);

/**
 * emu_cm_*() - as the calls of the rdma_cm; @p NULL: usual parameters, where there must be some.
 */
int emu_cm_connect(struct emu *m, const struct emu_id *id, const struct cm_param *p);
int emu_cm_accept(struct emu *m, const struct emu_id *id, const struct cm_param *p);
int emu_cm_rtu(struct emu *m, const struct emu_id *id);
int emu_cm_reject(struct emu *m, const struct emu_id *id, const struct cm_param *p);
int emu_cm_disconnect(struct emu *m, const struct emu_id *id);
int emu_cm_destroy(struct emu *m, const struct emu_id *id);
struct cm_param emu_cm_param(u32 qpn, u32 data_len);

/**
 * emu_cm_pair() - a whole handshake, over a wire without faults. Return: whether it went as it
 * must.
 */
bool emu_cm_pair(struct emu_cm *c, struct emu_id *a, struct emu_id *b);
/** emu_cm_audit() - whether HCA memory is sound. */
bool emu_cm_audit(const struct emu *m);

#endif
