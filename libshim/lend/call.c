/* SPDX-License-Identifier: MIT */
/** DOC: see call.h. Its numbers, registers and instructions are those of x86-64. */
#include "libshim/lend/call.h"

#ifdef __x86_64__

#include "libshim/interpose/syscall.h"
#include "libshim/lend/threads.h"
#include "libshim/lend/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE    256
#define LIMIT_LOG_NS 63u /* logarithms of time limits */
#define NO_LIMIT     0u
#define PAGE	     4096u

#define INSN_SYSCALL 0x050fu /* 0f 05 */
#define INSN_MOV_EAX 0xb8u /* b8 and a number of 32 bits, which libc has right before it */
#define LEN_SYSCALL  2u
#define LEN_MOV	     5u
#define LEN_LOAD     4u /* of a register from the stack, which libc may have between the two */

/**
 * struct limit_history - the stops, as seen by waits with a time limit of 2^i ns or more, and less
 * than twice that.
 * @first: of the stops between which there was no gap of twice the limit, the first
 * @last: the last one
 */
static struct limit_history {
	u64 first;
	u64 last;
} history[LIMIT_LOG_NS + 1];

int call_file_read(s32 tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	fd = (int)SYS_RET(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		return fd;
	n = sys_read(fd, text, size - 1);
	sys_close(fd);
	if (n <= 0)
		return n ? (int)n : -EIO;
	text[n] = '\0';
	return 0;
}

/* "running", "-1 SP PC", or "NUMBER ARG... SP PC" */
int call_read(s32 tid, struct thread_call *call)
{
	char text[TEXT_SIZE], *at = text;
	int ret = call_file_read(tid, "syscall", text, sizeof(text));
	u32 i;

	call->place = THREAD_RUNS;
	if (ret == -ENOENT || ret == -ESRCH) {
		call->place = THREAD_DEAD;
		return 0;
	}
	if (ret || !strncmp(text, "running", 7))
		return ret;
	call->place = *at == '-' ? THREAD_FAULTS : THREAD_SLEEPS;
	call->nr = strtoull(at, &at, 10);
	for (i = 0; call->place == THREAD_SLEEPS && i < CALL_ARGS; i++)
		call->arg[i] = strtoull(at, &at, 16);
	call->sp = strtoull(at, &at, 16);
	call->pc = strtoull(at, &at, 16);
	if (!call->sp && !call->pc)
		call->place = THREAD_DEAD;
	return 0;
}

/* Read an argument in memory, which its thread may have unmapped. */
static bool argument_read(u64 addr, void *value, size_t size)
{
	struct iovec to = { value, size };
	struct iovec from = { (void *)(uintptr_t)addr, size };
	long n = syscall(SYS_process_vm_readv, sys_getpid(), &to, 1UL, &from, 1UL, 0UL);

	return n == (long)size;
}

/* sigwait(3) returns the signal instead of running its handler. */
static bool waits_for_lend_signal(u64 set)
{
	u64 signals;

	return !argument_read(set, &signals, sizeof(signals)) || signals & BIT64(LEND_SIGNAL - 1);
}

/* 0: it cannot be read. */
static u64 wait_limit_read(u64 addr)
{
	struct timespec ts;

	if (!argument_read(addr, &ts, sizeof(ts)))
		return 0;
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec + 1;
}

/* A limit in ms, as poll(2) has it. */
static u64 limit_of_ms(u64 ms)
{
	return (s32)ms < 0 ? NO_LIMIT : (u64)(u32)ms * 1000000u + 1;
}

/* nanosleep(2): the kernel stores the rest, if it has a place for it. 0: the limit is not known */
static bool sleep_limit(u64 request, u64 rest, u64 *limit)
{
	*limit = rest ? NO_LIMIT : wait_limit_read(request);
	return rest || *limit;
}

/*
 * Whether a call that a signal interrupts begins again in full.
 * @limit: receives the time limit that begins anew then, in ns
 */
static bool call_begins_again(u64 nr, const u64 *arg, u64 *limit)
{
	*limit = NO_LIMIT;
	switch (nr) {
	case SYS_futex:
	case SYS_read:
	case SYS_accept:
	case SYS_accept4:
	case SYS_flock:
	case SYS_semop:
	case SYS_msgsnd:
	case SYS_msgrcv:
	case SYS_pause: /* a signal that comes right before it is lost in any case */
	case SYS_wait4:
	case SYS_waitid:
	case SYS_select: /* the kernel stores the rest of the limit */
	case SYS_ppoll:
	case SYS_pselect6:
		return true;
	case SYS_fcntl:
		return arg[1] == F_SETLKW || arg[1] == F_OFD_SETLKW;
	case SYS_rt_sigtimedwait:
		return !arg[2] && !waits_for_lend_signal(arg[0]);
	case SYS_recvfrom:
		return !(arg[3] & MSG_WAITALL);
	case SYS_recvmsg:
		return !(arg[2] & MSG_WAITALL);
	case SYS_poll:
		*limit = limit_of_ms(arg[2]);
		return true;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		*limit = limit_of_ms(arg[3]);
		return true;
	case SYS_nanosleep:
		return sleep_limit(arg[0], arg[1], limit);
	case SYS_clock_nanosleep:
		return arg[1] & (u64)TIMER_ABSTIME || sleep_limit(arg[2], arg[3], limit);
	default:
		return false;
	}
}

/*
 * Whether a call that returned EINTR may begin again: nothing has happened. A thread that ran when
 * it was signalled may be in any call by then.
 */
static bool call_may_begin_again(u64 nr, const u64 *arg)
{
	u64 limit;

	switch (nr) {
	case SYS_epoll_pwait2:
	case SYS_mq_timedreceive:
	case SYS_mq_timedsend:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
	case SYS_semtimedop:
	case SYS_sendmsg:
	case SYS_sendto:
	case SYS_write:
		return true;
	default:
		return call_begins_again(nr, arg, &limit);
	}
}

/*
 * A limit of a socket's own begins anew with the call, and nothing tells how much of it is left. A
 * call that waits for several bytes returns fewer.
 */
static bool socket_has_limit(int fd)
{
	struct timeval limit = { 0 };
	int least = 1;
	socklen_t len = sizeof(limit);

	if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &len))
		return false; /* no socket */
	len = sizeof(least);
	(void)syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_RCVLOWAT, &least, &len);
	return limit.tv_sec || limit.tv_usec || least > 1;
}

