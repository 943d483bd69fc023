/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile for the emulator, rdmaemu-profile(5), from what a device reports: everything
 * that the profile's keys can express, within their bounds. Properties that cannot be queried, such
 * as inline data and flows, keep the emulator's defaults.
 */
#include "traces/record/profile.h"
#include "libtap/next_symbol.h"
#include "traces/record/session.h"
#include "traces/vtrace/profile_bounds.h"

#include <ctype.h>
#include <stdarg.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>

/* Whose devices have SRD: a type that no query of verbs reports. */
#define AMAZON_VENDOR_ID 0x1d0f

/** struct profile_text - text under construction. */
struct profile_text {
	char text[8192];
	size_t len;
};

static __attribute__((format(printf, 2, 3))) void rec_profile_append(struct profile_text *t,
								     const char *fmt, ...)
{
	size_t room = sizeof(t->text) - t->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->text + t->len, room, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < room)
		t->len += (size_t)n;
	else
		t->text[t->len] = '\0';
}

/*
 * Appends letters, digits, dots, underscores and dashes of @from, without a dot at the start;
 * nothing, if none are left.
 */
static void rec_profile_append_word(struct profile_text *t, const char *key, const char *from,
				    size_t len, size_t max)
{
	char to[64];
	size_t i, n = 0;

	for (i = 0; i < len && from[i] && n < max; i++)
		if (isalnum((unsigned char)from[i]) || strchr("_-", from[i]) ||
		    (from[i] == '.' && n))
			to[n++] = from[i];
	if (n)
		rec_profile_append(t, "%s %.*s\n", key, (int)n, to);
}

enum bound {
#define BOUND(key, least, most) BOUND_##key,
	VT_BOUNDS(BOUND)
#undef BOUND
};

static const struct {
	const char *key;
	u64 least, most;
} bounds[] = {
#define BOUND(key, least, most) { #key, least, most },
	VT_BOUNDS(BOUND)
#undef BOUND
};

static u64 rec_profile_clamp(enum bound b, u64 v)
{
	return v < bounds[b].least ? bounds[b].least : v > bounds[b].most ? bounds[b].most : v;
}

static void rec_profile_append_u64(struct profile_text *t, enum bound b, u64 v)
{
	rec_profile_append(t, "%s %llu\n", bounds[b].key,
			   (unsigned long long)rec_profile_clamp(b, v));
}

/* For limits that are int in the API: negative ones are 0. */
static void rec_profile_append_int(struct profile_text *t, enum bound b, int v)
{
	rec_profile_append_u64(t, b, v > 0 ? (u64)v : 0);
}

/** struct bit - a flag and its word in a profile. */
struct bit {
	u64 bit;
	const char *word;
};

/* IB_UVERBS_DEVICE_*, which verbs.h has no names for. */
#define DEVICE_FLUSH_GLOBAL	(1ull << 38)
#define DEVICE_FLUSH_PERSISTENT (1ull << 39)
#define DEVICE_ATOMIC_WRITE	(1ull << 40)

