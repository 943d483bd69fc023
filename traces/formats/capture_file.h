/* SPDX-License-Identifier: MIT */
/**
 * DOC: reads capture files, pcap and pcapng.
 *
 * libpcap reads neither comments nor the names of interfaces, and refuses a file whose interfaces
 * have different link types. Captures of a fabric have all three: a packet that did not arrive is
 * on an interface of its own, and a comment says why.
 *
 * A file may come from anybody. Every length is checked before its use; a file that ends within a
 * block, as that of a killed writer does, is read up to there.
 */
#ifndef TRACES_FORMATS_CAPTURE_FILE_H
#define TRACES_FORMATS_CAPTURE_FILE_H

#include "emulator/types.h"

#define CAPTURE_FILE_IFACES 4096u /* of a section; packets of others are skipped */
#define CAPTURE_FILE_NAME   96u

/** struct capture_iface - an interface. @ticks: units of its times in a second */
struct capture_iface {
	char name[CAPTURE_FILE_NAME];
	u32 link;
	u64 ticks;
};

/**
 * struct capture_pkt - a packet. Pointers lead into the file.
 * @ns: its time
 * @iface: "" in pcap
 * @comment: the first one, @comment_len bytes; NULL: there is none
 */
struct capture_pkt {
	u64 ns;
	u32 link; /* LINKTYPE_* */
	const char *iface;
	const u8 *frame;
	u32 caplen, len;
	const char *comment;
	u32 comment_len;
};

/**
 * struct capture_file - a file being read.
 * @at: the next block; @cut: it ends within a block
 * @swapped: its numbers are in the other byte order
 */
struct capture_file {
	const u8 *data;
	size_t size;
	size_t at;
	bool ng;
	bool swapped;
	bool cut;
	u32 link; /* pcap's */
	u64 ticks; /* likewise */
	u32 n_ifaces;
	struct capture_iface *iface;
};

/** capture_file_parse() - begin to read a file in memory. Return: 0; -EBADMSG: it is none. */
int capture_file_parse(struct capture_file *f, const void *data, size_t size);
/** capture_file_open() - the same for a regular file, which is mapped. Return: 0 or -errno. */
int capture_file_open(struct capture_file *f, const char *path);
/** capture_file_next() - read a packet. Return: false: there are no more. */
bool capture_file_next(struct capture_file *f, struct capture_pkt *p);
/** capture_file_rewind() - begin again at the first packet. */
void capture_file_rewind(struct capture_file *f);
/** capture_file_end() - free the reader of a file in memory. */
void capture_file_end(struct capture_file *f);
/** capture_file_close() - the same, of capture_file_open(). */
void capture_file_close(struct capture_file *f);

#endif
