/* SPDX-License-Identifier: MIT */
/**
 * DOC: what this machine can do at all between two processes, as JSON on stdout.
 *
 * Theory of operation
 * -------------------
 * Each measurement forks a peer (two_sides.h); with a single CPU a side that spins yields. Names
 * end in their unit: _ns per operation, _gbs in 10^9 bytes per second, _per_s. One run measures
 * each figure once: tests/bench repeats the program between the benchmarks that it is compared
 * with, and takes medians. `limits tcp` has only those of TCP, which differ most from one moment to
 * the next.
 */
#include "tests/bench/two_sides.h"

#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PINGS	   200000u
#define WAKES	   10000u
#define TRIPS	   10000u
#define BUF_LEN	   (1u << 20)
#define PIECES	   32u
#define PIECE_LEN  64u
#define PIECE_STEP 128u /* pieces are not adjacent, or the kernel's work would be that of one */
#define TAIL_LEN   8u
#define TCP_TOTAL  (512u << 20)

/**
 * struct shared - what both processes see.
 * @ping: written by the parent; @pong: by the peer; each has a cache line of its own
 * @target: address of the peer's buffer, NULL until it is there
 */
struct shared {
	_Alignas(64) _Atomic(uint32_t) ping;
	_Alignas(64) _Atomic(uint32_t) pong;
	_Alignas(64) _Atomic(uint8_t *) target;
};

static struct shared *sh;

static void spin_until(_Atomic(uint32_t) *word, uint32_t value)
{
	while (atomic_load_explicit(word, memory_order_acquire) != value)
		if (cpus < 2)
			sched_yield();
}

/* Cache-line ping-pong. */

static void line_peer(void)
{
	for (uint32_t i = 1; i <= PINGS; i++) {
		spin_until(&sh->ping, i);
		atomic_store_explicit(&sh->pong, i, memory_order_release);
	}
}

static void line(void)
{
	pid_t pid;
	double start;

	sh->ping = sh->pong = 0;
	pid = peer_start(line_peer);
	/* The first trip waits for the fork. */
	atomic_store_explicit(&sh->ping, 1, memory_order_release);
	spin_until(&sh->pong, 1);
	start = now_ns();
	for (uint32_t i = 2; i <= PINGS; i++) {
		atomic_store_explicit(&sh->ping, i, memory_order_release);
		spin_until(&sh->pong, i);
	}
	report("pingpong_ns", (now_ns() - start) / (PINGS - 1) / 2);
	peer_end(pid);
}

/* process_vm_writev into the memory of the peer, memcpy within this process. */

static uint8_t *buffer(void)
{
	uint8_t *p =
		mmap(NULL, BUF_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	memset(p, 1, BUF_LEN);
	return p;
}

static void copy_peer(void)
{
	sh->target = buffer();
	spin_until(&sh->ping, 1);
}

/** cut() - [base, base + len) as one entry, as all but a tail and the tail, or as PIECES pieces. */
static int cut(struct iovec *v, uint8_t *base, size_t len, unsigned int n)
{
	if (n == 1) {
		v[0] = (struct iovec){ base, len };
	} else if (n == 2) {
		v[0] = (struct iovec){ base, len - TAIL_LEN };
		v[1] = (struct iovec){ base + len - TAIL_LEN, TAIL_LEN };
	} else {
		for (unsigned int i = 0; i < n; i++)
			v[i] = (struct iovec){ base + (size_t)i * PIECE_STEP, PIECE_LEN };
	}
	return (int)n;
}

/** rounds() - as many copies of @len bytes as take some tens of milliseconds. */
static unsigned int rounds(size_t len)
{
	return len >= BUF_LEN ? 400 : len >= 65536 ? 5000 : 50000;
}

static double vm_ns(pid_t pid, uint8_t *src, size_t len, unsigned int pieces)
{
	struct iovec from[PIECES], to[PIECES];
	int n = cut(from, src, len, pieces);
	unsigned int i, times = rounds(len);
	double start;

	cut(to, sh->target, len, pieces);
	start = now_ns();
	for (i = 0; i < times; i++)
		if (process_vm_writev(pid, from, (unsigned long)n, to, (unsigned long)n, 0) !=
		    (ssize_t)len)
			die("process_vm_writev");
	return (now_ns() - start) / times;
}

static double memcpy_ns(uint8_t *dst, const uint8_t *src, size_t len)
{
	unsigned int i, times = rounds(len);
	double start = now_ns();

	for (i = 0; i < times; i++) {
		memcpy(dst, src, len);
		__asm__ volatile("" : : "r"(dst), "r"(src) : "memory");
	}
	return (now_ns() - start) / times;
}

static void report_copy(const char *what, size_t len, double ns)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%zu_ns", what, len);
	report(name, ns);
	snprintf(name, sizeof(name), "%s_%zu_gbs", what, len);
	report(name, (double)len / ns);
}

