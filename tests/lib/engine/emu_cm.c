/* SPDX-License-Identifier: MIT */
/* Connection management on the bare engine. See tests/lib/engine/emu_cm.h. */
#include "tests/lib/engine/emu_cm.h"

#include "emulator/audit/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define LISTEN_PORT 7471
#define SECOND	    1000000000ULL

static const struct cm_addr here = {
	.family = AF_INET,
	.port = LISTEN_PORT,
	.ip = { [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1 },
};

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "emu_cm: %s: %d\n", what, ret);
	abort();
}

int emu_cm_cmd(struct emu *m, const struct emu_id *id, u32 op, struct cmd_cm *arg)
{
	struct hca_cmd cmd = { .op = op, .handle = id->h };
	int ret;

	cmd.cm = *arg;
	ret = emu_cmd(m, id->client, &cmd);
	*arg = cmd.cm;
	return ret;
}

u32 emu_cm_chan(struct emu *m, u32 client)
{
	struct hca_cmd cmd = { .op = CMD_CM_OPEN_CHAN };

	cmd.cm.chan = 1;
	must(emu_cmd(m, client, &cmd), "channel");
	return cmd.handle;
}

struct emu_id emu_cm_id(struct emu *m, u32 client, u32 ch, u32 ps)
{
	struct hca_cmd cmd = { .op = CMD_CM_CREATE_ID };
	struct emu_id id = { .client = client, .ch = ch };

	cmd.cm.ch = ch;
	cmd.cm.ps = ps;
	cmd.cm.uid = 1;
	must(emu_cmd(m, client, &cmd), "identifier");
	id.h = cmd.handle;
	m->hca->cmid[id.h].uid = id.h + 1;
	return id;
}

struct hca_cmid *emu_cmid(struct emu *m, const struct emu_id *id)
{
	return &m->hca->cmid[id->h];
}

static void open_side(struct emu_cm *c, u32 side, u32 ps, u32 backlog)
{
	u32 client = side ^ c->swap;
	struct cmd_cm arg = { .src = here };

	c->ch[side] = emu_cm_chan(c->m, client);
	if (!side)
		return;
	c->listener = emu_cm_id(c->m, client, c->ch[1], ps);
	must(emu_cm_cmd(c->m, &c->listener, CMD_CM_BIND, &arg), "bind");
	arg = (struct cmd_cm){ .backlog = backlog };
	must(emu_cm_cmd(c->m, &c->listener, CMD_CM_LISTEN, &arg), "listen");
}

static struct emu_cm *make(u64 seed, u32 ps, u32 backlog, u32 swap)
{
	struct emu_cm *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	c->m = emu_new(seed);
	c->m->hca->dev[0].guid = 0x0002c903000e5340;
	c->swap = swap;
	open_side(c, 0, ps, backlog);
	open_side(c, 1, ps, backlog);
	return c;
}

struct emu_cm *emu_cm_new(u64 seed, u32 ps, u32 backlog)
{
	return make(seed, ps, backlog, 0);
}

struct emu_cm *emu_cm_new_swapped(u64 seed, u32 ps)
{
	return make(seed, ps, 0, 1);
}

void emu_cm_again(struct emu_cm *c, u32 side, u32 ps)
{
	emu_client_new(c->m, side ^ c->swap);
	open_side(c, side, ps, 0);
}

void emu_cm_free(struct emu_cm *c)
{
	emu_free(c->m);
	free(c);
}

struct emu_id emu_cm_active(struct emu_cm *c)
{
	u32 ps = emu_cmid(c->m, &c->listener)->ps;
	struct emu_id id = emu_cm_id(c->m, c->swap, c->ch[0], ps);
	struct cmd_cm arg = { .dst = here, .timeout_ms = 1000 };
	struct cm_event ev;

	must(emu_cm_cmd(c->m, &id, CMD_CM_RESOLVE_ADDR, &arg), "resolve address");
	must(!emu_cm_want(c, 0, CM_EV_ADDR_RESOLVED, 0, &ev), "address resolved");
	must(emu_cm_cmd(c->m, &id, CMD_CM_RESOLVE_ROUTE, &arg), "resolve route");
	must(!emu_cm_want(c, 0, CM_EV_ROUTE_RESOLVED, 0, &ev), "route resolved");
	return id;
}

