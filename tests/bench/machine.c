/* SPDX-License-Identifier: MIT */
/*
 * The machine's own limits, to be laid beside the emulator's figures: what two processes on two
 * cores can do at all. Prints lines `name value`; times in us, bandwidths in MB/s (10^6).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS	5
#define MAX_LEN (1u << 20)

struct shared {
	_Alignas(64) _Atomic(uint32_t) ping;
	_Alignas(64) _Atomic(uint32_t) pong;
	_Alignas(64) _Atomic(uintptr_t) target;
};

static struct shared *sh;

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* On a machine with a single CPU all stays where it is. */
	sched_setaffinity(0, sizeof(set), &set);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median of several runs of @fn. */
static double median(double (*fn)(void *), void *arg)
{
	double v[RUNS];

	for (int i = 0; i < RUNS; i++)
		v[i] = fn(arg);
	qsort(v, RUNS, sizeof(v[0]), by_value);
	return v[RUNS / 2];
}

/* A child on the second CPU that runs @fn and ends. */
static pid_t child(void (*fn)(void *), void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(1);
		fn(arg);
		_exit(0);
	}
	return pid;
}

/* --- cache line ping-pong --- */

#define PINGS 200000u

static void ponger(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= PINGS; i++) {
		while (atomic_load_explicit(&sh->ping, memory_order_acquire) != i)
			;
		atomic_store_explicit(&sh->pong, i, memory_order_release);
	}
}

static double pingpong(void *arg)
{
	pid_t pid;
	double start;

	(void)arg;
	sh->ping = sh->pong = 0;
	pid = child(ponger, NULL);
	start = now_us();
	for (uint32_t i = 1; i <= PINGS; i++) {
		atomic_store_explicit(&sh->ping, i, memory_order_release);
		while (atomic_load_explicit(&sh->pong, memory_order_acquire) != i)
			;
	}
	start = now_us() - start;
	waitpid(pid, NULL, 0);
	return start / PINGS / 2;
}

/* --- process_vm_writev, memcpy --- */

