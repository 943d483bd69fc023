/* SPDX-License-Identifier: MIT */
/**
 * DOC: address vectors: who is addressed.
 */
#ifndef EMULATOR_AV_H
#define EMULATOR_AV_H

#include "emulator/hca.h"

/* --- av.c --- */

/**
 * av_check() - check an address of a client and find its device.
 * Return: 0, -EINVAL (also for GIDs of different families), -ENODATA (no such source GID) or
 *	   -ETIMEDOUT (nobody has the address, or there is no place for its host).
 */
int av_check(struct hca *hca, u32 client, u32 dev, struct hca_av *av);
/** av_is_mcast() - a multicast GID, or an InfiniBand multicast LID. */
bool av_is_mcast(const struct hca_av *av);
/** gid_is_mcast() - a multicast group's. */
bool gid_is_mcast(const u8 gid[16]);

#endif