bool emu_cm_next(struct emu_cm *c, u32 side, struct cm_event *ev)
{
	struct hca_cmd cmd = { .op = CMD_CM_GET_EVENT, .handle = c->ch[side] };

	if (emu_cmd(c->m, side ^ c->swap, &cmd))
		return false;
	*ev = cmd.cm.ev;
	return true;
}

bool emu_cm_want(struct emu_cm *c, u32 side, u32 type, s32 status, struct cm_event *ev)
{
	if (!emu_cm_next(c, side, ev)) {
		fprintf(stderr, "side %u: event %u is missing\n", side, type);
		return false;
	}
	if (ev->type == type && ev->status == status)
		return true;
	fprintf(stderr, "side %u: event %u status %d, not %u status %d\n", side, ev->type,
		ev->status, type, status);
	return false;
}

bool emu_cm_await(struct emu_cm *c, u32 side, u32 type, s32 status, struct cm_event *ev)
{
	const struct hca_cmch *ch = &c->m->hca->cmch[c->ch[side]];
	u64 end = c->m->clock + 2000 * SECOND;

	while (!ch->head && c->m->clock < end && !emu_run(c->m, c->m->clock + SECOND))
		;
	return emu_cm_want(c, side, type, status, ev);
}

struct emu_id emu_cm_request(struct emu_cm *c)
{
	struct emu_id id = { .client = 1 ^ c->swap, .ch = c->ch[1] };
	struct cm_event ev;

	must(!emu_cm_await(c, 1, CM_EV_CONNECT_REQUEST, 0, &ev), "connect request");
	id.h = ev.id;
	return id;
}

struct cm_param emu_cm_param(u32 qpn, u32 data_len)
{
	struct cm_param p = {
		.qpn = qpn,
		.responder_resources = 4,
		.initiator_depth = 5,
		.flow_control = 1,
		.retry_count = 6,
		.rnr_retry_count = 7,
		.data_len = (u8)data_len,
	};

	emu_fill(p.data, data_len, qpn);
	return p;
}

static int with_param(struct emu *m, const struct emu_id *id, u32 op, const struct cm_param *p)
{
	struct cmd_cm arg = { .has_param = p != NULL, .uid = id->h + 1 };

	if (p)
		arg.param = *p;
	return emu_cm_cmd(m, id, op, &arg);
}

int emu_cm_connect(struct emu *m, const struct emu_id *id, const struct cm_param *p)
{
	struct cm_param usual = emu_cm_param(0x10000 + id->h, 0);

	return with_param(m, id, CMD_CM_CONNECT, p ? p : &usual);
}

int emu_cm_accept(struct emu *m, const struct emu_id *id, const struct cm_param *p)
{
	struct cm_param usual = emu_cm_param(0x20000 + id->h, 0);

	return with_param(m, id, CMD_CM_ACCEPT, p ? p : &usual);
}

int emu_cm_rtu(struct emu *m, const struct emu_id *id)
{
	return with_param(m, id, CMD_CM_ACCEPT, NULL);
}

int emu_cm_reject(struct emu *m, const struct emu_id *id, const struct cm_param *p)
{
	return with_param(m, id, CMD_CM_REJECT, p);
}

int emu_cm_disconnect(struct emu *m, const struct emu_id *id)
{
	return with_param(m, id, CMD_CM_DISCONNECT, NULL);
}

int emu_cm_destroy(struct emu *m, const struct emu_id *id)
{
	return with_param(m, id, CMD_CM_DESTROY_ID, NULL);
}

bool emu_cm_pair(struct emu_cm *c, struct emu_id *a, struct emu_id *b)
{
	struct cm_event ev;

	*a = emu_cm_active(c);
	if (emu_cm_connect(c->m, a, NULL))
		return false;
	*b = emu_cm_request(c);
	return !emu_cm_accept(c->m, b, NULL) && emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev) &&
	       !emu_cm_rtu(c->m, a) && emu_cm_want(c, 1, CM_EV_ESTABLISHED, 0, &ev);
}

bool emu_cm_audit(const struct emu *m)
{
	char why[256];

	if (!hca_audit(m->hca, why, sizeof(why)))
		return true;
	fprintf(stderr, "%s\n", why);
	return false;
}
