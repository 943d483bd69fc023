/* SPDX-License-Identifier: MIT */
#include "fabric/common/text_out.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int text_memfd(const char *text, size_t len)
{
	int fd = memfd_create("rdmaemu-text", MFD_CLOEXEC);
	size_t done = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (done < len) {
		n = write(fd, text + done, len - done);
		if (n < 0 && errno != EINTR) {
			n = -errno;
			close(fd);
			return (int)n;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return fd;
}

FILE *text_begin(struct text_out *t)
{
	*t = (struct text_out){ 0 };
	t->f = open_memstream(&t->buf, &t->len);
	return t->f;
}

int text_end(struct text_out *t)
{
	int fd = fclose(t->f) ? -errno : text_memfd(t->buf, t->len);

	free(t->buf);
	return fd;
}