static void copies(void)
{
	static const size_t sizes[] = { 2, 64, 64u << 10, BUF_LEN };
	uint8_t *src = buffer(), *dst = buffer();
	pid_t pid;

	sh->target = NULL;
	sh->ping = 0;
	pid = peer_start(copy_peer);
	while (!sh->target)
		sched_yield();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		report_copy("process_vm", sizes[i], vm_ns(pid, src, sizes[i], 1));
		if (sizes[i] >= 65536)
			report_copy("process_vm_tail", sizes[i], vm_ns(pid, src, sizes[i], 2));
		report_copy("memcpy", sizes[i], memcpy_ns(dst, src, sizes[i]));
	}
	report("process_vm_pieces_per_s",
	       PIECES * 1e9 / vm_ns(pid, src, (size_t)PIECES * PIECE_LEN, PIECES));
	atomic_store(&sh->ping, 1);
	peer_end(pid);
	munmap(src, BUF_LEN);
	munmap(dst, BUF_LEN);
}

/* memcpy into pages that both processes have, which the peer has read on its CPU since the last. */

static uint8_t *shared_buf;
static size_t shared_len;
static unsigned int shared_times;

static void shared_peer(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= shared_times; i++) {
		spin_until(&sh->ping, i);
		for (size_t k = 0; k < shared_len; k += 64)
			sum += shared_buf[k];
		__asm__ volatile("" : : "r"(sum));
		atomic_store_explicit(&sh->pong, i, memory_order_release);
	}
}

static double shared_copy_ns(const uint8_t *src, size_t len)
{
	double start, total = 0;
	pid_t pid;

	shared_len = len;
	shared_times = rounds(len);
	sh->ping = sh->pong = 0;
	pid = peer_start(shared_peer);
	for (uint32_t i = 1; i <= shared_times; i++) {
		start = now_ns();
		memcpy(shared_buf, src, len);
		__asm__ volatile("" : : "r"(shared_buf), "r"(src) : "memory");
		total += now_ns() - start;
		atomic_store_explicit(&sh->ping, i, memory_order_release);
		spin_until(&sh->pong, i);
	}
	peer_end(pid);
	return total / shared_times;
}

static void shared_copies(void)
{
	uint8_t *src = buffer();

	shared_buf = mmap(NULL, BUF_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared_buf == MAP_FAILED)
		die("mmap");
	memset(shared_buf, 1, BUF_LEN);
	report_copy("memcpy_shared", 65536, shared_copy_ns(src, 65536));
	report_copy("memcpy_shared", BUF_LEN, shared_copy_ns(src, BUF_LEN));
	munmap(shared_buf, BUF_LEN);
	munmap(src, BUF_LEN);
}

/* Wake-ups: both sides sleep, so one trip is two wakes. */

static int event[2];

static void event_wait(int side)
{
	uint64_t v;

	if (read(event[side], &v, sizeof(v)) != sizeof(v))
		die("read of an eventfd");
}

static void event_wake(int side)
{
	uint64_t one = 1;

	if (write(event[side], &one, sizeof(one)) != sizeof(one))
		die("write to an eventfd");
}

static void event_peer(void)
{
	for (unsigned int i = 0; i <= WAKES; i++) {
		event_wait(1);
		event_wake(0);
	}
}

