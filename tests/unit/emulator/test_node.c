/* SPDX-License-Identifier: MIT */
/* Nodes: names, addresses, and their devices. */
#include "emulator/port.h"
#include "emulator/verbs/port.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cmid.h"

#include <stdio.h>

static struct emu *m;

/* Client 0 is on node 0, client 1 on node 1. */
static void begin(void)
{
	m = emu_fabric(1);
	m->hca->client[1].node = 1;
}

static void end(void)
{
	m->hca->client[1].node = 0;
	CU_ASSERT_TRUE(emu_sound(m));
	emu_free(m);
}

static void test_names(void)
{
	char longest[NODE_NAME_MAX + 2];
	size_t i;
	static const char *const good[] = { "a", "A-b.c_9", "_x", "0" };
	static const char *const bad[] = { "",	  ".",	 "..",	"-a",	   ".a",
					   "a b", "a/b", "a\n", "\xc3\xa9" };

	for (i = 0; i < ARRAY_SIZE(good); i++)
		CU_ASSERT_TRUE(hca_node_name_ok(good[i]));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CU_ASSERT_FALSE(hca_node_name_ok(bad[i]));
	memset(longest, 'x', sizeof(longest));
	longest[NODE_NAME_MAX + 1] = 0;
	CU_ASSERT_FALSE(hca_node_name_ok(longest));
	longest[NODE_NAME_MAX] = 0;
	CU_ASSERT_TRUE(hca_node_name_ok(longest));

	begin();
	CU_ASSERT_EQUAL(hca_node_find(m->hca, "node0"), 0);
	CU_ASSERT_EQUAL(hca_node_find(m->hca, "node1"), 1);
	CU_ASSERT_EQUAL(hca_node_find(m->hca, "node2"), -ENOENT);
	CU_ASSERT_EQUAL(hca_node_begin(m->hca, "node1", 1), -EEXIST);
	CU_ASSERT_EQUAL(hca_node_begin(m->hca, "..", 1), -EINVAL);
	CU_ASSERT_EQUAL(hca_node_begin(m->hca, "many", HCA_MAX_DEVS), -ENOSPC);
	/* Nobody sees one that is not complete. */
	CU_ASSERT_EQUAL(hca_node_begin(m->hca, longest, 2), 2);
	CU_ASSERT_EQUAL(hca_node_find(m->hca, longest), -ENOENT);
	CU_ASSERT_EQUAL(m->hca->n_devs, 2);
	hca_node_publish(m->hca, 2);
	CU_ASSERT_EQUAL(hca_node_find(m->hca, longest), 2);
	CU_ASSERT_EQUAL(m->hca->n_devs, 4);
	end();
}

static void raw_of(const char *ip, u8 raw[16])
{
	struct cm_addr a = emu_ip(ip, 0);

	memcpy(raw, a.ip, 16);
}

static int find(const char *ip)
{
	u8 raw[16], port;

	raw_of(ip, raw);
	return hca_find_gid(m->hca, raw, &port);
}

static void test_addresses(void)
{
	struct hca_gid g = { .valid = 1, .type = 2 };

	begin();
	CU_ASSERT_EQUAL(find("198.51.100.7"), 0);
	CU_ASSERT_EQUAL(find("192.0.2.2"), 1);
	CU_ASSERT_EQUAL(find("192.0.2.3"), -1);
	/* An entry gets another address, loses it, gets it back. */
	raw_of("192.0.2.3", g.raw);
	CU_ASSERT_TRUE(hca_port_set_gid(m->hca, 1, 1, false, 0, &g));
	CU_ASSERT_FALSE(hca_port_set_gid(m->hca, 1, 1, false, 0, &g));
	CU_ASSERT_EQUAL(find("192.0.2.2"), -1);
	CU_ASSERT_EQUAL(find("192.0.2.3"), 1);
	g.valid = 0;
	CU_ASSERT_TRUE(hca_port_set_gid(m->hca, 1, 1, false, 0, &g));
	CU_ASSERT_EQUAL(find("192.0.2.3"), -1);
	g.valid = 1;
	CU_ASSERT_TRUE(hca_port_set_gid(m->hca, 1, 1, false, 0, &g));
	CU_ASSERT_EQUAL(find("192.0.2.3"), 1);
	/* Two have it: the first device counts, whatever came last. */
	CU_ASSERT_TRUE(hca_port_set_gid(m->hca, 0, 1, false, 5, &g));
	CU_ASSERT_EQUAL(find("192.0.2.3"), 0);
	/* An interface's address is no GID. */
	raw_of("192.0.2.9", g.raw);
	CU_ASSERT_TRUE(hca_port_set_gid(m->hca, 1, 1, true, 3, &g));
	CU_ASSERT_EQUAL(find("192.0.2.9"), -1);
	end();
}

/* The device that a LID leads to. */
static int of_lid(u32 lid)
{
	u8 port;

	return hca_find_lid(m->hca, lid, &port);
}

/*
 * A port takes the LID of another, as a node's may whose predecessor's host is gone: the LID leads
 * to it whatever becomes of the other port, which has none until it is given one.
 */
