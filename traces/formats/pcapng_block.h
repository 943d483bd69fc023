/* SPDX-License-Identifier: MIT */
/**
 * DOC: blocks of pcapng, into memory.
 *
 * A block is made in two passes over the same code: with @at NULL nothing is stored and only its length is
 * found, so that a writer knows whether there is room. Integers are in the machine's byte order, which
 * the section header tells.
 */
#ifndef TRACES_FORMATS_PCAPNG_BLOCK_H
#define TRACES_FORMATS_PCAPNG_BLOCK_H

#include "traces/formats/pcapng.h"

/** struct pcapng_count - what an interface's statistics say, of one file. */
struct pcapng_count {
	u64 packets;
	u64 filtered;
	u64 dropped;
};

/** block_*() - store a block at @at, unless that is NULL. Return: its length, a multiple of 4. */
u32 pcapng_block_section(u8 *at, const struct pcapng_opts *o);
u32 pcapng_block_iface(u8 *at, const struct pcapng_iface *i);
u32 pcapng_block_packet(u8 *at, const struct pcapng_pkt *p);
/* @ns: the time of the end. */
u32 pcapng_block_stats(u8 *at, u32 iface, u64 ns, const struct pcapng_count *n);
/** pcapng_block_len() - what the block at @at says of its own length. */
u32 pcapng_block_len(const u8 *at);
/** pcapng_block_is_packet() - whether it is a packet. */
bool pcapng_block_is_packet(const u8 *at);

#endif
