/* SPDX-License-Identifier: MIT */
/**
 * DOC: the engine's view of this process: clock, peers' segments and memory, wake-ups.
 *
 * All of it runs with the token held, so the caches of peers need no lock. A slot and a generation
 * identify a peer; a cache entry of an earlier user of the slot is dropped when it is met. The
 * fabric process answers the requests made here without the token.
 */
#include "libshim/client/engine_ops.h"

#include "emulator/clock.h"
#include "emulator/hca.h"
#include "emulator/limits.h"
#include "emulator/seg.h"
#include "emulator/init.h"
#include "emulator/ring.h"
#include "fabric/ingress/ingress.h"
#include "fabric/proto/lent_map.h"
#include "fabric/proto/vmcopy.h"
#include "libshim/client/chan.h"
#include "libshim/client/client.h"
#include "libshim/client/connect_error.h"
#include "libshim/client/rpc.h"
#include "libshim/client/valgrind.h"
#include "libshim/client/wire_receive.h"
#include "libshim/client/wire_send.h"
#include "libshim/interpose/syscall.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum reach {
	REACH_UNKNOWN,
	REACH_YES,
	REACH_NO,
};

/** struct peer - what is cached about another client. @gen: its generation; 0: nothing is cached */
struct peer {
	u32 gen;
	u32 reach; /* enum reach */
	struct seg_map seg;
	struct lent_map lent;
};

/**
 * struct peer_chan - the cached descriptor of a peer's channel.
 * @gen: the client's generation; 0: the entry is empty
 * @fd_gen: the ring's @fd_gen when the descriptor was fetched
 */
struct peer_chan {
	u32 client;
	u32 gen;
	u32 chan;
	u32 fd_gen;
	int fd;
};

/*
 * Limit of cached descriptors; another is a quarter of the descriptors that the process may have.
 */
#define KEEP_MAX 4096ul

static struct peer peers[HCA_MAX_CLIENTS];
static u64 near[HCA_MAX_CLIENTS / 64]; /* clients whose segment is mapped, and this process */
static struct {
	u32 n;
	struct peer_chan *chan;
} kept;
static u64 own_pidns;

static u64 shim_ops_now(void *ctx)
{
	(void)ctx;
	return hca_clock_at(shim.clock, sys_now());
}

static u64 shim_ops_wall(void *ctx)
{
	(void)ctx;
	return hca_clock_wall(shim.clock, sys_now(), sys_wall());
}

static void near_set(u32 client, bool on)
{
	if (on)
		near[client / 64] |= BIT64(client % 64);
	else
		near[client / 64] &= ~BIT64(client % 64);
}

const u64 *shim_ops_near(void)
{
	memset(near, 0, sizeof(near));
	near_set(shim.id, true);
	return near;
}

static void peer_drop(struct peer *p)
{
	seg_map_drop(&p->seg);
	lent_map_drop(&p->lent);
	memset(p, 0, sizeof(*p));
	near_set((u32)(p - peers), false);
}

/* The cache entry of a live client, without traces of a predecessor; NULL: no such client. */
static inline __attribute__((always_inline)) struct peer *peer_get(u32 client)
{
	const struct hca_client *c = &shim.hca->client[client];
	struct peer *p = &peers[client];

	if (client >= HCA_MAX_CLIENTS || load_acquire(&c->state) != CLIENT_LIVE)
		return NULL;
	if (unlikely(p->gen != c->gen)) {
		peer_drop(p);
		p->gen = c->gen;
	}
	return p;
}

/* Map @size bytes of a client's segment at *seg. Return: 0 or -errno. */
static int client_seg_map(u32 client, u32 gen, u64 size, void **seg)
{
	struct proto_msg m = { .op = PROTO_SEG,
			       .peer = { .client = client, .gen = gen, .size = size } };
	int fd, ret = shim_rpc_call(&m, -1, &fd, 1);

	if (ret != 1)
		return ret < 0 ? ret : -EPROTO;
	*seg = shim_map_shared(fd, size);
	sys_close(fd);
	if (!*seg)
		return -ENOMEM;
	ret = seg_check(*seg, client, gen);
	if (ret)
		munmap(*seg, size);
	return ret;
}

int shim_ops_grow(u64 used)
{
	u64 size = seg_map_size(used);
	void *seg;
	int ret;

	if (size <= shim.map.mapped)
		return 0;
	if (!shim.live || used > SEG_SIZE)
		return -ENOMEM;
	ret = client_seg_map(shim.id, shim.gen, size, &seg);
	if (ret) {
		shim_grow_explain(size, ret);
		return -ENOMEM;
	}
	seg_map_add(&shim.map, seg, size);
	return 0;
}

