/* SPDX-License-Identifier: MIT */
/** DOC: reading profiles: a table of keys, each with the values that it may have and its place. */
#include "emulator/init.h"
#include "fabric/common/profile.h"
#include "fabric/common/opts.h"
#include "fabric/common/parse.h"
#include "fabric/common/text_io.h"
#include "traces/vtrace/profile_bounds.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)

enum key_kind {
	KEY_U32,
	KEY_U64,
	KEY_WORD, /* one of the key's words */
	KEY_WORDS, /* any of them: a set of bits, 32 or 64 wide */
	KEY_SET64,
	KEY_TEXT,
	KEY_PKEYS,
};

/** struct word - a value with a name. */
struct word {
	const char *name;
	u64 value;
};

static const struct word link_words[] = { { "Ethernet", LINK_ETHERNET },
					  { "InfiniBand", LINK_INFINIBAND },
					  { NULL, 0 } };
static const struct word mtu_words[] = { { "256", 1 },	{ "512", 2 },  { "1024", 3 },
					 { "2048", 4 }, { "4096", 5 }, { NULL, 0 } };
static const struct word active_words[] = { { "auto", 0 }, { "256", 1 },  { "512", 2 },
					    { "1024", 3 }, { "2048", 4 }, { "4096", 5 },
					    { NULL, 0 } };
static const struct word speed_words[] = { { "SDR", 1 },   { "DDR", 2 },   { "QDR", 4 },
					   { "FDR10", 8 }, { "FDR", 16 },  { "EDR", 32 },
					   { "HDR", 64 },  { "NDR", 128 }, { NULL, 0 } };
static const struct word width_words[] = { { "1X", WIDTH_1X },	 { "2X", WIDTH_2X },
					   { "4X", WIDTH_4X },	 { "8X", WIDTH_8X },
					   { "12X", WIDTH_12X }, { NULL, 0 } };
static const struct word atomic_words[] = {
	{ "NONE", ATOMIC_NONE }, { "HCA", ATOMIC_HCA }, { "GLOB", ATOMIC_GLOB }, { NULL, 0 }
};
static const struct word bool_words[] = { { "no", 0 }, { "yes", 1 }, { NULL, 0 } };
static const struct word type_words[] = {
	{ "RC", 1u << QPT_RC },
	{ "UC", 1u << QPT_UC },
	{ "UD", 1u << QPT_UD },
	{ "RAW_PACKET", 1u << QPT_RAW_PACKET },
	{ "SRD", 1u << QPT_SRD },
	{ "XRC", 1u << QPT_XRC_SEND | 1u << QPT_XRC_RECV },
	{ NULL, 0 },
};
/* Names of verbs.h without IBV_DEVICE_: what the model can do, or can do without. */
static const struct word cap_words[] = {
	{ "RESIZE_MAX_WR", BIT64(0) },
	{ "BAD_PKEY_CNTR", BIT64(1) },
	{ "BAD_QKEY_CNTR", BIT64(2) },
	{ "CHANGE_PHY_PORT", BIT64(5) },
	{ "UD_AV_PORT_ENFORCE", BIT64(6) },
	{ "CURR_QP_STATE_MOD", BIT64(7) },
	{ "SHUTDOWN_PORT", BIT64(8) },
	{ "PORT_ACTIVE_EVENT", BIT64(10) },
	{ "SYS_IMAGE_GUID", BIT64(11) },
	{ "RC_RNR_NAK_GEN", BIT64(12) },
	{ "SRQ_RESIZE", CAP_SRQ_RESIZE },
	{ "N_NOTIFY_CQ", BIT64(14) },
	{ "MEM_WINDOW", CAP_MEM_WINDOW },
	{ "XRC", CAP_XRC },
	{ "MEM_MGT_EXTENSIONS", CAP_MEM_MGT_EXTENSIONS },
	{ "MEM_WINDOW_TYPE_2B", CAP_MW_TYPE_2B },
	{ "RAW_IP_CSUM", BIT64(26) },
	{ "MANAGED_FLOW_STEERING", CAP_FLOW_STEERING },
	{ "RAW_SCATTER_FCS", CAP_SCATTER_FCS },
	{ "FLUSH_GLOBAL", CAP_FLUSH_GLOBAL },
	{ "FLUSH_PERSISTENT", CAP_FLUSH_PERSISTENT },
	{ "ATOMIC_WRITE", CAP_ATOMIC_WRITE },
	{ NULL, 0 },
};

/** struct key - the first word of a line. @min, @max: of a number; for text, of its bytes. */
struct key {
	const char *name;
	enum key_kind kind;
	size_t off;
	u64 min, max;
	const struct word *words;
};

