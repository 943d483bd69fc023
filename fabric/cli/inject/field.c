/* SPDX-License-Identifier: MIT */
/** DOC: fields of packets by name, as scripts set and compare them. */
#include "emulator/ib.h"
#include "fabric/common/parse.h"
#include "fabric/fault/packet.h"
#include "fabric/cli/inject/tool.h"
#include "fabric/common/json.h"
#include "fabric/fault/parse.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/**
 * struct field - a field.
 * @headers: enum roce_hdr, one of which has the field; 0: it is in the BTH, or not in a header
 * @rel: scripts may write it as +N: a PSN counted from the connection's first, an address in the
 * region
 * @shown: it is printed for packets that come back
 */
struct field {
	const char *name;
	u64 max;
	u16 off, size;
	u32 headers;
	bool rel;
	bool shown;
};

#define F(member, name, max, headers, ...)                                                         \
	{                                                                                          \
		name, max, offsetof(struct roce_pkt, member),                                      \
			sizeof(((struct roce_pkt *)0)->member), headers, ##__VA_ARGS__             \
	}

enum { FIELD_PSN, FIELD_SIZE = 100, FIELD_PAYLOAD, FIELD_ICRC };

static const struct field fields[] = {
	[FIELD_PSN] = F(psn, "psn", IB_PSN_MASK, 0, true, true),
	F(dqpn, "qpn", IB_QPN_MASK, 0, false, false),
	F(pkey, "pkey", 0xffff, 0, false, false),
	F(opcode, "opcode", 0xff, 0, false, false),
	F(tver, "tver", 15, 0, false, false),
	F(ack_req, "ackreq", 1, 0, false, false),
	F(solicited, "solicited", 1, 0, false, false),
	F(msn, "msn", IB_PSN_MASK, ROCE_AETH, false, true),
	F(syndrome, "syndrome", 0xff, ROCE_AETH, false, true),
	F(va, "va", ~0ULL, ROCE_RETH | ROCE_ATOMICETH, true, true),
	F(rkey, "rkey", UINT32_MAX, ROCE_RETH | ROCE_ATOMICETH, false, true),
	F(dma_len, "dmalen", UINT32_MAX, ROCE_RETH, false, true),
	F(flush, "flush", UINT32_MAX, ROCE_FETH, false, true),
	F(swap, "swap", ~0ULL, ROCE_ATOMICETH, false, true),
	F(compare, "compare", ~0ULL, ROCE_ATOMICETH, false, true),
	F(orig, "orig", ~0ULL, ROCE_ATOMICACKETH, false, true),
	F(imm, "imm", UINT32_MAX, ROCE_IMMDT, false, true),
	F(inv_rkey, "invalidate", UINT32_MAX, ROCE_IETH, false, true),
	F(qkey, "qkey", UINT32_MAX, ROCE_DETH, false, false),
	F(sqpn, "sqpn", IB_QPN_MASK, ROCE_DETH, false, false),
	F(srqn, "srqn", IB_QPN_MASK, ROCE_XRCETH, false, false),
};

#define EXPECTED                                                                                   \
	"psn=, qpn=, pkey=, opcode=, tver=, ackreq=, solicited=, msn=, syndrome=, va=, rkey=, "    \
	"dmalen=, flush=, swap=, compare=, orig=, imm=, invalidate=, qkey=, sqpn=, srqn=, "        \
	"size= or payload="

/* Fields have 1, 2, 4 or 8 bytes, in the byte order of the machine. */
static u64 inject_field_get(const struct roce_pkt *p, const struct field *f)
{
	u64 v = 0;

	memcpy(&v, (const char *)p + f->off, f->size);
	return v;
}

static void inject_field_set(struct roce_pkt *p, const struct field *f, u64 v)
{
	memcpy((char *)p + f->off, &v, f->size);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "inject_field_get()");

/* --- reading -------------------------------------------------------------------------------- */

