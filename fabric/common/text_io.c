/* SPDX-License-Identifier: MIT */
/**
 * DOC: reading and printing whole texts, see text_io.h.
 */
#include "fabric/common/text_io.h"
#include "fabric/common/json.h"
#include "fabric/common/opts.h"
#include "fabric/common/parse.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_WIDTH     80u
#define TEXT_WIDTH_MIN 40u
#define TEXT_WIDTH_MAX 1000u

/* Read to the end, whatever size the file says that it has. Return: as text_file_read(). */
static char *text_read_all(FILE *file, const char *kind, const char *path, size_t max, size_t *len)
{
	char *text = calloc(1, max + 2);

	*len = text ? fread(text, 1, max + 1, file) : 0;
	if (!text || ferror(file))
		print_error("%s %s: %s", kind, path, strerror(text ? errno : ENOMEM));
	else if (*len > max)
		print_error("%s %s: expected at most %zu bytes", kind, path, max);
	else if (memchr(text, '\0', *len))
		print_error("%s %s: expected text", kind, path);
	else
		return text;
	free(text);
	return NULL;
}

static char *text_read(const char *kind, const char *path, size_t max, size_t *len, bool again)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	struct stat st;

	if (!file || fstat(fileno(file), &st))
		print_error("%s %s: %s", kind, path, strerror(errno));
	else if (again && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		print_error("%s %s: expected a file, not a pipe or device: it is read again", kind,
			    path);
	else
		text = text_read_all(file, kind, path, max, len);
	if (file)
		fclose(file);
	return text;
}

char *text_file_read(const char *kind, const char *path, size_t max, size_t *len)
{
	return text_read(kind, path, max, len, true);
}

char *text_input_read(const char *kind, const char *path, size_t max, size_t *len)
{
	return text_read(kind, path, max, len, false);
}

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
	json_begin();
	t->f = open_memstream(&t->buf, &t->len);
	return t->f;
}

int text_end(struct text_out *t)
{
	int ret = fclose(t->f) ? -errno : json_end();

	if (!ret)
		ret = text_memfd(t->buf, t->len);
	free(t->buf);
	return ret;
}

char *memfd_map(int fd, size_t *len)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st) || !st.st_size)
		return NULL;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	*len = (size_t)st.st_size;
	return text == MAP_FAILED ? NULL : text;
}

int memfd_print(int fd, FILE *out)
{
	size_t len = 0;
	char *text = memfd_map(fd, &len);
	int ret;

	close(fd);
	if (!text)
		return 0;
	ret = fwrite(text, 1, len, out) != len || fflush(out);
	munmap(text, len);
	if (ret)
		print_error("standard %s: %s", out == stderr ? "error" : "output", strerror(errno));
	return ret;
}

u32 text_width(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w;
	u64 n = 0;

	if (!columns || !parse_number(columns, TEXT_WIDTH_MAX, &n))
		n = 0;
	if (!n && !ioctl(fileno(out), TIOCGWINSZ, &w))
		n = w.ws_col;
	if (!n)
		n = TEXT_WIDTH;
	return n < TEXT_WIDTH_MIN ? TEXT_WIDTH_MIN : (u32)n;
}
