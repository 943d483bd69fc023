/* SPDX-License-Identifier: MIT */
/**
 * DOC: one executable, two programs: the `rdmaemu` command, and the fabric process that it starts.
 */
#include "fabric/cli/cli.h"
#include "fabric/cli/verbs.h"
#include "fabric/common/daemon_start.h"
#include "fabric/common/topology.h"
#include "fabric/server/daemon.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Without a starter these numbers would be those of files that the fabric process itself opens. */
static bool main_has_starter(void)
{
	struct stat st;

	return !fstat(DAEMON_FD_READY, &st) && S_ISFIFO(st.st_mode) &&
	       fcntl(DAEMON_FD_LOCK, F_GETFD) >= 0;
}

int main(int argc, char **argv)
{
	static struct opts o;

	if (argc < 2 || strcmp(argv[1], DAEMON_VERB) != 0)
		return cli_main(argc - 1, argv + 1);
	opts_init(&o);
	if (opts_parse(&o, DAEMON_VERB, VERB_COMMON | VERB_NEW_FABRIC | OPT_BIT(OPT_REAL), argc - 2,
		       argv + 2) != argc - 2 ||
	    !o.dir[0])
		return EXIT_USAGE;
	if (!main_has_starter()) {
		fprintf(stderr,
			"rdmaemu: `rdmaemu run` and `rdmaemu fabric start` start the " DAEMON_VERB
			", users do not\n");
		return EXIT_USAGE;
	}
	/* A file that cannot be read is reported when its nodes are made. */
	(void)topology_set_wires(&o);
	return daemon_main(&o);
}