static const char *inject_value_parse_number(struct inject_value *v, const struct field *f,
					     const char *s)
{
	v->rel = f->rel && *s == '+';
	if (!parse_number(s + v->rel, f->max, &v->min))
		return f->rel ? "a number, or +N, counted from the connection's first PSN or in "
				"the region"
			      : "a number that fits the field";
	v->max = v->min;
	return NULL;
}

static const char *inject_value_parse_size(struct inject_value *v, const char *s, bool send)
{
	const char *expected = send ? "bytes, up to 4400" : "bytes, or a range as 1..100 or 1..";
	char low[24];
	const char *dots = strstr(s, "..");

	v->field = FIELD_SIZE;
	snprintf(low, sizeof(low), "%.*s", dots ? (int)(dots - s) : 23, s);
	if ((dots && send) || !parse_number(low, send ? 4400 : UINT32_MAX, &v->min))
		return expected;
	v->max = v->min;
	if (dots && !dots[2])
		v->max = UINT32_MAX;
	else if (dots && !parse_number(dots + 2, UINT32_MAX, &v->max))
		return expected;
	return v->max < v->min ? expected : NULL;
}

static const char *inject_value_parse_payload(struct inject_value *v, const char *s)
{
	const char *expected = "an even number of hexadecimal digits, up to 128";
	size_t n = strlen(s), i;
	char digits[3] = "";

	v->field = FIELD_PAYLOAD;
	if (!n || n % 2 || n > 2 * sizeof(v->bytes))
		return expected;
	for (i = 0; i < n; i += 2) {
		if (!isxdigit((unsigned char)s[i]) || !isxdigit((unsigned char)s[i + 1]))
			return expected;
		memcpy(digits, s + i, 2);
		v->bytes[i / 2] = (u8)strtoul(digits, NULL, 16);
	}
	v->min = v->max = n / 2;
	return NULL;
}

const char *inject_value_parse(struct inject_value *v, const char *word, bool send)
{
	const char *eq = strchr(word, '=');
	size_t n = eq ? (size_t)(eq - word) : 0;
	u32 i;

	*v = (struct inject_value){ 0 };
	for (i = 0; eq && i < ARRAY_SIZE(fields); i++)
		if (n == strlen(fields[i].name) && !strncmp(word, fields[i].name, n)) {
			v->field = (u8)i;
			return inject_value_parse_number(v, &fields[i], eq + 1);
		}
	if (n == 4 && !strncmp(word, "size", n))
		return inject_value_parse_size(v, eq + 1, send);
	if (n == 7 && !strncmp(word, "payload", n))
		return inject_value_parse_payload(v, eq + 1);
	if (send && !strcmp(word, "icrc=bad")) {
		v->field = FIELD_ICRC;
		return NULL;
	}
	return send ? EXPECTED ", or icrc=bad" : EXPECTED;
}

/* --- setting -------------------------------------------------------------------------------- */

static u64 inject_field_base(const struct field *f, const struct roce_pkt *p,
			     const struct inject_live *live, bool from_live)
{
	if (f == &fields[FIELD_PSN])
		return inject_psn_base(&live->q, p, from_live);
	return live->n_regions ? live->region[0].va : 0;
}

void inject_values_set(struct roce_pkt *p, const struct inject_live *live,
		       const struct inject_value *v, u32 n, u8 *room, u32 size)
{
	const struct field *f;
	u64 value;
	u32 len;

	for (; n--; v++) {
		if (v->field == FIELD_ICRC) {
			p->icrc_xor = 1;
			continue;
		}
		if (v->field == FIELD_SIZE || v->field == FIELD_PAYLOAD) {
			len = min_u32((u32)v->min, size);
			memset(room, 0, len);
			if (v->field == FIELD_PAYLOAD)
				memcpy(room, v->bytes, len);
			else if (p->payload_len)
				memcpy(room, p->payload, min_u32(len, p->payload_len));
			p->payload = room;
			p->payload_len = p->payload_cap = len;
			continue;
		}
		f = &fields[v->field];
		value = v->min + (v->rel ? inject_field_base(f, p, live, false) : 0);
		inject_field_set(p, f, f == &fields[FIELD_PSN] ? value & IB_PSN_MASK : value);
	}
}

