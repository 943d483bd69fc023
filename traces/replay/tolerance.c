/* SPDX-License-Identifier: MIT */
/*
 * Results that may differ on another kind of device: capabilities, limits, and how requested sizes
 * are rounded. If the device has too little, the calls that need more fail and are compared.
 */
#include "traces/replay/identity.h"
#include "traces/replay/replay.h"
#include "traces/replay/line_word.h"

#include <stdlib.h>
#include <string.h>

static bool line_is_call(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(line, name, n) && (!line[n] || line[n] == ' ');
}

static bool line_index(const char *line, const char *name, unsigned long *index)
{
	const char *at = strstr(line, name);

	*index = at && at < strstr(line, " = ") ? strtoul(at + strlen(name), NULL, 10) : 0;
	return true;
}

/*
 * Whether the line queries a GID that has no local counterpart, or the whole table when tables
 * differ.
 */
static bool line_names_uneven_gid(const struct rp_map *m, const char *line)
{
	unsigned long i;

	if (!m->uneven || !rp_line_is_query_gid(line))
		return false;
	if (line_is_call(line, "ibv_query_gid_table"))
		return true;
	if (line_is_call(line, "ibv_query_gid_ex"))
		line_index(line, " gid_index=", &i);
	else
		line_index(line, " index=", &i);
	/* Index 0 is not written to lines, so it cannot be replaced by another one. */
	return i >= VT_MAX_GIDS || !m->has_index[i] || m->index[i] == RP_NO_INDEX ||
	       (!i && m->index[0]);
}

bool rp_result_is_tolerated(const struct rp_thread *t, const char *line)
{
	const struct rp_map *m = t->prog->map;
	unsigned long i;

	if (!m)
		return false;
	if (line_names_uneven_gid(m, line) ||
	    (m->list &&
	     (line_is_call(line, "ibv_get_device_list") || line_is_call(line, "rdma_get_devices"))))
		return true;
	if (!m->other)
		return false;
	/* The default key is in every table. */
	if (line_is_call(line, "ibv_query_pkey"))
		return line_index(line, " index=", &i) && i;
	return line_is_call(line, "ibv_query_qp_data_in_order") ||
	       line_is_call(line, "ibv_query_ece") || line_is_call(line, "rdma_get_remote_ece");
}

/* Whether the last part of a word's key is one of @last. */
static bool key_ends_with(const char *word, size_t name, const char *const *last)
{
	size_t n;

	for (; *last; last++) {
		n = strlen(*last);
		if (name >= n && !memcmp(word + name - n, *last, n) &&
		    (name == n || word[name - n - 1] == '.'))
			return true;
	}
	return false;
}

/* Returns the number in IBV_MTU_1024. */
static unsigned long word_mtu(const char *word, size_t name)
{
	const char *at = word + name + 1, *end = at + strcspn(at, " ");

	while (end > at && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return strtoul(end, NULL, 10);
}

bool rp_word_is_tolerated(const struct rp_thread *t, const char *want, const char *got, size_t name)
{
	static const char *const sizes[] = { "cqe",	     "max_send_wr",  "max_recv_wr",
					     "max_send_sge", "max_recv_sge", "max_inline_data",
					     "max_wr",	     "max_sge",	     NULL };
	static const char *const device[] = { "node_guid", "sys_image_guid", "phys_port_cnt",
					      NULL };
	static const char *const port[] = { "state", "phys_state", "link_layer", "lid",
					    "lmc",   "sm_lid",	   NULL };
	static const char *const active[] = { "active_mtu", NULL };
	static const char *const label[] = { "flow_label", NULL };
	static const char *const path[] = { "hop_limit", "traffic_class", "static_rate", "sl",
					    NULL };
	const struct rp_map *m = t->prog->map;

	/* Flow labels are hashes of addresses and QP numbers. */
	if (m && key_ends_with(want, name, label))
		return true;
	if (!m || !m->other)
		return false;
	if (key_ends_with(want, name, path))
		return true;
	switch (t->parsed.call) {
	case VCALL_ibv_query_device:
	case VCALL_ibv_query_device_ex:
		return !key_ends_with(want, name, device);
	case VCALL_ibv_query_port:
		if (key_ends_with(want, name, active))
			return got && word_mtu(got, name) >= word_mtu(want, name);
		return !key_ends_with(want, name, port);
	default:
		return key_ends_with(want, name, sizes);
	}
}