static void *peer_map(struct peer *p, u32 client, u64 used)
{
	u64 size = seg_map_size(used);
	void *seg;

	if (used > SEG_SIZE || client_seg_map(client, p->gen, size, &seg))
		return NULL;
	seg_map_add(&p->seg, seg, size);
	near_set(client, true);
	return seg;
}

/* The segment of @p, which is a live client's. Return: NULL: it cannot be had. */
static inline void *peer_seg_at(struct peer *p, u32 client)
{
	u64 used = load_relaxed(&shim.hca->client[client].seg_used);

	return likely(used <= p->seg.mapped) ? p->seg.base : peer_map(p, client, used);
}

static void *peer_seg(void *ctx, u32 client)
{
	struct peer *p;

	(void)ctx;
	if (client == shim.id)
		return shim_seg_at(0);
	if (unlikely(client >= HCA_MAX_CLIENTS))
		return client == HCA_SELF   ? shim.hca
		       : client == HCA_ROCE ? shim_wire_datagrams()
					    : NULL;
	p = peer_get(client);
	return likely(p) ? peer_seg_at(p, client) : NULL;
}

/* Process ids are valid within one PID namespace only; reading the cookie proves the identity. */
static u32 peer_find_reach(const struct hca_client *c)
{
	struct stat st;

	if (!own_pidns && !sys_stat("/proc/self/ns/pid", &st))
		own_pidns = st.st_ino;
	if (!own_pidns || c->pidns != own_pidns)
		return REACH_NO;
	return vm_probe(c->pid, c->cookie_addr, c->cookie) ? REACH_NO : REACH_YES;
}

/* struct vm_ctx's view of a client from this process. Token held. */
static s32 peer_pid(void *ctx, u32 client)
{
	struct peer *p;

	(void)ctx;
	if (client == shim.id)
		return VM_OWN;
	p = peer_get(client);
	if (!p)
		return VM_GONE;
	if (unlikely(p->reach == REACH_UNKNOWN))
		p->reach = peer_find_reach(&shim.hca->client[client]);
	return p->reach == REACH_YES ? shim.hca->client[client].pid : VM_NOWAY;
}

/* lent_map_fn */
static void *peer_lent_map(void *ctx, u32 client, u64 size)
{
	struct proto_msg m = { .op = PROTO_LENT,
			       .peer = { .client = client, .gen = peers[client].gen } };
	void *at = NULL;
	int fd;

	(void)ctx;
	if (shim_rpc_call(&m, -1, &fd, 1) != 1)
		return NULL;
	if (!lent_file_check(fd))
		at = shim_map_shared(fd, size);
	sys_close(fd);
	return at;
}

/* struct vm_ctx's: where a peer's lent memory is mapped here. Token held. */
static u8 *peer_lent(void *ctx, u32 client, u64 addr, u64 *len)
{
	const struct seg_hdr *seg;
	struct peer *p;

	if (client == shim.id)
		return NULL;
	p = peer_get(client);
	seg = p ? peer_seg_at(p, client) : NULL;
	return seg && load_relaxed(&seg->lent.n)
		       ? lent_map_at(&p->lent, &seg->lent, addr, len, peer_lent_map, ctx, client)
		       : NULL;
}

static const struct vm_ctx vm = { .seg = peer_seg, .pid = peer_pid, .lent = peer_lent };

static int shim_ops_copy(void *ctx, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
			 u64 soff, u64 len, u64 key)
{
	int ret;

	(void)ctx;
	(void)key;
	if (likely(!shim_on_thread_checker))
		return vm_copy(&vm, dst, doff, src, soff, len);
	shim_valgrind_acquire();
	ret = vm_copy(&vm, dst, doff, src, soff, len);
	shim_valgrind_release();
	return ret;
}

/* The cache entry of a client of which all is known and mapped; NULL: not, or this process. */
static inline struct peer *peer_known(u32 client)
{
	const struct hca_client *c;
	struct peer *p;

	if (unlikely(client >= HCA_MAX_CLIENTS))
		return NULL;
	c = &shim.hca->client[client];
	p = &peers[client];
	keep_pointer(c);
	keep_pointer(p);
	return likely(load_acquire(&c->state) == CLIENT_LIVE && p->gen == c->gen &&
		      load_relaxed(&c->seg_used) <= p->seg.mapped)
		       ? p
		       : NULL;
}

/* The same as shim_ops_copy_line(), to a client that lends memory. */
static __attribute__((noinline)) bool peer_store_lent(struct peer *p, u32 client, u64 addr,
						      const void *from, u64 len)
{
	const struct seg_hdr *seg = p->seg.base;
	u64 run = len;
	u8 *at = lent_map_at(&p->lent, &seg->lent, addr, &run, peer_lent_map, NULL, client);

	if (!at || run < len)
		return false;
	vm_store(at, from, len);
	return true;
}