static const struct bit caps[] = {
	{ IBV_DEVICE_RESIZE_MAX_WR, "RESIZE_MAX_WR" },
	{ IBV_DEVICE_BAD_PKEY_CNTR, "BAD_PKEY_CNTR" },
	{ IBV_DEVICE_BAD_QKEY_CNTR, "BAD_QKEY_CNTR" },
	{ IBV_DEVICE_CHANGE_PHY_PORT, "CHANGE_PHY_PORT" },
	{ IBV_DEVICE_UD_AV_PORT_ENFORCE, "UD_AV_PORT_ENFORCE" },
	{ IBV_DEVICE_CURR_QP_STATE_MOD, "CURR_QP_STATE_MOD" },
	{ IBV_DEVICE_SHUTDOWN_PORT, "SHUTDOWN_PORT" },
	{ IBV_DEVICE_PORT_ACTIVE_EVENT, "PORT_ACTIVE_EVENT" },
	{ IBV_DEVICE_SYS_IMAGE_GUID, "SYS_IMAGE_GUID" },
	{ IBV_DEVICE_RC_RNR_NAK_GEN, "RC_RNR_NAK_GEN" },
	{ IBV_DEVICE_SRQ_RESIZE, "SRQ_RESIZE" },
	{ IBV_DEVICE_N_NOTIFY_CQ, "N_NOTIFY_CQ" },
	{ IBV_DEVICE_MEM_WINDOW, "MEM_WINDOW" },
	{ IBV_DEVICE_XRC, "XRC" },
	{ IBV_DEVICE_MEM_MGT_EXTENSIONS, "MEM_MGT_EXTENSIONS" },
	{ IBV_DEVICE_MEM_WINDOW_TYPE_2B, "MEM_WINDOW_TYPE_2B" },
	{ IBV_DEVICE_RAW_IP_CSUM, "RAW_IP_CSUM" },
	{ IBV_DEVICE_MANAGED_FLOW_STEERING, "MANAGED_FLOW_STEERING" },
	{ IBV_DEVICE_RAW_SCATTER_FCS, "RAW_SCATTER_FCS" },
	{ DEVICE_FLUSH_GLOBAL, "FLUSH_GLOBAL" },
	{ DEVICE_FLUSH_PERSISTENT, "FLUSH_PERSISTENT" },
	{ DEVICE_ATOMIC_WRITE, "ATOMIC_WRITE" },
};

static void rec_profile_append_caps(struct profile_text *t, const struct ibv_device_attr_ex *a)
{
	u64 has = a->orig_attr.device_cap_flags | a->device_cap_flags_ex;
	u32 i;

	rec_profile_append(t, "caps none\n");
	for (i = 0; i < ARRAY_SIZE(caps); i++)
		if (has & caps[i].bit)
			rec_profile_append(t, "caps %s\n", caps[i].word);
}

/* Appends the word for the highest value that the device supports. */
static void rec_profile_append_highest(struct profile_text *t, const char *key,
				       const struct bit *words, u32 n, u64 v)
{
	const char *word = NULL;
	u32 i;

	for (i = 0; i < n; i++)
		if (v >= words[i].bit)
			word = words[i].word;
	if (word)
		rec_profile_append(t, "%s %s\n", key, word);
}

static const struct bit speeds[] = { { 1, "SDR" },  { 2, "DDR" },  { 4, "QDR" },  { 8, "FDR10" },
				     { 16, "FDR" }, { 32, "EDR" }, { 64, "HDR" }, { 128, "NDR" } };
static const struct bit mtus[] = { { IBV_MTU_256, "256" },
				   { IBV_MTU_512, "512" },
				   { IBV_MTU_1024, "1024" },
				   { IBV_MTU_2048, "2048" },
				   { IBV_MTU_4096, "4096" } };
static const struct bit widths[] = {
	{ 1, "1X" }, { 2, "4X" }, { 4, "8X" }, { 8, "12X" }, { 16, "2X" }
};

#define PUT_HIGHEST(t, key, words, v)                                                              \
	rec_profile_append_highest(t, key, words, ARRAY_SIZE(words), v)

static void rec_profile_append_pkeys(struct profile_text *t, struct ibv_context *ctx, u64 n)
{
	static void *slot;
	int (*query)(struct ibv_context *, uint8_t, int, __be16 *) =
		(__typeof__(query))tap_next_symbol(&slot, "ibv_query_pkey");
	__be16 key;
	int i;

	rec_profile_append_u64(t, BOUND_max_pkeys, n);
	/* Keys after the first empty entry have no place in a profile. */
	for (i = 0; query && i < (int)rec_profile_clamp(BOUND_max_pkeys, n); i++) {
		if (query(ctx, 1, i, &key) || !(be16toh(key) & 0x7fff))
			return;
		rec_profile_append(t, "pkeys %#x\n", be16toh(key));
	}
}

