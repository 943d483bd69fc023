/* SPDX-License-Identifier: MIT */
/* Text files of a trace: read as a whole, and "key value" files parsed. */
#include "traces/vtrace/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TEXT    (1u << 20) /* of a "key value" file */
#define MAX_ENTRIES 256u

int vt_error_set(struct vt_error *err, int ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return ret;
}

const char *vt_info_get(const struct vt_info *t, const char *key)
{
	unsigned int i;

	for (i = 0; i < t->n; i++)
		if (!strcmp(t->entry[i].key, key))
			return t->entry[i].value;
	return NULL;
}

int vt_file_read_all(const char *path, size_t max, char **text, size_t *len, struct vt_error *err)
{
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = 0;

	*text = NULL;
	if (fd < 0)
		return vt_error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		ret = vt_error_set(err, -EINVAL, "%s: expected a file", path);
	else if ((uint64_t)st.st_size > max)
		ret = vt_error_set(err, -EFBIG, "%s: expected at most %zu bytes", path, max);
	*text = ret ? NULL : malloc((size_t)st.st_size + 1);
	*len = 0;
	while (*text && *len < (size_t)st.st_size) {
		n = read(fd, *text + *len, (size_t)st.st_size - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		*len += (size_t)n;
	}
	close(fd);
	if (!ret && !*text)
		return vt_error_set(err, -ENOMEM, "%s: no memory", path);
	if (*text)
		(*text)[*len] = '\0';
	return ret;
}

static int vt_info_parse_line(struct vt_info *t, const char *path, unsigned int nr, char *line,
			      struct vt_error *err)
{
	char *space = strchr(line, ' ');
	struct vt_info_entry *entry = &t->entry[t->n];
	size_t len = space ? (size_t)(space - line) : strlen(line);

	if (t->n == MAX_ENTRIES)
		return vt_error_set(err, -EINVAL, "%s:%u: expected at most %u lines", path, nr,
				    MAX_ENTRIES);
	if (!len || len >= sizeof(entry->key))
		return vt_error_set(err, -EINVAL, "%s:%u: expected 'key value'", path, nr);
	memcpy(entry->key, line, len);
	entry->key[len] = '\0';
	entry->value = strdup(space ? space + 1 : "");
	if (!entry->value)
		return vt_error_set(err, -ENOMEM, "%s: no memory", path);
	t->n++;
	return 0;
}

int vt_info_parse(struct vt_info *t, const char *path, char *text, struct vt_error *err)
{
	unsigned int nr = 0;
	char *line, *save;
	int ret = 0;

	t->n = 0;
	t->entry = calloc(MAX_ENTRIES, sizeof(*t->entry));
	if (!t->entry)
		return vt_error_set(err, -ENOMEM, "%s: no memory", path);
	for (line = strtok_r(text, "\n", &save); line && !ret; line = strtok_r(NULL, "\n", &save))
		ret = vt_info_parse_line(t, path, ++nr, line, err);
	return ret;
}

int vt_info_read(struct vt_info *t, const char *path, struct vt_error *err)
{
	char *text;
	size_t len;
	int ret = vt_file_read_all(path, MAX_TEXT, &text, &len, err);

	if (text)
		ret = vt_info_parse(t, path, text, err);
	free(text);
	return ret;
}

void vt_info_free(struct vt_info *t)
{
	unsigned int i;

	for (i = 0; t->entry && i < t->n; i++)
		free(t->entry[i].value);
	free(t->entry);
	t->entry = NULL;
	t->n = 0;
}
