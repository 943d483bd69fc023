/* SPDX-License-Identifier: MIT */
/**
 * DOC: keys of a connection: X25519 between two fresh keys, the token, and both greetings.
 *
 * Everything follows by HKDF-SHA-256 from the shared secret of the two fresh keys, with the token
 * as salt, and from the digest of both HELLOs. So a proof shows the token, the fresh key and that
 * both sides have seen the same greetings, flags included; and who learns the token later can open
 * no traffic that was recorded before. Someone who only listens cannot try tokens; a peer can.
 */
#ifndef FABRIC_JOIN_KEYS_H
#define FABRIC_JOIN_KEYS_H

#include "emulator/types.h"

#define KEYS_LEN 32u

/* Which side: index of struct join_keys. */
enum join_side {
	SIDE_CONNECTS,
	SIDE_ACCEPTS,
	SIDES,
};

struct join_keys {
	u8 proof[SIDES][KEYS_LEN]; /* what each side shows */
	u8 secret[SIDES][KEYS_LEN]; /* seal_begin() of what each side sends */
};

/* --- keys_memory.c --- */

/** keys_memory_reserve() - from now on the arithmetic of keys needs no allocation. */
void keys_memory_reserve(void);

/* --- keys.c --- */

/** keys_make() - a fresh key pair. Return: 0, or -EIO: there are no random numbers. */
int keys_make(u8 secret[KEYS_LEN], u8 public[KEYS_LEN]);
/** keys_expand() - HKDF-SHA-256's second step: a key that follows from another and @info. */
void keys_expand(const u8 from[KEYS_LEN], const void *info, u32 len, u8 out[KEYS_LEN]);
/**
 * keys_derive() - the keys of a connection. @greetings: digest of both HELLOs
 * Return: 0, or -EPROTO: @peer is not a valid key.
 */
int keys_derive(struct join_keys *k, const u8 secret[KEYS_LEN], const u8 peer[KEYS_LEN],
		const u8 *token, u32 token_len, const u8 greetings[KEYS_LEN]);

#endif