static void rec_profile_append_port(struct profile_text *t, struct ibv_context *ctx,
				    const struct ibv_port_attr *p)
{
	static void *slot;
	int (*query)(struct ibv_context *, uint8_t, int, union ibv_gid *) =
		(__typeof__(query))tap_next_symbol(&slot, "ibv_query_gid");
	bool ethernet = p->link_layer == IBV_LINK_LAYER_ETHERNET;
	union ibv_gid gid;

	rec_profile_append(t, "link_layer %s\n", ethernet ? "Ethernet" : "InfiniBand");
	PUT_HIGHEST(t, "max_mtu", mtus, p->max_mtu);
	PUT_HIGHEST(t, "active_mtu", mtus, p->active_mtu > p->max_mtu ? p->max_mtu : p->active_mtu);
	PUT_HIGHEST(t, "speed", speeds, p->active_speed);
	PUT_HIGHEST(t, "width", widths, p->active_width);
	rec_profile_append_u64(t, BOUND_max_msg, p->max_msg_sz);
	rec_profile_append_pkeys(t, ctx, p->pkey_tbl_len);
	if (!ethernet && query && !query(ctx, 1, 0, &gid))
		rec_profile_append(t, "subnet_prefix %#llx\n",
				   (unsigned long long)be64toh(gid.global.subnet_prefix));
}

static void rec_profile_append_limits(struct profile_text *t, const struct ibv_device_attr *a)
{
	bool srq = a->max_srq > 0 && a->max_srq_wr > 0 && a->max_srq_sge > 0;
	int rd = a->max_qp_rd_atom < a->max_qp_init_rd_atom ? a->max_qp_rd_atom
							    : a->max_qp_init_rd_atom;

	rec_profile_append_int(t, BOUND_max_qp, a->max_qp);
	rec_profile_append_int(t, BOUND_max_qp_wr, a->max_qp_wr);
	rec_profile_append_int(t, BOUND_max_sge, a->max_sge);
	rec_profile_append_int(t, BOUND_max_sge_rd, a->max_sge_rd);
	rec_profile_append_int(t, BOUND_max_cq, a->max_cq);
	rec_profile_append_int(t, BOUND_max_cqe, a->max_cqe);
	rec_profile_append_int(t, BOUND_max_mr, a->max_mr);
	rec_profile_append_u64(t, BOUND_max_mr_size, a->max_mr_size);
	rec_profile_append_int(t, BOUND_max_mw, a->max_mw);
	rec_profile_append_int(t, BOUND_max_pd, a->max_pd);
	/* Some devices report 0 for objects that only memory limits. */
	if (a->max_ah > 0)
		rec_profile_append_int(t, BOUND_max_ah, a->max_ah);
	rec_profile_append_int(t, BOUND_max_srq, srq ? a->max_srq : 0);
	rec_profile_append_int(t, BOUND_max_srq_wr, a->max_srq_wr);
	rec_profile_append_int(t, BOUND_max_srq_sge, a->max_srq_sge);
	rec_profile_append_int(t, BOUND_max_rd_atom, rd);
	rec_profile_append_int(t, BOUND_max_res_rd_atom, a->max_res_rd_atom);
	rec_profile_append_int(t, BOUND_ack_delay, a->local_ca_ack_delay);
	rec_profile_append_int(t, BOUND_max_mcast_grp, a->max_mcast_grp);
	rec_profile_append_int(t, BOUND_max_mcast_attach, a->max_mcast_qp_attach);
}

static void rec_profile_append_ext_limits(struct profile_text *t,
					  const struct ibv_device_attr_ex *a)
{
	rec_profile_append(t, "odp %s\n",
			   a->odp_caps.general_caps & IBV_ODP_SUPPORT ? "yes" : "no");
	rec_profile_append_u64(t, BOUND_max_wq, a->max_wq_type_rq);
	rec_profile_append_u64(t, BOUND_max_ind, a->rss_caps.max_rwq_indirection_tables);
	rec_profile_append_u64(t, BOUND_max_ind_size, a->rss_caps.max_rwq_indirection_table_size);
	rec_profile_append_u64(t, BOUND_max_tags, a->tm_caps.max_num_tags);
	rec_profile_append_u64(t, BOUND_max_tso, a->tso_caps.max_tso);
	rec_profile_append_u64(t, BOUND_rate_limit_min, a->packet_pacing_caps.qp_rate_limit_min);
	rec_profile_append_u64(t, BOUND_rate_limit_max, a->packet_pacing_caps.qp_rate_limit_max);
	rec_profile_append_u64(t, BOUND_max_dm, a->max_dm_size);
}

