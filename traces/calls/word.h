/* SPDX-License-Identifier: MIT */
/** DOC: reads the words of a line for the parser (parse.c). */
#ifndef TRACES_CALLS_WORD_H
#define TRACES_CALLS_WORD_H

#include "traces/calls/walk.h"

#include <sys/socket.h>

/**
 * struct vread - the state of the parser.
 * @at, @end: the part of the line that is not parsed yet
 * @bad: an error was found, and p->why describes it
 */
struct vread {
	struct vcall_parsed *p;
	const struct vcall_env *env;
	const char *at;
	const char *end;
	const uint64_t *facts;
	uint32_t n_facts;
	char path[160];
	uint32_t path_len;
	bool bad;
};

/** struct vread_word - a value in the line, not terminated. */
struct vread_word {
	const char *s;
	size_t len;
};

/** vread_fail() - describe what is wrong with the line. Only the first error is kept. */
__attribute__((format(printf, 2, 3))) void vread_fail(struct vread *r, const char *fmt, ...);
/** vread_fail_word() - fail because a word is not what was expected. */
void vread_fail_word(struct vread *r, const char *name, const struct vread_word *v,
		     const char *expected);
/** vread_alloc() - allocate zeroed memory for the call. Return: NULL: the call takes too much. */
void *vread_alloc(struct vread *r, size_t size);
/** vread_alloc_array() - the same for an array of @n entries; @n is stored 16 bytes before it. */
void *vread_alloc_array(struct vread *r, uint32_t n, size_t size);
/**
 * vread_take_word() - take the value of the next word, if its key is @name in the current struct.
 */
bool vread_take_word(struct vread *r, const char *name, struct vread_word *v);
/** vread_take_fact() - take the line's next fact, converted to this run. */
uint64_t vread_take_fact(struct vread *r, uint32_t kind);

/*
 * vread_word_...() - convert a word to a value.
 * Return: false, NULL or 0: it is none. Functions that take the reader also report the error.
 */
bool vread_word_is(const struct vread_word *v, const char *s);
bool vread_word_number(const struct vread_word *v, uint64_t *to);
bool vread_word_hex(const struct vread_word *v, uint8_t *to, size_t max);
bool vread_word_name(const struct vread_word *v, const struct vnames *names, uint64_t *to);
bool vread_word_flags(const struct vread_word *v, const struct vnames *names, uint64_t *to);
char *vread_word_text(struct vread *r, const char *name, const struct vread_word *v);
uint32_t vread_word_ordinal(const struct vread_word *v, enum vobj kind);
void *vread_word_object(struct vread *r, const char *name, const struct vread_word *v,
			enum vobj kind);
bool vread_word_address(const struct vread_word *v, struct sockaddr_storage *to);
/** vread_word_len() - bytes of the next word, including its key. */
size_t vread_word_len(const struct vread *r);

#endif
