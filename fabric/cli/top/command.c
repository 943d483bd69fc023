/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu top`: see top.h. */
#include "fabric/cli/top/top.h"

#include <unistd.h>

int verb_top(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct top_source s;
	int ret;

	(void)argc;
	(void)argv;
	if (!o->batch && o->count) {
		print_error("top: --count: expected --batch as well");
		return EXIT_USAGE;
	}
	if (!o->batch && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
		print_error("top: expected a terminal, or --batch");
		return EXIT_USAGE;
	}
	ret = top_connect(&s, o, p);
	if (ret)
		return ctl_print_error(o, ret);
	ret = o->batch ? top_batch(&s) : top_screen(&s);
	close(s.sock);
	return ret;
}
