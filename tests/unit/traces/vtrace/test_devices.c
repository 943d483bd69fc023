/* SPDX-License-Identifier: MIT */
/* The file of a trace that says what the devices were: its lines, wrong ones, and too many. */
#include "emulator/types.h"
#include "tests/lib/c/cu.h"
#include "traces/vtrace/devices.h"

#include <errno.h>
#include <stdlib.h>

#define LIST "device 0 a 0000000000000001\ndevice 1 b 0000000000000002\n"
#define PORT LIST "port 1 1 Ethernet 0 0 0\n"
#define GID  "gid 1 1 3 00000000000000000000ffffc0000202 RoCEv2 4\n"

/* Returns what the reader says; "" where it takes it. */
static const char *parsed(struct vt_devices *d, const char *text)
{
	static struct vt_error err;
	char *copy = strdup(text);
	int ret;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	err.text[0] = '\0';
	ret = vt_devices_parse(d, "F", copy, &err);
	CU_ASSERT_EQUAL(ret, err.text[0] ? -EINVAL : 0);
	free(copy);
	return err.text;
}

static void wrong(const char *text, const char *why)
{
	struct vt_devices d;
	const char *said = parsed(&d, text);

	CU_ASSERT_EQUAL(strncmp(said, why, strlen(why)), 0);
	if (strncmp(said, why, strlen(why)) != 0)
		fprintf(stderr, "%s: %s\n", text, said);
	vt_devices_free(&d);
}

static void test_devices(void)
{
	struct vt_devices d;
	const struct vt_port *p;

	CU_ASSERT_STRING_EQUAL(parsed(&d, PORT "kind 1 0000000000000002 0x2c9 4123 7 20.31\n" GID
					       "address 1 1 192.0.2.2\naddress 1 1 fd00::1\n"
					       "port 1 3 InfiniBand 17 2 1\ngid 1 1 x"),
			       "");
	CU_ASSERT_EQUAL_FATAL(d.n, 2);
	CU_ASSERT(!strcmp(d.dev[1].name, "b") && d.dev[1].guid == 2 && !d.dev[0].n_ports);
	CU_ASSERT(d.dev[1].known && d.dev[1].vendor == 0x2c9 && d.dev[1].part == 4123 &&
		  d.dev[1].hw == 7 && !strcmp(d.dev[1].fw, "20.31"));
	p = vt_device_port(&d.dev[1], 1);
	CU_ASSERT_FATAL(p && p->n_gids == 1 && p->n_addrs == 2);
	CU_ASSERT(p->link == VT_LINK_ETHERNET && p->gid[0].index == 3 && p->gid[0].ifindex == 4 &&
		  p->gid[0].type == VT_GID_ROCE_V2);
	CU_ASSERT(!memcmp(p->addr[0], p->gid[0].raw, 16) && p->addr[1][0] == 0xfd);
	p = vt_device_port(&d.dev[1], 3);
	CU_ASSERT(p && p->lid == 17 && p->lmc == 2 && p->sm_lid == 1 &&
		  !vt_device_port(&d.dev[1], 2));
	vt_devices_free(&d);
	CU_ASSERT_STRING_EQUAL(parsed(&d, ""), "");
	CU_ASSERT_EQUAL(d.n, 0);
	vt_devices_free(&d);
}

static void test_devices_wrong(void)
{
	char text[512], name[128];

	wrong("devise 0 a 0000000000000001\n", "F:1: expected 'device', 'kind'");
	wrong("\n", "F:1: expected 'device', 'kind'");
	wrong("device 1 a 0000000000000001\n", "F:1: expected 'device NUMBER NAME GUID'");
	wrong("device 0 a 0000000000000001 x\n", "F:1: expected 'device NUMBER NAME GUID'");
	wrong("device -0 a 0000000000000001\n", "F:1: expected 'device NUMBER NAME GUID'");
	wrong("device 0 a 000000000000000g\n", "F:1: expected a GUID");
	wrong("device 0 a 01\n", "F:1: expected a GUID");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "device 0 %s 0000000000000001\n", name);
	wrong(text, "F:1: expected a name of at most 63 bytes");
	wrong("device 0 1 2 3 4 5 6 7 8\n", "F:1: expected at most 8 words");
	wrong(LIST "kind 2 0000000000000002 0x2c9 4123 7 1\n", "F:3: expected 'kind DEVICE");
	wrong(LIST "kind 1 0000000000000002 0x2c9 4294967296 7 1\n", "F:3: expected 'kind DEVICE");
	wrong(LIST "kind 1 0000000000000002 1 1 1 1\nkind 1 0000000000000002 1 1 1 1\n",
	      "F:4: expected 'kind DEVICE");
	wrong(LIST "port 1 0 Ethernet 0 0 0\n", "F:3: expected 'port DEVICE");
	wrong(LIST "port 1 17 Ethernet 0 0 0\n", "F:3: expected 'port DEVICE");
	wrong(LIST "port 1 1 Token 0 0 0\n", "F:3: expected 'port DEVICE");
	wrong(LIST "port 1 1 InfiniBand 65536 0 0\n", "F:3: expected 'port DEVICE");
	wrong(LIST "port 1 1 InfiniBand 1 8 0\n", "F:3: expected 'port DEVICE");
	wrong(PORT "port 1 1 Ethernet 0 0 0\n", "F:4: expected 'port DEVICE");
	wrong(PORT "gid 0 1 0 00000000000000000000ffffc0000202 RoCEv2 4\n", "F:4: expected 'gid");
	wrong(PORT "gid 1 1 1024 00000000000000000000ffffc0000202 RoCEv2 4\n",
	      "F:4: expected 'gid");
	wrong(PORT "gid 1 1 0 00000000000000000000ffffc000020 RoCEv2 4\n", "F:4: expected 'gid");
	wrong(PORT "gid 1 1 0 00000000000000000000ffffc0000202 RoCEv3 4\n", "F:4: expected 'gid");
	wrong(PORT GID GID, "F:5: expected indexes that ascend");
	wrong(PORT "address 1 2 192.0.2.2\n", "F:4: expected 'address");
	wrong(PORT "address 1 1 192.0.2\n", "F:4: expected 'address");
}

static void test_devices_many(void)
{
	static char text[1 << 16];
	size_t n = 0;
	u32 i;

	for (i = 0; i <= VT_MAX_DEVS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "device %u d%u %016x\n", i, i, i);
	wrong(text, "F:65: expected 'device NUMBER NAME GUID'");
	n = (size_t)snprintf(text, sizeof(text), PORT);
	for (i = 0; i <= VT_MAX_ADDRS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "address 1 1 10.0.0.%u\n", i);
	wrong(text, "F:68: expected at most 64 addresses");
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "devices", test_devices },
		{ "lines that are none", test_devices_wrong },
		{ "more than there may be", test_devices_many },
		{ NULL, NULL },
	};

	return cu_run("vtrace devices", tests);
}
