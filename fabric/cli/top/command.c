/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu top [FABRIC]...`: see top.h. */
#include "fabric/cli/top/top.h"

#include <unistd.h>

/* Fabrics that are named, which are of the same state directory. Return: 0 or -errno. */
static int top_connect_named(struct top_source *s, const struct fabric_paths *p, int argc,
			     char **argv)
{
	static struct fabric_paths paths;
	int i, ret = 0;

	for (i = 0; i < argc && !ret; i++) {
		if (statedir_paths(&paths, p->dir, argv[i]))
			return -EINVAL;
		ret = top_connect(s, &paths, argv[i]);
		if (ret)
			print_error("fabric %s: %s", argv[i],
				    ret == -ENOENT || ret == -ECONNREFUSED ? "it is not running"
									   : strerror(-ret));
	}
	return ret;
}

static int top_run(struct top_source *s, const struct fabric_paths *p, int argc, char **argv)
{
	int ret;

	if (argc)
		return top_connect_named(s, p, argc, argv)
			       ? 1
			       : (s->o->batch ? top_batch(s) : top_screen(s));
	ret = top_connect(s, p, s->o->fabric);
	if (ret)
		return ctl_print_error(s->o, ret);
	return s->o->batch ? top_batch(s) : top_screen(s);
}

int verb_top(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	static struct top_source s;
	int ret;

	if (!o->batch && o->count) {
		print_error("top: --count: expected --batch as well");
		return EXIT_USAGE;
	}
	if (!o->batch && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
		print_error("top: expected a terminal, or --batch");
		return EXIT_USAGE;
	}
	if (argc > (int)TOP_FABRICS) {
		print_error("top: expected at most %u fabrics", TOP_FABRICS);
		return EXIT_USAGE;
	}
	s.o = o;
	ret = top_run(&s, p, argc, argv);
	top_disconnect(&s);
	return ret;
}