static const char *rec_profile_atomic_word(enum ibv_atomic_cap cap)
{
	return cap == IBV_ATOMIC_GLOB ? "GLOB" : cap == IBV_ATOMIC_HCA ? "HCA" : "NONE";
}

/* Returns the length of a device name without the number at its end, which the emulator adds. */
static size_t rec_profile_base_name_len(const char *name)
{
	size_t n = strnlen(name, IBV_SYSFS_NAME_MAX);

	while (n && isdigit((unsigned char)name[n - 1]))
		n--;
	return n;
}

/*
 * Like the inlines of verbs.h, but these two call the functions of the library below, not those
 * that the recorder exports.
 */
static int rec_profile_query_device(struct ibv_context *ctx, struct ibv_device_attr_ex *a)
{
	struct verbs_context *vctx = verbs_get_ctx_op(ctx, query_device_ex);
	static void *slot;
	int (*query)(struct ibv_context *, struct ibv_device_attr *);

	if (vctx)
		return vctx->query_device_ex(ctx, NULL, a, sizeof(*a));
	query = (__typeof__(query))tap_next_symbol(&slot, "ibv_query_device");
	return query ? query(ctx, &a->orig_attr) : ENOSYS;
}

static int rec_profile_query_port(struct ibv_context *ctx, struct ibv_port_attr *p)
{
	struct verbs_context *vctx = verbs_get_ctx_op(ctx, query_port);
	static void *slot;
	int (*query)(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *);

	if (vctx)
		return vctx->query_port(ctx, 1, p, sizeof(*p));
	query = (__typeof__(query))tap_next_symbol(&slot, "ibv_query_port");
	return query ? query(ctx, 1, (struct _compat_ibv_port_attr *)p) : ENOSYS;
}

void rec_profile_write(struct ibv_context *ctx, u32 devices)
{
	static struct profile_text t; /* protected by the lock of devices.c */
	struct ibv_device_attr_ex a;
	struct ibv_port_attr p;
	bool xrc;

	memset(&a, 0, sizeof(a));
	memset(&p, 0, sizeof(p));
	if (rec_profile_query_device(ctx, &a) || rec_profile_query_port(ctx, &p))
		return;
	t.len = 0;
	rec_profile_append(&t, "# Made of what %.63s said of itself.\n", ctx->device->name);
	rec_profile_append_word(&t, "name", ctx->device->name,
				rec_profile_base_name_len(ctx->device->name), VT_NAME_BYTES);
	rec_profile_append_u64(&t, BOUND_devices, devices);
	rec_profile_append_u64(&t, BOUND_ports, a.orig_attr.phys_port_cnt);
	rec_profile_append_word(&t, "fw_ver", a.orig_attr.fw_ver, sizeof(a.orig_attr.fw_ver),
				VT_FW_BYTES);
	rec_profile_append_u64(&t, BOUND_vendor_id, a.orig_attr.vendor_id);
	rec_profile_append_u64(&t, BOUND_part_id, a.orig_attr.vendor_part_id);
	rec_profile_append_u64(&t, BOUND_hw_ver, a.orig_attr.hw_ver);
	rec_profile_append_port(&t, ctx, &p);
	rec_profile_append_caps(&t, &a);
	xrc = a.orig_attr.device_cap_flags & IBV_DEVICE_XRC;
	if (a.orig_attr.vendor_id == AMAZON_VENDOR_ID)
		rec_profile_append(&t, "qp_types UD SRD\n");
	else
		rec_profile_append(&t, "qp_types RC UC UD%s%s\n",
				   p.link_layer == IBV_LINK_LAYER_ETHERNET ? " RAW_PACKET" : "",
				   xrc ? " XRC" : "");
	if (!xrc)
		rec_profile_append_u64(&t, BOUND_max_xrcd, 0);
	rec_profile_append(&t, "atomic_cap %s\n", rec_profile_atomic_word(a.orig_attr.atomic_cap));
	rec_profile_append_limits(&t, &a.orig_attr);
	rec_profile_append_ext_limits(&t, &a);
	rec_profile_append_int(&t, BOUND_comp_vectors, ctx->num_comp_vectors);
	vt_writer_put_dir_file(&rec.w, "profile", t.text, t.len);
}
