/* SPDX-License-Identifier: MIT */
/**
 * DOC: calls of libibverbs and librdmacm as lines of text: the types and functions. table.h has the
 * calls themselves.
 */
#ifndef TRACES_CALLS_CALLS_H
#define TRACES_CALLS_CALLS_H

#include "traces/calls/table.h"

#define VCALL_ARGS  8u /* of one call */
#define VCALL_LINE  (32u << 10) /* bytes of a line, with its NUL */
#define VCALL_FACTS 400u /* of one line */

/**
 * enum vobj - kinds of objects. Ordinals start at 1; 0 is NULL. "?" in a line is an unknown object.
 */
enum vobj {
	VOBJ_NONE,
#define VOBJ_ENUM(name, text, type) VOBJ_##name,
	VOBJS(VOBJ_ENUM)
#undef VOBJ_ENUM
		VOBJ_COUNT,
};

/**
 * enum vret - how a call reports its result. VRET_NEW + enum vobj: a new object, or NULL and errno.
 */
enum vret {
	VRET_VOID,
	VRET_INT, /* a number */
	VRET_ERR, /* 0, or errno's value */
	VRET_M1, /* 0, or -1 with errno */
	VRET_REREG, /* 0, or enum ibv_rereg_mr_err_code with errno */
	VRET_COUNT, /* a number, or minus errno */
	VRET_INDEX, /* a number, or -1 with errno */
	VRET_DEVS, /* list of devices, or NULL with errno */
	VRET_CTXS, /* list of contexts, or NULL with errno */
	VRET_NEW = 64,
};

/** enum vcall - VCALL_ibv_reg_mr and so on. */
enum vcall {
#define VCALL_ID(name, ...) VCALL_##name,
	VCALLS(VCALL_ID)
#undef VCALL_ID
		VCALL_COUNT,
};

/** enum vfact - what kind of value a fact is. */
enum vfact {
	VFACT_NONE,
	VFACT_ADDR, /* address in the program's memory, or an iova */
	VFACT_KEY, /* lkey or rkey */
	VFACT_QPN, /* QP number or SRQ number */
	VFACT_PSN,
	VFACT_BYTES, /* 8 bytes of private data in memory order, the last ones padded with 0 */
	VFACT_PORT, /* a port that the system chose */
	VFACT_FD, /* a descriptor: VCALL_FILE with an id of its file, or an invalid one */
	VFACT_HANDLE, /* number by which an object can be imported */
	VFACT_TIME, /* nanoseconds */
	VFACT_WRID,
	VFACT_OTHER, /* counters and so on */
};

/** struct vcall_fact - the value of a "~" in the line. */
struct vcall_fact {
	uint64_t value;
	uint32_t kind; /* enum vfact */
};

#define VCALL_FILE (1ULL << 62) /* with the highest bit clear: the id of a file */

struct vfield;

/** struct vcall_desc - one call. @ret: enum vret */
struct vcall_desc {
	const char *name;
	uint8_t ret;
	uint8_t n_args;
	const struct vfield *args;
};

extern const struct vcall_desc vcall_descs[VCALL_COUNT];
extern const char *const vobj_names[VOBJ_COUNT];

/**
 * struct vcall_env - how the walker and the parser find objects. Callbacks that a user does not
 * need may be NULL.
 * @name: return the ordinal of an object. @fresh: the call has just created it. An object that was
 *	never seen gets a new ordinal if @name creates them. Return: 0: it has no ordinal.
 * @find: return the object of an ordinal. Return: NULL: there is none.
 * @bind: the recorded @ordinal is now @obj
 * @device: return the device of that name, or NULL
 * @fact: convert a recorded fact (enum vfact) to this run
 * @port: convert a port number in an address that goes in
 */
struct vcall_env {
	void *arg;
	uint32_t (*name)(void *arg, enum vobj kind, const void *obj, bool fresh);
	void *(*find)(void *arg, enum vobj kind, uint32_t ordinal);
	void (*bind)(void *arg, enum vobj kind, uint32_t ordinal, void *obj);
	struct ibv_device *(*device)(void *arg, const char *name);
	uint64_t (*fact)(void *arg, uint32_t kind, uint64_t value);
	uint16_t (*port)(void *arg, uint16_t port);
};

/**
 * struct vcall_text - a line under construction.
 * @text: NUL-terminated, without a newline; @len bytes
 * @lost: something did not fit
 * @unknown: number of mask bits and the like that this version has no fields for
 */
struct vcall_text {
	char text[VCALL_LINE];
	uint32_t len;
	uint32_t n_facts;
	struct vcall_fact facts[VCALL_FACTS];
	bool lost;
	uint32_t unknown;
};

#define VCALL_ARENA (96u << 10) /* bytes for the structs of one call */

/**
 * struct vcall_parsed - a parsed line: all that the call needs to be carried out again.
 * @args: the arguments; their pointers point into @arena
 * @out: offset in the line of what follows " = "
 * @fact: index of the first fact after " = "
 * @why: what is wrong with the line, and where
 */
struct vcall_parsed {
	enum vcall call;
	uint64_t args[VCALL_ARGS];
	uint32_t out;
	uint32_t fact;
	char why[160];
	uint32_t used;
	_Alignas(16) uint8_t arena[VCALL_ARENA];
};

/* --- desc_table.c --- */

/** vcall_find() - find a call by its name. Return: enum vcall, or -1. */
int vcall_find(const char *name, size_t len);

/* --- print.c --- */

/** vcall_print_in() - start a line before the call: its name and what goes in. */
void vcall_print_in(struct vcall_text *t, enum vcall call, const uint64_t *args,
		    const struct vcall_env *env);
/**
 * vcall_print_out() - complete the line after the call: " = ", the result, and what came out.
 * @ret: the call's result, integers sign-extended; @err: errno after the call
 */
void vcall_print_out(struct vcall_text *t, enum vcall call, const uint64_t *args, uint64_t ret,
		     int err, const struct vcall_env *env);

/**
 * vcall_made_kinds() - kinds of objects (bits of enum vobj) that librdmacm may have created for an
 * identifier during this successful call. Only pointers of these kinds are read: others may be
 * dangling.
 */
uint32_t vcall_made_kinds(enum vcall call, const uint64_t *args);

/**
 * vcall_error() - the error by which a call has failed, judged by its result. Return: 0: it has not
 * failed.
 */
int vcall_error(enum vcall call, uint64_t ret, int err);

/**
 * vcall_failure() - the result by which a call reports the error @err, integers sign-extended. For
 * calls of VRET_VOID and VRET_INT, which report none, 0.
 */
uint64_t vcall_failure(enum vcall call, int err);

/* --- parse.c --- */

/**
 * vcall_parse() - parse a line.
 * @facts: its facts, @n of them
 * Return: 0, or -EINVAL with @p->why set.
 */
int vcall_parse(struct vcall_parsed *p, const char *line, size_t len, const uint64_t *facts,
		uint32_t n, const struct vcall_env *env);

/**
 * vcall_has_stale_object() - whether a line is that of a program that passed a destroyed object and
 * was refused. vcall_parse() refuses such a line, since no object belongs to "?": whoever carries
 * calls out again leaves it out.
 */
bool vcall_has_stale_object(const char *line);

/* --- bind.c --- */

/**
 * vcall_bind_objects() - call @env->bind for each object that the recorded line names as new, after
 * the call was carried out again with @p->args and has returned @ret.
 */
void vcall_bind_objects(struct vcall_parsed *p, const char *line, size_t len, uint64_t ret,
			const struct vcall_env *env);

#endif
