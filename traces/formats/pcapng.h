/* SPDX-License-Identifier: MIT */
/**
 * DOC: writes pcapng files (draft-ietf-opsawg-pcapng).
 *
 * Theory of operation
 * -------------------
 * A file is a section header, interface descriptions, enhanced packet blocks in the order of the
 * calls, and at the end the statistics of each interface. libpcap's writer supports neither
 * interfaces nor comments, nor packets of several link types.
 *
 * Blocks are collected in a buffer of bounded size, and only whole blocks are handed to write(2): a
 * file whose writer was killed can be read up to the last complete block. If a write fails in a
 * regular file, the incomplete block is cut off. Times are nanoseconds since 1970, or since
 * whatever the caller uses.
 *
 * A ring is a set of files FILE_00001.pcapng, FILE_00002.pcapng ...: when one is full, the next one
 * begins, and the oldest is removed when there are too many. Each file is complete: it repeats all
 * interfaces, and ends with statistics of its own packets.
 *
 * A writer must not be used by two threads at the same time.
 */
#ifndef TRACES_FORMATS_PCAPNG_H
#define TRACES_FORMATS_PCAPNG_H

#include "emulator/types.h"

#define PCAPNG_IFACES  65536u /* of a writer */
#define PCAPNG_STRING  1024u /* bytes of a name or comment; longer ones are cut */
#define PCAPNG_BUFFER  (1u << 20) /* bytes collected before they are written */
#define PCAPNG_SNAPLEN 262144u /* most captured bytes of a packet */

/**
 * struct pcapng_opts - the options of pcapng_open(). All but @path may be 0.
 * @path: the file, which is created or truncated; "-": standard output; FIFOs and sockets work, too
 * @fd: used when @path is NULL; the writer owns and closes it
 * @ring_bytes: start the next file of the ring before this one gets longer; 0: never
 * @ring_packets: start the next file after this many packets; 0: never
 * @ring_files: files of the ring to keep; 0: all. Without bytes and packets there is no ring
 * @mode: of a new file, with S_IFREG; 0: as the umask says
 * @claim: NULL, or called for each file opened by its path, before it is truncated. Return: 0, or
 *	-errno: leave that file alone. @arg: its first argument
 * @hardware, @os, @application: for the section header; NULL: left out
 * @comment: of the section
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
 * struct pcapng_iface - an interface: a port of a device.
 * @name: "node1/rdmaemu0/1"; @description: NULL: left out
 * @filter: the expression that chose its packets; NULL: none
 * @link: LINKTYPE_*; @snaplen: 0: no limit
 * @mac: or NULL; @speed: bits per second, 0: left out
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
 * @frame: @caplen captured bytes of a frame with @len bytes on the wire
 * @iface: from pcapng_add_iface()
 * @dir: enum pcapng_dir
 * @dropped: packets of this interface that the capture has lost since the previous packet
 * @id: a number that identifies it; 0: left out
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
 * struct pcapng_stat - totals of a writer, over all files of a ring.
 * @packets, @bytes: written so far, including removed files; only whole packets are counted
 * @waiting: packets in the buffer that are not in a file yet
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
 * pcapng_open() - start a file, or the first file of a ring.
 * Return: 0; -EINVAL: a ring that is not a file given by @path, or in which no packet would fit
 * (@ring_bytes less than 4096); or -errno of open(2) or write(2).
 */
int pcapng_open(struct pcapng **out, const struct pcapng_opts *o);
/**
 * pcapng_add_iface() - add an interface. Packets may have been written before.
 * Return: its number, 0 for the first; -ENOSPC: too many; -ENOMEM; or as pcapng_flush().
 */
int pcapng_add_iface(struct pcapng *w, const struct pcapng_iface *i);
/**
 * pcapng_write() - add a packet. It is copied, and is in the file after pcapng_flush().
 * Return: 0; -EINVAL: unknown interface, or @caplen greater than @len or PCAPNG_SNAPLEN; or as
 * pcapng_flush(): the packet is not in the file then.
 */
int pcapng_write(struct pcapng *w, const struct pcapng_pkt *p);
/**
 * pcapng_count() - add to the statistics: packets of an interface that a filter rejected
 * (@filtered), or that were lost (@lost) in addition to pcapng_pkt.dropped.
 */
void pcapng_count(struct pcapng *w, u32 iface, u64 filtered, u64 lost);
/**
 * pcapng_flush() - write the buffer.
 * Return: 0, or -errno of write(2). After a failure the writer can only be closed.
 */
int pcapng_flush(struct pcapng *w);
/** pcapng_stat() - read the totals. */
void pcapng_stat(const struct pcapng *w, struct pcapng_stat *out);
/**
 * pcapng_ring_path() - the path of file @nth of a ring, from 1: FILE_00007.pcapng of FILE.pcapng.
 */
void pcapng_ring_path(const char *file, u32 nth, char *out, size_t size);
/** pcapng_path() - the path of the current file; "" if it was given as a descriptor. */
const char *pcapng_path(const struct pcapng *w);
/**
 * pcapng_end() - write the statistics and the buffer; pcapng_stat() then has the final totals. Only
 * pcapng_close() may follow.
 * @ns: time of the end, for the statistics
 * Return: 0, or -errno: the file is incomplete.
 */
int pcapng_end(struct pcapng *w, u64 ns);
/**
 * pcapng_close() - call pcapng_end(), unless that was done, and free the writer.
 * @ns: time of the end, for the statistics
 * Return: 0, or -errno: the file is incomplete.
 */
int pcapng_close(struct pcapng *w, u64 ns);
/**
 * pcapng_drop() - free the writer without writing an end. Removes the current file if the writer
 * created it.
 */
void pcapng_drop(struct pcapng *w);

#endif
