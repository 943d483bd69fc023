/* SPDX-License-Identifier: MIT */
/**
 * DOC: writing pcapng files (draft-ietf-opsawg-pcapng).
 *
 * Theory of operation
 * -------------------
 * A file is a section header, interface descriptions, enhanced packet blocks in the order in which they are
 * given, and at the end each interface's statistics. libpcap's writer has neither interfaces nor comments,
 * nor packets of several link types.
 *
 * Blocks gather in a buffer of bounded size, and only whole blocks are handed to write(2): a file whose writer
 * was killed can be read up to the last complete block. Nothing of a block that could not be written as
 * a whole is left in a regular file. Times are nanoseconds since 1970, or since whatever the caller says.
 *
 * A ring is files FILE_00001.pcapng, FILE_00002.pcapng ...: when one is full the next one begins, and the
 * oldest goes when there are too many. Each is complete: it repeats all interfaces, and ends with statistics
 * that count what is in it.
 *
 * No function is safe to be called by two threads at a time on one writer.
 */
#ifndef TRACES_FORMATS_PCAPNG_H
#define TRACES_FORMATS_PCAPNG_H

#include "emulator/types.h"

#define PCAPNG_IFACES  65536u /* of a writer */
#define PCAPNG_STRING  1024u /* bytes of a name or comment; what is longer is cut */
#define PCAPNG_BUFFER  (1u << 20) /* bytes gathered before they are written */
#define PCAPNG_SNAPLEN 262144u /* no packet has more captured bytes */

/**
 * struct pcapng_opts - what pcapng_open() is told. All but @path may be 0.
 * @path: the file, which is made or truncated; "-": standard output; a FIFO or socket will do
 * @fd: when @path is NULL: what to write to; it becomes the writer's, which closes it
 * @ring_bytes: a file of a ring is full when one more block would make it longer than that; 0: never
 * @ring_packets: ... when it has so many packets; 0: never
 * @ring_files: files that are kept of a ring; 0: all. With neither bytes nor packets there is no ring
 * @mode: of a file that is made, with S_IFREG; 0: as the umask says
 * @claim: NULL, or told of each file that is opened by its path, before it is truncated. Return: 0, or -errno: not
 *	that one; nothing is done to it then. @arg: its first
 * @hardware, @os, @application: of the section header; NULL: not said
 * @comment: the section's
 */
struct pcapng_opts {
	const char *path;
	int fd;
	u64 ring_bytes;
	u64 ring_packets;
	u32 ring_files;
	u32 mode;
	int (*claim)(void *arg, int fd, const char *path);
	void *arg;
	const char *hardware;
	const char *os;
	const char *application;
	const char *comment;
};

/**
 * struct pcapng_iface - an interface: a port.
 * @name: "node1/rdmaemu0/1"; @description: NULL: not said
 * @filter: the expression that chose its packets; NULL: none
 * @link: LINKTYPE_*; @snaplen: 0: no limit
 * @mac: or NULL; @speed: bits per second, 0: not said
 */
struct pcapng_iface {
	const char *name;
	const char *description;
	const char *filter;
	u32 link;
	u32 snaplen;
	const u8 *mac;
	u64 speed;
};

enum pcapng_dir {
	PCAPNG_DIR_UNKNOWN,
	PCAPNG_INBOUND,
	PCAPNG_OUTBOUND,
};

/**
 * struct pcapng_pkt - a packet.
 * @ns: its time
 * @frame: @caplen bytes, of @len that it has on the wire
 * @iface: as pcapng_add_iface() gave it
 * @dir: enum pcapng_dir
 * @dropped: packets of that interface that the capture has lost since the packet before
 * @id: a number that tells it from others; 0: not said
 * @comment: NULL or "": none
 */
struct pcapng_pkt {
	u64 ns;
	const u8 *frame;
	u32 caplen, len;
	u32 iface;
	u8 dir;
	u64 dropped;
	u64 id;
	const char *comment;
};

/**
 * struct pcapng_stat - what a writer has done so far, over all files of a ring.
 * @packets, @bytes: that have been written, also to files that are gone by now; of packets whole ones
 * @waiting: packets that are gathered, and are not in a file yet
 */
struct pcapng_stat {
	u64 packets;
	u64 bytes;
	u64 waiting;
	u64 dropped;
	u32 files;
};

/** struct pcapng - a writer. */
struct pcapng;

/**
 * pcapng_open() - begin a file, or the first of a ring.
 * Return: 0; -EINVAL: a ring that is written to something else than a file by @path, or in which no packet
 * would have room (@ring_bytes less than 4096); -errno of what open(2) or write(2) failed with.
 */
int pcapng_open(struct pcapng **out, const struct pcapng_opts *o);
/**
 * pcapng_add_iface() - one more interface; also when packets have been written.
 * Return: its number, 0 for the first; -ENOSPC: there are too many; -ENOMEM; or as pcapng_flush().
 */
int pcapng_add_iface(struct pcapng *w, const struct pcapng_iface *i);
/**
 * pcapng_write() - one packet. It is copied; it is in the file after pcapng_flush().
 * Return: 0; -EINVAL: no such interface, or more captured than the packet or PCAPNG_SNAPLEN has; or as
 * pcapng_flush(): the packet is not in the file then.
 */
int pcapng_write(struct pcapng *w, const struct pcapng_pkt *p);
/**
 * pcapng_count() - for the statistics: packets of an interface that a filter did not take (@filtered), or
 * that were lost (@lost), beyond those that pcapng_pkt.dropped told of.
 */
void pcapng_count(struct pcapng *w, u32 iface, u64 filtered, u64 lost);
/**
 * pcapng_flush() - write what is gathered.
 * Return: 0, or -errno of write(2). Once it has failed, the writer only can be closed.
 */
int pcapng_flush(struct pcapng *w);
/** pcapng_stat() - what it has done. */
void pcapng_stat(const struct pcapng *w, struct pcapng_stat *out);
/** pcapng_ring_path() - the @nth file, from 1, of a ring: FILE_00007.pcapng of FILE.pcapng. */
void pcapng_ring_path(const char *file, u32 nth, char *out, size_t size);
/** pcapng_path() - the file that is being written; "" when it was given as a descriptor. */
const char *pcapng_path(const struct pcapng *w);
/**
 * pcapng_end() - statistics and what is gathered are written; pcapng_stat() tells what there is in all. Only
 * pcapng_close() may follow.
 * @ns: the time of the end, for the statistics
 * Return: 0, or -errno: not all is in the file.
 */
int pcapng_end(struct pcapng *w, u64 ns);
/**
 * pcapng_close() - pcapng_end(), unless that has been called, and all is freed.
 * @ns: the time of the end, for the statistics
 * Return: 0, or -errno: not all is in the file.
 */
int pcapng_close(struct pcapng *w, u64 ns);
/** pcapng_drop() - all is freed without an end; the present file goes again if it was made. */
void pcapng_drop(struct pcapng *w);

#endif
