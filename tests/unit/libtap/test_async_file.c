/* SPDX-License-Identifier: MIT */
/* Descriptors that stand for those of asynchronous events. Eventfds are the kernel's files. */
#include "libtap/async_file.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/c/tap_stub.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- libc below the tap --- */

static s64 low_attr; /* the first attribute of the last ioctl() */

static int low_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static ssize_t low_read(int fd, void *to, size_t len)
{
	return syscall(SYS_read, fd, to, len);
}

static int low_ioctl(int fd, unsigned long request, void *arg)
{
	(void)fd;
	(void)request;
	low_attr = ((struct ib_uverbs_ioctl_hdr *)arg)->attrs[0].data_s64;
	return 0;
}

static int low_poll(struct pollfd *fds, nfds_t n, int ms)
{
	const struct timespec timeout = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	return (int)syscall(SYS_ppoll, fds, n, ms < 0 ? NULL : &timeout, NULL, 0);
}

const struct stub_fn stub_fns[] = {
	{ "close", (void *)low_close },
	{ "read", (void *)low_read },
	{ "poll", (void *)low_poll },
	{ "ioctl", (void *)low_ioctl },
	{ NULL, NULL },
};

/* --- helpers --- */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents == POLLIN;
}

/* Gives the context a file and a descriptor for it. Return: the file */
static int ctx_make(struct ibv_context *ctx)
{
	int kernel = eventfd(0, EFD_CLOEXEC);

	ctx->async_fd = kernel;
	CU_ASSERT_EQUAL_FATAL(tap_async_make(ctx), 0);
	return kernel;
}

static void ctx_close(struct ibv_context *ctx)
{
	tap_async_restore(ctx);
	low_close(ctx->async_fd);
	CU_ASSERT_EQUAL(tap_async_files, 0);
}

/* --- tests --- */

static void test_stands_for_another(void)
{
	struct ibv_context ctx = { 0 }, other = { .async_fd = -1 };
	int kernel = ctx_make(&ctx), shown = ctx.async_fd;

	CU_ASSERT_NOT_EQUAL(shown, kernel);
	CU_ASSERT_EQUAL(tap_async_file(shown), kernel);
	CU_ASSERT_EQUAL(tap_async_file(kernel), kernel);
	CU_ASSERT_TRUE(tap_async_is_made(&ctx));
	CU_ASSERT_FALSE(tap_async_is_made(&other));
	CU_ASSERT_FALSE(is_readable(shown));
	tap_async_ring(&ctx, true);
	CU_ASSERT_TRUE(is_readable(shown));
	tap_async_ring(&ctx, false);
	CU_ASSERT_FALSE(is_readable(shown));
	eventfd_write(kernel, 1);
	CU_ASSERT_TRUE(is_readable(shown));
	tap_async_restore(&ctx);
	CU_ASSERT_EQUAL(ctx.async_fd, kernel);
	CU_ASSERT_TRUE(is_open(kernel));
	CU_ASSERT_FALSE(is_open(shown));
	CU_ASSERT_FALSE(tap_async_is_made(&ctx));
	ctx_close(&ctx);
}

static void test_wait(void)
{
	struct ibv_context ctx = { 0 };
	int kernel = ctx_make(&ctx);

	fcntl(ctx.async_fd, F_SETFL, O_NONBLOCK);
	errno = 0;
	CU_ASSERT_EQUAL(tap_async_wait(&ctx), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	fcntl(ctx.async_fd, F_SETFL, 0);
	eventfd_write(kernel, 1);
	CU_ASSERT_EQUAL(tap_async_wait(&ctx), 0);
	ctx_close(&ctx);
}

static void test_close(void)
{
	struct ibv_context ctx = { 0 };
	int kernel = ctx_make(&ctx), shown = ctx.async_fd;

	CU_ASSERT_EQUAL(close(shown), 0);
	CU_ASSERT_FALSE(is_open(shown));
	CU_ASSERT_FALSE(is_open(kernel));
	CU_ASSERT_FALSE(tap_async_is_made(&ctx));
	CU_ASSERT_EQUAL(tap_async_files, 0);
}

/* Closes it in a child. @own: the table is the child's own */
static void child_close(int shown, int kernel, bool own)
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		if (own)
			tap_async_forked();
		close(shown);
		_exit(is_open(shown) || is_open(kernel) == own);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
}

