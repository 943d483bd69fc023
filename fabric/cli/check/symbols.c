/* SPDX-License-Identifier: MIT */
/*
 * Functions and lines of addresses, by libdw. It is loaded when there is something to resolve: only
 * reports need it, and without it they have files and offsets.
 */
#include "fabric/cli/check/found.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS_FILES 64

/* The functions of libdw that are used. */
#define SYMBOLS_FUNCTIONS(X)                                                                       \
	X(dwfl_begin)                                                                              \
	X(dwfl_report_offline)                                                                     \
	X(dwfl_report_end)                                                                         \
	X(dwfl_module_getelf)                                                                      \
	X(dwfl_module_addrname)                                                                    \
	X(dwfl_module_getsrc)                                                                      \
	X(dwfl_lineinfo)                                                                           \
	X(dwfl_module_addrdie)                                                                     \
	X(dwarf_getscopes)                                                                         \
	X(dwarf_tag)                                                                               \
	X(dwarf_attr)                                                                              \
	X(dwarf_formudata)                                                                         \
	X(dwarf_getsrcfiles)                                                                       \
	X(dwarf_filesrc)                                                                           \
	X(dwfl_build_id_find_elf)                                                                  \
	X(dwfl_standard_find_debuginfo)                                                            \
	X(dwfl_offline_section_address)

/* NOLINTBEGIN(bugprone-macro-parentheses): the name of a member */
#define SYMBOLS_MEMBER(name) __typeof__(&(name)) name;
static struct {
	SYMBOLS_FUNCTIONS(SYMBOLS_MEMBER)
} dw;
/* NOLINTEND(bugprone-macro-parentheses) */

/* A file with symbols: those of a run are few. @module NULL: it cannot be read. */
static struct symbols_file {
	const char *name;
	Dwfl_Module *module;
	GElf_Addr bias;
} files[SYMBOLS_FILES];
static u32 n_files;

static bool symbols_load(void)
{
	static int state; /* 0: not tried; 1: loaded; -1: cannot be */
	void *handle;

	if (state)
		return state > 0;
	state = -1;
	handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle) {
		print_error("check: no functions and lines: %s", dlerror());
		return false;
	}
#define SYMBOLS_FIND(name)                                                                         \
	dw.name = (__typeof__(dw.name))dlsym(handle, #name);                                       \
	if (!dw.name)                                                                              \
		return false;
	SYMBOLS_FUNCTIONS(SYMBOLS_FIND)
	state = 1;
	return true;
}

static void symbols_open_file(struct symbols_file *f)
{
	static Dwfl_Callbacks callbacks;
	Dwfl *dwfl;

	callbacks.find_elf = dw.dwfl_build_id_find_elf;
	callbacks.find_debuginfo = dw.dwfl_standard_find_debuginfo;
	callbacks.section_address = dw.dwfl_offline_section_address;
	dwfl = dw.dwfl_begin(&callbacks);
	f->module = dwfl ? dw.dwfl_report_offline(dwfl, f->name, f->name, -1) : NULL;
	if (dwfl)
		dw.dwfl_report_end(dwfl, NULL, NULL);
	if (f->module && !dw.dwfl_module_getelf(f->module, &f->bias))
		f->module = NULL;
}

static const struct symbols_file *symbols_find_file(const char *name)
{
	u32 i;

	for (i = 0; i < n_files; i++)
		if (!strcmp(files[i].name, name))
			return &files[i];
	if (n_files == SYMBOLS_FILES)
		return NULL;
	files[n_files].name = name;
	symbols_open_file(&files[n_files]);
	return &files[n_files++];
}

/* --- inlined functions --- */

static bool symbols_read_number(Dwarf_Die *die, unsigned int name, Dwarf_Word *value)
{
	Dwarf_Attribute attr;

	return dw.dwarf_attr(die, name, &attr) && !dw.dwarf_formudata(&attr, value);
}

/* The place from which an inlined function is called. */
static bool symbols_find_call(Dwarf_Die *unit, Dwarf_Die *scope, struct found_frame *frame)
{
	Dwarf_Word file, line;
	Dwarf_Files *all;
	const char *name;
	size_t n;

	if (!symbols_read_number(scope, DW_AT_call_file, &file) ||
	    !symbols_read_number(scope, DW_AT_call_line, &line) ||
	    dw.dwarf_getsrcfiles(unit, &all, &n))
		return false;
	name = file < n ? dw.dwarf_filesrc(all, file, NULL, NULL) : NULL;
	if (!name)
		return false;
	free(frame->source);
	frame->source = strdup(name);
	frame->line = (int)line;
	return frame->source;
}

/* Headers of the API, whose inlines are no functions of the program. */
static bool symbols_is_api(const char *source)
{
	return source &&
	       (strstr(source, "/infiniband/verbs.h") || strstr(source, "/rdma/rdma_verbs.h"));
}

/* A line in an inline of the API becomes the one that calls it. */
static void symbols_leave_api(const struct symbols_file *f, struct found_frame *frame)
{
	Dwarf_Die *scopes = NULL, *unit;
	Dwarf_Addr bias;
	int n, i;

	if (!symbols_is_api(frame->source))
		return;
	unit = dw.dwfl_module_addrdie(f->module, frame->offset + f->bias, &bias);
	n = unit ? dw.dwarf_getscopes(unit, frame->offset + f->bias - bias, &scopes) : 0;
	for (i = 0; i < n && symbols_is_api(frame->source); i++)
		if (dw.dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine &&
		    !symbols_find_call(unit, &scopes[i], frame))
			break;
	free(scopes);
}

/* --- frames --- */

static void symbols_resolve_frame(struct found_frame *frame)
{
	const struct symbols_file *f = symbols_find_file(frame->file);
	const char *text;
	Dwfl_Line *line;

	if (!f || !f->module)
		return;
	text = dw.dwfl_module_addrname(f->module, frame->offset + f->bias);
	if (text)
		frame->function = strdup(text);
	line = dw.dwfl_module_getsrc(f->module, frame->offset + f->bias);
	text = line ? dw.dwfl_lineinfo(line, NULL, &frame->line, NULL, NULL, NULL) : NULL;
	if (text)
		frame->source = strdup(text);
	symbols_leave_api(f, frame);
}

void symbols_resolve(struct found_stack *stack)
{
	u32 i;

	if (!stack->n || !symbols_load())
		return;
	for (i = 0; i < stack->n; i++) {
		symbols_resolve_frame(&stack->frame[i]);
		/* What calls main() is the C library's. */
		if (stack->frame[i].function && !strcmp(stack->frame[i].function, "main"))
			stack->n = i + 1;
	}
}
