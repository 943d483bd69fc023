/* SPDX-License-Identifier: MIT */
/**
 * DOC: builds pcapng blocks in memory.
 *
 * The same code runs in two passes: with @at NULL it stores nothing and only computes the length,
 * so that the writer knows how much room it needs. Integers are in the machine's byte order, which
 * the section header records.
 */
#ifndef TRACES_FORMATS_PCAPNG_BLOCK_H
#define TRACES_FORMATS_PCAPNG_BLOCK_H

#include "traces/formats/pcapng.h"

/** struct pcapng_count - statistics of an interface in one file. */
struct pcapng_count {
	u64 packets;
	u64 filtered;
	u64 dropped;
};

/**
 * pcapng_block_*() - store a block at @at, unless that is NULL. Return: its length, a multiple of
 * 4.
 */
u32 pcapng_block_section(u8 *at, const struct pcapng_opts *o);
u32 pcapng_block_iface(u8 *at, const struct pcapng_iface *i);
u32 pcapng_block_packet(u8 *at, const struct pcapng_pkt *p);
/* @ns: the time of the end. */
u32 pcapng_block_stats(u8 *at, u32 iface, u64 ns, const struct pcapng_count *n);
/** pcapng_block_len() - the length that the block at @at contains. */
u32 pcapng_block_len(const u8 *at);
/** pcapng_block_is_packet() - whether the block at @at is a packet. */
bool pcapng_block_is_packet(const u8 *at);

#endif