/* Whether it waits as long as nothing comes, and returns the first bytes that do. */
static bool call_waits_for_anything(const struct thread_call *call)
{
	switch (call->nr) {
	case SYS_read:
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvfrom:
	case SYS_recvmsg:
		return !socket_has_limit((int)call->arg[0]);
	default:
		return true;
	}
}

static u32 limit_log(u64 limit)
{
	return LIMIT_LOG_NS - (u32)__builtin_clzll(limit);
}

bool call_is_stoppable(const struct thread_call *call, u64 now)
{
	const struct limit_history *h;
	u64 limit;

	if (call->place != THREAD_SLEEPS)
		return true;
	if (!call_begins_again(call->nr, call->arg, &limit) || !call_waits_for_anything(call))
		return false;
	if (limit == NO_LIMIT)
		return true;
	h = &history[limit_log(limit)];
	limit = BIT64(limit_log(limit));
	return !h->last || now - h->first < limit || (now - h->last) / 2 >= limit;
}

void call_note_stop(u64 now)
{
	u32 i;

	for (i = 0; i <= LIMIT_LOG_NS; i++) {
		if (!history[i].last || (now - history[i].last) / 2 >= BIT64(i))
			history[i].first = now;
		history[i].last = now;
	}
}

static void registers_get(const greg_t *reg, u64 *arg)
{
	static const int place[CALL_ARGS] = { REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9 };
	u32 i;

	for (i = 0; i < CALL_ARGS; i++)
		arg[i] = (u64)reg[place[i]];
}

/* mov DISP8(%rsp), %REG32: 8b, a byte of which 3 bits are the register, 24, and DISP8 */
static bool insn_is_load(const u8 *code)
{
	return code[0] == 0x8b && (code[1] & 0xc7) == 0x44 && code[2] == 0x24;
}

/*
 * The number of the call after which the thread is, of which its registers have no trace.
 * Return: -1: it is not known.
 */
