/* SPDX-License-Identifier: MIT */
/* See capture_file.h; draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap. */
#include "traces/formats/capture_file.h"

#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PCAP_HEAD	 24u
#define PCAP_RECORD	 16u
#define PCAP_MAGIC_US	 0xa1b2c3d4u
#define PCAP_MAGIC_NS	 0xa1b23c4du
#define BLOCK_MIN	 12u
#define BLOCK_SECTION	 0x0a0d0d0au
#define BLOCK_IFACE	 1u
#define BLOCK_PACKET	 6u
#define SECTION_HEAD	 16u /* type, length, byte order, version */
#define IFACE_HEAD	 16u /* type, length, link type, snap length */
#define PACKET_HEAD	 28u /* type, length, interface, time, lengths */
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define OPTION_END	 0u
#define OPTION_COMMENT	 1u
#define OPTION_IF_NAME	 2u
#define OPTION_IF_TSRES	 9u
#define USEC_IN_SEC	 1000000u
#define NSEC_IN_SEC	 1000000000u
#define FRAME_MAX	 (1u << 20)

static u32 file_u32(const struct capture_file *f, size_t at)
{
	u32 v;

	memcpy(&v, f->data + at, sizeof(v));
	return f->swapped ? bswap_32(v) : v;
}

static u32 file_u16(const struct capture_file *f, size_t at)
{
	u16 v;

	memcpy(&v, f->data + at, sizeof(v));
	return f->swapped ? bswap_16(v) : v;
}

/* @ticks is a power of two or ten, at most 2^63: the fraction has 128 bits on the way. */
static u64 ticks_to_ns(u64 v, u64 ticks)
{
	return v / ticks * NSEC_IN_SEC +
	       (u64)((unsigned __int128)(v % ticks) * NSEC_IN_SEC / ticks);
}

/* --- pcapng ----------------------------------------------------------------------------------- */

/**
 * struct option - an option of a block.
 * @at: where it is, later where its value is
 */
struct option {
	size_t at;
	size_t end; /* of the block's options */
	u32 code;
	u32 len;
};

/* Go to the next option. Return: false: there is none, or it does not fit the block. */
static bool option_next(const struct capture_file *f, struct option *o)
{
	if (o->end - o->at < 4)
		return false;
	o->code = file_u16(f, o->at);
	o->len = file_u16(f, o->at + 2);
	o->at += 4;
	return o->code != OPTION_END && o->len <= o->end - o->at;
}

static void option_skip(struct option *o)
{
	size_t padded = (o->len + 3u) & ~3u;

	o->at += padded < o->end - o->at ? padded : o->end - o->at;
}

/* Units in a second of an if_tsresol: a power of ten, or with the upper bit, of two. */
static u64 iface_ticks(u8 resolution)
{
	u64 ticks = 1;
	u32 i, power = resolution & 0x7fu;

	if (resolution & 0x80)
		return power < 64 ? 1ULL << power : 0;
	for (i = 0; i < power; i++)
		ticks = i < 19 ? ticks * 10 : 0;
	return ticks;
}

static void iface_read(struct capture_file *f, size_t at, size_t end)
{
	struct option o = { .at = at + IFACE_HEAD, .end = end };
	struct capture_iface *i;

	if (f->n_ifaces == CAPTURE_FILE_IFACES || end < o.at)
		return;
	i = &f->iface[f->n_ifaces++];
	*i = (struct capture_iface){ .link = file_u16(f, at + 8), .ticks = USEC_IN_SEC };
	for (; option_next(f, &o); option_skip(&o)) {
		if (o.code == OPTION_IF_NAME) {
			memset(i->name, 0, sizeof(i->name));
			memcpy(i->name, f->data + o.at,
			       o.len < sizeof(i->name) - 1 ? o.len : sizeof(i->name) - 1);
		} else if (o.code == OPTION_IF_TSRES && o.len == 1) {
			i->ticks = iface_ticks(f->data[o.at]);
		}
	}
}

/* Return: whether it is a packet of an interface that the file has described. */
static bool packet_read(struct capture_file *f, size_t at, size_t end, struct capture_pkt *p)
{
	const struct capture_iface *i;
	struct option o = { .end = end };
	u32 n;

	if (end < at + PACKET_HEAD)
		return false;
	n = file_u32(f, at + 8);
	p->caplen = file_u32(f, at + 20);
	p->len = file_u32(f, at + 24);
	if (n >= f->n_ifaces || p->caplen > end - at - PACKET_HEAD || p->caplen > p->len ||
	    p->caplen > FRAME_MAX)
		return false;
	i = &f->iface[n];
	if (!i->ticks)
		return false;
	p->ns = ticks_to_ns((u64)file_u32(f, at + 12) << 32 | file_u32(f, at + 16), i->ticks);
	p->link = i->link;
	p->iface = i->name;
	p->frame = f->data + at + PACKET_HEAD;
	o.at = at + PACKET_HEAD + ((p->caplen + 3u) & ~3u);
	for (; o.at < o.end && option_next(f, &o); option_skip(&o)) {
		if (o.code != OPTION_COMMENT)
			continue;
		p->comment = (const char *)f->data + o.at;
		p->comment_len = o.len;
		break;
	}
	return true;
}