static void sleeper(void *arg)
{
	uint8_t *mem = mmap(NULL, MAX_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	(void)arg;
	memset(mem, 1, MAX_LEN);
	sh->target = (uintptr_t)mem;
	pause();
}

struct copy {
	pid_t pid;
	uint8_t *src, *dst;
	size_t len;
	bool in_process;
};

static double copy_us(void *arg)
{
	struct copy *c = arg;
	struct iovec l = { c->src, c->len }, r = { (void *)sh->target, c->len };
	int n = c->len > 100000 ? 2000 : 20000;
	double start = now_us();

	for (int i = 0; i < n; i++) {
		if (c->in_process)
			memcpy(c->dst, c->src, c->len);
		else if (process_vm_writev(c->pid, &l, 1, &r, 1, 0) != (ssize_t)c->len)
			die("process_vm_writev");
		__asm__ volatile("" ::: "memory");
	}
	return (now_us() - start) / n;
}

static void copies(void)
{
	static const size_t sizes[] = { 8, 64, 4096, 65536, 1048576 };
	struct copy c = { 0 };

	sh->target = 0;
	c.pid = child(sleeper, NULL);
	c.src = mmap(NULL, MAX_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c.dst = mmap(NULL, MAX_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(c.src, 2, MAX_LEN);
	memset(c.dst, 3, MAX_LEN);
	while (!sh->target)
		usleep(1000);
	for (int k = 0; k < 2; k++) {
		const char *name = k ? "memcpy" : "process_vm_writev";

		c.in_process = k;
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			double us;

			c.len = sizes[i];
			us = median(copy_us, &c);
			printf("%s_us_%zu %.4f\n", name, c.len, us);
			printf("%s_mbs_%zu %.1f\n", name, c.len, (double)c.len / us);
		}
	}
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
}

/* --- wake-ups --- */

#define WAKES 20000

static int efd[2];

static void eventfd_side(int mine, int theirs, int first)
{
	uint64_t one = 1, v;

	for (int i = 0; i < WAKES; i++) {
		if (first && write(theirs, &one, 8) != 8)
			die("write");
		if (read(mine, &v, 8) != 8)
			die("read");
		if (!first && write(theirs, &one, 8) != 8)
			die("write");
	}
}

static void eventfd_child(void *arg)
{
	(void)arg;
	eventfd_side(efd[1], efd[0], 0);
}

static double eventfd_us(void *arg)
{
	pid_t pid;
	double start;

	(void)arg;
	efd[0] = eventfd(0, 0);
	efd[1] = eventfd(0, 0);
	pid = child(eventfd_child, NULL);
	start = now_us();
	eventfd_side(efd[0], efd[1], 1);
	start = now_us() - start;
	waitpid(pid, NULL, 0);
	close(efd[0]);
	close(efd[1]);
	return start / WAKES / 2;
}

static void futex_wait(_Atomic(uint32_t) *word, uint32_t old)
{
	while (*word == old)
		syscall(SYS_futex, word, FUTEX_WAIT, old, NULL, NULL, 0);
}

static void futex_wake(_Atomic(uint32_t) *word)
{
	++*word;
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void futex_child(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < WAKES; i++) {
		futex_wait(&sh->ping, i);
		futex_wake(&sh->pong);
	}
}

static double futex_us(void *arg)
{
	pid_t pid;
	double start;

	(void)arg;
	sh->ping = sh->pong = 0;
	pid = child(futex_child, NULL);
	start = now_us();
	for (uint32_t i = 0; i < WAKES; i++) {
		futex_wake(&sh->ping);
		futex_wait(&sh->pong, i);
	}
	start = now_us() - start;
	waitpid(pid, NULL, 0);
	return start / WAKES / 2;
}

/* --- TCP over loopback --- */

#define TCP_TOTAL (256u << 20)
#define TCP_CHUNK 65536

static int listener;

static void tcp_child(void *arg)
{
	static char buf[TCP_CHUNK];
	int fd = accept(listener, NULL, NULL);
	int one = 1;

	(void)arg;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (int i = 0; i < WAKES; i++)
		if (read(fd, buf, 1) != 1 || write(fd, buf, 1) != 1)
			_exit(1);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

static void tcp(double *lat, double *bw)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	static char buf[TCP_CHUNK];
	double start;
	int fd, one = 1;
	pid_t pid;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&sa, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&sa, &len))
		die("listen");
	pid = child(tcp_child, NULL);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *)&sa, len))
		die("connect");
	start = now_us();
	for (int i = 0; i < WAKES; i++)
		if (write(fd, buf, 1) != 1 || read(fd, buf, 1) != 1)
			die("tcp");
	*lat = (now_us() - start) / WAKES / 2;
	start = now_us();
	for (unsigned int i = 0; i < TCP_TOTAL / TCP_CHUNK; i++)
		for (ssize_t done = 0, n; done < TCP_CHUNK; done += n)
			if ((n = write(fd, buf + done, TCP_CHUNK - (size_t)done)) <= 0)
				die("tcp");
	close(fd);
	waitpid(pid, NULL, 0);
	*bw = TCP_TOTAL / (now_us() - start);
	close(listener);
}

int main(void)
{
	double lat, bw;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		die("mmap");
	pin(0);
	printf("pingpong_us %.4f\n", median(pingpong, NULL));
	fflush(stdout);
	copies();
	fflush(stdout);
	printf("eventfd_us %.3f\n", median(eventfd_us, NULL));
	printf("futex_us %.3f\n", median(futex_us, NULL));
	fflush(stdout);
	tcp(&lat, &bw);
	printf("tcp_us %.3f\ntcp_mbs_65536 %.1f\n", lat, bw);
	return 0;
}