static void event_wakes(void)
{
	double start = 0;
	pid_t pid;

	for (int i = 0; i < 2; i++)
		if ((event[i] = eventfd(0, EFD_CLOEXEC)) < 0)
			die("eventfd");
	pid = peer_start(event_peer);
	for (unsigned int i = 0; i <= WAKES; i++) {
		event_wake(1);
		event_wait(0);
		if (!i) /* that one waited for the fork */
			start = now_ns();
	}
	report("eventfd_wake_ns", (now_ns() - start) / WAKES / 2);
	peer_end(pid);
	close(event[0]);
	close(event[1]);
}

static void futex_wait(_Atomic(uint32_t) *word, uint32_t old)
{
	while (*word == old)
		syscall(SYS_futex, word, FUTEX_WAIT, old, NULL, NULL, 0);
}

static void futex_wake(_Atomic(uint32_t) *word)
{
	++*word;
	if (syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) < 0)
		die("futex");
}

static void futex_peer(void)
{
	for (uint32_t i = 0; i <= WAKES; i++) {
		futex_wait(&sh->ping, i);
		futex_wake(&sh->pong);
	}
}

static void futex_wakes(void)
{
	double start = 0;
	pid_t pid;

	sh->ping = sh->pong = 0;
	pid = peer_start(futex_peer);
	for (uint32_t i = 0; i <= WAKES; i++) {
		futex_wake(&sh->ping);
		futex_wait(&sh->pong, i);
		if (!i)
			start = now_ns();
	}
	report("futex_wake_ns", (now_ns() - start) / WAKES / 2);
	peer_end(pid);
}

/* TCP over loopback. */

static int listener;
static uint8_t tcp_buf[BUF_LEN];
static const size_t tcp_sizes[] = { 64u << 10, BUF_LEN };

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY");
}

static void tcp_peer(void)
{
	int fd = accept(listener, NULL, NULL);
	ssize_t n;

	if (fd < 0)
		die("accept");
	no_delay(fd);
	for (unsigned int i = 0; i <= TRIPS; i++)
		if (read(fd, tcp_buf, 1) != 1 || write(fd, tcp_buf, 1) != 1)
			die("TCP peer");
	for (size_t i = 0; i < sizeof(tcp_sizes) / sizeof(tcp_sizes[0]); i++) {
		for (size_t left = TCP_TOTAL; left; left -= (size_t)n)
			if ((n = read(fd, tcp_buf, tcp_sizes[i])) <= 0)
				die("TCP peer");
		if (write(fd, tcp_buf, 1) != 1) /* all has arrived */
			die("TCP peer");
	}
}

static int tcp_connect(pid_t *pid)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	int fd;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&sa, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&sa, &len))
		die("listen");
	*pid = peer_start(tcp_peer);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, len))
		die("connect");
	no_delay(fd);
	return fd;
}

static void tcp_stream(int fd, size_t len)
{
	double start = now_ns();
	char name[64];
	ssize_t n;

	for (size_t left = TCP_TOTAL; left; left -= (size_t)n)
		if ((n = write(fd, tcp_buf, left < len ? left : len)) <= 0)
			die("TCP");
	if (read(fd, tcp_buf, 1) != 1)
		die("TCP");
	snprintf(name, sizeof(name), "tcp_%zu_gbs", len);
	report(name, TCP_TOTAL / (now_ns() - start));
}

static void tcp(void)
{
	double start = 0;
	pid_t pid;
	int fd = tcp_connect(&pid);

	for (unsigned int i = 0; i <= TRIPS; i++) {
		if (write(fd, tcp_buf, 1) != 1 || read(fd, tcp_buf, 1) != 1)
			die("TCP");
		if (!i)
			start = now_ns();
	}
	report("tcp_round_trip_ns", (now_ns() - start) / TRIPS);
	for (size_t i = 0; i < sizeof(tcp_sizes) / sizeof(tcp_sizes[0]); i++)
		tcp_stream(fd, tcp_sizes[i]);
	peer_end(pid);
	close(fd);
	close(listener);
}

int main(int argc, char **argv)
{
	bool only_tcp = argc == 2 && !strcmp(argv[1], "tcp");

	if (argc != 1 && !only_tcp) {
		fprintf(stderr, "usage: limits [tcp]\n");
		return 2;
	}
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		die("mmap");
	sides_begin();
	if (!only_tcp) {
		line();
		copies();
		shared_copies();
		event_wakes();
		futex_wakes();
	}
	tcp();
	return sides_end();
}
