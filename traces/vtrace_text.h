/* SPDX-License-Identifier: MIT */
/**
 * DOC: lines of calls: text of a call, its arguments and its result.
 *
 *	CALL [NAME=VALUE]... -> VALUE [NAME=VALUE]...
 *
 *	ibv_modify_qp qp=qp1 attr={qp_state=IBV_QPS_INIT pkey_index=0} attr_mask=IBV_QP_STATE|IBV_QP_PKEY_INDEX -> 0
 *	ibv_reg_mr pd=pd1 addr=~ length=4096 access=IBV_ACCESS_LOCAL_WRITE -> mr1 lkey=~ rkey=~
 *	ibv_create_qp pd=pd1 qp_init_attr={...} -> NULL errno=EINVAL
 *
 * A value is a word (without space, quote, bracket or "="), a "string" (with \" \\ \xHH), {NAME=VALUE ...} or
 * [VALUE ...]. What the call returned comes first behind the arrow, then what it wrote, by the names of the
 * arguments. "~" is a number that may differ in each run; its value is in the line's VT_CALL.
 */
#ifndef TRACES_VTRACE_TEXT_H
#define TRACES_VTRACE_TEXT_H

#include "traces/vtrace.h"

/**
 * struct vt_text - a line that is being made.
 * @over: it was too long, or had too many facts: it ends early and is not to be written
 */
struct vt_text {
	char *buf;
	size_t cap;
	size_t len;
	uint32_t n_facts;
	bool over;
	bool first; /* of a struct or list: no space before the next */
	uint64_t fact[VT_MAX_FACTS];
};

/** vt_text_begin() - of a line in @buf, which starts with the name of the call. */
void vt_text_begin(struct vt_text *t, char *buf, size_t cap, const char *call);

/* The name of the next value, with a space before it where it needs one. NULL: in a list. */
void vt_text_name(struct vt_text *t, const char *name);
/* "->" and the space before what the call returned. */
void vt_text_arrow(struct vt_text *t);

/* Values. */
void vt_text_word(struct vt_text *t, const char *word);
void vt_text_u64(struct vt_text *t, uint64_t v);
void vt_text_s64(struct vt_text *t, int64_t v);
void vt_text_hex(struct vt_text *t, uint64_t v);
void vt_text_fact(struct vt_text *t, uint64_t v); /* "~" */
void vt_text_obj(struct vt_text *t, const char *kind, uint32_t nth); /* "mr2"; 0: NULL */
void vt_text_bytes(struct vt_text *t, const void *bytes, size_t len); /* "string" */
void vt_text_open(struct vt_text *t, char bracket); /* '{' or '[' */
void vt_text_close(struct vt_text *t, char bracket); /* '}' or ']' */

/** struct vt_name - a value of an enum, or a flag, by its name in verbs.h. */
struct vt_name {
	uint64_t value;
	const char *name;
};

/* One of them, or the number. */
void vt_text_enum(struct vt_text *t, const struct vt_name *names, size_t n, uint64_t v);
/* Those of its bits, "|" in between, what has no name in hex, 0 if there is none. */
void vt_text_flags(struct vt_text *t, const struct vt_name *names, size_t n, uint64_t v);

#define VT_MAX_NODES 4096u /* values of one line */

enum vt_value_kind {
	VT_WORD,
	VT_STRING,
	VT_STRUCT,
	VT_LIST,
	VT_FACT, /* "~": @fact has its value */
};

/**
 * struct vt_value - of a line that was read.
 * @name: "" in lists
 * @text, @len: VT_WORD: with a NUL behind it; VT_STRING: its bytes, unquoted, with one, too
 * @next: the one behind it in its struct, list or line; NULL: it is the last
 * @kid: the first one in it
 */
struct vt_value {
	const char *name;
	enum vt_value_kind kind;
	const char *text;
	size_t len;
	uint64_t fact;
	struct vt_value *next;
	struct vt_value *kid;
};

/**
 * struct vt_parsed - a line.
 * @args: named arguments, @outs: named results behind what it returned
 */
struct vt_parsed {
	const char *call;
	struct vt_value *args;
	struct vt_value *ret;
	struct vt_value *outs;
	uint32_t n_nodes;
	struct vt_value node[VT_MAX_NODES];
	char text[2 * VT_MAX_LINE];
};

/**
 * vt_parse() - read a line.
 * @what: set to what was expected where it fails, @at to the byte
 *
 * Returns 0 or -EINVAL.
 */
int vt_parse(struct vt_parsed *p, const char *line, size_t len, const uint64_t *fact,
	     uint32_t n_facts, const char **what, size_t *at);

/** vt_get() - the value of that name in a chain of values. NULL: there is none. */
const struct vt_value *vt_get(const struct vt_value *first, const char *name);

/* The value as what it is. -EINVAL: it is not; *@v is as it was. "~" is a number. */
int vt_to_u64(const struct vt_value *val, uint64_t *v); /* decimal, 0x..., ~ or negative */
int vt_to_enum(const struct vt_value *val, const struct vt_name *names, size_t n, uint64_t *v);
int vt_to_flags(const struct vt_value *val, const struct vt_name *names, size_t n, uint64_t *v);
int vt_to_obj(const struct vt_value *val, const char *kind, uint32_t *nth); /* "mr2" or NULL */

#endif
