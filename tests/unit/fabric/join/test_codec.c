/* SPDX-License-Identifier: MIT */
/*
 * The frames of joined fabrics: each decodes to what was encoded, and noise is refused.
 */
#include "fabric/join/proto.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"
#include "tests/unit/fabric/join/samples.h"

#include <arpa/inet.h>
#include <stdlib.h>

#define ROUNDS 300000

static u64 seed; /* of emu_rnd() */

static void make_dev(struct hca_dev *d)
{
	u32 p;

	memset(d, 0, sizeof(*d));
	d->index = 7;
	d->node = 3;
	d->guid = 0x1122334455667788;
	d->n_ports = 2;
	d->link_layer = LINK_ETHERNET;
	strcpy(d->name, "rdmaemu0");
	for (p = 1; p <= 2; p++) {
		d->port[p].state = PORT_ACTIVE;
		d->port[p].lid = 100 + p;
		d->port[p].max_mtu = 5;
		d->port[p].active_mtu = 3;
		d->port[p].guid = d->guid + p;
		d->port[p].pkey[0] = 0xffff;
		d->port[p].gid[0].valid = 1;
		d->port[p].gid[0].raw[0] = 0xfe;
		d->port[p].gid[15].valid = 1;
		d->port[p].gid[15].type = 2;
		d->port[p].gid[15].raw[0] = 0x20;
		d->port[p].gid[15].raw[15] = (u8)p;
		d->port[p].ip[4].valid = 1;
		d->port[p].ip[4].raw[12] = 10;
	}
}

static void test_dev(void)
{
	static struct hca_dev d, got;
	u8 body[JOIN_MAX_DEV], *p;
	u32 len, i;

	make_dev(&d);
	len = join_dev_put(body, &d);
	CU_ASSERT_EQUAL(join_dev_get(body, len, &got), 0);
	CU_ASSERT_EQUAL(got.index, 7);
	CU_ASSERT_EQUAL(got.node, 3);
	CU_ASSERT_EQUAL(got.guid, d.guid);
	CU_ASSERT_STRING_EQUAL(got.name, "rdmaemu0");
	CU_ASSERT_EQUAL(memcmp(got.port[2].gid, d.port[2].gid, sizeof(got.port[2].gid)), 0);
	CU_ASSERT_EQUAL(memcmp(got.port[1].ip, d.port[1].ip, sizeof(got.port[1].ip)), 0);
	CU_ASSERT_EQUAL(got.port[1].lid, 101);
	/* Any part of it is none. */
	for (i = 0; i < len; i++) {
		p = tight(body, i);
		CU_ASSERT_EQUAL(join_dev_get(p, i, &got), -EPROTO);
		free(p);
	}
	d.n_ports = 3;
	body[16] = 3;
	CU_ASSERT_EQUAL(join_dev_get(body, len, &got), -EPROTO);
}

/* Addresses that no device of another host has. */
static void test_dev_addresses(void)
{
	static const char *const bad[] = { "::",
					   "::1",
					   "ff02::1",
					   "::ffff:127.0.0.1",
					   "::ffff:224.0.0.1",
					   "::ffff:255.255.255.255",
					   "::ffff:0.0.0.0" };
	static const char *const good[] = { "::ffff:192.0.2.1", "fe80::1", "2001:db8::1" };
	static struct hca_dev d, got;
	u8 body[JOIN_MAX_DEV];
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(bad) + ARRAY_SIZE(good); i++) {
		make_dev(&d);
		inet_pton(AF_INET6, i < ARRAY_SIZE(bad) ? bad[i] : good[i - ARRAY_SIZE(bad)],
			  d.port[2].gid[15].raw);
		len = join_dev_put(body, &d);
		CU_ASSERT_EQUAL(join_dev_get(body, len, &got), i < ARRAY_SIZE(bad) ? -EPROTO : 0);
	}
	make_dev(&d);
	inet_pton(AF_INET6, bad[3], d.port[1].ip[4].raw);
	len = join_dev_put(body, &d);
	CU_ASSERT_EQUAL(join_dev_get(body, len, &got), -EPROTO);
	make_dev(&d);
	d.port[1].gid[15].type = 3;
	len = join_dev_put(body, &d);
	CU_ASSERT_EQUAL(join_dev_get(body, len, &got), -EPROTO);
}

