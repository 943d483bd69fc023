/* SPDX-License-Identifier: MIT */
/**
 * DOC: changes of ports while the fabric runs: by `rdmaemu port`, and by the host's interfaces.
 *
 * Both need the engine token. A request waits for it in a short list, and is answered when it is
 * done. Netlink reports that addresses have come or gone; then all of them are read again.
 */
#include "emulator/port.h"
#include "emulator/transport/path.h"
#include "emulator/verbs/port.h"
#include "fabric/nodes/ports.h"
#include "fabric/common/parse_link.h"
#include "fabric/nodes/netlink.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <unistd.h>

static void ports_on_netlink(struct fabric *f, struct watch *w, u32 events)
{
	char buf[8192];
	ssize_t n;

	(void)events;
	/* The messages' contents do not matter, nor does ENOBUFS: some were lost. */
	do
		n = recv(w->fd, buf, sizeof(buf), MSG_DONTWAIT);
	while (n > 0 || (n < 0 && errno == ENOBUFS));
	f->nodes->gids_stale = true;
}

void fabric_ports_watch(struct fabric *f)
{
	struct sockaddr_nl sa = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 && !bind(fd, (struct sockaddr *)&sa, sizeof(sa)) &&
	    !loop_watch_add(f, &f->nodes->netlink, fd, ports_on_netlink))
		return;
	fabric_note(f, "changes of the host's addresses are not noticed: netlink: %s",
		    strerror(errno));
	if (fd >= 0)
		close(fd);
	f->nodes->netlink.fd = -1;
}

int fabric_port_request(struct fabric *f, struct conn *c, const struct proto_msg *m)
{
	u32 i;

	for (i = 0; i < MAX_PORT_JOBS; i++) {
		if (f->nodes->port_job[i].conn)
			continue;
		f->nodes->port_job[i].conn = c;
		f->nodes->port_job[i].msg = *m;
		f->nodes->n_port_jobs++;
		return -EINPROGRESS;
	}
	return -EBUSY;
}

void fabric_port_conn_closed(struct fabric *f, const struct conn *c)
{
	u32 i;

	for (i = 0; i < MAX_PORT_JOBS; i++)
		if (f->nodes->port_job[i].conn == c) {
			f->nodes->port_job[i].conn = NULL;
			f->nodes->n_port_jobs--;
		}
}

static int port_check_change(const struct hca_dev *d, const struct proto_port *q)
{
	switch (q->what) {
	case PORT_CHANGE_STATE:
		return q->value == PORT_ACTIVE || q->value == PORT_DOWN ? 0 : -EINVAL;
	case PORT_CHANGE_LID:
		if (d->link_layer != LINK_INFINIBAND)
			return -EOPNOTSUPP;
		return q->value && q->value < 0xc000 ? 0 : -ERANGE;
	case PORT_CHANGE_PKEY:
		return q->index < d->lim.pkeys && q->value <= 0xffff ? 0 : -ERANGE;
	case PORT_CHANGE_LINK:
		return q->link.delay_ns <= LINK_TIME_MAX && q->link.jitter_ns <= LINK_TIME_MAX &&
				       (!q->link.rate_bps || (q->link.rate_bps >= LINK_RATE_MIN &&
							      q->link.rate_bps <= LINK_RATE_MAX)) &&
				       q->link.mtu <= 5
			       ? 0
			       : -EINVAL;
	}
	return -EINVAL;
}

static void port_apply_change(struct fabric *f, u32 dev, u32 port, const struct proto_port *q)
{
	const struct hca_dev *d = &f->hca->dev[dev];
	char name[sizeof(d->name) + NODE_NAME_MAX + 2];
	char words[160];

	snprintf(name, sizeof(name), "%s%s%s", d->node ? f->hca->node[d->node].name : "",
		 d->node ? " " : "", d->name);
	f->nodes->shown[d->node].stale = true;
	switch (q->what) {
	case PORT_CHANGE_STATE:
		port_set_state(&f->engine, dev, port, q->value);
		fabric_note(f, "%s port %u: %s", name, port,
			    q->value == PORT_ACTIVE ? "up" : "down");
		break;
	case PORT_CHANGE_LID:
		port_set_lid(&f->engine, dev, port, q->value);
		fabric_note(f, "%s port %u: LID %u", name, port, q->value);
		break;
	case PORT_CHANGE_PKEY:
		port_set_pkey(&f->engine, dev, port, q->index, (u16)q->value);
		fabric_note(f, "%s port %u: P_Key %u is 0x%04x", name, port, q->index, q->value);
		break;
	case PORT_CHANGE_LINK:
		hca_port_set_link(&f->engine, dev, port, &q->link);
		link_text(&q->link, words, sizeof(words));
		fabric_note(f, "%s port %u: link: %s", name, port, words);
		break;
	}
}

bool fabric_port_matches(const struct hca *hca, u32 dev, u32 port, const char *node,
			 const char *name, u32 nr)
{
	const struct hca_dev *d = &hca->dev[dev];

	if (d->member)
		return false;
	if (node[0] && strncmp(node, hca->node[d->node].name, PROTO_NODE_SIZE) != 0)
		return false;
	return (!name[0] || !strncmp(name, d->name, PROTO_DEV_SIZE)) && (!nr || nr == port);
}

