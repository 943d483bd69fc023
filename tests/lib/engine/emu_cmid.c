/* SPDX-License-Identifier: MIT */
/* See tests/lib/engine/emu_cmid.h. */
#include "tests/lib/engine/emu_cmid.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

static void add_gid(struct emu *m, u32 dev, u32 index, const char *ip, u32 ifindex)
{
	struct cm_addr a = emu_ip(ip, 0);
	struct hca_gid *g = &m->hca->dev[dev].port[1].gid[index];

	memcpy(g->raw, a.ip, 16);
	g->type = 2;
	g->valid = 1;
	g->ifindex = ifindex;
}

struct emu *emu_fabric(u64 seed)
{
	struct emu *m = emu_new(seed);
	struct hca_dev *d = &m->hca->dev[1];

	add_gid(m, 0, 1, "198.51.100.7", 3);
	add_gid(m, 0, 2, "2001:db8::1", 2);
	add_gid(m, 0, 3, "fe80::7", 3);
	hca_node_begin(m->hca, "node1", 1);
	*d = m->hca->dev[0];
	d->node = 1;
	d->index = 1;
	memset(d->n, 0, sizeof(d->n));
	memset(d->port[1].gid, 0, sizeof(d->port[1].gid));
	add_gid(m, 1, 0, "192.0.2.2", 2);
	add_gid(m, 1, 1, "2001:db8::2", 2);
	hca_node_publish(m->hca, 1);
	hca_nodes_index(m->hca);
	return m;
}

struct cm_addr emu_ip(const char *text, u16 port)
{
	struct cm_addr a = { .port = port };
	char ip[64];
	char *scope;

	snprintf(ip, sizeof(ip), "%s", text);
	scope = strchr(ip, '%');
	if (scope) {
		a.scope = (u32)atoi(scope + 1);
		*scope = 0;
	}
	a.family = 10;
	if (inet_pton(AF_INET6, ip, a.ip) == 1)
		return a;
	a.family = 2;
	memset(a.ip, 0, 10);
	memset(a.ip + 10, 0xff, 2);
	if (inet_pton(AF_INET, ip, a.ip + 12) != 1)
		abort();
	return a;
}

int emu_do(struct emu *m, u32 client, u32 op, u32 handle, struct cmd_cm *c)
{
	struct hca_cmd cmd = { .op = op, .handle = handle };
	int ret;

	if (c)
		cmd.cm = *c;
	ret = emu_cmd(m, client, &cmd);
	if (c)
		*c = cmd.cm;
	return ret;
}

static u32 make(struct emu *m, u32 client, u32 op, const struct cmd_cm *c)
{
	struct hca_cmd cmd = { .op = op };

	cmd.cm = *c;
	if (emu_cmd(m, client, &cmd))
		abort();
	return cmd.handle;
}

u32 emu_chan(struct emu *m, u32 client, u32 number)
{
	struct cmd_cm c = { .chan = number };

	return make(m, client, CMD_CM_OPEN_CHAN, &c);
}

u32 emu_id_new(struct emu *m, u32 client, u32 ch, u32 ps, u64 uid)
{
	struct cmd_cm c = { .ch = ch, .ps = ps, .uid = uid };

	return make(m, client, CMD_CM_CREATE_ID, &c);
}

int emu_bind(struct emu *m, u32 client, u32 id, const char *ip, u16 port)
{
	struct cmd_cm c = { .src = emu_ip(ip, port) };

	return emu_do(m, client, CMD_CM_BIND, id, &c);
}

int emu_resolve(struct emu *m, u32 client, u32 id, const char *from, const char *to, u16 port)
{
	struct cmd_cm c = { .dst = emu_ip(to, port), .timeout_ms = 2000 };

	if (from)
		c.src = emu_ip(from, 0);
	return emu_do(m, client, CMD_CM_RESOLVE_ADDR, id, &c);
}

int emu_option(struct emu *m, u32 client, u32 id, u32 name, s32 value, u32 len)
{
	struct cmd_cm c = { .optname = name, .optlen = len };

	memcpy(c.opt, &value, sizeof(value));
	return emu_do(m, client, CMD_CM_SET_OPTION, id, &c);
}

int emu_get(struct emu *m, u32 client, u32 ch, struct cm_event *ev)
{
	struct cmd_cm c = { 0 };
	int ret = emu_do(m, client, CMD_CM_GET_EVENT, ch, &c);

	*ev = c.ev;
	return ret;
}

bool emu_got(struct emu *m, u32 client, u32 ch, u32 type, u64 uid, s32 status)
{
	struct cm_event ev;
	int ret = emu_get(m, client, ch, &ev);

	if (!ret && ev.type == type && ev.uid == uid && ev.status == status)
		return true;
	printf("# event: %d, type %u of %llu, status %d\n", ret, ev.type,
	       (unsigned long long)ev.uid, ev.status);
	return false;
}

bool emu_sound(struct emu *m)
{
	char why[200];

	if (!hca_audit(m->hca, why, sizeof(why)))
		return true;
	printf("# audit: %s\n", why);
	return false;
}
