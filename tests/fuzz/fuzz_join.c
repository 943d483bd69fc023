/* SPDX-License-Identifier: MIT */
/*
 * Frames of joined fabrics, and heads of records, for libFuzzer: `make fuzz FUZZ=join`. An input is
 * a frame: header, body. A body that the codec accepts keeps what the codec promises, and encodes
 * and decodes to the same.
 */
#include "fabric/join/proto.h"
#include "fabric/join/seal.h"
#include "tests/fuzz/links.h"

#include <ctype.h>

static void check_text(const u8 *body, u32 len)
{
	char text[JOIN_TEXT + 1];
	u32 i;

	join_text_get(body, len, text);
	must(strlen(text) == min_u32(len, JOIN_TEXT));
	for (i = 0; text[i]; i++)
		must(isprint((u8)text[i]));
}

static void check_hello(const u8 *body, u32 len)
{
	struct join_hello h, again;
	u8 copy[JOIN_HELLO];

	if (join_hello_get(body, len, &h))
		return;
	must(join_name_ok(h.name, sizeof(h.name)));
	join_hello_put(copy, &h);
	must(!join_hello_get(copy, sizeof(copy), &again));
	must(again.port == h.port && again.ppm == h.ppm && again.flags == h.flags);
	must(!memcmp(again.key, h.key, sizeof(h.key)) && !strcmp(again.name, h.name));
}

static void check_node(const u8 *body, u32 len)
{
	char name[JOIN_NAME], again[JOIN_NAME];
	u32 index, n_devs, i, n;
	u8 copy[JOIN_NODE];

	if (join_node_get(body, len, &index, &n_devs, name))
		return;
	must(n_devs && n_devs <= JOIN_NODE_DEVS && join_name_ok(name, sizeof(name)));
	must(join_node_put(copy, index, n_devs, name) == sizeof(copy));
	must(!join_node_get(copy, sizeof(copy), &i, &n, again));
	must(i == index && n == n_devs && !strcmp(name, again));
}

static void check_gids(const struct hca_gid gid[HCA_GIDS])
{
	u32 i;

	for (i = 0; i < HCA_GIDS; i++)
		if (gid[i].valid)
			must(gid_is_unicast(gid[i].raw) && !gid_is_loopback(gid[i].raw));
}

static void check_dev(const u8 *body, u32 len)
{
	static struct hca_dev d, again;
	u8 copy[JOIN_MAX_DEV], third[JOIN_MAX_DEV];
	u32 n, p;

	if (join_dev_get(body, len, &d))
		return;
	must(d.index < HCA_MAX_DEVS && d.n_ports && d.n_ports <= HCA_MAX_PORTS);
	for (p = 1; p <= d.n_ports; p++) {
		check_gids(d.port[p].gid);
		check_gids(d.port[p].ip);
	}
	n = join_dev_put(copy, &d);
	must(n == len && !join_dev_get(copy, n, &again));
	must(join_dev_put(third, &again) == n && !memcmp(third, copy, n));
}

static void check_peers(const u8 *body, u32 len)
{
	struct join_peer peer[JOIN_MAX_PEERS], again[JOIN_MAX_PEERS];
	u8 copy[JOIN_MAX_PEERS * JOIN_PEER];
	int i, n = join_peers_get(body, len, peer);

	if (n < 0)
		return;
	must(join_peers_put(copy, peer, (u32)n) == len && join_peers_get(copy, len, again) == n);
	for (i = 0; i < n; i++)
		must(peer[i].id && peer[i].id == again[i].id && peer[i].port == again[i].port &&
		     peer[i].scope == again[i].scope && !memcmp(peer[i].ip, again[i].ip, 16));
}

static void check_query(const u8 *body, u32 len)
{
	struct join_query q;
	u8 copy[JOIN_QUERY];

	if (join_query_get(body, len, &q))
		return;
	must(q.number && q.from <= JOIN_TEXT_MAX);
	must(strlen(q.program) < JOIN_NAME && strlen(q.node) < JOIN_NAME);
	join_query_put(copy, &q);
	must(!memcmp(copy, body, sizeof(copy)));
}

static void check_piece(const u8 *body, u32 len)
{
	struct join_piece t;
	static u8 copy[JOIN_PIECE + JOIN_PIECE_MAX];

	if (join_piece_get(body, len, &t))
		return;
	must(t.number && t.from + t.len <= t.total && t.total <= JOIN_TEXT_MAX);
	must(t.len || t.from == t.total);
	must(join_piece_put(copy, &t) == len && !memcmp(copy, body, len));
}

static void check_burst(const u8 *body, u32 len, u8 lane)
{
	u8 copy[JOIN_BURST + JOIN_AV];
	struct burst b;
	struct hca_av av;
	const u8 *data;
	u32 head;

	if (join_burst_get(body, len, lane, &b, &av, &data))
		return;
	head = join_burst_size(&b);
	must(b.op < BOP_NONE && join_data_len(&b) <= JOIN_MAX_DATA && head <= len);
	must(!data || (data == body + head && data + join_data_len(&b) == body + len));
	must(b.npkts >= 1 && b.psn <= IB_PSN_MASK && join_lane_of(b.op) == lane);
	must(!b.av || (b.av == &av && av.sgid_index < HCA_GIDS));
	join_burst_put(copy, &b, b.src_dev, b.dst_dev);
	if (!data)
		join_burst_void(copy);
	/* Reserved bytes of the address are not kept. */
	must(!memcmp(copy, body, JOIN_BURST));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	const u8 *body = data + JOIN_HDR;
	u32 n = (u32)len - JOIN_HDR;
	u8 head[JOIN_HDR];
	struct join_hdr h;
	int record = seal_length(data, (u32)len);

	must(record < 0 || !record ||
	     (record > (int)(SEAL_HEAD + SEAL_TAG) && record <= (int)SEAL_RECORD));
	if (len < JOIN_HDR || join_hdr_get(data, JOIN_MAX_FRAME, &h))
		return 0;
	must(h.len >= JOIN_HDR && h.len <= JOIN_MAX_FRAME && h.lane < LANES);
	join_hdr_put(head, &h);
	must(!memcmp(head, data, JOIN_HDR));
	/* The length is that of the input: a body is never read beyond it. */
	check_text(body, n);
	if (h.type == JT_HELLO)
		check_hello(body, n);
	else if (h.type == JT_NODE)
		check_node(body, n);
	else if (h.type == JT_DEV)
		check_dev(body, n);
	else if (h.type == JT_PEERS)
		check_peers(body, n);
	else if (h.type == JT_QUERY)
		check_query(body, n);
	else if (h.type == JT_PIECE)
		check_piece(body, n);
	else if (h.type == JT_BURST)
		check_burst(body, n, h.lane);
	return 0;
}
