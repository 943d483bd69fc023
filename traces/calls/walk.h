/* SPDX-License-Identifier: MIT */
/** DOC: the walker of calls (walk.c), and what it writes with (text.c). */
#ifndef TRACES_CALLS_WALK_H
#define TRACES_CALLS_WALK_H

#include "traces/calls/desc.h"

#define VCALL_ARRAY   256u /* entries of an array in a line */
#define VCALL_BYTES   12288u /* bytes of a text or a blob in a line */
#define VCALL_AF_IB   27
#define VCALL_SIZE_IB 48u /* struct sockaddr_ib */

/**
 * struct vwalk - a walk over a call.
 * @dir: VDIR_IN: before the call, VDIR_OUT: after it
 * @ret: the call's result
 * @makes: vcall_made_kinds()
 * @record: the recorded line after " = ": the walk binds objects and writes nothing
 * @path: names of the enclosing structs, each with its dot
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

/* --- text.c --- */

/**
 * vwalk_print(), vwalk_print_fact(), vwalk_print_quoted(), vwalk_print_object() - append text, a
 * fact ("~"), a quoted text, an object.
 */
__attribute__((format(printf, 2, 3))) void vwalk_print(struct vwalk *w, const char *fmt, ...);
void vwalk_print_fact(struct vwalk *w, uint32_t kind, uint64_t value);
void vwalk_print_quoted(struct vwalk *w, const char *s, size_t max);
void vwalk_print_object(struct vwalk *w, const char *name, enum vobj kind, void *obj, bool fresh);
/** vwalk_print_contexts() - append each context of a list, as "[0]=ctx1". */
void vwalk_print_contexts(struct vwalk *w, struct ibv_context **list);
/** vwalk_print_key() - append " NAME=", with the path before the name. */
void vwalk_print_key(struct vwalk *w, const char *name);
/**
 * vwalk_print_hex(), vwalk_print_name(), vwalk_print_flags() - append bytes, the name of a value,
 * the names of bits.
 */
void vwalk_print_hex(struct vwalk *w, const void *bytes, size_t n);
void vwalk_print_name(struct vwalk *w, const struct vnames *names, uint64_t v);
void vwalk_print_flags(struct vwalk *w, const struct vnames *names, uint64_t v);
/**
 * vwalk_print_address() - append ADDRESS:PORT with the key @name. @port_fact: if not 0, the port is
 * a fact
 */
void vwalk_print_address(struct vwalk *w, const char *name, const struct sockaddr *sa,
			 uint32_t port_fact);

/* --- walk.c --- */

/** vwalk_event_object() - the object that an asynchronous event is about; VOBJ_NONE: a port. */
enum vobj vwalk_event_object(enum ibv_event_type type);

/**
 * vwalk_walk_fields() - walk over fields. @base: their struct; @mask: which conditional fields are
 * valid
 */
void vwalk_walk_fields(struct vwalk *w, const struct vfield *f, uint32_t n, const uint8_t *base,
		       uint64_t mask);

#endif
