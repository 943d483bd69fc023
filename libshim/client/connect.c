/* SPDX-License-Identifier: MIT */
/**
 * DOC: becoming a client of the fabric.
 *
 * This happens at first use (the first look for devices), not when the library is loaded: every
 * process loads it. The fabric process hands out a segment, an eventfd that wakes it and, unless it
 * is isolated, HCA memory. All of that is checked before it is used.
 */
#include "emulator/cm/input.h"
#include "emulator/engine.h"
#include "emulator/hca.h"
#include "emulator/limits.h"
#include "emulator/seg.h"
#include "emulator/init.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/connect_error.h"
#include "libshim/client/helper.h"
#include "libshim/client/engine_ops.h"
#include "libshim/client/rpc.h"
#include "libshim/client/seg_heap.h"
#include "libshim/client/valgrind.h"
#include "libshim/client/watch.h"
#include "libshim/client/wire_flow.h"
#include "libshim/interpose/path.h"
#include "libshim/interpose/own_fd.h"
#include "libshim/lend/region.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/* A word that other processes read to make sure that they reached this very process. */
static u64 cookie;

static void hello_copy_name(char *dst, size_t size, const char *src)
{
	strncpy(dst, src ? src : "", size - 1);
	dst[size - 1] = '\0';
}

static int client_send_hello(struct proto_msg *m, int fds[RPC_MAX_FDS])
{
	const char *run = shim_setting(PROTO_RUN_ENV);
	struct stat ns = { 0 };

	if (sys_getrandom(&cookie, sizeof(cookie)) != sizeof(cookie))
		return -EIO;
	/* With Yama's ptrace_scope 1 only this lets peers reach our memory. EINVAL: no Yama. */
	sys_prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	sys_stat("/proc/self/ns/pid", &ns);
	memset(m, 0, sizeof(*m));
	m->op = PROTO_HELLO;
	m->hello.version = PROTO_VERSION;
	m->hello.pid = sys_getpid();
	m->hello.pidns = ns.st_ino;
	m->hello.cookie_addr = (u64)(uintptr_t)&cookie;
	m->hello.cookie = cookie;
	hello_copy_name(m->hello.node, sizeof(m->hello.node), shim_setting(PROTO_NODE_ENV));
	hello_copy_name(m->hello.name, sizeof(m->hello.name), program_invocation_short_name);
	m->hello.run = run ? (u32)strtoul(run, NULL, 10) : 0;
	return shim_rpc_call(m, -1, fds, RPC_MAX_FDS);
}

static int welcome_check(const struct proto_welcome *w, int n_fds)
{
	if (n_fds != (w->isolated ? 2 : 3) || w->client >= HCA_MAX_CLIENTS || !w->gen)
		return -EPROTO;
	if (w->seg_size != SEG_SIZE || (!w->isolated && w->hca_size != sizeof(struct hca)))
		return -EPROTO;
	if (w->n_devs > PROTO_MAX_DEVS || w->first_dev > HCA_MAX_DEVS - w->n_devs)
		return -EPROTO;
	return 0;
}

static int welcome_map(const struct proto_welcome *w, const int *fds)
{
	struct seg_hdr *seg = shim_map_shared(fds[0], SEG_FIRST);
	struct hca *hca = NULL;
	int ret = seg ? seg_check(seg, w->client, w->gen) : -ENOMEM;

	if (!ret && !w->isolated) {
		hca = shim_map_shared(fds[2], sizeof(*hca));
		ret = hca ? hca_check(hca, sizeof(*hca)) : -ENOMEM;
	}
	if (ret) {
		if (seg)
			munmap(seg, SEG_FIRST);
		if (hca)
			munmap(hca, sizeof(*hca));
		return ret;
	}
	/* However the program ends: a leak search would make all of its pages exist. */
	if (hca)
		shim_valgrind_leave_out(hca, sizeof(*hca));
	/* A parent's mappings stay: inherited objects point into them. */
	shim.map = (struct seg_map){ 0 };
	seg_map_add(&shim.map, seg, SEG_FIRST);
	shim.seg = seg;
	shim.hca = hca;
	return 0;
}

/* struct lend_client.offer */
static int client_offer_memory(int fd)
{
	struct proto_msg m = { .op = PROTO_LEND };
	int ret;

	fd = own_fd_move_high(fd);
	ret = shim_rpc_call(&m, fd, NULL, 0);
	if (ret >= 0)
		return fd;
	sys_close(fd);
	return ret;
}

/* All is mapped: fill in the rest. @fds: segment, kick eventfd and perhaps HCA memory. */
static void client_set_up(const struct proto_welcome *w, const int *fds)
{
	shim.welcome = *w;
	shim.id = w->client;
	shim.gen = w->gen;
	shim.isolated = w->isolated;
	shim.kick_fd = fds[1];
	shim.clock = shim.hca ? &shim.hca->clock : &shim.seg->clock;
	shim.engine = (struct engine){
		.hca = shim.hca,
		.ops = &shim_ops,
		.self = w->client,
		.token = token_of(w->client, w->gen),
		.near = shim_ops_near(),
		.gsi_input = cm_input,
		.leaves = wire_is_here(shim.hca),
	};
	if (shim_helper_is_needed())
		shim_helper_keep(fds[0]);
	else
		sys_close(fds[0]);
	if (shim.hca)
		sys_close(fds[2]);
	lend_set_client(&(struct lend_client){
		.table = &shim.seg->lent,
		.hold = shim_cmd_hold,
		.release = shim_cmd_release,
		.offer = client_offer_memory,
	});
	store_relaxed(&shim.fail_calls, shim.seg->fail_calls);
	path_counters_set_hca(shim.hca, w->first_dev, w->n_devs);
	store_release(&shim.live, true);
}

static int client_join(const char *path)
{
	struct proto_msg m;
	int fds[RPC_MAX_FDS];
	int n = 0;
	int ret = shim_rpc_open(path);

	if (ret == -ENOENT || ret == -ECONNREFUSED)
		return -ENOSYS;
	if (ret) {
		shim_connect_explain(path, -1, ret);
		return ret;
	}
	shim_valgrind_start();
	ret = shim_seg_heap_init();
	if (!ret) {
		n = client_send_hello(&m, fds);
		ret = n < 0 ? n : welcome_check(&m.welcome, n);
	}
	if (!ret)
		ret = welcome_map(&m.welcome, fds);
	if (!ret) {
		client_set_up(&m.welcome, fds);
		return 0;
	}
	shim_connect_explain(path, shim.sock, ret);
	while (n > 0)
		sys_close(fds[--n]);
	shim_rpc_close();
	return ret;
}

int shim_client_connect(void)
{
	const char *path;
	int ret = 0;

	if (likely(load_acquire(&shim.live)))
		return load_relaxed(&shim.fatal) ? -EIO : 0;
	path = shim_setting(PROTO_ENV);
	if (!path || !*path)
		return -ENOSYS;
	shim_client_lock();
	if (!shim.live) {
		ret = shim_fork_watch();
		if (!ret)
			ret = client_join(path);
	}
	shim_client_unlock();
	return ret;
}

int shim_client_start(void)
{
	int ret = shim_client_connect();

	return ret ? ret : shim_watch_start();
}
