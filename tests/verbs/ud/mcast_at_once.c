/* SPDX-License-Identifier: MIT */
/*
 * A queue pair that is attached to a group receives from then on what other hosts send, so the
 * interface of the wire is a member of the group when ibv_attach_mcast() returns.
 *	app_ud_mcast_at_once ROUNDS INTERFACE
 */
#include "tests/lib/c/vb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static union ibv_gid group_gid(int n)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 8 } };

	gid.raw[14] = (uint8_t)(n >> 8);
	gid.raw[15] = (uint8_t)n;
	return gid;
}

/* The kernel prints the address as a number of the host's order, below the interface's line. */
static bool has_joined(const char *iface, const union ibv_gid *gid)
{
	FILE *f = fopen("/proc/net/igmp", "r");
	char line[256], name[64] = "";
	bool found = false;
	unsigned int group;
	uint32_t addr;

	if (!f)
		return false;
	memcpy(&addr, gid->raw + 12, sizeof(addr));
	while (!found && fgets(line, sizeof(line), f)) {
		if (line[0] != '\t')
			sscanf(line, "%*d %63s", name);
		else if (sscanf(line, " %x", &group) == 1)
			found = group == addr && !strcmp(name, iface);
	}
	fclose(f);
	return found;
}

int main(int argc, char **argv)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	int rounds = argc > 2 ? atoi(argv[1]) : 0, n, late = 0, failed = 0;
	struct vb_side *s;
	union ibv_gid gid;

	if (rounds <= 0)
		return 2;
	s = vb_local();
	vb_open(s);
	ok(!vb_create(s, 0, &spec) && !vb_connect(s, 0, NULL, 0, &spec), "a UD queue pair");
	for (n = 1; n <= rounds; n++) {
		gid = group_gid(n);
		failed += ibv_attach_mcast(s->qp[0].qp, &gid, 0) != 0;
		late += !has_joined(argv[2], &gid);
		failed += ibv_detach_mcast(s->qp[0].qp, &gid, 0) != 0;
	}
	ok(!failed, "it joins and leaves %d groups", rounds);
	ok(!late, "the interface has joined each group by then; late: %d", late);
	vb_close(s);
	return tap_failed != 0;
}
