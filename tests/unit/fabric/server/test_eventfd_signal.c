/* SPDX-License-Identifier: MIT */
/*
 * Signals to an eventfd that its other holder makes block. That one acts at the worst moment: after
 * a poll(2) of the fabric process has found room. The linker puts such a poll(2) in place of the C
 * library's.
 */
#include "fabric/server/eventfd_signal.h"
#include "tests/lib/c/cu.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FULL	 (~0ULL - 1)
#define SIGNALS	 1000u /* more than a context has completions */
#define PATIENCE 60 /* seconds for all tests: who blocks gets SIGALRM */

int __real_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms);

static struct eventfd_signaller s;
static int fd;

static void eventfd_fill(void)
{
	const u64 full = FULL;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	u64 count;

	if (__real_poll(&p, 1, 0) == 1)
		CU_ASSERT_EQUAL(read(fd, &count, sizeof(count)), sizeof(count));
	CU_ASSERT_EQUAL(write(fd, &full, sizeof(full)), sizeof(full));
}

int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
	int ret = __real_poll(p, n, ms);

	if (ret == 1 && p->revents & POLLOUT)
		eventfd_fill();
	return ret;
}

static u64 eventfd_count(void)
{
	u64 count = 0;

	CU_ASSERT_EQUAL(read(fd, &count, sizeof(count)), sizeof(count));
	return count;
}

static void test_signals_count(void)
{
	u32 i;

	fd = eventfd(0, 0);
	for (i = 0; i < SIGNALS; i++)
		CU_ASSERT_EQUAL(eventfd_signal(&s, fd), 0);
	CU_ASSERT_EQUAL(eventfd_count(), SIGNALS);
	close(fd);
}

static void test_full_eventfd_that_blocks_holds_nobody_up(void)
{
	fd = eventfd(0, 0);
	eventfd_fill();
	(void)eventfd_signal(&s, fd);
	CU_ASSERT(eventfd_count() >= FULL);
	/* There is room when the signal begins. */
	(void)eventfd_signal(&s, fd);
	CU_ASSERT(eventfd_count() > 0);
	close(fd);
}

static void test_what_is_no_eventfd_is_refused(void)
{
	int pipes[2];

	CU_ASSERT_FATAL(!pipe(pipes));
	CU_ASSERT_EQUAL(eventfd_signal(&s, pipes[1]), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "each signal counts", test_signals_count },
		{ "a full eventfd that blocks holds nobody up",
		  test_full_eventfd_that_blocks_holds_nobody_up },
		{ "what is no eventfd is refused", test_what_is_no_eventfd_is_refused },
		{ NULL, NULL },
	};

	if (eventfd_signaller_open(&s)) {
		printf("# SKIP the kernel has no asynchronous I/O\n");
		return 77;
	}
	alarm(PATIENCE);
	return cu_run("eventfd signals", tests);
}
