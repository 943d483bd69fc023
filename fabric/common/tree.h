/* SPDX-License-Identifier: MIT */
/**
 * DOC: making and removing a tree of files. Nothing is opened or followed outside its root: all of it
 * is relative to a descriptor of the root, without following symlinks.
 */
#ifndef FABRIC_COMMON_TREE_H
#define FABRIC_COMMON_TREE_H

#include "emulator/types.h"

#include <sys/types.h>

/**
 * struct tree - where the next files go. An error sticks in @err (-errno) and turns the functions
 * below into no-ops, so that a long list of files needs no check after each.
 */
struct tree {
	int root;
	int dir;
	int err;
};

/** tree_open() - start at an existing directory. Return: 0 or -errno, nothing is to be closed then. */
int tree_open(struct tree *t, const char *root);
/** tree_close() - done. Return: 0 or what went wrong. */
int tree_close(struct tree *t);
/** tree_cd() - go to a directory below the root, made if it is missing. */
void tree_cd(struct tree *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** tree_write() - a file in the current directory. What is there already is replaced in one step. */
void tree_write(struct tree *t, const char *name, mode_t mode, const char *text, size_t len);
/** tree_attr() - a read-only file of one line. */
void tree_attr(struct tree *t, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** tree_link() - a symlink in the current directory. */
void tree_link(struct tree *t, const char *name, const char *target);
/** tree_remove() - delete a tree with its root. Return: 0, also if there is none, or -errno. */
int tree_remove(const char *root);

#endif
