/* SPDX-License-Identifier: MIT */
/* Compressed text in a page. */
#include "fabric/cli/report/report.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PACKED_TEXT  65536u
#define PACKED_BYTES 24576u /* a multiple of 3, so that pieces of base64 have no padding */

/** struct packed - @text: not compressed yet; @bytes: not written yet */
struct packed {
	FILE *out;
	z_stream z;
	size_t n_text;
	size_t n_bytes;
	char text[PACKED_TEXT];
	u8 bytes[PACKED_BYTES];
};

static void packed_write(struct packed *p)
{
	char line[BASE64_ENCODE_RAW_LENGTH(PACKED_BYTES)];

	base64_encode_raw(line, p->n_bytes, p->bytes);
	fwrite(line, 1, BASE64_ENCODE_RAW_LENGTH(p->n_bytes), p->out);
	p->n_bytes = 0;
}

static void packed_deflate(struct packed *p, int flush)
{
	bool full;

	p->z.next_in = (u8 *)p->text;
	p->z.avail_in = (u32)p->n_text;
	do {
		p->z.next_out = p->bytes + p->n_bytes;
		p->z.avail_out = (u32)(PACKED_BYTES - p->n_bytes);
		deflate(&p->z, flush);
		full = !p->z.avail_out;
		p->n_bytes = PACKED_BYTES - p->z.avail_out;
		if (full)
			packed_write(p);
	} while (full);
	p->n_text = 0;
}

struct packed *packed_begin(FILE *out)
{
	struct packed *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->out = out;
	if (deflateInit(&p->z, 6) != Z_OK) {
		free(p);
		return NULL;
	}
	return p;
}

void packed_put(struct packed *p, const char *text, size_t n)
{
	size_t some;

	for (; p && n; text += some, n -= some) {
		some = PACKED_TEXT - p->n_text;
		some = some < n ? some : n;
		memcpy(p->text + p->n_text, text, some);
		p->n_text += some;
		if (p->n_text == PACKED_TEXT)
			packed_deflate(p, Z_NO_FLUSH);
	}
}

void packed_printf(struct packed *p, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		packed_put(p, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static u64 column_value(const struct packed_column *c, const char *row)
{
	u64 v = 0;

	/* Its lower bytes are the first on all CPUs that this builds for. */
	memcpy(&v, row + c->at, c->size);
	return v;
}

void packed_columns(struct packed *p, const struct packed_column *c, u32 n_columns,
		    const void *rows, u32 n_rows, size_t row_size)
{
	const char *row;
	u64 v, before;
	u32 i;

	for (; n_columns; n_columns--, c++) {
		packed_printf(p, "\"%s\":[", c->name);
		before = 0;
		for (i = 0, row = rows; i < n_rows; i++, row += row_size) {
			v = column_value(c, row);
			packed_printf(p, "%s%lld", i ? "," : "", (long long)(v - before));
			before = c->since ? v : 0;
		}
		packed_printf(p, "],\n");
	}
}

int packed_end(struct packed *p)
{
	if (!p)
		return -ENOMEM;
	packed_deflate(p, Z_FINISH);
	packed_write(p);
	deflateEnd(&p->z);
	free(p);
	return 0;
}
