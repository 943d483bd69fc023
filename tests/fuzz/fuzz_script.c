/* SPDX-License-Identifier: MIT */
/*
 * Scripts of rdmaemu-inject(7) for libFuzzer: `make fuzz FUZZ=script`. The parser prints errors on
 * stderr.
 */
#include "fabric/cli/inject/tool.h"
#include "tests/fuzz/links.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct inject_script s = { .path = "script" };
	char *text = malloc(len + 1);

	must(text != NULL);
	memcpy(text, data, len);
	text[len] = '\0';
	inject_script_parse(&s, text);
	must(s.n <= INJECT_STEPS);
	inject_script_free(&s);
	return 0;
}