#define AT(field) offsetof(struct profile, field)
#define NUM(field)                                                                                 \
	{                                                                                          \
#field, KEY_U32, AT(lim.field), LEAST_##field, MOST_##field, NULL                  \
	}
#define WORD(name, field, words)                                                                   \
	{                                                                                          \
		name, KEY_WORD, AT(field), 0, 0, words                                             \
	}
#define TEXT(name, field)                                                                          \
	{                                                                                          \
		name, KEY_TEXT, AT(field), 1, sizeof(((struct profile *)0)->field) - 1, NULL       \
	}
#define COUNT_MAX(table) ((table)-32) /* some slots are not given out */

/* The recorder uses the same bounds; the emulator has as much. */
enum {
#define BOUND(key, least, most) LEAST_##key = (least), MOST_##key = (most),
	VT_BOUNDS(BOUND)
#undef BOUND
};
#define FITS(key, most) _Static_assert(MOST_##key == (u64)(most), #key)
FITS(max_qp, COUNT_MAX(HCA_MAX_QP));
FITS(max_qp_wr, LIM_QP_WR);
FITS(max_sge, LIM_SGE);
FITS(max_sge_rd, LIM_SGE);
FITS(max_inline, LIM_INLINE);
FITS(max_cq, COUNT_MAX(HCA_MAX_CQ));
FITS(max_cqe, LIM_CQE);
FITS(max_mr, COUNT_MAX(HCA_MAX_MR / 2)); /* windows are in the same table */
FITS(max_pd, COUNT_MAX(HCA_MAX_PD));
FITS(max_mw, COUNT_MAX(HCA_MAX_MR / 2));
FITS(max_ah, COUNT_MAX(HCA_MAX_AH));
FITS(max_srq, COUNT_MAX(HCA_MAX_SRQ));
FITS(max_srq_wr, LIM_QP_WR);
FITS(max_srq_sge, LIM_SGE);
FITS(max_rd_atom, LIM_RD_ATOM);
FITS(ack_delay, LIM_ACK_DELAY);
FITS(max_msg, LIM_MSG);
FITS(max_xrcd, COUNT_MAX(HCA_MAX_XRCD));
FITS(max_wq, COUNT_MAX(HCA_MAX_WQ));
FITS(max_ind, COUNT_MAX(HCA_MAX_IND));
FITS(max_ind_size, LIM_IND);
FITS(max_flow, COUNT_MAX(HCA_MAX_FLOW));
FITS(max_tso, LIM_TSO);
FITS(comp_vectors, LIM_COMP_VECTORS);
FITS(devices, PROFILE_MAX_DEVS);
FITS(ports, HCA_MAX_PORTS);
FITS(max_pkeys, LIM_PKEYS);
_Static_assert(VT_NAME_BYTES == sizeof(((struct profile *)0)->dev_name) - 1, "name");
_Static_assert(VT_FW_BYTES == sizeof(((struct profile *)0)->fw) - 1, "fw_ver");

static const struct key keys[] = {
	{ "devices", KEY_U32, AT(n_devs), LEAST_devices, MOST_devices, NULL },
	{ "ports", KEY_U32, AT(n_ports), LEAST_ports, MOST_ports, NULL },
	TEXT("name", dev_name),
	TEXT("fw_ver", fw),
	TEXT("board_id", board),
	NUM(vendor_id),
	NUM(part_id),
	NUM(hw_ver),
	{ "pci_vendor", KEY_U32, AT(pci_vendor), 0, 0xffff, NULL },
	WORD("link_layer", link_layer, link_words),
	WORD("active_mtu", active_mtu, active_words),
	WORD("max_mtu", max_mtu, mtu_words),
	WORD("speed", speed, speed_words),
	WORD("width", width, width_words),
	{ "subnet_prefix", KEY_U64, AT(prefix), 0, ~0ULL, NULL },
	{ "max_pkeys", KEY_U32, AT(lim.pkeys), LEAST_max_pkeys, MOST_max_pkeys, NULL },
	{ "pkeys", KEY_PKEYS, 0, 0, 0xffff, NULL },
	{ "caps", KEY_SET64, AT(lim.caps), 0, 0, cap_words },
	{ "qp_types", KEY_WORDS, AT(lim.qp_types), 0, 0, type_words },
	WORD("atomic_cap", lim.atomic_cap, atomic_words),
	WORD("odp", lim.odp, bool_words),
	WORD("empty_mr", lim.empty_mr, bool_words),
	WORD("dmabuf", lim.dmabuf, bool_words),
	WORD("pmem", lim.pmem, bool_words),
	WORD("arm_pending", lim.arm_pending, bool_words),
	WORD("ptp_clock", lim.ptp_clock, bool_words),
	WORD("real_time_ts", lim.real_time_ts, bool_words),
	{ "max_mr_size", KEY_U64, AT(lim.max_mr_size), LEAST_max_mr_size, MOST_max_mr_size, NULL },
	{ "max_dm", KEY_U64, AT(lim.max_dm), LEAST_max_dm, MOST_max_dm, NULL },
	NUM(max_qp),
	NUM(max_qp_wr),
	NUM(max_sge),
	NUM(max_sge_rd),
	NUM(max_inline),
	NUM(max_cq),
	NUM(max_cqe),
	NUM(max_mr),
	NUM(max_pd),
	NUM(max_mw),
	NUM(max_ah),
	NUM(max_srq),
	NUM(max_srq_wr),
	NUM(max_srq_sge),
	NUM(max_rd_atom),
	NUM(max_res_rd_atom),
	NUM(ack_delay),
	NUM(max_msg),
	NUM(max_mcast_grp),
	NUM(max_mcast_attach),
	NUM(max_xrcd),
	NUM(max_wq),
	NUM(max_ind),
	NUM(max_ind_size),
	NUM(max_flow),
	{ "max_counters", KEY_U32, AT(lim.max_ctr), 0, COUNT_MAX(HCA_MAX_CTR), NULL },
	NUM(max_tags),
	NUM(max_tso),
	NUM(rate_limit_min),
	NUM(rate_limit_max),
	NUM(comp_vectors),
	{ "qp_cache", KEY_U32, AT(lim.qp_cache), 0, COUNT_MAX(HCA_MAX_QP), NULL },
};

