/* SPDX-License-Identifier: MIT */
/* Opcodes and the headers that follow the BTH: IBTA volume 1, 9.2 to 9.3. */
#include "traces/formats/roce_model.h"

#define REQ  ROCE_KNOWN
#define DATA (ROCE_KNOWN | ROCE_PAYLOAD)

/* Indexed by the lower five bits of the opcode. roce_headers() adds those of RD, UD and XRC. */
static const u16 headers[32] = {
	[ROCE_SEND_FIRST] = DATA,
	[ROCE_SEND_MIDDLE] = DATA,
	[ROCE_SEND_LAST] = DATA,
	[ROCE_SEND_LAST_IMM] = DATA | ROCE_IMMDT,
	[ROCE_SEND_ONLY] = DATA,
	[ROCE_SEND_ONLY_IMM] = DATA | ROCE_IMMDT,
	[ROCE_WRITE_FIRST] = DATA | ROCE_RETH,
	[ROCE_WRITE_MIDDLE] = DATA,
	[ROCE_WRITE_LAST] = DATA,
	[ROCE_WRITE_LAST_IMM] = DATA | ROCE_IMMDT,
	[ROCE_WRITE_ONLY] = DATA | ROCE_RETH,
	[ROCE_WRITE_ONLY_IMM] = DATA | ROCE_RETH | ROCE_IMMDT,
	[ROCE_READ_REQ] = REQ | ROCE_RETH,
	[ROCE_READ_RESP_FIRST] = DATA | ROCE_AETH,
	[ROCE_READ_RESP_MIDDLE] = DATA,
	[ROCE_READ_RESP_LAST] = DATA | ROCE_AETH,
	[ROCE_READ_RESP_ONLY] = DATA | ROCE_AETH,
	[ROCE_ACK] = REQ | ROCE_AETH,
	[ROCE_ATOMIC_ACK] = REQ | ROCE_AETH | ROCE_ATOMICACKETH,
	[ROCE_CMP_SWAP] = REQ | ROCE_ATOMICETH,
	[ROCE_FETCH_ADD] = REQ | ROCE_ATOMICETH,
	[ROCE_RESYNC] = REQ,
	[ROCE_SEND_LAST_INV] = DATA | ROCE_IETH,
	[ROCE_SEND_ONLY_INV] = DATA | ROCE_IETH,
	[ROCE_FLUSH] = REQ | ROCE_FETH | ROCE_RETH,
	[ROCE_ATOMIC_WRITE] = DATA | ROCE_RETH,
};

#define OPS(first, last) ((2u << (last)) - (1u << (first)))
#define OP(op)		 (1u << (op))

/* The operations that each transport defines. */
static const u32 known[8] = {
	[ROCE_RC] = OPS(ROCE_SEND_FIRST, ROCE_FETCH_ADD) | OP(ROCE_SEND_LAST_INV) |
		    OP(ROCE_SEND_ONLY_INV) | OP(ROCE_FLUSH) | OP(ROCE_ATOMIC_WRITE),
	[ROCE_UC] = OPS(ROCE_SEND_FIRST, ROCE_WRITE_ONLY_IMM),
	[ROCE_RD] = OPS(ROCE_SEND_FIRST, ROCE_RESYNC),
	[ROCE_UD] = OP(ROCE_SEND_ONLY) | OP(ROCE_SEND_ONLY_IMM),
	[ROCE_XRC] = OPS(ROCE_SEND_FIRST, ROCE_FETCH_ADD) | OP(ROCE_SEND_LAST_INV) |
		     OP(ROCE_SEND_ONLY_INV) | OP(ROCE_FLUSH) | OP(ROCE_ATOMIC_WRITE),
};

/* @op: the lower five bits of an opcode. */
static bool op_is_response(u32 op)
{
	return op >= ROCE_READ_RESP_FIRST && op <= ROCE_ATOMIC_ACK;
}

bool roce_is_response(u8 opcode)
{
	return roce_headers(opcode) && op_is_response(opcode & 31u);
}

u32 roce_headers(u8 opcode)
{
	u32 transport = opcode >> 5, op = opcode & 31u;

	if (opcode == ROCE_OPCODE_CNP)
		return DATA;
	if (!(known[transport] >> op & 1))
		return 0;
	switch (transport) {
	case ROCE_RD:
		return headers[op] | (op_is_response(op) ? ROCE_RDETH : ROCE_RDETH | ROCE_DETH);
	case ROCE_UD:
		return headers[op] | ROCE_DETH;
	case ROCE_XRC:
		return headers[op] | (op_is_response(op) ? 0 : ROCE_XRCETH);
	default:
		return headers[op];
	}
}

