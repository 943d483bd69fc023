/* SPDX-License-Identifier: MIT */
/* See curses_library.h. */
#include "fabric/cli/top/curses_library.h"
#include "emulator/types.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#define ROW(function)                                                                              \
	{                                                                                          \
#function, offsetof(struct curses_library, function)                               \
	}

static const struct {
	const char *name;
	size_t at; /* of its pointer in struct curses_library */
} functions[] = {
	ROW(newterm),	ROW(initscr),	 ROW(endwin),	  ROW(cbreak),	    ROW(noecho),
	ROW(keypad),	ROW(curs_set),	 ROW(wtimeout),	  ROW(wgetch),	    ROW(wmove),
	ROW(waddnstr),	ROW(wattrset),	 ROW(werase),	  ROW(wrefresh),    ROW(wclrtoeol),
	ROW(getmaxx),	ROW(getmaxy),	 ROW(has_colors), ROW(start_color), ROW(use_default_colors),
	ROW(init_pair), ROW(COLOR_PAIR),
};

_Static_assert(ARRAY_SIZE(functions) * sizeof(void *) == sizeof(struct curses_library),
	       "each function has a row");

static int curses_library_fail(char *why, size_t size)
{
	snprintf(why, size, "ncurses cannot be loaded: %s", dlerror());
	return -ELIBACC;
}

int curses_library_load(struct curses_library *lib, char *why, size_t size)
{
	void *handle = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	void *function;
	size_t i;

	if (!handle)
		return curses_library_fail(why, size);
	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		function = dlsym(handle, functions[i].name);
		if (!function)
			return curses_library_fail(why, size);
		*(void **)((char *)lib + functions[i].at) = function;
	}
	return 0;
}