/** struct reader - the position in a profile. @given: a bit for each key that had a line. */
struct reader {
	struct profile *p;
	const char *file;
	int line;
	u64 given;
};

_Static_assert(ARRAY_SIZE(keys) <= 64, "a bit each");

static int profile_refuse(const struct reader *r, const char *what, const char *expected)
{
	return print_error("%s:%d: '%s': expected %s", r->file, r->line, what, expected);
}

static const char *profile_word_list(const struct word *w, char *buf, size_t size)
{
	size_t n = 0;

	for (; w->name && n < size; w++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", w->name);
	return buf;
}

static const struct word *profile_find_word(const struct word *w, const char *name)
{
	for (; w->name; w++)
		if (!strcasecmp(w->name, name))
			return w;
	return NULL;
}

static int profile_put_number(const struct reader *r, const struct key *k, const char *value)
{
	void *to = (char *)r->p + k->off;
	char expected[96];
	u64 n;
	u32 v;

	if (!parse_number(value, k->max, &n) || n < k->min) {
		snprintf(expected, sizeof(expected), "a number from %llu to %llu",
			 (unsigned long long)k->min, (unsigned long long)k->max);
		return profile_refuse(r, value, expected);
	}
	v = (u32)n;
	if (k->kind == KEY_U64)
		memcpy(to, &n, sizeof(n));
	else
		memcpy(to, &v, sizeof(v));
	return 0;
}

static int profile_put_text(const struct reader *r, const struct key *k, const char *value)
{
	char *to = (char *)r->p + k->off;
	char expected[96];
	size_t len = strlen(value), i;

	snprintf(expected, sizeof(expected),
		 "1 to %llu letters, digits, dots, underscores and dashes",
		 (unsigned long long)k->max);
	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)value[i]) && !strchr("._-", value[i]))
			return profile_refuse(r, value, expected);
	if (!len || len > k->max || value[0] == '.')
		return profile_refuse(r, value, expected);
	memset(to, 0, k->max + 1);
	snprintf(to, k->max + 1, "%s", value);
	return 0;
}

static int profile_put_word(const struct reader *r, const struct key *k, const char *value)
{
	const struct word *w = profile_find_word(k->words, value);
	char list[512], expected[560];
	u32 v;

	if (!w) {
		snprintf(expected, sizeof(expected), "one of %s",
			 profile_word_list(k->words, list, sizeof(list)));
		return profile_refuse(r, value, expected);
	}
	v = (u32)w->value;
	memcpy((char *)r->p + k->off, &v, sizeof(v));
	return 0;
}

/* The lines of a key add up; "none" is the empty set. */
static int profile_put_set(const struct reader *r, const struct key *k, bool first, char *value)
{
	void *to = (char *)r->p + k->off;
	size_t size = k->kind == KEY_SET64 ? sizeof(u64) : sizeof(u32);
	const struct word *w;
	char list[640], *next;
	u64 set = 0;

	if (!first)
		memcpy(&set, to, size);
	while ((next = strsep(&value, " \t,"))) {
		if (!*next || !strcasecmp(next, "none"))
			continue;
		w = profile_find_word(k->words, next);
		if (!w)
			return profile_refuse(r, next,
					      profile_word_list(k->words, list, sizeof(list)));
		set |= w->value;
	}
	memcpy(to, &set, size);
	return 0;
}

