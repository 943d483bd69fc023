/* SPDX-License-Identifier: MIT */
/* A program that sends and receives by itself, in a test: see program.h. */
#include "tests/lib/program/program.h"

#include "emulator/doorbell.h"
#include "fabric/proto/vmcopy.h"
#include "libshim/client/client.h"
#include "libshim/client/rpc.h"
#include "libshim/interpose/syscall.h"
#include "tests/lib/wire/wire_calls.h"

#include <sys/mman.h>

struct program program;
struct shim_client shim;

/* --- descriptors ------------------------------------------------------------------------------ */

/** struct descriptor - number FD_SOCKET + i. @file: what has it, a number; 0: it is not open */
static struct descriptor {
	u64 file;
	u16 port;
} descriptor[FD_SOCKETS] = { [0] = { .file = 1 } };

static u64 files = 1;

static struct descriptor *descriptor_at(int fd)
{
	return fd >= FD_SOCKET && fd < FD_SOCKET + FD_SOCKETS ? &descriptor[fd - FD_SOCKET] : NULL;
}

static int descriptor_add(u64 file, u16 port)
{
	u32 i = 1;

	while (i < FD_SOCKETS && descriptor[i].file)
		i++;
	WIRE_MUST(i < FD_SOCKETS);
	descriptor[i] = (struct descriptor){ .file = file, .port = port };
	program.n_open++;
	return FD_SOCKET + (int)i;
}

static int test_socket_open(const u8 gid[16], u16 port)
{
	(void)gid;
	if (program.refuses)
		return -EMFILE;
	program.n_opened++;
	return descriptor_add(++files, port);
}

static int test_fstat(int fd, struct stat *st)
{
	const struct descriptor *d = descriptor_at(fd);

	if (!d)
		return fstat(fd, st) ? -errno : 0;
	*st = (struct stat){ .st_ino = d->file };
	return d->file ? 0 : -EBADF;
}

static int test_close(int fd)
{
	struct descriptor *d = descriptor_at(fd);

	if (!d)
		return close(fd);
	WIRE_MUST(d->file);
	*d = (struct descriptor){ 0 };
	program.n_open--;
	return 0;
}

u16 program_port(int fd)
{
	const struct descriptor *d = descriptor_at(fd);

	return d && d->file ? d->port : 0;
}

void program_takes_number(int fd)
{
	struct descriptor *d = descriptor_at(fd);

	WIRE_MUST(d && d->file && fd != FD_SOCKET);
	*d = (struct descriptor){ .file = ++files };
	program.n_open--;
}

/* Whether a socket has room for what leaves. */
static int test_poll_for(const struct pollfd *p, long ns)
{
	(void)p;
	(void)ns;
	return !wire.full;
}

/* Whether one has something that was not read. */
static int test_poll_now(const struct pollfd *p, u32 n)
{
	(void)p;
	(void)n;
	return wire_arriving.data != NULL;
}

static int test_rpc_call(struct proto_msg *m, int send_fd, int *fds, int max)
{
	int ret = roce_share(wire.f, (u32)m->ask.number, m->op == PROTO_WIRE_INBOX, fds);

	WIRE_MUST(send_fd < 0 && max == 1);
	if (ret)
		return ret;
	fds[0] = m->op == PROTO_WIRE_INBOX ? dup(fds[0]) : descriptor_add(1, 0);
	return 1;
}

