/* SPDX-License-Identifier: MIT */
/* See chrome.h. */
#include "fabric/cli/trace/chrome.h"
#include "fabric/common/opts.h"
#include "fabric/common/unicode.h"
#include "fabric/proto/version.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CHROME_LINE 1024u

/** struct chrome - a file being written. @args: the event has arguments so far */
struct chrome {
	gzFile file;
	const char *path;
	bool first;
	bool args;
	bool failed;
};

static void chrome_write(struct chrome *c, const char *text, size_t n)
{
	if (n && gzwrite(c->file, text, (unsigned int)n) != (int)n)
		c->failed = true;
}

static void chrome_puts(struct chrome *c, const char *text)
{
	chrome_write(c, text, strlen(text));
}

static void __attribute__((format(printf, 2, 3)))
chrome_printf(struct chrome *c, const char *fmt, ...)
{
	char text[CHROME_LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	chrome_puts(c, text);
}

/* A JSON string (RFC 8259). */
static void chrome_string(struct chrome *c, const char *text)
{
	size_t n;

	chrome_puts(c, "\"");
	for (; *text; text += n ? n : 1) {
		n = utf8_length(text);
		if (!n)
			chrome_puts(c, "\\ufffd");
		else if (*text == '"' || *text == '\\')
			chrome_printf(c, "\\%c", *text);
		else if ((u8)*text < 0x20)
			chrome_printf(c, "\\u%04x", *text);
		else
			chrome_write(c, text, n);
	}
	chrome_puts(c, "\"");
}

static bool chrome_is_compressed(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && !strcmp(path + n - 3, ".gz");
}

struct chrome *chrome_open(const char *path)
{
	struct chrome *c = calloc(1, sizeof(*c));

	if (!c) {
		print_error("%s", strerror(ENOMEM));
		return NULL;
	}
	errno = 0;
	c->file = gzopen(path, chrome_is_compressed(path) ? "we" : "wTe");
	if (!c->file) {
		print_error("%s: %s", path, strerror(errno ? errno : ENOMEM));
		free(c);
		return NULL;
	}
	c->path = path;
	c->first = true;
	chrome_puts(
		c,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"rdmaemu " RDMAEMU_VERSION
		"\"},\n\"traceEvents\":[");
	return c;
}

int chrome_close(struct chrome *c)
{
	const char *path = c->path;
	bool failed;

	chrome_puts(c, "\n]}\n");
	failed = c->failed;
	errno = 0;
	failed |= gzclose(c->file) != Z_OK;
	free(c);
	return failed ? print_error("%s: %s", path, strerror(errno ? errno : EIO)) : 0;
}

void chrome_begin(struct chrome *c, char ph, const char *category, const char *name,
		  const struct chrome_at *at)
{
	chrome_printf(c,
		      "%s\n{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u,\"ts\":%llu.%03llu,\"cat\":\"%s\","
		      "\"name\":",
		      c->first ? "" : ",", ph, at->pid, at->tid, (unsigned long long)at->ns / 1000,
		      (unsigned long long)at->ns % 1000, category);
	chrome_string(c, name);
	c->first = false;
	c->args = false;
}

void chrome_member(struct chrome *c, const char *key, const char *text)
{
	chrome_printf(c, ",\"%s\":", key);
	chrome_string(c, text);
}

void chrome_duration(struct chrome *c, u64 ns)
{
	chrome_printf(c, ",\"dur\":%llu.%03llu", (unsigned long long)ns / 1000,
		      (unsigned long long)ns % 1000);
}

/* As text: a reader of numbers may have 53 bits. */
void chrome_id(struct chrome *c, u64 id)
{
	chrome_printf(c, ",\"id\":\"0x%llx\"", (unsigned long long)id);
}

static void chrome_arg_key(struct chrome *c, const char *key)
{
	chrome_printf(c, "%s\"%s\":", c->args ? "," : ",\"args\":{", key);
	c->args = true;
}

void chrome_arg(struct chrome *c, const char *key, u64 value)
{
	chrome_arg_key(c, key);
	chrome_printf(c, "%llu", (unsigned long long)value);
}

void chrome_arg_hex(struct chrome *c, const char *key, u64 value)
{
	chrome_arg_key(c, key);
	chrome_printf(c, "\"%#llx\"", (unsigned long long)value);
}

void chrome_arg_text(struct chrome *c, const char *key, const char *text)
{
	chrome_arg_key(c, key);
	chrome_string(c, text);
}

void chrome_end(struct chrome *c)
{
	chrome_puts(c, c->args ? "}}" : "}");
}
