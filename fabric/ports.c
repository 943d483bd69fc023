/* SPDX-License-Identifier: MIT */
/**
 * DOC: what changes at ports while the fabric runs: by `rdmaemu port`, and by the host's interfaces.
 *
 * Both need the engine token. A request waits for it in a short list and is answered when it has
 * been done; addresses that come and go are told by netlink, which says only that it is time to look
 * at all of them again.
 */
#include "fabric/fabric.h"
#include "fabric/sysfs.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <unistd.h>

static void on_netlink(struct fabric *f, struct watch *w, u32 events)
{
	char buf[8192];
	ssize_t n;

	(void)events;
	/* What is in them does not matter, nor does ENOBUFS: that some were lost. */
	do
		n = recv(w->fd, buf, sizeof(buf), MSG_DONTWAIT);
	while (n > 0 || (n < 0 && errno == ENOBUFS));
	f->gids_stale = true;
}

void ports_watch(struct fabric *f)
{
	struct sockaddr_nl sa = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 && !bind(fd, (struct sockaddr *)&sa, sizeof(sa)) &&
	    !watch_add(f, &f->netlink, fd, on_netlink))
		return;
	note(f, "addresses that change are not noticed: netlink: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	f->netlink.fd = -1;
}

int port_request(struct fabric *f, struct conn *c, const struct proto_msg *m)
{
	u32 i;

	for (i = 0; i < MAX_PORT_JOBS; i++) {
		if (f->port_job[i].conn)
			continue;
		f->port_job[i].conn = c;
		f->port_job[i].msg = *m;
		f->n_port_jobs++;
		return -EINPROGRESS;
	}
	return -EBUSY;
}

void port_forget(struct fabric *f, const struct conn *c)
{
	u32 i;

	for (i = 0; i < MAX_PORT_JOBS; i++)
		if (f->port_job[i].conn == c) {
			f->port_job[i].conn = NULL;
			f->n_port_jobs--;
		}
}

static int check_change(const struct hca_dev *d, const struct proto_port *q)
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
	}
	return -EINVAL;
}

static void change(struct fabric *f, u32 dev, u32 port, const struct proto_port *q)
{
	const char *name = f->hca->dev[dev].name;

	switch (q->what) {
	case PORT_CHANGE_STATE:
		port_set_state(&f->engine, dev, port, q->value);
		note(f, "%s port %u: %s", name, port, q->value == PORT_ACTIVE ? "up" : "down");
		break;
	case PORT_CHANGE_LID:
		port_set_lid(&f->engine, dev, port, q->value);
		note(f, "%s port %u: LID %u", name, port, q->value);
		break;
	case PORT_CHANGE_PKEY:
		port_set_pkey(&f->engine, dev, port, q->index, (u16)q->value);
		note(f, "%s port %u: P_Key %u is 0x%04x", name, port, q->index, q->value);
		break;
	}
}

static bool names(const struct hca_dev *d, u32 port, const struct proto_port *q)
{
	return (!q->dev[0] || !strncmp(q->dev, d->name, sizeof(q->dev))) &&
	       (!q->port || q->port == port);
}

/* Does it for all ports that are named, or, where one will not have it, for none. */
static int execute(struct fabric *f, const struct proto_port *q)
{
	struct hca *hca = f->hca;
	u32 d, p, n = 0;
	int ret = 0;

	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			if (names(&hca->dev[d], p, q)) {
				ret = ret ? ret : check_change(&hca->dev[d], q);
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
			if (names(&hca->dev[d], p, q))
				change(f, d, p, q);
	return ret;
}

/* The port's new table keeps what is still there in its place, so that indices stay good. */
static void merge_gids(const struct hca_gid *old, const struct hca_gid *now, struct hca_gid *out)
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

/* Return: whether anything has changed. */
static bool update_gids(struct fabric *f, u32 dev, u32 port)
{
	struct hca_port *p = &f->hca->dev[dev].port[port];
	struct hca_gid now[HCA_GIDS], merged[HCA_GIDS];
	bool changed = false;
	u32 i;

	gids_now(f, dev, port, now);
	merge_gids(p->gid, now, merged);
	for (i = 0; i < HCA_GIDS; i++)
		changed |= port_set_gid(&p->gid[i], &merged[i]);
	if (changed) {
		port_event(&f->engine, dev, port, EV_GID_CHANGE);
		note(f, "%s port %u: its GIDs have changed", f->hca->dev[dev].name, port);
	}
	return changed;
}

/* Nobody is told: they are no GIDs. */
static void update_ips(struct fabric *f, u32 dev, u32 port)
{
	struct hca_port *p = &f->hca->dev[dev].port[port];
	struct hca_gid now[HCA_GIDS];
	u32 i;

	ips_now(f, dev, port, now);
	for (i = 0; i < HCA_GIDS; i++)
		port_set_gid(&p->ip[i], &now[i]);
}

static bool update_all(struct fabric *f)
{
	struct hca *hca = f->hca;
	bool changed = false;
	u32 d, p;

	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			if (hca->dev[d].link_layer == LINK_ETHERNET)
				changed |= update_gids(f, d, p);
			else
				update_ips(f, d, p);
	return changed;
}

void ports_show(struct fabric *f)
{
	static struct hca_dev devs[HCA_MAX_DEVS];
	u64 sum = 0;
	u32 d, p, i;
	int ret;

	for (d = 0; d < f->hca->n_devs; d++) {
		hca_dev_now(f->hca, d, &devs[d]);
		for (p = 1; p <= devs[d].n_ports; p++)
			for (i = 0; i < CNT_COUNT; i++)
				sum += devs[d].port[p].counters[i];
	}
	if (sum == f->counted)
		return;
	f->counted = sum;
	ret = sysfs_counters(f->paths.sysfs, devs, f->hca->n_devs);
	if (ret)
		note(f, "%s: %s", f->paths.sysfs, strerror(-ret));
}

bool ports_due(const struct fabric *f)
{
	return f->n_port_jobs || f->gids_stale;
}

void ports_work(struct fabric *f)
{
	struct port_job job[MAX_PORT_JOBS];
	u32 i, n = 0;
	bool changed = false;
	int ret;

	if (f->gids_stale) {
		f->gids_stale = false;
		changed = update_all(f);
	}
	for (i = 0; i < MAX_PORT_JOBS; i++) {
		if (!f->port_job[i].conn)
			continue;
		job[n] = f->port_job[i];
		job[n].msg.ret = execute(f, &job[n].msg.port);
		changed |= !job[n].msg.ret;
		f->port_job[i].conn = NULL;
		n++;
	}
	f->n_port_jobs = 0;
	/* The files first: who is answered may look at them. */
	ret = changed ? sysfs_build(f->paths.sysfs, f->hca->dev, f->hca->n_devs) : 0;
	if (ret)
		note(f, "%s: %s", f->paths.sysfs, strerror(-ret));
	for (i = 0; i < n; i++)
		conn_answer(f, job[i].conn, &job[i].msg);
}
