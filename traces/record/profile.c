/* SPDX-License-Identifier: MIT */
/*
 * A profile of the emulator's, rdmaemu-profile(5), made of what a device says of itself: as far as its keys have a word for
 * it, and within what they take. What a device is not asked for (which inline data it takes, its flows) is left to the
 * emulator's own.
 */
#include "traces/record/record.h"
#include "traces/record/wrap.h"

#include "traces/vtrace/profile_bounds.h"

#include <ctype.h>
#include <stdarg.h>
#include <endian.h>
#include <stdio.h>

/** struct profile_text - lines under construction. */
struct profile_text {
	char text[8192];
	size_t len;
};

static __attribute__((format(printf, 2, 3))) void put(struct profile_text *t, const char *fmt, ...)
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

/* Letters, digits, dots, underscores and dashes, a dot not first. Nothing is written of what has none. */
static void put_text(struct profile_text *t, const char *key, const char *from, size_t len,
		     size_t max)
{
	char to[64];
	size_t i, n = 0;

	for (i = 0; i < len && from[i] && n < max; i++)
		if (isalnum((unsigned char)from[i]) || strchr("_-", from[i]) ||
		    (from[i] == '.' && n))
			to[n++] = from[i];
	if (n)
		put(t, "%s %.*s\n", key, (int)n, to);
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

static u64 within(enum bound b, u64 v)
{
	return v < bounds[b].least ? bounds[b].least : v > bounds[b].most ? bounds[b].most : v;
}

static void put_number(struct profile_text *t, enum bound b, u64 v)
{
	put(t, "%s %llu\n", bounds[b].key, (unsigned long long)within(b, v));
}

/* Limits that the API has as int: a device that says less than nothing has none. */
static void put_int(struct profile_text *t, enum bound b, int v)
{
	put_number(t, b, v > 0 ? (u64)v : 0);
}

/** struct bit - a flag and the profile's word for it. */
struct bit {
	u64 bit;
	const char *word;
};

#define DEVICE_ATOMIC_WRITE (1ull << 40) /* of newer headers */

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
	{ DEVICE_ATOMIC_WRITE, "ATOMIC_WRITE" },
};

static void put_caps(struct profile_text *t, const struct ibv_device_attr_ex *a)
{
	u64 has = a->orig_attr.device_cap_flags | a->device_cap_flags_ex;
	u32 i;

	put(t, "caps none\n");
	for (i = 0; i < ARRAY_SIZE(caps); i++)
		if (has & caps[i].bit)
			put(t, "caps %s\n", caps[i].word);
}

