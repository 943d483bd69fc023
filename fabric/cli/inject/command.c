/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu replay FILE --inject`. See tool.h.
 */
#include "fabric/cli/cli.h"
#include "fabric/cli/inject/tool.h"

int verb_inject(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct inject_script script = { 0 };
	struct inject_file file;
	int ret;

	if (argc > 1) {
		print_error("replay: unexpected argument '%s'; see 'rdmaemu replay --help'",
			    argv[1]);
		return EXIT_USAGE;
	}
	if (!o->mr)
		o->mr = 1;
	ret = inject_file_load(&file, argv[0]) ? 1 : 0;
	if (!ret && o->script[0])
		ret = inject_script_read(&script, o->script) ? 1 : 0;
	if (!ret)
		ret = inject_run(o, p->sock, &file, &script);
	inject_script_free(&script);
	inject_file_free(&file);
	return ret;
}