static void test_hello(void)
{
	struct join_hello h = { .version = JOIN_VERSION, .port = 7471, .name = "alpha" }, got;
	u8 body[JOIN_HELLO];
	u32 i;

	join_hello_put(body, &h);
	CU_ASSERT_EQUAL(join_hello_get(body, sizeof(body), &got), 0);
	CU_ASSERT_EQUAL(got.port, 7471);
	CU_ASSERT_STRING_EQUAL(got.name, "alpha");
	for (i = 0; i < sizeof(body); i++)
		CU_ASSERT_EQUAL(join_hello_get(body, i, &got), -EPROTO);
	body[8] = JOIN_VERSION + 1;
	/* Whatever else another version has to say. */
	CU_ASSERT_EQUAL(join_hello_get(body, 20, &got), -EPROTONOSUPPORT);
	body[8] = JOIN_VERSION;
	body[48] = '/';
	CU_ASSERT_EQUAL(join_hello_get(body, sizeof(body), &got), -EPROTO);
	memset(body + 48, 'a', JOIN_NAME);
	CU_ASSERT_EQUAL(join_hello_get(body, sizeof(body), &got), -EPROTO);
}

static void test_peers(void)
{
	struct join_peer peer[JOIN_MAX_PEERS] = { { .id = 1, .port = 5 }, { .id = ~0ULL } };
	struct join_peer got[JOIN_MAX_PEERS];
	u8 body[(JOIN_MAX_PEERS + 1) * JOIN_PEER] = { 0 };

	CU_ASSERT_EQUAL(join_peers_put(body, peer, 2), 2 * JOIN_PEER);
	CU_ASSERT_EQUAL(join_peers_get(body, 2 * JOIN_PEER, got), 2);
	CU_ASSERT_EQUAL(got[0].port, 5);
	CU_ASSERT_EQUAL(got[1].id, ~0ULL);
	CU_ASSERT_EQUAL(join_peers_get(body, 2 * JOIN_PEER - 1, got), -EPROTO);
	CU_ASSERT_EQUAL(join_peers_get(body, 3 * JOIN_PEER, got), -EPROTO);
	CU_ASSERT_EQUAL(join_peers_get(body, sizeof(body), got), -EPROTO);
}

static void test_probe(void)
{
	struct join_probe q = { .number = 7, .qpn = 0x40011, .dev = 3, .peer = 0x50012 },
			  got = { 0 };
	struct join_probed r = { .number = 7, .qpn = 0x40011, .waits = 1 }, reply = { 0 };
	u8 body[JOIN_PROBE + 1] = { 0 };

	join_probe_put(body, &q);
	CU_ASSERT_EQUAL(join_probe_get(body, JOIN_PROBE, &got), 0);
	CU_ASSERT_EQUAL(memcmp(&q, &got, sizeof(q)), 0);
	CU_ASSERT_EQUAL(join_probe_get(body, JOIN_PROBE - 1, &got), -EPROTO);
	CU_ASSERT_EQUAL(join_probe_get(body, JOIN_PROBE + 1, &got), -EPROTO);
	q.number = 0;
	join_probe_put(body, &q);
	CU_ASSERT_EQUAL(join_probe_get(body, JOIN_PROBE, &got), -EPROTO);

	join_probed_put(body, &r);
	CU_ASSERT_EQUAL(join_probed_get(body, JOIN_PROBED, &reply), 0);
	CU_ASSERT_EQUAL(memcmp(&r, &reply, sizeof(r)), 0);
	CU_ASSERT_EQUAL(join_probed_get(body, JOIN_PROBED - 1, &reply), -EPROTO);
	body[8] = 2;
	CU_ASSERT_EQUAL(join_probed_get(body, JOIN_PROBED, &reply), -EPROTO);
	body[8] = 0;
	body[15] = 1;
	CU_ASSERT_EQUAL(join_probed_get(body, JOIN_PROBED, &reply), -EPROTO);
}

static void test_header(void)
{
	struct join_hdr h = { .len = 24, .type = JT_PING, .src = 1, .dst = 2 }, got;
	u8 p[JOIN_HDR];

	join_hdr_put(p, &h);
	CU_ASSERT_EQUAL(join_hdr_get(p, JOIN_MAX_EARLY, &got), 0);
	CU_ASSERT_EQUAL(got.src, 1);
	CU_ASSERT_EQUAL(got.dst, 2);
	h.len = 23;
	join_hdr_put(p, &h);
	CU_ASSERT_EQUAL(join_hdr_get(p, JOIN_MAX_EARLY, &got), -EPROTO);
	h.len = JOIN_MAX_FRAME + 1;
	join_hdr_put(p, &h);
	CU_ASSERT_EQUAL(join_hdr_get(p, JOIN_MAX_FRAME, &got), -EPROTO);
	h.len = 24;
	h.lane = 1;
	join_hdr_put(p, &h);
	CU_ASSERT_EQUAL(join_hdr_get(p, JOIN_MAX_FRAME, &got), -EPROTO);
	h.type = JT_BURST;
	join_hdr_put(p, &h);
	CU_ASSERT_EQUAL(join_hdr_get(p, JOIN_MAX_FRAME, &got), 0);
	h.type = JT_LAST + 1;
	h.lane = 0;
	join_hdr_put(p, &h);
	CU_ASSERT_EQUAL(join_hdr_get(p, JOIN_MAX_FRAME, &got), -EPROTO);
}