static void test_lids(void)
{
	const u32 a = 3, b = 4;
	struct engine *e;

	begin();
	e = &m->fabric;
	m->hca->dev[0].link_layer = m->hca->dev[1].link_layer = LINK_INFINIBAND;
	port_set_lid(e, 0, 1, a);
	port_set_lid(e, 1, 1, b);
	port_set_lid(e, 1, 1, a);
	CU_ASSERT_EQUAL(of_lid(a), 1);
	CU_ASSERT_EQUAL(of_lid(b), -1);
	CU_ASSERT_EQUAL(m->hca->dev[0].port[1].lid, 0);
	port_set_lid(e, 0, 1, 0);
	CU_ASSERT_EQUAL(of_lid(a), 1);
	/* The other one returns, and takes it back. */
	port_set_lid(e, 1, 1, b);
	port_set_lid(e, 0, 1, a);
	CU_ASSERT_EQUAL(of_lid(a), 0);
	CU_ASSERT_EQUAL(of_lid(b), 1);
	port_set_lid(e, 0, 1, 0);
	port_set_lid(e, 1, 1, 0);
	m->hca->dev[0].link_layer = m->hca->dev[1].link_layer = LINK_ETHERNET;
	end();
}

static int on_device(u32 client, u32 op, u32 dev)
{
	struct hca_cmd cmd = { .op = op };

	switch (op) {
	case CMD_ALLOC_PD:
		cmd.dev = dev;
		break;
	case CMD_OPEN_DEV:
		cmd.open.dev = dev;
		break;
	case CMD_OPEN_XRCD:
		cmd.xrcd = (struct cmd_xrcd){
			.st_dev = 1, .st_ino = 1, .dev = dev, .oflags = XRCD_CREAT
		};
		break;
	case CMD_ALLOC_DM:
		cmd.dm.dev = dev;
		cmd.dm.len = 64;
		break;
	default:
		cmd.ctr.dev = dev;
		break;
	}
	return emu_cmd(m, client, &cmd);
}

static void test_devices(void)
{
	static const u32 ops[] = { CMD_ALLOC_PD, CMD_OPEN_DEV, CMD_OPEN_XRCD, CMD_ALLOC_DM,
				   CMD_CREATE_COUNTERS };
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		CU_ASSERT_EQUAL(on_device(0, ops[i], 0), 0);
		CU_ASSERT_EQUAL(on_device(1, ops[i], 1), 0);
		CU_ASSERT_EQUAL(on_device(0, ops[i], 1), -EINVAL);
		CU_ASSERT_EQUAL(on_device(1, ops[i], 0), -EINVAL);
		CU_ASSERT_EQUAL(on_device(1, ops[i], 2), -EINVAL);
	}
	end();
}

static void test_imports(void)
{
	struct hca_cmd pd = { .op = CMD_ALLOC_PD, .dev = 0, .ctx = 77 };
	struct hca_cmd cmd = { .op = CMD_IMPORT };

	begin();
	CU_ASSERT_EQUAL_FATAL(emu_cmd(m, 0, &pd), 0);
	cmd.import = (struct cmd_import){ .kind = IMPORT_PD, .ctx = 77, .index = pd.handle };
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &cmd), -ENOENT);
	m->hca->client[1].node = 0;
	cmd.import = (struct cmd_import){ .kind = IMPORT_PD, .ctx = 77, .index = pd.handle };
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &cmd), 0);
	end();
}

/* As many as there may be: each is found, by name and by its address. */
static void test_many(void)
{
	const u32 devs = HCA_MAX_DEVS / HCA_MAX_NODES;
	char name[16], ip[32];
	u32 i, d;

	begin();
	for (i = m->hca->n_nodes; i < HCA_MAX_NODES; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		CU_ASSERT_EQUAL_FATAL(hca_node_begin(m->hca, name, devs - 1), (int)i);
		for (d = 0; d < devs - 1; d++) {
			struct hca_dev *dev = &m->hca->dev[m->hca->node[i].first_dev + d];

			CU_ASSERT_TRUE(dev->node == i && dev->number == d);
			dev->n_ports = 1;
			dev->port[1].lid = (u16)(10 + m->hca->node[i].first_dev + d);
			dev->port[1].gid[1].valid = 1;
			snprintf(ip, sizeof(ip), "10.%u.%u.%u", d, i >> 8, i & 255);
			raw_of(ip, dev->port[1].gid[1].raw);
		}
		hca_node_publish(m->hca, i);
	}
	CU_ASSERT_EQUAL(hca_node_begin(m->hca, "more", 0), -ENOSPC);
	for (i = 2; i < HCA_MAX_NODES; i++) {
		u8 port = 0;
		u32 dev = m->hca->node[i].first_dev + 1;

		snprintf(name, sizeof(name), "n%u", i);
		CU_ASSERT_EQUAL(hca_node_find(m->hca, name), (int)i);
		snprintf(ip, sizeof(ip), "10.1.%u.%u", i >> 8, i & 255);
		CU_ASSERT_EQUAL(find(ip), (int)dev);
		CU_ASSERT_EQUAL(hca_find_lid(m->hca, 10 + dev, &port), (int)dev);
		CU_ASSERT_EQUAL(port, 1);
	}
	/* Made anew, all is as it was. */
	hca_nodes_index(m->hca);
	CU_ASSERT_EQUAL(hca_node_find(m->hca, "n1000"), 1000);
	CU_ASSERT_EQUAL(find("10.0.3.232"), (int)m->hca->node[1000].first_dev);
	end();
}

static const struct cu_test tests[] = {
	{ "names", test_names },
	{ "addresses are found when they change", test_addresses },
	{ "a LID leads to the port that took it last", test_lids },
	{ "a node's devices are its programs'", test_devices },
	{ "nothing is imported from another node", test_imports },
	{ "as many as there may be", test_many },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("nodes", tests);
}