static void *test_map_shared(int fd, u64 size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* --- time ------------------------------------------------------------------------------------- */

static u64 test_now(void)
{
	return wire.m->clock;
}

static void test_sleep(u64 ns)
{
	wire.m->clock += ns;
	if (program.naps)
		program.naps();
	else
		wire.full = false;
}

/* --- the sources ------------------------------------------------------------------------------ */

#define sys_fstat	   test_fstat
#define sys_close	   test_close
#define sys_poll_for	   test_poll_for
#define sys_poll_now	   test_poll_now
#define sys_now		   test_now
#define sys_sleep	   test_sleep
#define egress_socket_open test_socket_open
#define shim_rpc_call	   test_rpc_call
#define shim_map_shared	   test_map_shared
/* NOLINTBEGIN(bugprone-suspicious-include): with the calls that are replaced above */
#include "libshim/client/wire_flow.c"
#include "libshim/client/wire_receive.c"
#include "libshim/client/wire_send.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* --- what the engine calls -------------------------------------------------------------------- */

static void *program_seg(void *ctx, u32 client)
{
	const struct engine *e = &wire.f->engine;

	(void)ctx;
	return client == HCA_ROCE ? shim_wire_datagrams() : e->ops->seg(e->ctx, client);
}

static s32 program_pid(void *ctx, u32 client)
{
	(void)ctx;
	return client < EMU_CLIENTS ? VM_OWN : VM_GONE;
}

static int program_copy(void *ctx, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
			u64 soff, u64 len, u64 key)
{
	struct vm_ctx vm = { .ctx = ctx, .seg = program_seg, .pid = program_pid };

	(void)key;
	return vm_copy(&vm, dst, doff, src, soff, len);
}

static void program_kick(void *ctx)
{
	(void)ctx;
	program.n_kicks++;
}

static void program_leave_late(void *ctx)
{
	if (!program.dies)
		shim_wire_send_late(ctx);
}

static struct engine_ops program_ops;

static void program_make(void)
{
	wire_make();
	program_ops = *wire.f->engine.ops;
	program_ops.seg = program_seg;
	program_ops.copy = program_copy;
	program_ops.kick = program_kick;
	program_ops.link = NULL;
	program_ops.under_way = NULL;
	program_ops.leave = shim_wire_send;
	program_ops.leave_late = program_leave_late;
}

void program_begin(u32 client)
{
	program_make();
	shim_wire_receive_forked();
	shim_wire_forked();
	WIRE_MUST(!program.n_open);
	program = (struct program){ 0 };
	shim.live = true;
	shim.hca = wire.m->hca;
	shim.id = client;
	shim.seg = wire.m->c[client].seg;
	shim.engine = wire.m->c[client].e;
	shim.engine.ops = &program_ops;
	shim.engine.ctx = wire.f;
	shim.engine.leaves = true;
	wire.full = false;
	wire_connect();
	wire_settle();
}

/* --- what the program does -------------------------------------------------------------------- */

/* Until act_end() the program acts, and not the fabric process. */
static void act_begin(void)
{
	wire.on = true;
	wire.egress = &egress;
}

static void act_end(void)
{
	wire.egress = NULL;
	wire.on = false;
}

void program_ring(struct emu_qp *q)
{
	struct wq_ctl *ctl = (void *)((u8 *)shim.seg + q->sq);

	store_release(&ctl->prod, q->sq_prod);
	act_begin();
	engine_doorbell(&shim.engine, shim.seg, q->slot);
	act_end();
}

void program_send(struct emu_qp *q, u32 len)
{
	emu_post(wire.m, q, WR_SEND, 1, wire.m->c[q->client].mem, len);
	program_ring(q);
}

enum wire_look program_look(void)
{
	enum wire_look found;

	act_begin();
	found = shim_wire_look(OWN_PATH_WIRE, test_now());
	act_end();
	return found;
}

void program_open_wires(void)
{
	WIRE_MUST(program_look() == WIRE_OFF && looks.open && !looks.refused);
}

int program_wire(enum wire_to to)
{
	return wires[to].own.fd;
}

void program_end(void)
{
	struct engine *e = &wire.f->engine;
	const u64 token = wire.m->hca->token;

	wire.on = true;
	WIRE_MUST(token == shim.engine.token ? engine_steal(e, token) : !engine_enter(e));
	engine_reap(e, shim.id);
	engine_leave(e);
	wire.on = false;
}