/* --- fields --- */

/* Bytes of the headers, indexed by bit number of enum roce_hdr. */
static const u8 lengths[] = { 4, 8, 4, 4, 16, 28, 4, 8, 4, 4 };

/** struct field - the @bytes at offset @at of a header are a member of struct roce_pkt. */
struct field {
	u16 hdr;
	u8 at, bytes;
	u16 member;
	u8 size;
};

#define FIELD(hdr, at, bytes, m)                                                                   \
	{                                                                                          \
		hdr, at, bytes, offsetof(struct roce_pkt, m), sizeof(((struct roce_pkt *)0)->m)    \
	}

/* Sorted by header. */
static const struct field fields[] = {
	FIELD(ROCE_RDETH, 1, 3, eec),	      FIELD(ROCE_DETH, 0, 4, qkey),
	FIELD(ROCE_DETH, 5, 3, sqpn),	      FIELD(ROCE_XRCETH, 1, 3, srqn),
	FIELD(ROCE_FETH, 0, 4, flush),	      FIELD(ROCE_RETH, 0, 8, va),
	FIELD(ROCE_RETH, 8, 4, rkey),	      FIELD(ROCE_RETH, 12, 4, dma_len),
	FIELD(ROCE_ATOMICETH, 0, 8, va),      FIELD(ROCE_ATOMICETH, 8, 4, rkey),
	FIELD(ROCE_ATOMICETH, 12, 8, swap),   FIELD(ROCE_ATOMICETH, 20, 8, compare),
	FIELD(ROCE_AETH, 0, 1, syndrome),     FIELD(ROCE_AETH, 1, 3, msn),
	FIELD(ROCE_ATOMICACKETH, 0, 8, orig), FIELD(ROCE_IMMDT, 0, 4, imm),
	FIELD(ROCE_IETH, 0, 4, inv_rkey),
};

u32 roce_hdr_len(u32 hdrs)
{
	u32 len = 0;

	for (hdrs &= (1u << ARRAY_SIZE(lengths)) - 1; hdrs; hdrs &= hdrs - 1)
		len += lengths[__builtin_ctz(hdrs)];
	return len;
}

static u64 member_get(const struct roce_pkt *p, const struct field *f)
{
	const void *m = (const u8 *)p + f->member;

	switch (f->size) {
	case 1:
		return *(const u8 *)m;
	case 4:
		return *(const u32 *)m;
	default:
		return *(const u64 *)m;
	}
}

static void member_set(struct roce_pkt *p, const struct field *f, u64 v)
{
	void *m = (u8 *)p + f->member;

	switch (f->size) {
	case 1:
		*(u8 *)m = (u8)v;
		break;
	case 4:
		*(u32 *)m = (u32)v;
		break;
	default:
		*(u64 *)m = v;
	}
}

/* Return: the offset of @hdr among @hdrs. */
static u32 hdr_offset(u32 hdrs, u32 hdr)
{
	return roce_hdr_len(hdrs & (hdr - 1));
}

void roce_hdr_put(u32 hdrs, const struct roce_pkt *p, u8 *out)
{
	const struct field *f;

	memset(out, 0, roce_hdr_len(hdrs));
	for (f = fields; f < fields + ARRAY_SIZE(fields); f++)
		if (hdrs & f->hdr)
			be_put(out + hdr_offset(hdrs, f->hdr) + f->at, f->bytes, member_get(p, f));
}

void roce_hdr_get(u32 hdrs, const u8 *in, struct roce_pkt *p)
{
	const struct field *f;

	for (f = fields; f < fields + ARRAY_SIZE(fields); f++)
		if (hdrs & f->hdr)
			member_set(p, f, be_get(in + hdr_offset(hdrs, f->hdr) + f->at, f->bytes));
}

bool roce_is_nak(u8 syndrome)
{
	return syndrome & 0x60;
}

/* Bits 6 and 5 tell the kind (9.7.5.2.1), the lower five the NAK's code, or the RNR timer. */
const char *roce_syndrome_name(u8 syndrome)
{
	static const char *const naks[] = { "NAK sequence", "NAK invalid request",
					    "NAK remote access", "NAK remote operation" };

	if (!roce_is_nak(syndrome))
		return "ACK";
	if ((syndrome & 0x60) == 0x20)
		return "RNR NAK";
	return (syndrome & 0x1fu) < ARRAY_SIZE(naks) ? naks[syndrome & 0x1f] : "NAK";
}
