/* SPDX-License-Identifier: MIT */
/* Commands of connection management on the engine alone (tests/lib/engine/emu.h), for tests. */
#ifndef TESTS_LIB_C_EMU_CMID_H
#define TESTS_LIB_C_EMU_CMID_H

#include "emulator/audit/audit.h"
#include "emulator/cm/model.h"
#include "tests/lib/engine/emu.h"

/**
 * emu_fabric() - an HCA as emu_new() makes it, with more addresses and a device on another node.
 */
struct emu *emu_fabric(u64 seed);
/** emu_ip() - an address from its text, IPv4 or IPv6, with "%n" for a scope. */
struct cm_addr emu_ip(const char *text, u16 port);
/** emu_do() - a command on an identifier or channel. @c: NULL: no arguments. */
int emu_do(struct emu *m, u32 client, u32 op, u32 handle, struct cmd_cm *c);
/** emu_chan() - a new channel. */
u32 emu_chan(struct emu *m, u32 client, u32 number);
/** emu_id_new() - a new identifier; its uid is @uid. */
u32 emu_id_new(struct emu *m, u32 client, u32 ch, u32 ps, u64 uid);
int emu_bind(struct emu *m, u32 client, u32 id, const char *ip, u16 port);
int emu_resolve(struct emu *m, u32 client, u32 id, const char *from, const char *to, u16 port);
int emu_option(struct emu *m, u32 client, u32 id, u32 name, s32 value, u32 len);
/** emu_get() - the next event of a channel. Return: 0 or -errno. */
int emu_get(struct emu *m, u32 client, u32 ch, struct cm_event *ev);
/** emu_got() - whether the next event is of that type, uid and status. */
bool emu_got(struct emu *m, u32 client, u32 ch, u32 type, u64 uid, s32 status);
/** emu_sound() - whether the audit finds nothing; prints what it finds. */
bool emu_sound(struct emu *m);

#endif