/* A section has a byte order of its own, and its own interfaces. */
static bool section_begin(struct capture_file *f, size_t at)
{
	if (f->size - at < SECTION_HEAD)
		return false;
	f->swapped = false;
	f->swapped = file_u32(f, at + 8) != BYTE_ORDER_MAGIC;
	f->n_ifaces = 0;
	return file_u32(f, at + 8) == BYTE_ORDER_MAGIC;
}

static bool block_next(struct capture_file *f, struct capture_pkt *p)
{
	size_t at;
	u32 type, len;

	while (f->size - f->at >= BLOCK_MIN) {
		at = f->at;
		type = file_u32(f, at);
		if (type == BLOCK_SECTION && !section_begin(f, at))
			break;
		len = file_u32(f, at + 4);
		if (len < BLOCK_MIN || len % 4 || len > f->size - at)
			break;
		f->at += len;
		if (type == BLOCK_IFACE)
			iface_read(f, at, at + len - 4);
		else if (type == BLOCK_PACKET && packet_read(f, at, at + len - 4, p))
			return true;
	}
	f->cut = f->at != f->size;
	return false;
}

/* --- pcap ------------------------------------------------------------------------------------- */

static bool record_next(struct capture_file *f, struct capture_pkt *p)
{
	size_t at = f->at;

	f->cut = f->size != at;
	if (f->size - at < PCAP_RECORD)
		return false;
	p->ns = (u64)file_u32(f, at) * NSEC_IN_SEC + ticks_to_ns(file_u32(f, at + 4), f->ticks);
	p->caplen = file_u32(f, at + 8);
	p->len = file_u32(f, at + 12);
	if (p->caplen > f->size - at - PCAP_RECORD || p->caplen > p->len || p->caplen > FRAME_MAX)
		return false;
	f->cut = false;
	p->link = f->link;
	p->iface = "";
	p->frame = f->data + at + PCAP_RECORD;
	f->at += PCAP_RECORD + p->caplen;
	return true;
}

/* Whether the head is one of pcap. */
static bool pcap_begin(struct capture_file *f)
{
	u32 magic, i;

	if (f->size < PCAP_HEAD)
		return false;
	for (i = 0; i < 2; i++) {
		f->swapped = i;
		magic = file_u32(f, 0);
		f->ticks = magic == PCAP_MAGIC_US   ? USEC_IN_SEC
			   : magic == PCAP_MAGIC_NS ? NSEC_IN_SEC
						    : 0;
		if (!f->ticks)
			continue;
		/* The upper bits say how long a frame check sequence is. */
		f->link = file_u32(f, 20) & 0xffff;
		f->at = PCAP_HEAD;
		return true;
	}
	return false;
}

/* --- either ----------------------------------------------------------------------------------- */

int capture_file_parse(struct capture_file *f, const void *data, size_t size)
{
	*f = (struct capture_file){ .data = data, .size = size };
	if (pcap_begin(f))
		return 0;
	f->swapped = false;
	if (size < BLOCK_MIN || file_u32(f, 0) != BLOCK_SECTION || !section_begin(f, 0))
		return -EBADMSG;
	f->ng = true;
	f->iface = calloc(CAPTURE_FILE_IFACES, sizeof(*f->iface));
	return f->iface ? 0 : -ENOMEM;
}

int capture_file_open(struct capture_file *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st)) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	data = S_ISREG(st.st_mode) && st.st_size
		       ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
		       : MAP_FAILED;
	ret = data == MAP_FAILED ? (S_ISREG(st.st_mode) ? -EBADMSG : -EINVAL) : 0;
	close(fd);
	if (ret)
		return ret;
	ret = capture_file_parse(f, data, (size_t)st.st_size);
	if (ret)
		munmap(data, (size_t)st.st_size);
	return ret;
}

bool capture_file_next(struct capture_file *f, struct capture_pkt *p)
{
	*p = (struct capture_pkt){ 0 };
	return f->ng ? block_next(f, p) : record_next(f, p);
}

void capture_file_rewind(struct capture_file *f)
{
	f->at = f->ng ? 0 : PCAP_HEAD;
	f->cut = false;
}

void capture_file_end(struct capture_file *f)
{
	free(f->iface);
	f->iface = NULL;
}

void capture_file_close(struct capture_file *f)
{
	capture_file_end(f);
	munmap((void *)(uintptr_t)f->data, f->size);
}
