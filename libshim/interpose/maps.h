/* SPDX-License-Identifier: MIT */
/**
 * DOC: the mappings of this process, from /proc/self/maps or smaps, without stdio: the program may
 * wrap that.
 */
#ifndef LIBSHIM_INTERPOSE_MAPS_H
#define LIBSHIM_INTERPOSE_MAPS_H

#include "emulator/types.h"
#include "libshim/interpose/own_fd.h"

#include <sys/types.h>

/** struct maps - a reader; its fields are the reader's own. */
struct maps {
	int fd;
	u32 pos;
	u32 len;
	char buf[4096];
};

#define MAPS_NAME 16u

/**
 * struct mapping - a line: "start-end rwxp offset major:minor inode path".
 * @inode: 0: anonymous
 * @name: the path's beginning; "": there is none
 */
struct mapping {
	u64 from;
	u64 to;
	u64 offset;
	u64 inode;
	dev_t dev;
	bool read;
	bool write;
	bool exec;
	bool shared;
	char name[MAPS_NAME];
};

/** maps_open() - start reading. @smaps: with the flags of each mapping. Return: 0 or -errno. */
int maps_open(struct maps *m, bool smaps);
void maps_close(struct maps *m);
/** maps_next() - the next mapping, in the order of addresses. Return: false: there are no more. */
bool maps_next(struct maps *m, struct mapping *v);
/** maps_find() - read all up to the mapping that has @addr. Return: 0 or -errno. -ENOENT: none */
int maps_find(u64 addr, struct mapping *v);
/**
 * maps_flags() - in smaps, read on to the flags of the mapping that maps_next() has returned.
 * @text: receives "rd wr mr ", proc(5)'s words of two letters, each with a space after it
 *
 * Every mapping must be followed by this call before the next one.
 * Return: false: the kernel does not tell them, or they are too long for @text.
 */
bool maps_flags(struct maps *m, char *text, size_t size);

/**
 * struct maps_query - asks the kernel for single mappings.
 * @maps: /proc/self/maps, kept open; at first its descriptor is -1
 * @unsupported: the kernel is older than Linux 6.11: the mappings are read
 */
struct maps_query {
	struct own_fd maps;
	bool unsupported;
};

/**
 * maps_query_at() - the mapping that has @addr; its name is left empty.
 *
 * The program may close the file, and open that of another process under its number. So the caller
 * compares what is mapped with what only this process has.
 * Return: 0 or -errno. -ENOENT: nothing is mapped there
 */
int maps_query_at(struct maps_query *q, u64 addr, struct mapping *v);
/** maps_query_close() - also in a forked child, where the file tells its parent's mappings. */
void maps_query_close(struct maps_query *q);

#endif
