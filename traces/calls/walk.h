/* SPDX-License-Identifier: MIT */
/** DOC: the walker of calls, between writing (walk.c, text.c) and reading (parse.c). */
#ifndef TRACES_CALLS_WALK_H
#define TRACES_CALLS_WALK_H

#include "traces/calls/desc.h"

#define VCALL_ARRAY   256u /* entries of an array in a line */
#define VCALL_BYTES   12288u /* bytes of a text or a blob in a line */
#define VCALL_AF_IB   27
#define VCALL_SIZE_IB 48u /* struct sockaddr_ib */

/**
 * struct vwalk - a walk over a call.
 * @dir: VDIR_IN: before the call, VDIR_OUT: behind it
 * @ret: what the call returned
 * @makes: vcall_made_kinds()
 * @record: what the record has behind " = ": nothing is written, objects are bound
 * @path: names of the structs on the way to here, each with its dot
 * @args_level: the fields are the arguments themselves
 */
struct vwalk {
	struct vcall_text *t;
	const struct vcall_env *env;
	const uint64_t *args;
	uint32_t dir;
	uint64_t ret;
	uint32_t makes;
	const char *record;
	uint32_t record_len;
	char path[160];
	uint32_t path_len;
	bool args_level;
};

/** vwalk_print(), vwalk_print_fact(), vwalk_print_quoted(), vwalk_print_object() - go on with the line: text, a "~", a text in quotes, an object. */
__attribute__((format(printf, 2, 3))) void vwalk_print(struct vwalk *w, const char *fmt, ...);
void vwalk_print_fact(struct vwalk *w, uint32_t kind, uint64_t value);
void vwalk_print_quoted(struct vwalk *w, const char *s, size_t max);
void vwalk_print_object(struct vwalk *w, const char *name, enum vobj kind, void *obj, bool fresh);
/** vwalk_print_key() - " NAME=", with the path before the name. */
void vwalk_print_key(struct vwalk *w, const char *name);
/** vwalk_print_hex(), vwalk_print_name(), vwalk_print_flags() - bytes, a value by its name, the names of bits. */
void vwalk_print_hex(struct vwalk *w, const void *bytes, size_t n);
void vwalk_print_name(struct vwalk *w, const struct vnames *names, uint64_t v);
void vwalk_print_flags(struct vwalk *w, const struct vnames *names, uint64_t v);
/** vwalk_print_address() - ADDRESS:PORT of this name. @port_fact: 0, or the port is a "~" */
void vwalk_print_address(struct vwalk *w, const char *name, const struct sockaddr *sa,
			 uint32_t port_fact);
/** vwalk_walk_fields() - go over fields. @base: where they lie; @mask: bits by which some of them count */
void vwalk_walk_fields(struct vwalk *w, const struct vfield *f, uint32_t n, const uint8_t *base,
		       uint64_t mask);
/** vwalk_bind_object() - the record's object of this @name is now @obj. */
void vwalk_bind_object(struct vwalk *w, const char *name, enum vobj kind, void *obj);
/** vcall_walk_bind() - go over what came out, beside the record. */
void vcall_walk_bind(struct vwalk *w, enum vcall call);

#endif
