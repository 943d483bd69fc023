/* SPDX-License-Identifier: MIT */
/*
 * Port counters: files whose content is made when they are opened.
 *
 * Each open() yields a new memory file with the counter's current value, and a file that is read
 * again from its start has a new one, as a file of sysfs has (path_counters_read.c). The name of
 * the memory file says which counter it is of. A program that has HCA memory mapped reads the value
 * there; others, isolated clients and programs like cat(1) among them, ask the fabric process, on a
 * connection of their own. That takes no lock: the open() may come from a signal handler or after
 * vfork().
 *
 * Without an answer, and for paths relative to a directory of the tree, the program gets the tree's
 * own file.
 */
#include "emulator/engine.h"
#include "emulator/hca.h"
#include "emulator/hca_port.h"
#include "emulator/limits.h"
#include "emulator/verbs/port_counter_files.h"
#include "emulator/port_counter.h"
#include "libshim/interpose/path.h"
#include "libshim/interpose/rpc_signal.h"
#include "libshim/interpose/syscall.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/** struct counter_path - the tail of a path: .../NAME/ports/N/counters/FILE. */
struct counter_path {
	char dev[32];
	u32 port;
	enum port_dir dir;
	const char *file;
};

#define FILE_NAME "rdmaemu/" /* of a memory file; the counter's path follows */

u64 path_counter_fds[PATH_COUNTER_FDS / 64];

/* HCA memory of this process, if it is a client that has it mapped. */
static const struct hca *own_hca;
static u32 own_first_dev, own_n_devs;

void path_counters_set_hca(const struct hca *hca, u32 first_dev, u32 n_devs)
{
	own_first_dev = first_dev;
	own_n_devs = n_devs;
	store_release(&own_hca, hca);
}

/* The start of the component before @end, or NULL. */
static const char *component_find_before(const char *path, const char *end)
{
	const char *p = end;

	while (p > path && p[-1] != '/')
		p--;
	return p > path && p < end ? p : NULL;
}

static bool component_is(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - p) == n && !memcmp(p, word, n);
}

static bool counter_path_parse(const char *path, struct counter_path *c)
{
	const char *end = path + strlen(path), *p[5];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = component_find_before(path, end);
		if (!p[i])
			return false;
		if (i == 1 && component_is(p[1], end, "counters"))
			c->dir = DIR_COUNTERS;
		else if (i == 1 && component_is(p[1], end, "hw_counters"))
			c->dir = DIR_HW_COUNTERS;
		else if (i == 1 || (i == 3 && !component_is(p[3], end, "ports")))
			return false;
		if (i == 4 && (size_t)(end - p[4]) >= sizeof(c->dev))
			return false;
		if (i == 4) {
			memset(c->dev, 0, sizeof(c->dev));
			memcpy(c->dev, p[4], (size_t)(end - p[4]));
		}
		end = p[i] - 1;
	}
	c->file = p[0];
	c->port = (u32)(*p[2] - '0');
	return p[2][1] == '/' && c->port - 1 < HCA_MAX_PORTS;
}

static bool counter_value_query(const struct counter_path *c, u64 *value)
{
	int fd = rpc_signal_open();
	struct proto_msg m;
	bool found = false;
	u32 i;

	if (fd < 0)
		return false;
	for (i = 0; !found && i < PROTO_MAX_DEVS && rpc_signal_get_dev(fd, i, &m); i++)
		if (!strncmp(m.dev.name, c->dev, sizeof(c->dev)))
			found = port_file_value(&m.dev, c->port, c->dir, c->file, value);
	sys_close(fd);
	return found;
}

static bool counter_value_read(const struct counter_path *c, u64 *value)
{
	const struct hca *hca = load_acquire(&own_hca);
	struct hca_dev now;
	u32 i, end;

	if (!hca)
		return counter_value_query(c, value);
	end = own_first_dev + own_n_devs;
	for (i = own_first_dev; i < end; i++)
		if (!strncmp(hca->dev[i].name, c->dev, sizeof(c->dev))) {
			hca_dev_snapshot(hca, i, &now);
			return port_file_value(&now, c->port, c->dir, c->file, value);
		}
	return false;
}

/* Write the value into the file. The length of a counter's text does not shrink, as a rule. */
static int counter_file_fill(int fd, u64 value)
{
	char text[24];
	struct stat st;
	ssize_t n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);

	if (sys_pwrite(fd, text, (size_t)n, 0) != n)
		return -EIO;
	if (!sys_fstat(fd, &st) && st.st_size > n)
		syscall(SYS_ftruncate, fd, n);
	return 0;
}

static int counter_file_make(const struct counter_path *c, int flags)
{
	char name[128];

	snprintf(name, sizeof(name), FILE_NAME "%s/ports/%u/%s/%s", c->dev, c->port,
		 c->dir == DIR_COUNTERS ? "counters" : "hw_counters", c->file);
	return (int)syscall(SYS_memfd_create, name, flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
}

int path_counter_open(const char *mapped, int flags)
{
	int saved = errno, fd = -1;
	struct counter_path c;
	u64 value;

	if ((flags & (O_ACCMODE | O_PATH | O_DIRECTORY)) != O_RDONLY ||
	    !counter_path_parse(mapped, &c) || !counter_value_read(&c, &value))
		goto out;
	fd = counter_file_make(&c, flags);
	if (fd >= 0 && counter_file_fill(fd, value)) {
		sys_close(fd);
		fd = -1;
	}
	if (fd >= 0 && fd < PATH_COUNTER_FDS)
		fetch_or(&path_counter_fds[fd / 64], BIT64(fd % 64));
out:
	errno = saved;
	return fd;
}

void path_counter_refresh(int fd)
{
	static const char head[] = "/memfd:" FILE_NAME;
	char link[48], name[192], *end;
	struct counter_path c;
	int saved = errno;
	ssize_t n;
	u64 value;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, name, sizeof(name) - 1);
	if (n < 0)
		goto out;
	name[n] = '\0';
	if (strncmp(name, head, sizeof(head) - 1) != 0) {
		/* It was closed, and is something else now. */
		fetch_and(&path_counter_fds[fd / 64], ~BIT64(fd % 64));
		goto out;
	}
	end = strstr(name, " (deleted)");
	if (end)
		*end = '\0';
	if (counter_path_parse(name, &c) && counter_value_read(&c, &value))
		counter_file_fill(fd, value);
out:
	errno = saved;
}
