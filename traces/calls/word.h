/* SPDX-License-Identifier: MIT */
/** DOC: words of a line that is read as a call: what parse.c takes them by (word.c). */
#ifndef TRACES_CALLS_WORD_H
#define TRACES_CALLS_WORD_H

#include "traces/calls/walk.h"

#include <sys/socket.h>

/**
 * struct reader - a line that is read.
 * @at, @end: the part of it that is not used yet
 * @bad: something was wrong, and p->why says what
 */
struct reader {
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

/** struct word - a value of the line, not terminated. */
struct word {
	const char *s;
	size_t len;
};

/** vread_fail() - what is wrong with the line, said once. */
__attribute__((format(printf, 2, 3))) void vread_fail(struct reader *r, const char *fmt, ...);
/** vread_fail_word() - a word is not what was expected. */
void vread_fail_word(struct reader *r, const char *name, const struct word *v,
		     const char *expected);
/** vread_alloc() - zeroed room for what the call needs. Return: NULL: it takes too much. */
void *vread_alloc(struct reader *r, size_t size);
/** vread_alloc_array() - the same for @n things; the number stands 16 bytes before them. */
void *vread_alloc_array(struct reader *r, uint32_t n, size_t size);
/** vread_take_word() - take the value of the next word, if its key is @name in the struct that is being read. */
bool vread_take_word(struct reader *r, const char *name, struct word *v);
/** vread_take_fact() - the line's next fact, as it is in this run. */
uint64_t vread_take_fact(struct reader *r, uint32_t kind);

/* vread_word_...() - a word as a value. Return: false, NULL or 0: it is none; those that take the reader say so. */
bool vread_word_is(const struct word *v, const char *s);
bool vread_word_number(const struct word *v, uint64_t *to);
bool vread_word_hex(const struct word *v, uint8_t *to, size_t max);
bool vread_word_name(const struct word *v, const struct vnames *names, uint64_t *to);
bool vread_word_flags(const struct word *v, const struct vnames *names, uint64_t *to);
char *vread_word_text(struct reader *r, const char *name, const struct word *v);
uint32_t vread_word_ordinal(const struct word *v, enum vobj kind);
void *vread_word_object(struct reader *r, const char *name, const struct word *v, enum vobj kind);
bool vread_word_address(const struct word *v, struct sockaddr_storage *to);
/** vread_word_len() - bytes of the next word, with its key. */
size_t vread_word_len(const struct reader *r);

#endif
