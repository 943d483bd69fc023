/* SPDX-License-Identifier: MIT */
/**
 * DOC: the page: the viewer of viewer/, which is embedded as it is, and the data.
 *
 * The data is in script elements of types that no browser runs. Names of programs and files come
 * from anybody: no text of theirs may end the element, so `<` never occurs in the data but as an
 * escape of JSON. Bytes that are no UTF-8 become U+FFFD, and control characters escapes.
 */
#include "fabric/cli/report/report.h"
#include "fabric/common/json.h"
#include "fabric/common/markup.h"
#include "fabric/common/unicode.h"

#include <errno.h>
#include <string.h>

#define EMBED(id, file)                                                                            \
	__asm__(".pushsection .rodata\n"                                                           \
		"report_" #id "_text:\n"                                                           \
		".incbin \"fabric/cli/report/viewer/" file "\"\n"                                  \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char report_##id##_text[]

EMBED(style, "style.css");
EMBED(body, "body.html");
EMBED(dom, "dom.js");
EMBED(packets, "packets.js");
EMBED(calls, "calls.js");
EMBED(summary, "summary.js");
EMBED(ladder, "ladder.js");
EMBED(draw, "ladder_draw.js");
EMBED(request, "work_request.js");
EMBED(detail, "detail.js");
EMBED(plots, "plots.js");
EMBED(samples, "samples.js");
EMBED(tables, "tables.js");
EMBED(memory, "memory.js");
EMBED(main, "main.js");

static const char *const scripts[] = {
	report_dom_text,     report_packets_text, report_calls_text,  report_summary_text,
	report_request_text, report_detail_text,  report_draw_text,   report_ladder_text,
	report_plots_text,   report_samples_text, report_tables_text, report_memory_text,
	report_main_text,
};

bool report_is_page_name(const char *path)
{
	size_t n = strlen(path);

	return (n > 5 && !strcmp(path + n - 5, ".html")) ||
	       (n > 4 && !strcmp(path + n - 4, ".htm"));
}

static u32 page_code_point(const char *text, size_t n)
{
	static const u8 mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	u32 c = (u8)text[0] & mask[n];
	size_t i;

	for (i = 1; i < n; i++)
		c = c << 6 | ((u8)text[i] & 0x3f);
	return c;
}

/* JSON in a script element: outside of its strings there is no `<` and no control character. */
static void page_print_json(FILE *out, const char *text)
{
	size_t n;
	u32 c;

	for (; *text; text += n ? n : 1) {
		n = utf8_length(text);
		c = n ? page_code_point(text, n) : 0xfffd;
		if (!n || c == '<' || (c >= 0x7f && c < 0xa0) || (c & 0xfffe) == 0xfffe)
			fprintf(out, "\\u%04x", c > 0xffff ? 0xfffd : c);
		else
			fwrite(text, 1, n, out);
	}
}

static void page_print_head(FILE *out, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
	      "<title>",
	      out);
	markup_print(out, title);
	fputs("</title>\n<style>\n", out);
	fputs(report_style_text, out);
	/* Nothing is seen that the viewer would move, where one runs. */
	fputs("</style>\n<script>document.documentElement.className = 'waits';</script>\n</head>\n",
	      out);
}

/* The viewer runs before the packets, so that the summary is seen at once. Return: 0 or -ENOMEM. */
static int page_print(struct report *r, FILE *out, const char *title)
{
	size_t i;
	int ret;

	page_print_head(out, title);
	fputs(report_body_text, out);
	fputs("<script type=\"application/json\" id=\"report\">\n", out);
	page_print_json(out,
			json_text(r->doc, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	fputs("\n</script>\n<script>\n'use strict';\n", out);
	for (i = 0; i < ARRAY_SIZE(scripts); i++)
		fputs(scripts[i], out);
	fputs("</script>\n<script type=\"text/plain\" id=\"packets\">", out);
	ret = r->packets.n ? packets_print(&r->packets, out) : 0;
	fputs("</script>\n<script type=\"text/plain\" id=\"calls\">", out);
	if (!ret && r->calls.n)
		ret = calls_print(&r->calls, out);
	fputs("</script>\n<script>reportBegin();</script>\n</body>\n</html>\n", out);
	return json_end() ? -ENOMEM : ret;
}

static const char *page_title(const struct report *r, char *text, size_t size)
{
	struct json_object *run = json_object_object_get(r->doc, "run");
	struct json_object *sources = json_object_object_get(r->doc, "sources");
	const char *name = json_get_str(run, "command");

	if (!*name && json_length(sources))
		name = json_get_str(json_object_array_get_idx(sources, 0), "name");
	snprintf(text, size, "%.200s%srdmaemu report", name, *name ? " - " : "");
	return text;
}

int report_write_page(struct report *r, const char *path)
{
	char title[256];
	FILE *out;
	int ret, bad;

	if (packets_read(&r->packets))
		return -1;
	if (r->packets.n_files)
		json_add(r->doc, "packets", packets_about(&r->packets));
	calls_sort(&r->calls);
	if (r->calls.n)
		json_add(r->doc, "calls", calls_about(&r->calls));
	out = fopen(path, "we");
	if (!out)
		return print_error("%s: %s", path, strerror(errno));
	ret = page_print(r, out, page_title(r, title, sizeof(title)));
	errno = 0;
	bad = ferror(out);
	if (fclose(out) || bad)
		return print_error("%s: %s", path, strerror(errno ? errno : EIO));
	return ret ? print_error("%s: %s", path, strerror(-ret)) : 0;
}
