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

/* Option codes; each kind of block has its own numbering. */
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

/**
 * struct out - a block under construction.
 * @at: NULL: only the length is computed
 * @options: the block has options
 */
struct out {
	u8 *at;
	u32 len;
	bool options;
};

static void block_put(struct out *o, const void *data, u32 len)
{
	if (o->at)
		memcpy(o->at + o->len, data, len);
	o->len += len;
}

static void block_put_u16(struct out *o, u32 v)
{
	u16 half = (u16)v;

	block_put(o, &half, sizeof(half));
}

static void block_put_u32(struct out *o, u32 v)
{
	block_put(o, &v, sizeof(v));
}

static void block_put_padded(struct out *o, const void *data, u32 len)
{
	u32 pad = -len & 3u;

	/* Zeros the last word first, for the padding. */
	if (o->at && pad)
		memset(o->at + o->len + len + pad - 4, 0, 4);
	block_put(o, data, len);
	o->len += pad;
}

/* A time is two halves, the upper one first, in either byte order. */
static void block_put_time(struct out *o, u64 ns)
{
	block_put_u32(o, (u32)(ns >> 32));
	block_put_u32(o, (u32)ns);
}

static void block_put_option(struct out *o, u32 code, const void *data, u32 len)
{
	block_put_u16(o, code);
	block_put_u16(o, len);
	block_put_padded(o, data, len);
	o->options = true;
}

static void block_put_option_u32(struct out *o, u32 code, u32 v)
{
	block_put_option(o, code, &v, sizeof(v));
}

static void block_put_option_u64(struct out *o, u32 code, u64 v)
{
	block_put_option(o, code, &v, sizeof(v));
}

/* Return: bytes of a text, at most PCAPNG_STRING; a cut never splits a UTF-8 character. */
static u32 option_text_len(const char *text)
{
	size_t len = strnlen(text, PCAPNG_STRING + 1);

	if (len <= PCAPNG_STRING)
		return (u32)len;
	for (len = PCAPNG_STRING; len && ((u8)text[len] & 0xc0) == 0x80; len--)
		;
	return (u32)len;
}

static void block_put_option_text(struct out *o, u32 code, const char *text)
{
	if (text && *text)
		block_put_option(o, code, text, option_text_len(text));
}

static struct out block_begin(u8 *at, u32 type)
{
	struct out o = { .at = at };

	block_put_u32(&o, type);
	block_put_u32(&o, 0);
	return o;
}

/* The length stands at both ends of a block. */
static u32 block_end(struct out *o)
{
	u32 len;

	if (o->options) {
		block_put_u16(o, OPT_END);
		block_put_u16(o, 0);
	}
	len = o->len + 4;
	block_put_u32(o, len);
	if (o->at)
		memcpy(o->at + 4, &len, sizeof(len));
	return len;
}

u32 pcapng_block_section(u8 *at, const struct pcapng_opts *s)
{
	struct out o = block_begin(at, BLOCK_SECTION);
	u64 unknown = ~0ULL;

	block_put_u32(&o, BYTE_ORDER_MAGIC);
	block_put_u16(&o, 1);
	block_put_u16(&o, 0);
	block_put(&o, &unknown, sizeof(unknown)); /* section length: unknown */
	block_put_option_text(&o, SHB_HARDWARE, s->hardware);
	block_put_option_text(&o, SHB_OS, s->os);
	block_put_option_text(&o, SHB_APPL, s->application);
	block_put_option_text(&o, OPT_COMMENT, s->comment);
	return block_end(&o);
}

u32 pcapng_block_iface(u8 *at, const struct pcapng_iface *i)
{
	struct out o = block_begin(at, BLOCK_IFACE);
	u8 tsresol = TSRESOL_NS;
	u8 filter[1 + PCAPNG_STRING] = { 0 }; /* first byte 0: a libpcap filter expression */
	u32 len;

	block_put_u16(&o, i->link);
	block_put_u16(&o, 0);
	block_put_u32(&o, i->snaplen);
	block_put_option_text(&o, IF_NAME, i->name);
	block_put_option_text(&o, IF_DESCRIPTION, i->description);
	if (i->mac)
		block_put_option(&o, IF_MAC, i->mac, 6);
	if (i->speed)
		block_put_option_u64(&o, IF_SPEED, i->speed);
	block_put_option(&o, IF_TSRESOL, &tsresol, 1);
	if (i->filter && *i->filter) {
		len = option_text_len(i->filter);
		memcpy(filter + 1, i->filter, len);
		block_put_option(&o, IF_FILTER, filter, 1 + len);
	}
	return block_end(&o);
}

u32 pcapng_block_packet(u8 *at, const struct pcapng_pkt *p)
{
	const u32 head[] = { BLOCK_PACKET, 0,	      p->iface, (u32)(p->ns >> 32),
			     (u32)p->ns,   p->caplen, p->len };
	struct out o = { .at = at };

	block_put(&o, head, sizeof(head));
	block_put_padded(&o, p->frame, p->caplen);
	if (p->dir)
		block_put_option_u32(&o, EPB_FLAGS, p->dir);
	if (p->dropped)
		block_put_option_u64(&o, EPB_DROPCOUNT, p->dropped);
	if (p->id)
		block_put_option_u64(&o, EPB_PACKETID, p->id);
	block_put_option_text(&o, OPT_COMMENT, p->comment);
	return block_end(&o);
}

u32 pcapng_block_stats(u8 *at, u32 iface, u64 ns, const struct pcapng_count *n)
{
	struct out o = block_begin(at, BLOCK_STATS);
	u32 halves[2] = { (u32)(ns >> 32), (u32)ns };

	block_put_u32(&o, iface);
	block_put_time(&o, ns);
	block_put_option(&o, ISB_ENDTIME, halves, sizeof(halves));
	block_put_option_u64(&o, ISB_IFRECV, n->packets + n->filtered + n->dropped);
	block_put_option_u64(&o, ISB_IFDROP, n->dropped);
	block_put_option_u64(&o, ISB_FILTERACCEPT, n->packets + n->dropped);
	return block_end(&o);
}

u32 pcapng_block_len(const u8 *at)
{
	u32 len;

	memcpy(&len, at + 4, sizeof(len));
	return len;
}

bool pcapng_block_is_packet(const u8 *at)
{
	u32 type;

	memcpy(&type, at, sizeof(type));
	return type == BLOCK_PACKET;
}