static bool shim_ops_copy_line(void *ctx, u32 client, u64 addr, const void *from, u64 len)
{
	struct peer *p = peer_known(client);
	const struct seg_hdr *seg;

	(void)ctx;
	if (unlikely(shim_on_thread_checker))
		return false;
	if (likely(p)) {
		seg = p->seg.base;
		if (load_relaxed(&seg->lent.n))
			return peer_store_lent(p, client, addr, from, len);
		return likely(p->reach == REACH_YES) &&
		       vm_write_line(shim.hca->client[client].pid, addr, from, len);
	}
	if (client != shim.id)
		return false;
	vm_store((void *)(uintptr_t)addr, from, len);
	return true;
}

static int shim_ops_atomic(void *ctx, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
			   struct atomic_res *res, u64 key)
{
	(void)ctx;
	(void)key;
	return vm_atomic(&vm, client, addr, op, compare_add, swap, res);
}

static void peer_chan_drop(struct peer_chan *c)
{
	if (c->gen)
		sys_close(c->fd);
	c->gen = 0;
}

/* The cache entry for a channel, which another channel may occupy; NULL without memory. */
static struct peer_chan *peer_chan_place(u32 client, u32 chan)
{
	struct rlimit lim;

	if (!kept.n) {
		if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur > 4 * KEEP_MAX)
			lim.rlim_cur = 4 * KEEP_MAX;
		kept.n = max_u32((u32)lim.rlim_cur / 4, 1);
		kept.chan = calloc(kept.n, sizeof(*kept.chan));
	}
	return kept.chan ? &kept.chan[(client * 61 + chan) % kept.n] : NULL;
}

/* The eventfd of a peer's channel, or -1. */
static int peer_chan_fd(const struct peer *p, u32 client, u32 chan)
{
	struct proto_msg m = { .op = PROTO_CHAN,
			       .peer = { .client = client, .gen = p->gen, .chan = chan } };
	struct seg_hdr *seg = peer_seg(NULL, client);
	struct peer_chan *c = NULL;
	u32 fd_gen, i;

	if (seg && chan < SEG_MAX_CHANS)
		c = peer_chan_place(client, chan);
	if (!c)
		return -1;
	fd_gen = load_acquire(&seg->chan[chan].fd_gen);
	if (likely(c->gen == p->gen && c->client == client && c->chan == chan &&
		   c->fd_gen == fd_gen))
		return c->fd;
	peer_chan_drop(c);
	if (shim_rpc_call(&m, -1, &c->fd, 1) != 1) {
		/* The program may have run out of descriptors: give back all that are cached. */
		for (i = 0; i < kept.n; i++)
			peer_chan_drop(&kept.chan[i]);
		if (shim_rpc_call(&m, -1, &c->fd, 1) != 1)
			return -1;
	}
	*c = (struct peer_chan){ client, p->gen, chan, fd_gen, c->fd };
	return c->fd;
}

static void shim_ops_notify(void *ctx, u32 client, u32 chan)
{
	const u64 one = 1;
	struct peer *p;
	int fd;

	(void)ctx;
	if (client == shim.id) {
		shim_chan_notify(chan);
		return;
	}
	p = peer_get(client);
	fd = p ? peer_chan_fd(p, client, chan) : -1;
	if (fd >= 0)
		/* Blocks if the peer has filled it up: see fabric/server/channels.c. */
		sys_write(fd, &one, sizeof(one));
}

static void shim_ops_kick(void *ctx)
{
	const u64 one = 1;

	(void)ctx;
	sys_write(shim.kick_fd, &one, sizeof(one));
}

void shim_ops_forked(void)
{
	u32 i;

	for (i = 0; i < HCA_MAX_CLIENTS; i++)
		if (peers[i].gen)
			peer_drop(&peers[i]);
	for (i = 0; i < kept.n; i++)
		peer_chan_drop(&kept.chan[i]);
	own_pidns = 0;
	shim_wire_receive_forked();
	shim_wire_forked();
}

const struct engine_ops shim_ops = {
	.now = shim_ops_now,
	.wall = shim_ops_wall,
	.seg = peer_seg,
	.copy = shim_ops_copy,
	.copy_line = shim_ops_copy_line,
	.atomic = shim_ops_atomic,
	.notify = shim_ops_notify,
	.kick = shim_ops_kick,
	.leave = shim_wire_send,
	.leave_late = shim_wire_send_late,
};