static int profile_put_pkeys(const struct reader *r, bool first, char *value)
{
	struct profile *p = r->p;
	char *next;
	u64 n;

	if (first) {
		p->n_pkeys = 0;
		memset(p->pkey, 0, sizeof(p->pkey));
	}
	while ((next = strsep(&value, " \t,"))) {
		if (!*next)
			continue;
		if (!parse_number(next, 0xffff, &n) || !(n & 0x7fff))
			return profile_refuse(r, next, "partition keys, 0x1 to 0xffff, not 0x8000");
		if (p->n_pkeys == LIM_PKEYS)
			return profile_refuse(r, next, "at most 8 partition keys");
		p->pkey[p->n_pkeys++] = (u16)n;
	}
	return 0;
}

static int profile_put(struct reader *r, size_t i, char *value)
{
	const struct key *k = &keys[i];
	bool first = !(r->given & BIT64(i));

	r->given |= BIT64(i);
	switch (k->kind) {
	case KEY_WORD:
		return profile_put_word(r, k, value);
	case KEY_WORDS:
	case KEY_SET64:
		return profile_put_set(r, k, first, value);
	case KEY_TEXT:
		return profile_put_text(r, k, value);
	case KEY_PKEYS:
		return profile_put_pkeys(r, first, value);
	default:
		return profile_put_number(r, k, value);
	}
}

static char *profile_trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return s;
}

static int profile_read_line(struct reader *r, char *line)
{
	char *key = line, *value;
	size_t i;

	*strchrnul(line, '#') = '\0';
	key = profile_trim(line);
	if (!*key)
		return 0;
	value = key + strcspn(key, " \t=");
	if (*value)
		*value++ = '\0';
	value += strspn(value, " \t=");
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, key))
			return *value ? profile_put(r, i, value)
				      : profile_refuse(r, key, "a value after it");
	return profile_refuse(r, key, "a key that rdmaemu-profile(5) lists");
}

/* Check keys against each other. */
static int profile_check(const struct reader *r)
{
	const struct profile *p = r->p;

	if (p->active_mtu > p->max_mtu)
		return print_error("%s: active_mtu: expected no more than max_mtu", r->file);
	if (p->n_pkeys > p->lim.pkeys)
		return print_error("%s: pkeys: expected no more than max_pkeys, %u", r->file,
				   p->lim.pkeys);
	if (p->lim.max_srq && (!p->lim.max_srq_wr || !p->lim.max_srq_sge))
		return print_error("%s: max_srq: expected 0 without max_srq_wr or max_srq_sge",
				   r->file);
	return 0;
}

static int profile_read_text(struct profile *p, const char *file, char *text)
{
	struct reader r = { .p = p, .file = file };
	char *line;

	while ((line = strsep(&text, "\n"))) {
		r.line++;
		if (profile_read_line(&r, line))
			return -1;
	}
	return profile_check(&r);
}

static int profile_print_unknown(const char *name)
{
	const char *const *b = profile_builtins();
	char list[256];
	size_t n = 0;

	for (; *b && n < sizeof(list); b++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s, ", *b);
	return print_error("profile '%s': expected %sor a file", name, list);
}

static int profile_load_builtin(struct profile *p, const char *name)
{
	size_t len;
	const char *text = profile_builtin(name, &len);
	char *copy = strndup(text, len);
	int ret = copy ? profile_read_text(p, name, copy) : print_error("%s", strerror(ENOMEM));

	free(copy);
	return ret;
}

int profile_load(struct profile *p, const char *name)
{
	const char *base = strrchr(name, '/');
	char *text;
	size_t len;
	int ret;

	memset(p, 0, sizeof(*p));
	hca_default_limits(&p->lim);
	if (profile_load_builtin(p, PROFILE_DEFAULT))
		return -1;
	snprintf(p->title, sizeof(p->title), "%.63s", base ? base + 1 : name);
	if (profile_builtin(name, &len))
		return strcmp(name, PROFILE_DEFAULT) != 0 ? profile_load_builtin(p, name) : 0;
	if (!base && access(name, F_OK))
		return profile_print_unknown(name);
	text = text_file_read("profile", name, FILE_MAX, &len);
	ret = text ? profile_read_text(p, name, text) : -1;
	free(text);
	return ret;
}

u64 profile_hash(const struct profile *p)
{
	const size_t from = offsetof(struct profile, dev_name);
	u64 h = fnv1a(FNV1A_BASIS, (const u8 *)p + from, sizeof(*p) - from);

	return h ? h : 1;
}
