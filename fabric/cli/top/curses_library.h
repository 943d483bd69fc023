/* SPDX-License-Identifier: MIT */
/**
 * DOC: ncursesw, loaded when `rdmaemu top` has a terminal: no program that rdmaemu starts pays for
 * it, and a container without a terminal needs no package more.
 */
#ifndef FABRIC_CLI_TOP_CURSES_LIBRARY_H
#define FABRIC_CLI_TOP_CURSES_LIBRARY_H

#define NCURSES_NOMACROS
#include <curses.h>
#include <stddef.h>

/** struct curses_library - functions of ncurses; each is described in ncurses(3NCURSES). */
struct curses_library {
	__typeof__(newterm) *newterm;
	__typeof__(initscr) *initscr;
	__typeof__(endwin) *endwin;
	__typeof__(cbreak) *cbreak;
	__typeof__(noecho) *noecho;
	__typeof__(keypad) *keypad;
	__typeof__(curs_set) *curs_set;
	__typeof__(wtimeout) *wtimeout;
	__typeof__(wgetch) *wgetch;
	__typeof__(wmove) *wmove;
	__typeof__(waddnstr) *waddnstr;
	__typeof__(wattrset) *wattrset;
	__typeof__(werase) *werase;
	__typeof__(wrefresh) *wrefresh;
	__typeof__(wclrtoeol) *wclrtoeol;
	__typeof__(getmaxx) *getmaxx;
	__typeof__(getmaxy) *getmaxy;
	__typeof__(has_colors) *has_colors;
	__typeof__(start_color) *start_color;
	__typeof__(use_default_colors) *use_default_colors;
	__typeof__(init_pair) *init_pair;
	__typeof__(COLOR_PAIR) *COLOR_PAIR;
};

/**
 * curses_library_load() - load ncursesw, which stays loaded until the process ends.
 * @why: receives why it cannot be loaded
 * Return: 0 or -ELIBACC
 */
int curses_library_load(struct curses_library *lib, char *why, size_t size);

#endif
