/* SPDX-License-Identifier: MIT */
/**
 * DOC: the blocks of a capture file, for tests in CUnit.
 */
#ifndef TESTS_UNIT_TRACES_FORMATS_PCAPNG_BLOCKS_H
#define TESTS_UNIT_TRACES_FORMATS_PCAPNG_BLOCKS_H

#include "emulator/types.h"
#include "tests/lib/c/cu.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** struct pcapng_file - a file that was read. */
struct pcapng_file {
	u8 *at;
	size_t len;
};

/** pcapng_file_read() - a file of less than 8 MiB; the caller frees @at. */
static inline struct pcapng_file pcapng_file_read(const char *name)
{
	struct pcapng_file f = { .at = malloc(8u << 20) };
	int fd = open(name, O_RDONLY), n;

	CU_ASSERT_FATAL(fd >= 0 && f.at);
	while ((n = (int)read(fd, f.at + f.len, (8u << 20) - f.len)) > 0)
		f.len += (size_t)n;
	close(fd);
	return f;
}

static inline u32 pcapng_word(const u8 *p)
{
	u32 v;

	memcpy(&v, p, 4);
	return v;
}

/**
 * struct pcapng_blocks - what is in a file
 * @n: blocks by the low bits of their type
 * @whole: bytes of complete blocks
 * @last: type of the last of them
 */
struct pcapng_blocks {
	u32 n[16];
	u32 sections;
	size_t whole;
	u32 last;
};

/** pcapng_blocks_count() - the blocks of a file, up to one that is not whole. */
static inline struct pcapng_blocks pcapng_blocks_count(const struct pcapng_file *f)
{
	struct pcapng_blocks b = { .whole = 0 };
	u32 len, type;

	while (f->len - b.whole >= 12) {
		type = pcapng_word(f->at + b.whole);
		len = pcapng_word(f->at + b.whole + 4);
		if (len < 12 || len % 4 || len > f->len - b.whole)
			break;
		CU_ASSERT_EQUAL(pcapng_word(f->at + b.whole + len - 4), len);
		if (type == 0x0a0d0d0a)
			b.sections++;
		else
			b.n[type & 15]++;
		b.last = type;
		b.whole += len;
	}
	return b;
}

/* Types of blocks: of an interface, of its statistics, of a packet. */
#define PCAPNG_IDB 1
#define PCAPNG_ISB 5
#define PCAPNG_EPB 6

/** pcapng_option() - an option of the block at @at, whose fixed part ends at @from, or NULL. */
static inline const u8 *pcapng_option(const u8 *at, u32 from, u32 code, u32 *len)
{
	const u8 *end = at + pcapng_word(at + 4) - 4, *o = at + from;
	u32 n;

	for (; o + 4 <= end; o += 4 + (n + 3) / 4 * 4) {
		n = pcapng_word(o) >> 16;
		if ((pcapng_word(o) & 0xffff) == code && n) {
			*len = n;
			return o + 4;
		}
	}
	return NULL;
}

/** pcapng_block_nth() - the block of this type that has @nth of them before it. */
static inline const u8 *pcapng_block_nth(const struct pcapng_file *f, u32 type, u32 nth)
{
	size_t at = 0;

	for (; at < f->len; at += pcapng_word(f->at + at + 4))
		if (pcapng_word(f->at + at) == type && !nth--)
			return f->at + at;
	CU_FAIL_FATAL("no such block");
	return NULL;
}

#endif