static void test_children(void)
{
	struct ibv_context ctx = { 0 };
	int kernel = ctx_make(&ctx);

	child_close(ctx.async_fd, kernel, true);
	/* As one of vfork(), which shares the table. */
	child_close(ctx.async_fd, kernel, false);
	CU_ASSERT_TRUE(tap_async_is_made(&ctx));
	ctx_close(&ctx);
}

static void test_ioctl(void)
{
	struct ib_uverbs_ioctl_hdr *cmd = calloc(1, sizeof(*cmd) + sizeof(*cmd->attrs));
	struct ib_uverbs_attr *attr = cmd->attrs;
	struct ibv_context ctx = { 0 };
	int kernel = ctx_make(&ctx);

	CU_ASSERT_PTR_NOT_NULL_FATAL(cmd);
	cmd->object_id = UVERBS_OBJECT_CQ;
	cmd->method_id = UVERBS_METHOD_CQ_CREATE;
	cmd->num_attrs = 1;
	attr->attr_id = UVERBS_ATTR_CREATE_CQ_EVENT_FD;
	attr->data_s64 = ctx.async_fd;
	CU_ASSERT_EQUAL(ioctl(1, RDMA_VERBS_IOCTL, cmd), 0);
	CU_ASSERT_EQUAL(low_attr, kernel);
	CU_ASSERT_EQUAL(attr->data_s64, ctx.async_fd);
	/* Another number that happens to be the same. */
	attr->attr_id = UVERBS_ATTR_CREATE_CQ_CQE;
	CU_ASSERT_EQUAL(ioctl(1, RDMA_VERBS_IOCTL, cmd), 0);
	CU_ASSERT_EQUAL(low_attr, ctx.async_fd);
	ctx_close(&ctx);
	free(cmd);
}

static void test_too_many(void)
{
	static struct ibv_context ctx[65];
	u32 i;

	for (i = 0; i < 64; i++)
		ctx_make(&ctx[i]);
	ctx[64].async_fd = ctx[0].async_fd;
	CU_ASSERT_EQUAL(tap_async_make(&ctx[64]), -ENOSPC);
	CU_ASSERT_EQUAL(ctx[64].async_fd, ctx[0].async_fd);
	CU_ASSERT_FALSE(tap_async_is_made(&ctx[64]));
	for (i = 0; i < 64; i++) {
		tap_async_restore(&ctx[i]);
		low_close(ctx[i].async_fd);
	}
	CU_ASSERT_EQUAL(tap_async_files, 0);
}

/* A context whose end the tap has not seen is not accessed, nor is one taken for it. */
static void test_gone(void)
{
	struct ibv_context *ctx = mmap(NULL, sizeof(*ctx), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_context other = { 0 };
	int kernel, shown;

	CU_ASSERT_NOT_EQUAL_FATAL((void *)ctx, MAP_FAILED);
	kernel = ctx_make(ctx);
	shown = ctx->async_fd;
	mprotect(ctx, sizeof(*ctx), PROT_NONE);
	tap_async_ring(ctx, true);
	CU_ASSERT_TRUE(tap_async_is_made(ctx));
	CU_ASSERT_FALSE(tap_async_is_made(&other));
	mprotect(ctx, sizeof(*ctx), PROT_READ | PROT_WRITE);
	ctx->async_fd = -1;
	tap_async_restore(ctx);
	CU_ASSERT_EQUAL(ctx->async_fd, -1);
	CU_ASSERT_FALSE(is_open(shown));
	CU_ASSERT_EQUAL(tap_async_files, 0);
	mprotect(ctx, sizeof(*ctx), PROT_NONE);
	tap_async_restore(ctx);
	low_close(kernel);
	munmap(ctx, sizeof(*ctx));
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a descriptor is readable when the kernel's is, and when it was rung",
		  test_stands_for_another },
		{ "a wait is as the program's descriptor says", test_wait },
		{ "close() closes both", test_close },
		{ "a child has descriptors of its own", test_children },
		{ "ioctl() gets the kernel's, where it is one", test_ioctl },
		{ "too many leave a context as it was", test_too_many },
		{ "a context that is gone is not accessed", test_gone },
		{ NULL, NULL },
	};

	return cu_run("tap, descriptors of events", tests);
}
