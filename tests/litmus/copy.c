/* SPDX-License-Identifier: MIT */
/*
 * The last bytes land last: fabric/proto/vmcopy.c as it is, for a CPU that reorders stores. What
 * memmove(3) and the kernel store has no order at all (hooks.c).
 */
#include "fabric/proto/vmcopy.h"
#include "tests/litmus/model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define WORDS	 3u
#define OLD	 0x1111111111111111ULL
#define NEW	 0x2222222222222222ULL
#define PEER	 12345
#define ODD_LEN	 (8 * WORDS - 1) /* a tail of 4, 2 and 1 bytes */
#define NEW_BYTE 0x22

static u64 target[WORDS], source[WORDS];
static s32 target_pid, source_pid;
static u64 length;
static bool is_torn;

/* In place of the kernel, for process_vm_readv(2) and process_vm_writev(2) of this memory. */
long syscall(long number, ...)
{
	const struct iovec *local, *remote, *to, *from;
	unsigned long n_local, n_remote, i = 0, k = 0;
	size_t at = 0, at_from = 0, n;
	ssize_t sum = 0;
	va_list args;

	va_start(args, number);
	if (va_arg(args, int) != PEER)
		abort();
	local = va_arg(args, const struct iovec *);
	n_local = va_arg(args, unsigned long);
	remote = va_arg(args, const struct iovec *);
	n_remote = va_arg(args, unsigned long);
	va_end(args);
	to = number == SYS_process_vm_writev ? remote : local;
	from = number == SYS_process_vm_writev ? local : remote;
	if (number != SYS_process_vm_writev) {
		unsigned long swap = n_local;

		n_local = n_remote;
		n_remote = swap;
	}
	while (i < n_remote && k < n_local) {
		n = min_u64(to[i].iov_len - at, from[k].iov_len - at_from);
		model_memmove((char *)to[i].iov_base + at, (char *)from[k].iov_base + at_from, n);
		sum += (ssize_t)n;
		at += n;
		at_from += n;
		if (at == to[i].iov_len) {
			i++;
			at = 0;
		}
		if (at_from == from[k].iov_len) {
			k++;
			at_from = 0;
		}
	}
	return sum;
}

static void *no_seg(void *ctx, u32 client)
{
	(void)ctx;
	(void)client;
	return NULL;
}

static s32 pid_of(void *ctx, u32 client)
{
	(void)ctx;
	return client ? source_pid : target_pid;
}

static void copy_init(void)
{
	u32 i;

	for (i = 0; i < WORDS; i++) {
		target[i] = OLD;
		source[i] = NEW;
	}
	target_pid = source_pid = VM_OWN;
	length = sizeof(target);
	is_torn = false;
}

static void copy_from_peer_init(void)
{
	copy_init();
	source_pid = PEER;
}

static void copy_to_peer_init(void)
{
	copy_init();
	target_pid = PEER;
}

static void copy_odd_init(void)
{
	copy_init();
	length = ODD_LEN;
}

static void copy_odd_from_peer_init(void)
{
	copy_from_peer_init();
	length = ODD_LEN;
}

static void copy_odd_to_peer_init(void)
{
	copy_to_peer_init();
	length = ODD_LEN;
}

static void copy_write(void)
{
	const struct vm_ctx vm = { .seg = no_seg, .pid = pid_of };
	struct hca_mem dst = { .kind = MEM_VM, .client = 0, .n = 1 };
	struct hca_mem src = { .kind = MEM_VM, .client = 1, .n = 1 };

	dst.iov[0].addr = (uintptr_t)target;
	src.iov[0].addr = (uintptr_t)source;
	dst.iov[0].len = src.iov[0].len = length;
	if (vm_copy(&vm, &dst, 0, &src, 0, length))
		abort();
}

/* A program that polls the last byte, and then reads the rest. */
static void target_poll(void)
{
	const u64 *tail = &target[WORDS - 1];
	u32 i;

	if (load_acquire(tail) != NEW)
		return;
	for (i = 0; i + 1 < WORDS; i++)
		is_torn |= load_relaxed(&target[i]) != NEW;
}

static void target_poll_odd(void)
{
	const u8 *tail = (u8 *)&target[WORDS - 1];
	u32 i;

	if (load_acquire(tail + 6) != NEW_BYTE)
		return;
	is_torn |= load_relaxed((const u16 *)(const void *)(tail + 4)) != (u16)NEW;
	is_torn |= load_relaxed((const u32 *)(const void *)tail) != (u32)NEW;
	for (i = 0; i + 1 < WORDS; i++)
		is_torn |= load_relaxed(&target[i]) != NEW;
}

static bool is_whole(void)
{
	return !is_torn;
}

#define COPY_TEST(name, init, poll)                                                                \
	{                                                                                          \
		"a program that sees the last byte of a copy sees all of it: " name, init,         \
			{ copy_write, poll }, is_whole                                             \
	}

static const struct litmus_test tests[] = {
	COPY_TEST("in this process", copy_init, target_poll),
	COPY_TEST("from another process", copy_from_peer_init, target_poll),
	COPY_TEST("to another process", copy_to_peer_init, target_poll),
	COPY_TEST("a tail of 7 bytes, in this process", copy_odd_init, target_poll_odd),
	COPY_TEST("a tail of 7 bytes, from another process", copy_odd_from_peer_init,
		  target_poll_odd),
	COPY_TEST("a tail of 7 bytes, to another process", copy_odd_to_peer_init, target_poll_odd),
};

int main(void)
{
	bool good = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		good &= litmus_run(&tests[i]);
	return !good;
}