/* Of several names of a bit mask or a scale the highest that the device has. */
static void put_highest(struct profile_text *t, const char *key, const struct bit *words, u32 n,
			u64 v)
{
	const char *word = NULL;
	u32 i;

	for (i = 0; i < n; i++)
		if (v >= words[i].bit)
			word = words[i].word;
	if (word)
		put(t, "%s %s\n", key, word);
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

#define PUT_HIGHEST(t, key, words, v) put_highest(t, key, words, ARRAY_SIZE(words), v)

static void put_pkeys(struct profile_text *t, struct ibv_context *ctx, u64 n)
{
	static void *slot;
	int (*query)(struct ibv_context *, uint8_t, int, __be16 *) =
		(__typeof__(query))rec_next(&slot, "ibv_query_pkey");
	__be16 key;
	int i;

	put_number(t, BOUND_max_pkeys, n);
	/* From the first entry on that is empty there is no word for the others' places. */
	for (i = 0; query && i < (int)within(BOUND_max_pkeys, n); i++) {
		if (query(ctx, 1, i, &key) || !(be16toh(key) & 0x7fff))
			return;
		put(t, "pkeys %#x\n", be16toh(key));
	}
}

static void put_port(struct profile_text *t, struct ibv_context *ctx, const struct ibv_port_attr *p)
{
	static void *slot;
	int (*query)(struct ibv_context *, uint8_t, int, union ibv_gid *) =
		(__typeof__(query))rec_next(&slot, "ibv_query_gid");
	bool ethernet = p->link_layer == IBV_LINK_LAYER_ETHERNET;
	union ibv_gid gid;

	put(t, "link_layer %s\n", ethernet ? "Ethernet" : "InfiniBand");
	PUT_HIGHEST(t, "max_mtu", mtus, p->max_mtu);
	PUT_HIGHEST(t, "active_mtu", mtus, p->active_mtu > p->max_mtu ? p->max_mtu : p->active_mtu);
	PUT_HIGHEST(t, "speed", speeds, p->active_speed);
	PUT_HIGHEST(t, "width", widths, p->active_width);
	put_number(t, BOUND_max_msg, p->max_msg_sz);
	put_pkeys(t, ctx, p->pkey_tbl_len);
	if (!ethernet && query && !query(ctx, 1, 0, &gid))
		put(t, "subnet_prefix %#llx\n",
		    (unsigned long long)be64toh(gid.global.subnet_prefix));
}

static void put_limits(struct profile_text *t, const struct ibv_device_attr *a)
{
	bool srq = a->max_srq > 0 && a->max_srq_wr > 0 && a->max_srq_sge > 0;
	int rd = a->max_qp_rd_atom < a->max_qp_init_rd_atom ? a->max_qp_rd_atom
							    : a->max_qp_init_rd_atom;

	put_int(t, BOUND_max_qp, a->max_qp);
	put_int(t, BOUND_max_qp_wr, a->max_qp_wr);
	put_int(t, BOUND_max_sge, a->max_sge);
	put_int(t, BOUND_max_sge_rd, a->max_sge_rd);
	put_int(t, BOUND_max_cq, a->max_cq);
	put_int(t, BOUND_max_cqe, a->max_cqe);
	put_int(t, BOUND_max_mr, a->max_mr);
	put_number(t, BOUND_max_mr_size, a->max_mr_size);
	put_int(t, BOUND_max_mw, a->max_mw);
	put_int(t, BOUND_max_pd, a->max_pd);
	/* Some devices say that they have none of a thing of which they have as many as there is memory for. */
	if (a->max_ah > 0)
		put_int(t, BOUND_max_ah, a->max_ah);
	put_int(t, BOUND_max_srq, srq ? a->max_srq : 0);
	put_int(t, BOUND_max_srq_wr, a->max_srq_wr);
	put_int(t, BOUND_max_srq_sge, a->max_srq_sge);
	put_int(t, BOUND_max_rd_atom, rd);
	put_int(t, BOUND_max_res_rd_atom, a->max_res_rd_atom);
	put_int(t, BOUND_ack_delay, a->local_ca_ack_delay);
	put_int(t, BOUND_max_mcast_grp, a->max_mcast_grp);
	put_int(t, BOUND_max_mcast_attach, a->max_mcast_qp_attach);
}

static void put_more(struct profile_text *t, const struct ibv_device_attr_ex *a)
{
	put(t, "odp %s\n", a->odp_caps.general_caps & IBV_ODP_SUPPORT ? "yes" : "no");
	put_number(t, BOUND_max_wq, a->max_wq_type_rq);
	put_number(t, BOUND_max_ind, a->rss_caps.max_rwq_indirection_tables);
	put_number(t, BOUND_max_ind_size, a->rss_caps.max_rwq_indirection_table_size);
	put_number(t, BOUND_max_tags, a->tm_caps.max_num_tags);
	put_number(t, BOUND_max_tso, a->tso_caps.max_tso);
	put_number(t, BOUND_max_dm, a->max_dm_size);
}

static const char *atomic_word(enum ibv_atomic_cap cap)
{
	return cap == IBV_ATOMIC_GLOB ? "GLOB" : cap == IBV_ATOMIC_HCA ? "HCA" : "NONE";
}

/* The device's name without the number at its end, which the emulator gives. */
static size_t base_len(const char *name)
{
	size_t n = strnlen(name, IBV_SYSFS_NAME_MAX);

	while (n && isdigit((unsigned char)name[n - 1]))
		n--;
	return n;
}

void rec_profile(struct ibv_context *ctx, u32 devices)
{
	static struct profile_text t; /* with the lock of devices.c */
	struct ibv_device_attr_ex a;
	struct ibv_port_attr p;
	bool xrc;

	memset(&a, 0, sizeof(a));
	memset(&p, 0, sizeof(p));
	if (ibv_query_device_ex(ctx, NULL, &a) || ibv_query_port(ctx, 1, &p))
		return;
	t.len = 0;
	put(&t, "# Made of what %.63s said of itself.\n", ctx->device->name);
	put_text(&t, "name", ctx->device->name, base_len(ctx->device->name), VT_NAME_BYTES);
	put_number(&t, BOUND_devices, devices);
	put_number(&t, BOUND_ports, a.orig_attr.phys_port_cnt);
	put_text(&t, "fw_ver", a.orig_attr.fw_ver, sizeof(a.orig_attr.fw_ver), VT_FW_BYTES);
	put_number(&t, BOUND_vendor_id, a.orig_attr.vendor_id);
	put_number(&t, BOUND_part_id, a.orig_attr.vendor_part_id);
	put_number(&t, BOUND_hw_ver, a.orig_attr.hw_ver);
	put_port(&t, ctx, &p);
	put_caps(&t, &a);
	xrc = a.orig_attr.device_cap_flags & IBV_DEVICE_XRC;
	put(&t, "qp_types RC UC UD%s%s\n",
	    p.link_layer == IBV_LINK_LAYER_ETHERNET ? " RAW_PACKET" : "", xrc ? " XRC" : "");
	if (!xrc)
		put_number(&t, BOUND_max_xrcd, 0);
	put(&t, "atomic_cap %s\n", atomic_word(a.orig_attr.atomic_cap));
	put_limits(&t, &a.orig_attr);
	put_more(&t, &a);
	put_int(&t, BOUND_comp_vectors, ctx->num_comp_vectors);
	vt_dir_file(&rec.w, "profile", t.text, t.len);
}
