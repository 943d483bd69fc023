/* SPDX-License-Identifier: MIT */
/**
 * DOC: device profiles: limits, abilities and names of a fabric's devices.
 *
 * A profile is text, `key value` a line, # for comments; see rdmaemu-profile(5). A key that it does
 * not have is as in the built-in profile `generic`.
 */
#ifndef FABRIC_COMMON_PROFILE_H
#define FABRIC_COMMON_PROFILE_H

#include "emulator/engine.h"

#define PROFILE_MAX_DEVS 8u /* PROTO_MAX_DEVS */
#define PROFILE_DEFAULT	 "generic"

/**
 * struct profile - the content of a profile.
 * @title: its name or file
 * @dev_name: the names of the devices, before their numbers
 * @active_mtu: enum ibv_mtu; 0: as the network interface allows
 * @prefix: subnet prefix of InfiniBand GIDs
 */
struct profile {
	char title[64];
	char dev_name[20];
	char fw[32];
	char board[32];
	u32 n_devs;
	u32 n_ports;
	u32 link_layer; /* enum hca_link */
	u32 active_mtu, max_mtu;
	u32 speed;
	u32 width; /* enum hca_width */
	u32 pci_vendor; /* 0: the low half of the vendor's id */
	u64 prefix;
	u32 n_pkeys;
	u16 pkey[LIM_PKEYS];
	struct hca_limits lim;
};

/**
 * profile_load() - read a profile.
 * @name: of a built-in one, or a file
 * Return: 0, or -1 after one line on stderr that names file and line.
 */
int profile_load(struct profile *p, const char *name);
/** profile_hash() - a hash of the content, equal for equal profiles; never 0. */
u64 profile_hash(const struct profile *p);
/** profile_builtin() - the text of a built-in profile and its length, or NULL. */
const char *profile_builtin(const char *name, size_t *len);
/** profile_builtins() - their names, the last one followed by NULL. */
const char *const *profile_builtins(void);

#endif
