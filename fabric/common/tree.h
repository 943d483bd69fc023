/* SPDX-License-Identifier: MIT */
/**
 * DOC: making and removing a tree of files. All paths are relative to a descriptor of the tree's
 * root and followed without symlinks, so no file outside the root is opened.
 */
#ifndef FABRIC_COMMON_TREE_H
#define FABRIC_COMMON_TREE_H

#include "emulator/types.h"

#include <sys/types.h>

/**
 * struct tree - the place of the next files. An error is kept in @err (-errno) and turns the
 * functions below into no-ops, so that a long list of files needs no check after each.
 */
struct tree {
	int root;
	int dir;
	int err;
};

/**
 * tree_open() - begin at an existing directory. Return: 0, or -errno: then there is nothing to
 * close.
 */
int tree_open(struct tree *t, const char *root);
/** tree_close() - close the tree. Return: 0 or the first error. */
int tree_close(struct tree *t);
/** tree_cd() - change to a directory below the root, which is made if it is missing. */
void tree_cd(struct tree *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** tree_write() - write a file in the current directory. An existing one is replaced atomically. */
void tree_write(struct tree *t, const char *name, mode_t mode, const char *text, size_t len);
/** tree_attr() - write a read-only file of one line. */
void tree_attr(struct tree *t, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** tree_link() - make a symlink in the current directory. */
void tree_link(struct tree *t, const char *name, const char *target);
/** tree_remove() - delete a tree with its root. Return: 0, also if it does not exist, or -errno. */
int tree_remove(const char *root);

#endif
