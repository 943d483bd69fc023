/* SPDX-License-Identifier: MIT */
/*
 * A counter's file in sysfs that stays open: each read from its start has the value of that moment.
 */
#include "tests/lib/c/vb.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static struct vb_side *s;
static struct vb_pair p;
static unsigned long long last;

/* Each message is one more in the counter. */
static void send_one(void)
{
	struct vb_wr wr = vb_pair_send(&p, 1, 64);

	if (vb_pair_run(&p, &wr) != IBV_WC_SUCCESS)
		note("a message failed");
}

/* Whether the text is a number that is one more than the last. */
static bool grew(const char *text, const char *how)
{
	unsigned long long now = strtoull(text, NULL, 10), before = last;

	last = now;
	return ok(now == before + 1, "%s: %llu after %llu", how, now, before);
}

static void test_fd(const char *path)
{
	char text[32] = "";
	struct iovec iov = { text, sizeof(text) - 1 };
	int fd = open(path, O_RDONLY);

	ok(fd >= 0, "open a counter");
	send_one();
	ok(read(fd, text, sizeof(text) - 1) > 0, "read it");
	last = strtoull(text, NULL, 10);
	ok(!read(fd, text, sizeof(text) - 1), "its end");
	send_one();
	ok(!lseek(fd, 0, SEEK_SET) && read(fd, text, sizeof(text) - 1) > 0, "back to its start");
	grew(text, "lseek() and read()");
	send_one();
	ok(pread(fd, text, sizeof(text) - 1, 0) > 0, "read at its start");
	grew(text, "pread()");
	send_one();
	ok(preadv(fd, &iov, 1, 0) > 0, "read a list at its start");
	grew(text, "preadv()");
	send_one();
	lseek(fd, 0, SEEK_SET);
	send_one();
	last++;
	ok(readv(fd, &iov, 1) > 0, "read a list");
	grew(text, "the value is of the read, not of lseek()");
	ok(pread(fd, text, 1, 1) >= 0, "read in its middle");
	close(fd);
	/* The same number, another file. */
	fd = open("/dev/zero", O_RDONLY);
	ok(pread(fd, text, 4, 0) == 4 && !text[0] && read(fd, text, 4) == 4,
	   "a file of that number");
	close(fd);
}

static void test_stdio(const char *path)
{
	char text[32] = "";
	FILE *f = fopen(path, "r");

	ok(f && fgets(text, sizeof(text), f), "a stream");
	last = strtoull(text, NULL, 10);
	send_one();
	rewind(f);
	ok(fgets(text, sizeof(text), f) != NULL, "back to its start");
	grew(text, "rewind() and fgets()");
	fclose(f);
	f = fopen(path, "r");
	ok(f && !setvbuf(f, NULL, _IONBF, 0) && fgets(text, sizeof(text), f), "without a buffer");
	last = strtoull(text, NULL, 10);
	send_one();
	ok(!fseek(f, 0, SEEK_SET) && fgets(text, sizeof(text), f), "to its start");
	grew(text, "fseek() and fgets()");
	fclose(f);
}

int main(void)
{
	static const char *const dirs[] = { "hw_counters/rdma_sends",
					    "counters/port_xmit_packets" };
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	char path[128];

	s = vb_local();
	vb_open(s);
	/* A datagram has no ACK, which would be a packet, too. */
	ok(!vb_pair_up(&p, s, s, &spec), "a pair");
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/%s",
			 ibv_get_device_name(s->ctx->device), dirs[i]);
		test_fd(path);
		test_stdio(path);
	}
	return tap_failed != 0;
}