static bool port_matches_request(const struct hca *hca, u32 dev, u32 port,
				 const struct proto_port *q)
{
	return fabric_port_matches(hca, dev, port, q->node, q->dev, q->port);
}

int fabric_port_change(struct fabric *f, const struct proto_port *q)
{
	struct hca *hca = f->hca;
	u32 d, p, n = 0;
	int ret = 0;

	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			if (port_matches_request(hca, d, p, q)) {
				ret = ret ? ret : port_check_change(&hca->dev[d], q);
				n++;
			}
	if (!n)
		return -ENODEV;
	/* LIDs are unique. */
	if (!ret && q->what == PORT_CHANGE_LID && n > 1)
		ret = -ENOTUNIQ;
	if (!ret && q->what == PORT_CHANGE_LID && hca_find_lid(hca, q->value, &(u8){ 0 }) >= 0)
		ret = -EADDRINUSE;
	for (d = 0; !ret && d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			if (port_matches_request(hca, d, p, q))
				port_apply_change(f, d, p, q);
	return ret;
}

/* Entries that stay keep their index in the new table. */
static void ports_merge_gids(const struct hca_gid *old, const struct hca_gid *now,
			     struct hca_gid *out)
{
	bool placed[HCA_GIDS] = { true };
	u32 i, j;

	memset(out, 0, HCA_GIDS * sizeof(*out));
	out[0] = now[0];
	for (i = 1; i < HCA_GIDS; i++)
		for (j = 1; j < HCA_GIDS && old[i].valid; j++)
			if (now[j].valid && !memcmp(now[j].raw, old[i].raw, sizeof(old[i].raw))) {
				out[i] = now[j];
				placed[j] = true;
			}
	for (j = 1; j < HCA_GIDS; j++) {
		if (!now[j].valid || placed[j])
			continue;
		for (i = 1; i < HCA_GIDS && out[i].valid; i++)
			;
		if (i < HCA_GIDS)
			out[i] = now[j];
	}
}

static void ports_update_gids(struct fabric *f, u32 dev, u32 port)
{
	struct hca_port *p = &f->hca->dev[dev].port[port];
	struct hca_gid now[HCA_GIDS], merged[HCA_GIDS];
	bool changed = false;
	u32 i;

	netlink_port_gids(f, dev, port, now);
	ports_merge_gids(p->gid, now, merged);
	for (i = 0; i < HCA_GIDS; i++)
		changed |= hca_port_set_gid(f->hca, dev, port, false, i, &merged[i]);
	if (changed) {
		f->nodes->shown[0].stale = true;
		port_event(&f->engine, dev, port, EV_GID_CHANGE);
		fabric_note(f, "%s port %u: its GIDs have changed", f->hca->dev[dev].name, port);
	}
}

/* No event: they are not GIDs. */
static void ports_update_ips(struct fabric *f, u32 dev, u32 port)
{
	struct hca_gid now[HCA_GIDS];
	u32 i;

	netlink_port_ips(f, dev, port, now);
	for (i = 0; i < HCA_GIDS; i++)
		hca_port_set_gid(f->hca, dev, port, true, i, &now[i]);
}

/* The host's addresses are those of node 0. */
static void ports_update_host(struct fabric *f)
{
	struct hca *hca = f->hca;
	u32 d, p;

	for (d = 0; d < hca->node[0].n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			if (hca->dev[d].link_layer == LINK_ETHERNET)
				ports_update_gids(f, d, p);
			else
				ports_update_ips(f, d, p);
}

bool fabric_ports_due(const struct fabric *f)
{
	return f->nodes->n_port_jobs || f->nodes->gids_stale;
}

void fabric_ports_publish(struct fabric *f)
{
	u32 i;
	int ret;

	for (i = 0; i < f->hca->n_nodes; i++) {
		if (!f->nodes->shown[i].stale)
			continue;
		f->nodes->shown[i].stale = false;
		fabric_nodes_changed(f);
		ret = f->nodes->shown[i].tree ? fabric_node_publish(f, i) : 0;
		if (ret)
			fabric_note(f, "%s: %s", f->paths.sysfs, strerror(-ret));
	}
}

void fabric_ports_work(struct fabric *f)
{
	struct port_job job[MAX_PORT_JOBS];
	u32 i, n = 0;

	if (f->nodes->gids_stale) {
		f->nodes->gids_stale = false;
		ports_update_host(f);
	}
	for (i = 0; i < MAX_PORT_JOBS; i++) {
		if (!f->nodes->port_job[i].conn)
			continue;
		job[n] = f->nodes->port_job[i];
		job[n].msg.ret = fabric_port_change(f, &job[n].msg.port);
		f->nodes->port_job[i].conn = NULL;
		n++;
	}
	f->nodes->n_port_jobs = 0;
	/* The files first: a command that gets its answer may read them. */
	fabric_ports_publish(f);
	for (i = 0; i < n; i++)
		conn_reply(job[i].conn, &job[i].msg);
}
