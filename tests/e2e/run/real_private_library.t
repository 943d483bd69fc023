#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: what a process maps
# A program that loads its own build of libibverbs by a path has that one below the tap, and the installed one is not
# loaded next to it.
. "$(dirname "$0")/../../lib/lib.sh"
need gcc

cd "$TEST_DIR" || exit 1
cat >load.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Loads each file, calls a function of it, and prints which libibverbs the process has. */
int main(int argc, char **argv)
{
	void *(*get_list)(int *), *handle;
	char line[4096], last[4096] = "", *path;
	FILE *maps;

	for (argv++; *argv; argv++) {
		handle = dlopen(*argv, RTLD_NOW | RTLD_LOCAL);
		get_list = handle ? dlsym(handle, "ibv_get_device_list") : NULL;
		if (!get_list)
			return puts(dlerror()), 1;
		get_list(NULL);
	}
	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		path = strchr(line, '/');
		if (!path || !strstr(path, "libibverbs.so") || !strcmp(path, last))
			continue;
		strcpy(last, path);
		fputs(path, stdout);
	}
	return 0;
}
END
gcc -o load load.c -ldl || skip_all "gcc makes no program"
installed=$(LC_ALL=C ./load libibverbs.so.1)
[ -r "$installed" ] || skip_all "no libibverbs is installed"
mkdir private other
cp "$installed" private/libibverbs.so.1
cp "$installed" other/libibverbs.so.1
mine=$(readlink -f private)/libibverbs.so.1

# tapped FILE... - the same in front of no emulator, with the tap
tapped() {
	LD_PRELOAD=$(readlink -f "$(dirname "$RDMAEMU")/../lib/librdmaemu-tap.so") limit ./load "$@"
}

is "without the tap" "$(./load "$mine")" "$mine"
is "with it" "$(tapped "$mine")" "$mine"
is "by a path from here" "$(tapped ./private/libibverbs.so.1)" "$mine"
is "the installed one, by its name" "$(tapped libibverbs.so.1)" "$installed"
is "the first of two stays" "$(tapped "$mine" "$PWD/other/libibverbs.so.1")" "$mine"
is "the installed one stays, too" "$(tapped /none/libibverbs.so.1 "$mine")" "$installed"
is "one that is not there leads to the installed one" "$(tapped /none/libibverbs.so.1)" "$installed"
done_testing
