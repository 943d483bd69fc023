/* SPDX-License-Identifier: MIT */
/*
 * Results that may differ on another kind of device: capabilities, limits, and how requested sizes
 * are rounded. If the device has too little, the calls that need more fail and are compared.
 */
#include "traces/compare/compare.h"
#include "traces/compare/line_word.h"

#include <stdlib.h>
#include <string.h>

static bool line_is_call(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(line, name, n) && (!line[n] || line[n] == ' ');
}

static bool line_is_any_call(const char *line, const char *const *names)
{
	for (; *names; names++)
		if (line_is_call(line, *names))
			return true;
	return false;
}

enum cmp_asks cmp_line_asks(const char *line)
{
	static const char *const device[] = { "ibv_query_device", "ibv_query_device_ex", NULL };

	if (line_is_any_call(line, device))
		return CMP_ASKS_DEVICE;
	return line_is_call(line, "ibv_query_port") ? CMP_ASKS_PORT : CMP_ASKS_NOTHING;
}

bool cmp_line_is_question(const char *line)
{
	static const char *const others[] = { "ibv_query_pkey",	      "ibv_get_pkey_index",
					      "ibv_get_device_list",  "ibv_free_device_list",
					      "ibv_get_device_index", NULL };

	return cmp_line_asks(line) != CMP_ASKS_NOTHING || cmp_line_is_query_gid(line) ||
	       line_is_any_call(line, others);
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
static bool line_names_uneven_gid(const struct cmp_map *m, const char *line)
{
	unsigned long i;

	if (!m->uneven || !cmp_line_is_query_gid(line))
		return false;
	if (line_is_call(line, "ibv_query_gid_table"))
		return true;
	if (line_is_call(line, "ibv_query_gid_ex"))
		line_index(line, " gid_index=", &i);
	else
		line_index(line, " index=", &i);
	/* Index 0 is not written to lines, so it cannot be replaced by another one. */
	return i >= VT_MAX_GIDS || !m->has_index[i] || m->index[i] == CMP_NO_INDEX ||
	       (!i && m->index[0]);
}

/*
 * Enhanced connection options are the vendor's. A program may ask for regions over dma-bufs by a
 * call that fails, by which error it knows whether the device has them.
 */
static bool line_shows_kind(const char *line)
{
	static const char *const calls[] = { "ibv_query_qp_data_in_order", "ibv_query_ece",
					     "ibv_set_ece", "rdma_get_remote_ece", NULL };

	return line_is_any_call(line, calls) ||
	       (line_is_call(line, "ibv_reg_dmabuf_mr") && strstr(line, " = NULL "));
}

bool cmp_result_is_tolerated(const struct cmp_map *m, const char *line)
{
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
	return line_shows_kind(line);
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

/* --- inputs --- */

/* Whether two numbers in hexadecimal are the same but for some digits. @skip: '-' for these */
static bool digits_are_same(const char *a, const char *b, const char *skip)
{
	for (; *skip; skip++, a++, b++)
		if (*skip != '-' && *a != *b)
			return false;
	return true;
}

/*
 * Whether the GIDs of two GRHs name the same addresses. With RoCE over IPv4 they have an IP header:
 * devices number packets and set the hop limit as they like, and rdma_rxe leaves out the checksum.
 */
static bool grh_gid_is_same(const char *line, const char *a, const char *b, size_t name)
{
	static const char key[] = " grh.sgid=";
	const char *sgid = strstr(line, key);

	return sgid && strcspn(sgid + strlen(key), " ") == 32 &&
	       !memcmp(sgid + strlen(key) + 24, "45", 2) && strcspn(a + name + 1, " ") == 32 &&
	       strcspn(b + name + 1, " ") == 32 &&
	       digits_are_same(a + name + 1, b + name + 1, "----xxxx--xx----xxxxxxxxxxxxxxxx");
}

bool cmp_input_is_tolerated(const char *line, const char *a, const char *b, size_t name)
{
	static const char *const calls[] = { "ibv_create_ah_from_wc", "ibv_init_ah_from_wc", NULL };
	static const char *const number[] = { "imm_data", NULL };
	static const char *const kind[] = { "wc.sl", NULL };
	static const char *const gid[] = { "grh.dgid", NULL };

	if (!line_is_any_call(line, calls))
		return false;
	if (key_ends_with(a ? a : b, name, kind))
		return true;
	return a && b &&
	       (key_ends_with(a, name, number) ||
		(key_ends_with(a, name, gid) && grh_gid_is_same(line, a, b, name)));
}

/* --- results --- */

/* Returns the number in IBV_MTU_1024. */
static unsigned long word_mtu(const char *word, size_t name)
{
	const char *at = word + name + 1, *end = at + strcspn(at, " ");

	while (end > at && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return strtoul(end, NULL, 10);
}

bool cmp_word_is_tolerated(const struct cmp_map *m, enum cmp_asks asks, const char *want,
			   const char *got, size_t name)
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

	/* Flow labels are hashes of addresses and QP numbers. */
	if (m && key_ends_with(want, name, label))
		return true;
	if (!m || !m->other)
		return false;
	if (key_ends_with(want, name, path))
		return true;
	if (asks == CMP_ASKS_DEVICE)
		return !key_ends_with(want, name, device);
	if (asks == CMP_ASKS_NOTHING)
		return key_ends_with(want, name, sizes);
	if (key_ends_with(want, name, active))
		return got && word_mtu(got, name) >= word_mtu(want, name);
	return !key_ends_with(want, name, port);
}
