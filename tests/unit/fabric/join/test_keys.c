/* SPDX-License-Identifier: MIT */
/* Keys of a connection: both sides derive the same, and each input changes all of them. */
#include "fabric/join/keys.h"
#include "tests/lib/c/cu.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static u8 secret[2][KEYS_LEN], public[2][KEYS_LEN], greetings[KEYS_LEN] = { 5 };
static const u8 token[] = "secret", token_key[KEYS_LEN] = { 9, 8, 7 };

static void test_both_derive_the_same(void)
{
	struct join_keys a, b;

	CU_ASSERT_EQUAL(keys_make(secret[0], public[0]), 0);
	CU_ASSERT_EQUAL(keys_make(secret[1], public[1]), 0);
	CU_ASSERT_EQUAL(keys_derive(&a, secret[0], public[1], token, 6, greetings), 0);
	CU_ASSERT_EQUAL(keys_derive(&b, secret[1], public[0], token, 6, greetings), 0);
	CU_ASSERT_EQUAL(memcmp(&a, &b, sizeof(a)), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(a.proof[0], a.proof[1], KEYS_LEN), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(a.secret[0], a.secret[1], KEYS_LEN), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(a.proof[0], a.secret[0], KEYS_LEN), 0);
}

/* A child that has no memory left makes keys all the same. */
static void test_no_memory_is_needed(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they end without memory */
	const struct rlimit none = { 1, 1 };
	void *volatile block;
	size_t size;
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_AS, &none);
		for (size = 4096; size; size -= 16)
			while ((block = malloc(size)))
				;
		_exit(keys_make(secret[0], public[0]) ? 2 : 0);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
#endif
}

static void check_differs(const struct join_keys *a, const struct join_keys *b)
{
	u32 i;

	for (i = 0; i < SIDES; i++) {
		CU_ASSERT_NOT_EQUAL(memcmp(a->proof[i], b->proof[i], KEYS_LEN), 0);
		CU_ASSERT_NOT_EQUAL(memcmp(a->secret[i], b->secret[i], KEYS_LEN), 0);
	}
}

static void test_what_they_depend_on(void)
{
	u8 other[KEYS_LEN] = { 6 };
	struct join_keys a, b;

	CU_ASSERT_EQUAL(keys_derive(&a, secret[0], public[1], token, 6, greetings), 0);
	CU_ASSERT_EQUAL(keys_derive(&b, secret[0], public[1], token, 5, greetings), 0);
	check_differs(&a, &b);
	CU_ASSERT_EQUAL(keys_derive(&b, secret[0], public[1], token, 6, other), 0);
	check_differs(&a, &b);
	CU_ASSERT_EQUAL(keys_derive(&b, secret[0], public[0], token, 6, greetings), 0);
	check_differs(&a, &b);
}

static void test_keys_of_low_order(void)
{
	static const u8 zero[KEYS_LEN], one[KEYS_LEN] = { 1 };
	struct join_keys k;

	CU_ASSERT_EQUAL(keys_derive(&k, secret[0], zero, token, 6, greetings), -EPROTO);
	CU_ASSERT_EQUAL(keys_derive(&k, secret[0], one, token, 6, greetings), -EPROTO);
}

/* --- what stays in memory --------------------------------------------------------------------- */

#define STACK (1u << 20)

static u8 derived[KEYS_LEN];

static void *derive(void *unused)
{
	struct join_keys k;

	(void)unused;
	if (!keys_derive(&k, secret[0], public[1], token, 6, greetings))
		explicit_bzero(&k, sizeof(k));
	keys_expand(token_key, "label", 5, derived);
	return NULL;
}

/* Run derive() on a stack of ours, and look for @words there. Return: whether they are there. */
static bool stays_on_stack(const void *words, size_t len)
{
	void *stack = NULL;
	pthread_attr_t attr;
	pthread_t t;
	bool stays;

	CU_ASSERT_EQUAL_FATAL(posix_memalign(&stack, 4096, STACK), 0);
	memset(stack, 0, STACK);
	pthread_attr_init(&attr);
	CU_ASSERT_EQUAL_FATAL(pthread_attr_setstack(&attr, stack, STACK), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, &attr, derive, NULL), 0);
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	stays = memmem(stack, STACK, words, len);
	free(stack);
	return stays;
}

/* The state of HMAC after its key is as good as the key. */
static void test_contexts_are_erased(void)
{
	static const u8 none[KEYS_LEN];
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, KEYS_LEN, token_key);
	CU_ASSERT_FALSE(stays_on_stack(ctx.inner.state, sizeof(ctx.inner.state)));
	CU_ASSERT_FALSE(stays_on_stack(ctx.outer.state, sizeof(ctx.outer.state)));
	/* That of the first step, whose message is the token. */
	hmac_sha256_set_key(&ctx, KEYS_LEN, none);
	hmac_sha256_update(&ctx, 6, token);
	CU_ASSERT_FALSE(stays_on_stack(ctx.inner.state, sizeof(ctx.inner.state)));
}

static const struct cu_test tests[] = {
	{ "both sides derive the same", test_both_derive_the_same },
	{ "no memory is needed", test_no_memory_is_needed },
	{ "they depend on all that was said", test_what_they_depend_on },
	{ "keys of low order are refused", test_keys_of_low_order },
	{ "what hashes leave on the stack is erased", test_contexts_are_erased },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("keys", tests);
}