/* The invariants of a burst that the engine may receive, whatever arrived. */
static void must_be_sane(const struct burst *b, const u8 *body, u32 len, const u8 *data)
{
	CU_ASSERT_TRUE_FATAL(!data || data + join_data_len(b) == body + len);
	CU_ASSERT_TRUE_FATAL(data || len == join_burst_size(b));
	CU_ASSERT_TRUE_FATAL(b->op < BOP_NONE && b->psn <= IB_PSN_MASK);
	CU_ASSERT_TRUE_FATAL(b->len <= JOIN_MAX_DATA && b->npkts == packets_of(b->len, b->mtu));
	CU_ASSERT_TRUE_FATAL(b->src_port && b->src_port <= HCA_MAX_PORTS);
	CU_ASSERT_TRUE_FATAL(!b->av == (b->dst_type != QPT_UD));
	CU_ASSERT_TRUE_FATAL(!b->av || b->av->sgid_index < HCA_GIDS);
}

/*
 * The @i-th frame's body: a good one with some bytes changed, or cut, or noise alone. Return: its
 * length.
 */
static u32 make_body(u32 i, u8 *body, u32 size, const struct hca_dev *d)
{
	const struct join_hello hello = { .version = JOIN_VERSION, .name = "x" };
	const struct hca_av to = { .is_global = 1 };
	u32 len = JOIN_HELLO, k;
	struct burst b;

	memset(body, 0, size);
	if (i % 5 == 0) {
		b = emu_rnd(&seed) % 2 ? write_burst() : datagram(&to);
		len = join_burst_size(&b) + join_data_len(&b);
		join_burst_put(body, &b, 0, 0);
	} else if (i % 5 == 1) {
		len = join_dev_put(body, d);
	} else if (i % 5 == 2) {
		join_hello_put(body, &hello);
	} else if (i % 5 == 3) {
		len = join_node_put(body, 1, 2, "node");
	} else {
		len = (u32)(emu_rnd(&seed) % 1500);
		for (k = 0; k < len; k++)
			body[k] = (u8)emu_rnd(&seed);
	}
	for (k = (u32)(emu_rnd(&seed) % 4); k; k--)
		body[emu_rnd(&seed) % 200] = (u8)emu_rnd(&seed);
	return emu_rnd(&seed) % 8 ? len : (u32)(emu_rnd(&seed) % (len + 1));
}

/* All that read frames are given it. Return: whether it is a burst. */
static bool feed(const u8 *p, u32 len, u8 lane)
{
	struct join_peer peer[JOIN_MAX_PEERS];
	static struct hca_dev dev;
	struct join_hello hello;
	char name[JOIN_NAME];
	const u8 *data;
	struct hca_av av;
	struct burst b;
	u32 index, n;

	if (!join_dev_get(p, len, &dev))
		CU_ASSERT_TRUE_FATAL(dev.n_ports && dev.n_ports <= HCA_MAX_PORTS);
	if (!join_hello_get(p, len, &hello))
		CU_ASSERT_TRUE_FATAL(strnlen(hello.name, JOIN_NAME) <= 40);
	if (!join_node_get(p, len, &index, &n, name))
		CU_ASSERT_TRUE_FATAL(n && n <= JOIN_NODE_DEVS && strlen(name) <= 40);
	CU_ASSERT_TRUE_FATAL(join_peers_get(p, len, peer) <= (int)JOIN_MAX_PEERS);
	if (join_burst_get(p, len, lane, &b, &av, &data))
		return false;
	must_be_sane(&b, p, len, data);
	return true;
}

static void test_fuzz(void)
{
	static struct hca_dev d;
	u8 body[4096], *p;
	u32 i, len, taken = 0;

	seed = 0x9e3779b97f4a7c15ULL;
	make_dev(&d);
	for (i = 0; i < ROUNDS; i++) {
		len = make_body(i, body, sizeof(body), &d);
		p = tight(body, len);
		taken += feed(p, len, i % 2);
		free(p);
	}
	/* Some get through: it is no test of a function that refuses all. */
	CU_ASSERT_TRUE(taken > ROUNDS / 100);
}

static const struct cu_test tests[] = {
	{ "a device", test_dev },
	{ "a device with addresses that no host has", test_dev_addresses },
	{ "a greeting", test_hello },
	{ "peers", test_peers },
	{ "probes", test_probe },
	{ "headers", test_header },
	{ "noise", test_fuzz },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("join", tests);
}
