/* SPDX-License-Identifier: MIT */
/* See pcapng_block.h; draft-ietf-opsawg-pcapng, sections 3 and 4. */
#include "traces/formats/pcapng_block.h"

enum block_type {
	BLOCK_IFACE = 1,
	BLOCK_STATS = 5,
	BLOCK_PACKET = 6,
	BLOCK_SECTION = 0x0a0d0d0a,
};

#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define TSRESOL_NS	 9u /* 10^-9 s */

/* Options; numbers are those of the kind of block. */
enum {
	OPT_END = 0,
	OPT_COMMENT = 1,
	SHB_HARDWARE = 2,
	SHB_OS = 3,
	SHB_APPL = 4,
	IF_NAME = 2,
	IF_DESCRIPTION = 3,
	IF_MAC = 6,
	IF_SPEED = 8,
	IF_TSRESOL = 9,
	IF_FILTER = 11,
	EPB_FLAGS = 2,
	EPB_DROPCOUNT = 4,
	EPB_PACKETID = 5,
	ISB_ENDTIME = 3,
	ISB_IFRECV = 4,
	ISB_IFDROP = 5,
	ISB_FILTERACCEPT = 6,
};

/** struct out - a block that is being made. @at: NULL: it is only measured; @options: it has some */
struct out {
	u8 *at;
	u32 len;
	bool options;
};

static void put(struct out *o, const void *data, u32 len)
{
	if (o->at)
		memcpy(o->at + o->len, data, len);
	o->len += len;
}

static void put16(struct out *o, u32 v)
{
	u16 half = (u16)v;

	put(o, &half, sizeof(half));
}

static void put32(struct out *o, u32 v)
{
	put(o, &v, sizeof(v));
}

static void put_padded(struct out *o, const void *data, u32 len)
{
	u32 pad = -len & 3u;

	/* Its last word first, for the pad. */
	if (o->at && pad)
		memset(o->at + o->len + len + pad - 4, 0, 4);
	put(o, data, len);
	o->len += pad;
}

/* Times are in two halves, the upper one first, whatever the byte order. */
static void put_time(struct out *o, u64 ns)
{
	put32(o, (u32)(ns >> 32));
	put32(o, (u32)ns);
}

static void option(struct out *o, u32 code, const void *data, u32 len)
{
	put16(o, code);
	put16(o, len);
	put_padded(o, data, len);
	o->options = true;
}

static void option32(struct out *o, u32 code, u32 v)
{
	option(o, code, &v, sizeof(v));
}

static void option64(struct out *o, u32 code, u64 v)
{
	option(o, code, &v, sizeof(v));
}

/* Bytes of a text; one that is too long ends before the character that has no room (UTF-8). */
static u32 text_len(const char *text)
{
	size_t len = strnlen(text, PCAPNG_STRING + 1);

	if (len <= PCAPNG_STRING)
		return (u32)len;
	for (len = PCAPNG_STRING; len && ((u8)text[len] & 0xc0) == 0x80; len--)
		;
	return (u32)len;
}

static void option_text(struct out *o, u32 code, const char *text)
{
	if (text && *text)
		option(o, code, text, text_len(text));
}

static struct out begin(u8 *at, u32 type)
{
	struct out o = { .at = at };

	put32(&o, type);
	put32(&o, 0);
	return o;
}

/* The length stands at both ends. */
static u32 end(struct out *o)
{
	u32 len;

	if (o->options) {
		put16(o, OPT_END);
		put16(o, 0);
	}
	len = o->len + 4;
	put32(o, len);
	if (o->at)
		memcpy(o->at + 4, &len, sizeof(len));
	return len;
}

u32 block_section(u8 *at, const struct pcapng_opts *s)
{
	struct out o = begin(at, BLOCK_SECTION);
	u64 unknown = ~0ULL;

	put32(&o, BYTE_ORDER_MAGIC);
	put16(&o, 1);
	put16(&o, 0);
	put(&o, &unknown, sizeof(unknown)); /* length of the section */
	option_text(&o, SHB_HARDWARE, s->hardware);
	option_text(&o, SHB_OS, s->os);
	option_text(&o, SHB_APPL, s->application);
	option_text(&o, OPT_COMMENT, s->comment);
	return end(&o);
}

u32 block_iface(u8 *at, const struct pcapng_iface *i)
{
	struct out o = begin(at, BLOCK_IFACE);
	u8 tsresol = TSRESOL_NS;
	u8 filter[1 + PCAPNG_STRING] = { 0 }; /* its kind: libpcap's expression */
	u32 len;

	put16(&o, i->link);
	put16(&o, 0);
	put32(&o, i->snaplen);
	option_text(&o, IF_NAME, i->name);
	option_text(&o, IF_DESCRIPTION, i->description);
	if (i->mac)
		option(&o, IF_MAC, i->mac, 6);
	if (i->speed)
		option64(&o, IF_SPEED, i->speed);
	option(&o, IF_TSRESOL, &tsresol, 1);
	if (i->filter && *i->filter) {
		len = text_len(i->filter);
		memcpy(filter + 1, i->filter, len);
		option(&o, IF_FILTER, filter, 1 + len);
	}
	return end(&o);
}

u32 block_packet(u8 *at, const struct pcapng_pkt *p)
{
	const u32 head[] = { BLOCK_PACKET, 0,	      p->iface, (u32)(p->ns >> 32),
			     (u32)p->ns,   p->caplen, p->len };
	struct out o = { .at = at };

	put(&o, head, sizeof(head));
	put_padded(&o, p->frame, p->caplen);
	if (p->dir)
		option32(&o, EPB_FLAGS, p->dir);
	if (p->dropped)
		option64(&o, EPB_DROPCOUNT, p->dropped);
	if (p->id)
		option64(&o, EPB_PACKETID, p->id);
	option_text(&o, OPT_COMMENT, p->comment);
	return end(&o);
}

u32 block_stats(u8 *at, u32 iface, u64 ns, const struct pcapng_count *n)
{
	struct out o = begin(at, BLOCK_STATS);
	u32 halves[2] = { (u32)(ns >> 32), (u32)ns };

	put32(&o, iface);
	put_time(&o, ns);
	option(&o, ISB_ENDTIME, halves, sizeof(halves));
	option64(&o, ISB_IFRECV, n->packets + n->filtered + n->dropped);
	option64(&o, ISB_IFDROP, n->dropped);
	option64(&o, ISB_FILTERACCEPT, n->packets + n->dropped);
	return end(&o);
}

u32 block_len(const u8 *at)
{
	u32 len;

	memcpy(&len, at + 4, sizeof(len));
	return len;
}

bool block_is_packet(const u8 *at)
{
	u32 type;

	memcpy(&type, at, sizeof(type));
	return type == BLOCK_PACKET;
}
