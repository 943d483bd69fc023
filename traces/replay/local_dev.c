/* SPDX-License-Identifier: MIT */
/* Describes the local devices that replace the recorded ones of a program. */
#include "traces/replay/local_dev.h"
#include "traces/calls/devices.h"
#include "traces/replay/dev_check.h"
#include "traces/replay/identity.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"

#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#undef ibv_query_port

/*
 * These queries are not calls of the program, and the emulator's fault rules must not count them.
 */
static void local_dev_pause_counting(bool on)
{
	void (*fn)(bool) = (void (*)(bool))dlsym(RTLD_DEFAULT, "rdmaemu_not_counted");

	if (fn)
		fn(on);
}

/* Adds an address with the port that the rdma_cm binds it to. */
static void local_dev_add_address(struct vdev_text *t, struct ibv_device **list,
				  const struct sockaddr *sa)
{
	struct sockaddr_storage at = { 0 };
	struct rdma_cm_id *id;
	uint32_t i;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return;
	memcpy(&at, sa,
	       sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	if (!rdma_bind_addr(id, (struct sockaddr *)&at) && id->verbs && id->port_num)
		for (i = 0; list[i]; i++)
			if (!strcmp(list[i]->name, id->verbs->device->name))
				vdev_put_address(t, i, id->port_num, sa);
	rdma_destroy_id(id);
}

/* Addresses of InfiniBand ports are not in their GIDs. */
static void local_dev_add_addresses(struct vdev_text *t, struct ibv_device **list)
{
	struct ifaddrs *all, *a;

	if (getifaddrs(&all))
		return;
	for (a = all; a; a = a->ifa_next)
		if (a->ifa_addr && a->ifa_flags & IFF_UP && !(a->ifa_flags & IFF_LOOPBACK) &&
		    (a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6))
			local_dev_add_address(t, list, a->ifa_addr);
	freeifaddrs(all);
}

static bool devices_have_addresses(const struct vt_devices *d)
{
	uint32_t i, p;

	for (i = 0; i < d->n; i++)
		for (p = 0; p < d->dev[i].n_ports; p++)
			if (d->dev[i].port[p].n_addrs && d->dev[i].port[p].link != VT_LINK_ETHERNET)
				return true;
	return false;
}

/* Returns 0 or -errno, with @why set. */
static int local_dev_describe(const struct rp_prog *g, struct vdev_text *t, char *why, size_t cap)
{
	static const struct vdev_api api = { .list = ibv_get_device_list,
					     .free_list = ibv_free_device_list,
					     .guid = ibv_get_device_guid,
					     .device = ibv_query_device,
					     .port = ibv_query_port,
					     .gid = _ibv_query_gid_ex };
	const struct vt_devices *was = &g->p->devices;
	struct ibv_device **list = api.list(NULL);
	struct ibv_context *ctx;
	int ret = 0;
	uint32_t i;

	if (!list) {
		snprintf(why, cap, "p%u: the list of devices: %s", g->p->num, strerror(errno));
		return -EIO;
	}
	vdev_put_list(t, &api, list);
	for (i = 0; i < was->n && list[i] && !ret; i++) {
		if (!was->dev[i].n_ports)
			continue;
		ctx = ibv_open_device(list[i]);
		if (ctx) {
			vdev_put_context(t, &api, ctx, i);
			ibv_close_device(ctx);
			continue;
		}
		ret = errno ? -errno : -EIO;
		snprintf(why, cap, "p%u: device %s, for the recorded %s: %s", g->p->num,
			 ibv_get_device_name(list[i]), was->dev[i].name, strerror(-ret));
	}
	if (!ret && devices_have_addresses(was))
		local_dev_add_addresses(t, list);
	api.free_list(list);
	return ret;
}

/* Runs in a process of its own. Returns false: @why is set. */
static bool local_dev_publish(struct rp_prog *g, char *why, size_t cap)
{
	struct rp_seen *seen = &g->w->seen[g->nth];
	struct vdev_text t = { .text = seen->text, .cap = sizeof(seen->text) };
	struct vt_devices here;
	struct vt_error err;
	char *copy;

	local_dev_pause_counting(true);
	if (local_dev_describe(g, &t, why, cap))
		return false;
	snprintf(why, cap, "p%u: no memory", g->p->num);
	copy = strdup(seen->text);
	if (!copy)
		return false;
	if (vt_devices_parse(&here, "devices here", copy, &err)) {
		snprintf(why, cap, "p%u: %s", g->p->num, err.text);
		return false;
	}
	if (rp_map_own(g, &here))
		return false;
	seen->differs = g->map->differs;
	return !seen->differs || rp_devices_fit(g, &here, why, cap);
}

bool rp_local_dev_check(struct rp_prog *g)
{
	char why[640] = "";
	int status;
	pid_t pid;

	if (!g->p->devices.n || g->w->live)
		return true;
	/*
	 * The first device that this process opens must be the one that the program opens: then
	 * objects get the same addresses as in the record, and addresses are reused in the same
	 * way.
	 */
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!local_dev_publish(g, why, sizeof(why)))
			rp_fail_devices(g->w, why);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status) {
		snprintf(why, sizeof(why), "p%u: cannot describe the local devices", g->p->num);
		rp_fail_devices(g->w, why);
	}
	return !rp_is_failed(g->w);
}
