/* SPDX-License-Identifier: MIT */
/*
 * Programs on several nodes of one fabric: all transports between them, and no access to the
 * objects of another node.
 *
 * A, B and C are on nodes of their own, D is on B's.
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct vb_side *a, *b, *c, *d;
static char path[64];

/* Programs say where they are when they first use verbs. */
static struct vb_side *fork_on(const char *node)
{
	struct vb_side *s;

	setenv("RDMAEMU_NODE", node, 1);
	s = vb_fork();
	vb_open(s);
	return s;
}

/* --- Devices */

struct seen {
	uint64_t guid;
	int devices, index;
	char name[32];
};

static int do_look(struct vb_side *s, void *arg)
{
	struct ibv_device **list;
	struct seen *seen = arg;

	list = ibv_get_device_list(&seen->devices);
	if (!list || !seen->devices)
		return ENODEV;
	seen->guid = ibv_get_device_guid(list[0]);
	seen->index = ibv_get_device_index(list[0]);
	snprintf(seen->name, sizeof(seen->name), "%s", ibv_get_device_name(list[0]));
	ibv_free_device_list(list);
	return s->ctx ? 0 : EBADF;
}

static void test_devices(void)
{
	struct seen at[4] = { 0 };
	struct vb_side *sides[4] = { a, b, c, d };
	bool good = true;
	int i;

	for (i = 0; i < 4; i++)
		good = good && !vb_call(sides[i], do_look, &at[i], sizeof(at[i])) &&
		       at[i].devices == 1 && !at[i].index && !strcmp(at[i].name, at[0].name);
	ok(good, "each node has one device, of the same name and number");
	ok(at[0].guid != at[1].guid && at[1].guid != at[2].guid && at[0].guid != at[2].guid,
	   "GUIDs differ between nodes");
	ok(at[1].guid == at[3].guid, "and are the same for the programs of one");
}

static void test_types(void)
{
	int i;

	for (i = 0; i < VB_TYPES; i++) {
		struct vb_spec spec = vb_spec_of(vb_types[i]);
		struct vb_pair p;
		int ret = vb_pair_up(&p, a, b, &spec);

		ok(!ret && vb_pair_alive(&p), "%s: a SEND from one node to another (%d)",
		   vb_type_str(vb_types[i]), ret);
		if (!ret)
			vb_pair_down(&p);
	}
}

/* --- Keys */

static void test_keys(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct vb_pair p;
	struct vb_wr wr;

	if (!ok(!vb_pair_up(&p, a, b, &spec), "RC"))
		return;
	wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 64);
	ok(vb_pair_run(&p, &wr) == IBV_WC_SUCCESS, "WRITE with the peer's key");
	wr.rkey = c->info.rkey;
	wr.raddr = (uintptr_t)c->buf;
	ok(vb_pair_run(&p, &wr) == IBV_WC_REM_ACCESS_ERR, "with a key of a third node: refused");
	vb_pair_fresh(&p, a, b);
	wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 2, 0, 64);
	wr.sge[0].lkey = c->info.lkey;
	wr.sge[0].addr = (uintptr_t)c->buf;
	ok(vb_pair_run(&p, &wr) == IBV_WC_LOC_PROT_ERR,
	   "a third node's key as a local key: refused");
	vb_pair_down(&p);
}

/* --- Domains */

struct domain {
	char path[64];
	int oflags;
};

/* Return: 0 or errno's value. The domain is the side's from then on. */
static int do_open_xrcd(struct vb_side *s, void *arg)
{
	struct domain *dom = arg;
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = open(dom->path, O_RDONLY | O_CLOEXEC),
		.oflags = dom->oflags,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(s->ctx, &attr);
	int err = xrcd ? 0 : errno;

	close(attr.fd);
	if (!xrcd)
		return err;
	if (s->xrcd)
		ibv_close_xrcd(s->xrcd);
	s->xrcd = xrcd;
	return 0;
}

static int domain(struct vb_side *s, int oflags)
{
	struct domain dom = { .oflags = oflags };

	snprintf(dom.path, sizeof(dom.path), "%s", path);
	return vb_call(s, do_open_xrcd, &dom, sizeof(dom));
}

static void test_domains(void)
{
	ok(!domain(b, O_CREAT | O_EXCL), "a domain of a file");
	ok(!domain(d, 0), "which another program of the node opens");
	ok(domain(a, 0) == EAGAIN, "on another node there is none");
	ok(!domain(a, O_CREAT | O_EXCL), "and one can be made of the same file");
}

int main(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/app_device_nodes.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	close(fd);
	a = fork_on("app-a");
	c = fork_on("app-c");
	d = fork_on("app-b");
	b = vb_local();
	vb_open(b);
	test_devices();
	test_types();
	test_keys();
	test_domains();
	unlink(path);
	vb_close(b);
	vb_close(d);
	vb_close(c);
	vb_close(a);
	return tap_failed != 0;
}
