/* SPDX-License-Identifier: MIT */
/** DOC: see maps.h. */
#include "libshim/interpose/maps.h"

#include "libshim/interpose/syscall.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

/* struct procmap_query of linux/fs.h, since Linux 6.11. */
struct procmap_query_arg {
	u64 size;
	u64 query_flags; /* 0: the mapping must have @query_addr */
	u64 query_addr;
	u64 vma_start;
	u64 vma_end;
	u64 vma_flags;
	u64 vma_page_size;
	u64 vma_offset;
	u64 inode;
	u32 dev_major;
	u32 dev_minor;
	u32 vma_name_size;
	u32 build_id_size;
	u64 vma_name_addr;
	u64 build_id_addr;
};

#define QUERY_IOCTL  _IOWR('f', 17, struct procmap_query_arg)
#define QUERY_READ   BIT64(0)
#define QUERY_WRITE  BIT64(1)
#define QUERY_EXEC   BIT64(2)
#define QUERY_SHARED BIT64(3)

static int maps_char(struct maps *m)
{
	ssize_t n;

	if (m->pos == m->len) {
		n = sys_read(m->fd, m->buf, sizeof(m->buf));
		if (n <= 0)
			return -1;
		m->pos = 0;
		m->len = (u32)n;
	}
	return m->buf[m->pos++];
}

/* Read a number and the character after it. Return: that character or -1. */
static int maps_number(struct maps *m, u32 base, u64 *value)
{
	int c;

	*value = 0;
	while ((c = maps_char(m)) >= 0) {
		if (c >= '0' && c <= '9')
			*value = *value * base + (u64)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			*value = *value * base + (u64)(c - 'a' + 10);
		else
			break;
	}
	return c;
}

int maps_open(struct maps *m, bool smaps)
{
	const char *path = smaps ? "/proc/self/smaps" : "/proc/self/maps";

	m->pos = m->len = 0;
	m->fd = (int)SYS_RET(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
	return m->fd < 0 ? m->fd : 0;
}

void maps_close(struct maps *m)
{
	sys_close(m->fd);
}

bool maps_next(struct maps *m, struct mapping *v)
{
	u64 major, minor;
	u32 n = 0;
	int c;

	if (maps_number(m, 16, &v->from) != '-' || maps_number(m, 16, &v->to) != ' ')
		return false;
	v->read = maps_char(m) == 'r';
	v->write = maps_char(m) == 'w';
	v->exec = maps_char(m) == 'x';
	v->shared = maps_char(m) == 's';
	maps_char(m);
	if (maps_number(m, 16, &v->offset) != ' ' || maps_number(m, 16, &major) != ':' ||
	    maps_number(m, 16, &minor) != ' ')
		return false;
	v->dev = makedev((u32)major, (u32)minor);
	c = maps_number(m, 10, &v->inode);
	while (c == ' ')
		c = maps_char(m);
	for (; c >= 0 && c != '\n'; c = maps_char(m))
		if (n < MAPS_NAME - 1)
			v->name[n++] = (char)c;
	v->name[n] = '\0';
	return true;
}

int maps_find(u64 addr, struct mapping *v)
{
	struct maps m;
	int ret = maps_open(&m, false);

	if (ret)
		return ret;
	ret = -ENOENT;
	while (ret && maps_next(&m, v) && v->from <= addr)
		if (addr < v->to)
			ret = 0;
	maps_close(&m);
	return ret;
}

bool maps_flags(struct maps *m, char *text, size_t size)
{
	static const char key[] = "VmFlags: ";
	size_t at = 0, n = 0;
	int c;

	while ((c = maps_char(m)) >= 0) {
		if (c == '\n') {
			if (at == sizeof(key) - 1)
				break;
			at = 0;
		} else if (at == sizeof(key) - 1) {
			if (n + 1 < size)
				text[n] = (char)c;
			n++;
		} else if (at < sizeof(key) - 1) {
			/* In a line of another key: past the end of this one, up to the newline. */
			at = c == key[at] ? at + 1 : sizeof(key);
		}
	}
	if (c < 0 || n + 1 > size)
		return false;
	text[n] = '\0';
	return true;
}

static int query_open(struct maps_query *q)
{
	struct maps m;
	int ret = maps_open(&m, false);

	return ret ? ret : own_fd_set(&q->maps, own_fd_move_high(m.fd));
}

static int query_ask(const struct maps_query *q, u64 addr, struct mapping *v)
{
	struct procmap_query_arg arg = { .size = sizeof(arg), .query_addr = addr };
	int ret = (int)SYS_RET(syscall(SYS_ioctl, q->maps.fd, QUERY_IOCTL, &arg));

	if (ret)
		return ret;
	*v = (struct mapping){
		.from = arg.vma_start,
		.to = arg.vma_end,
		.offset = arg.vma_offset,
		.inode = arg.inode,
		.dev = makedev(arg.dev_major, arg.dev_minor),
		.read = arg.vma_flags & QUERY_READ,
		.write = arg.vma_flags & QUERY_WRITE,
		.exec = arg.vma_flags & QUERY_EXEC,
		.shared = arg.vma_flags & QUERY_SHARED,
	};
	return 0;
}

int maps_query_at(struct maps_query *q, u64 addr, struct mapping *v)
{
	int ret;

	if (q->unsupported)
		return maps_find(addr, v);
	ret = query_ask(q, addr, v);
	/* The first question, or the program has closed the file. */
	if (ret == -EBADF || (ret == -ENOTTY && !own_fd_is_open(&q->maps))) {
		ret = query_open(q);
		if (!ret)
			ret = query_ask(q, addr, v);
	}
	if (ret != -ENOTTY)
		return ret;
	maps_query_close(q);
	q->unsupported = true;
	return maps_find(addr, v);
}

void maps_query_close(struct maps_query *q)
{
	own_fd_close(&q->maps);
}
