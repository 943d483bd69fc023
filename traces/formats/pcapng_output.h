/* SPDX-License-Identifier: MIT */
/** DOC: writes a pcapng file's buffers, directly or through the page cache. */
#ifndef TRACES_FORMATS_PCAPNG_OUTPUT_H
#define TRACES_FORMATS_PCAPNG_OUTPUT_H

#include "emulator/types.h"

/**
 * struct pcapng_output - a file.
 * @regular: a regular file
 * @cached: writes left that use the page cache; ~0: all
 * @n_direct: direct writes since the last check, which took @direct_ns
 */
struct pcapng_output {
	int fd;
	bool regular;
	u32 cached;
	u32 n_direct;
	u64 direct_ns;
};

/** pcapng_output_write() - write @len bytes. Return: 0, or errno. @done is set in both cases. */
int pcapng_output_write(struct pcapng_output *o, const u8 *buf, u32 len, u32 *done);

#endif
