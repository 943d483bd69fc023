/* SPDX-License-Identifier: MIT */
/*
 * `rdmaemu completion SHELL` as a program for the machine that builds: a cross build cannot run its
 * own rdmaemu. Linked with the tables of verbs and options alone (mk/install.mk).
 */
#include "fabric/cli/cli.h"

int main(int argc, char **argv)
{
	return verb_completion(NULL, NULL, argc - 1, argv + 1);
}
