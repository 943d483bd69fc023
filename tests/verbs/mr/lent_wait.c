/* SPDX-License-Identifier: MIT */
/*
 * Waits with a time limit, in a program whose threads are stopped all the time because memory is
 * lent: each ends when its time is over, not later.
 *	app_mr_lent_wait local|remote lent|kept
 */
#include "tests/lib/c/vb_lent.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE	 (16u * 4096u)
#define LIMIT_MS 1074 /* 2^30 ns: stops keep away from waits by logarithms of their limits */
#define LIMIT_NS (LIMIT_MS * 1000000ull)
#define ATTEMPTS 5

static struct vb_side *a, *b;

static bool wait_poll(void)
{
	struct pollfd fd = { .fd = -1 };

	return poll(&fd, 1, LIMIT_MS) == 0;
}

static bool wait_epoll(void)
{
	struct epoll_event event;
	int fd = epoll_create1(0);
	bool good = epoll_wait(fd, &event, 1, LIMIT_MS) == 0;

	close(fd);
	return good;
}

static bool wait_epoll_pwait(void)
{
	struct epoll_event event;
	int fd = epoll_create1(0);
	bool good = epoll_pwait(fd, &event, 1, LIMIT_MS, NULL) == 0;

	close(fd);
	return good;
}

static const struct wait_kind {
	const char *name;
	bool (*run)(void);
} kinds[] = {
	{ "poll", wait_poll },
	{ "epoll_wait", wait_epoll },
	{ "epoll_pwait", wait_epoll_pwait },
};

struct waiter {
	pthread_t thread;
	const struct wait_kind *kind;
	uint64_t took;
	bool good;
	bool done;
};

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;
	uint64_t begin = now_ns();

	w->good = w->kind->run();
	w->took = now_ns() - begin;
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Lend memory, and give it back, until the wait has ended. Return: how often it was lent. */
static int wait_beside_stops(struct waiter *w, uint8_t *at)
{
	int n = 0;

	if (pthread_create(&w->thread, NULL, waiter_run, w))
		die("pthread_create");
	while (!__atomic_load_n(&w->done, __ATOMIC_ACQUIRE)) {
		struct ibv_mr *mr = ibv_reg_mr(a->pd, at, SIZE, ALL);

		if (!mr || ibv_dereg_mr(mr))
			die("a region");
		n += vb_lent_bytes(at, SIZE) != 0;
		(void)vb_give_back(at, SIZE);
	}
	pthread_join(w->thread, NULL);
	return n;
}

/*
 * A stop near the end of the wait, if the wait began anew, would double it. The machine may be
 * late, but not each time.
 */
static void test_limit(const struct wait_kind *kind, uint8_t *at, bool expect_lent)
{
	bool good = true, in_time = false, was_lent = false;
	uint64_t took = 0;

	for (int i = 0; i < ATTEMPTS && good && !(in_time && was_lent == expect_lent); i++) {
		struct waiter w = { .kind = kind };

		/* After a gap as long as twice its limit a wait may be stopped again. */
		usleep(2 * LIMIT_MS * 1000 + 100000);
		was_lent |= wait_beside_stops(&w, at) > 1;
		took = w.took;
		good = w.good && took >= LIMIT_NS;
		in_time |= took < LIMIT_NS * 3 / 2;
	}
	ok(good && in_time, "%s() of %d ms next to stops took %llu ms", kind->name, LIMIT_MS,
	   (unsigned long long)took / 1000000);
	ok(was_lent == expect_lent, "memory was%s lent", was_lent ? "" : " not");
}

int main(int argc, char **argv)
{
	bool expect_lent = argc > 2 && !strcmp(argv[2], "lent");
	uint8_t *at;

	vb_open_two(argc, argv, &a, &b);
	at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	fill(at, SIZE, 1);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		test_limit(&kinds[i], at, expect_lent);
	munmap(at, SIZE);
	vb_close_two(a, b);
	return tap_failed != 0;
}