static s64 call_number(const greg_t *reg, const u64 *arg, const struct thread_call *seen)
{
	u64 pc = (u64)reg[REG_RIP];
	const u8 *code = (const u8 *)(uintptr_t)pc - LEN_SYSCALL;
	u32 number;

	if (seen->place == THREAD_SLEEPS && seen->pc == pc && seen->sp == (u64)reg[REG_RSP] &&
	    !memcmp(seen->arg, arg, sizeof(seen->arg)))
		return (s64)seen->nr;
	/* Only bytes of the page that the thread executes. */
	if (pc % PAGE < LEN_SYSCALL + LEN_LOAD + LEN_MOV ||
	    (code[0] | code[1] << 8) != INSN_SYSCALL)
		return -1;
	if (insn_is_load(code - LEN_LOAD))
		code -= LEN_LOAD;
	code -= LEN_MOV;
	if (code[0] != INSN_MOV_EAX)
		return -1;
	memcpy(&number, code + 1, sizeof(number));
	return number;
}

/**
 * struct put_back - where a thread was put back before its call, which it may not have made again
 * when the next stop comes. @pc: 0: nowhere
 * @by_handler: not by the kernel: any signal of the program ends the call
 */
static __thread struct put_back {
	u64 pc;
	u64 sp;
	u64 nr;
	bool by_handler;
} put_back __attribute__((tls_model("initial-exec")));

static void put_back_note(const greg_t *reg, bool by_handler)
{
	put_back = (struct put_back){ .pc = (u64)reg[REG_RIP],
				      .sp = (u64)reg[REG_RSP],
				      .nr = (u64)reg[REG_RAX],
				      .by_handler = by_handler };
}

static bool is_put_back(const greg_t *reg)
{
	return put_back.pc && put_back.pc == (u64)reg[REG_RIP] &&
	       put_back.sp == (u64)reg[REG_RSP] && put_back.nr == (u64)reg[REG_RAX];
}

/*
 * Whether the kernel has put the thread back before its call. It does so for calls that a signal of
 * the program may end, and for those of futex(2) that none does.
 */
static bool is_put_back_by_kernel(const greg_t *reg, const struct thread_call *seen)
{
	u64 command = seen->arg[1] & FUTEX_CMD_MASK;

	return seen->place == THREAD_SLEEPS && (u64)reg[REG_RAX] == seen->nr &&
	       (u64)reg[REG_RIP] + LEN_SYSCALL == seen->pc && (u64)reg[REG_RSP] == seen->sp &&
	       (seen->nr != SYS_futex || command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
}

/* Put a thread back before the call @nr that returned EINTR. */
static void call_put_back(greg_t *reg, u64 nr, const u64 *arg)
{
	if (nr == SYS_poll)
		reg[REG_RDX] = lend_wait_rest(arg[0], (s32)arg[2]);
	if (nr == SYS_epoll_wait || nr == SYS_epoll_pwait)
		reg[REG_R10] = lend_wait_rest(arg[0] & UINT32_MAX, (s32)arg[3]);
	/* The rest of the time is where the caller wants it, or was. */
	if (nr == SYS_nanosleep && arg[1])
		reg[REG_RDI] = reg[REG_RSI];
	else if (nr == SYS_clock_nanosleep && !(arg[1] & (u64)TIMER_ABSTIME) && arg[3])
		reg[REG_RDX] = reg[REG_R10];
	reg[REG_RAX] = (greg_t)nr;
	reg[REG_RIP] -= LEN_SYSCALL;
	put_back_note(reg, true);
}

void call_restart(ucontext_t *uc, const struct thread_call *seen)
{
	greg_t *reg = uc->uc_mcontext.gregs;
	u64 arg[CALL_ARGS];
	bool restarts;
	s64 nr;

	if (is_put_back_by_kernel(reg, seen))
		put_back_note(reg, false);
	if (is_put_back(reg)) {
		if (signal_is_due(uc, &restarts) && (put_back.by_handler || !restarts)) {
			reg[REG_RAX] = -EINTR;
			reg[REG_RIP] += LEN_SYSCALL;
		}
		return;
	}
	if (reg[REG_RAX] != -EINTR)
		return;
	registers_get(reg, arg);
	nr = call_number(reg, arg, seen);
	if (nr < 0 || !call_may_begin_again((u64)nr, arg))
		return;
	/* A caller of futex(2) expects EINTR, and knows the rest of its time. */
	if (nr == SYS_futex && (arg[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && arg[3])
		return;
	if (!signal_is_due(uc, &restarts))
		call_put_back(reg, (u64)nr, arg);
}

#endif
