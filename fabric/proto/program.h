/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the loader will do with a program's file, and the order of preloaded libraries that the
 * program needs.
 *
 * The command reads a program before it becomes it, and the shim before its process becomes it (in
 * a vforked child, perhaps): nothing here allocates, locks or uses functions that others wrap. A
 * program's file is an external input: every offset and length in it is checked.
 */
#ifndef FABRIC_PROTO_PROGRAM_H
#define FABRIC_PROTO_PROGRAM_H

#include "emulator/types.h"

#include <limits.h>

#define PROGRAM_SCRIPT_DEPTH 5 /* the kernel's limit of interpreters of interpreters */

/** enum program_abi - how a program's machine code and word size compare with this library's. */
enum program_abi {
	PROGRAM_ABI_OURS,
	PROGRAM_ABI_WORD_SIZE, /* 32 bits instead of 64, or the other way */
	PROGRAM_ABI_MACHINE,
};

/**
 * struct program_file - a program, of which the rest is filled in if @abi is ours.
 * @script: interpreter that "#!" names, the last of a chain; "" for a program of its own
 * @loader: PT_INTERP; "" for a static program
 * @is_library: it has a SONAME and no loader: ld.so itself
 * @sanitizer: DT_NEEDED entry of a sanitizer's runtime that must come first, or ""
 */
struct program_file {
	char script[256];
	enum program_abi abi;
	u32 bits;
	u32 machine;
	bool is_library;
	char loader[160];
	char sanitizer[80];
};

/**
 * program_read() - read a program, or the interpreter of a script.
 * Return: 0; -ENOEXEC if it is neither an ELF file nor a script; -EBADMSG if it is a broken ELF
 * file; -errno.
 */
int program_read(const char *path, struct program_file *p);

/**
 * program_find() - search @name in the directories of @search as execvp(3) does; a name with a
 * slash is a path.
 * Return: 0 or -ENOENT.
 */
int program_find(const char *name, const char *search, char path[PATH_MAX]);

/* --- preload.c --- */

/** preload_is_sanitizer() - whether a library is a sanitizer's runtime that must come first. */
bool preload_is_sanitizer(const char *name, size_t len);

/**
 * preload_own_len() - length of the head that preload_arrange() has added to an LD_PRELOAD, with
 * the mark after it.
 */
size_t preload_own_len(const char *list);

/**
 * preload_arrange() - the LD_PRELOAD for a program: @list without an earlier program's head, and
 * with that of this program.
 * @sanitizer: that of struct program_file
 * Return: false if @list can stay as it is, or the result does not fit.
 */
bool preload_arrange(const char *list, const char *sanitizer, char *out, size_t size);

#endif