/* --- comparing ------------------------------------------------------------------------------ */

static bool inject_field_is_present(const struct field *f, const struct roce_pkt *p)
{
	return !f->headers || (f->headers & roce_headers(p->opcode));
}

bool inject_value_matches(const struct inject_value *v, const struct roce_pkt *p,
			  const struct inject_live *live)
{
	const struct field *f;
	u64 want;

	if (v->field == FIELD_SIZE)
		return p->payload_len >= v->min && p->payload_len <= v->max;
	if (v->field == FIELD_PAYLOAD)
		return p->payload_len == v->min && p->payload_cap == v->min &&
		       !memcmp(p->payload, v->bytes, v->min);
	f = &fields[v->field];
	want = v->min + (v->rel ? inject_field_base(f, p, live, true) : 0);
	if (f == &fields[FIELD_PSN])
		want &= IB_PSN_MASK;
	return inject_field_is_present(f, p) && inject_field_get(p, f) == want;
}

u32 inject_pkt_op(const struct roce_pkt *p)
{
	u32 op = p->opcode & 31;

	if (p->dqpn == GSI_QPN && p->opcode >> 5 == ROCE_UD)
		return OP_MAD;
	if (op == ROCE_ACK)
		return fault_pkt_ack_op(p->syndrome);
	return roce_headers(p->opcode) && strcmp(fault_op_name(op), "?") != 0 ? op : OP_NONE;
}

/* --- printing ------------------------------------------------------------------------------- */

static int inject_field_text(const struct field *f, const struct roce_pkt *p,
			     const struct inject_live *live, char *buf, size_t size)
{
	u64 v = inject_field_get(p, f);

	if (f == &fields[FIELD_PSN] && live->q.type != QPT_UD)
		return snprintf(buf, size, " psn=+%u",
				(p->psn - inject_psn_base(&live->q, p, true)) & IB_PSN_MASK);
	if (f->max > UINT32_MAX || f->headers & ROCE_IMMDT || !strcmp(f->name, "syndrome") ||
	    !strcmp(f->name, "rkey"))
		return snprintf(buf, size, " %s=0x%llx", f->name, (unsigned long long)v);
	return snprintf(buf, size, " %s=%llu", f->name, (unsigned long long)v);
}

void inject_pkt_text(const struct roce_pkt *p, const struct inject_live *live, char *buf,
		     size_t size)
{
	u32 op = inject_pkt_op(p), i;
	size_t n;

	if (op == OP_NONE)
		n = (size_t)snprintf(buf, size, "opcode=0x%02x", p->opcode);
	else
		n = (size_t)snprintf(buf, size, "%s", fault_op_name(op));
	for (i = 0; i < ARRAY_SIZE(fields) && n < size; i++)
		if (fields[i].shown && inject_field_is_present(&fields[i], p))
			n += (size_t)inject_field_text(&fields[i], p, live, buf + n, size - n);
	if (p->payload_len && n < size)
		n += (size_t)snprintf(buf + n, size - n, " size=%u", p->payload_len);
	for (i = 0; i < p->payload_cap && i < 16 && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%02x",
				      i ? "" : " payload=", p->payload[i]);
	if (p->payload_cap > 16 && n < size)
		snprintf(buf + n, size - n, "...");
}

void inject_pkt_json(const struct roce_pkt *p, const struct inject_live *live,
		     struct json_object *o)
{
	u32 op = inject_pkt_op(p), i;

	json_add_str(o, "opcode", fault_op_name(op));
	json_object_object_add(o, "bth_opcode", json_object_new_int(p->opcode));
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].shown && inject_field_is_present(&fields[i], p))
			json_object_object_add(
				o, fields[i].name,
				json_object_new_uint64(inject_field_get(p, &fields[i])));
	json_object_object_add(
		o, "psn_rel",
		json_object_new_int64((p->psn - inject_psn_base(&live->q, p, true)) & IB_PSN_MASK));
	json_add_int(o, "size", p->payload_len);
}
