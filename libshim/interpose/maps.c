/* SPDX-License-Identifier: MIT */
/** DOC: see maps.h. */
#include "libshim/interpose/maps.h"

#include "libshim/interpose/syscall.h"

#include <string.h>
#include <sys/sysmacros.h>

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
