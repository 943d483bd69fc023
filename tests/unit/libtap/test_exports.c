/* SPDX-License-Identifier: MIT */
/*
 * Without a user that is on, each exported function is the function of the library below. The
 * functions here are written by hand: a table that makes the wrapper and the expectation would
 * agree with itself.
 */
#include "tests/lib/c/cu.h"
#include "tests/lib/c/tap_stub.h"

#include <errno.h>

/* The arguments of the latest call. */
static u64 seen[6];

#define SEE(...)                                                                                   \
	do {                                                                                       \
		const u64 args_[6] = { __VA_ARGS__ };                                              \
                                                                                                   \
		memcpy(seen, args_, sizeof(seen));                                                 \
		errno = 111;                                                                       \
	} while (0)
#define V(pointer) ((u64)(uintptr_t)(pointer))
#define P(number)  ((void *)(uintptr_t)(number))

static void check_seen(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	const u64 args[6] = { a, b, c, d, e, f };

	CU_ASSERT(!memcmp(seen, args, sizeof(seen)));
	CU_ASSERT_EQUAL(errno, 111);
	memset(seen, 0xee, sizeof(seen));
	errno = 0;
}

static void *low_reg_mr(void *pd, void *addr, size_t len, int access)
{
	SEE(V(pd), V(addr), len, (u64)access);
	return P(0xaaa1);
}

static void *low_reg_dmabuf_mr(void *pd, u64 off, size_t len, u64 iova, int fd, int access)
{
	SEE(V(pd), off, len, iova, (u64)fd, (u64)access);
	return P(0xaaa2);
}

static int low_query_pkey(void *ctx, u8 port, int index, void *pkey)
{
	SEE(V(ctx), port, (u64)index, V(pkey));
	return -1;
}

static int low_get_pkey_index(void *ctx, u8 port, u16 pkey)
{
	SEE(V(ctx), port, pkey);
	return -77;
}

static int low_attach_mcast(void *qp, const void *gid, u16 lid)
{
	SEE(V(qp), V(gid), lid);
	return 22;
}

static void low_ack_cq_events(void *cq, unsigned int n)
{
	SEE(V(cq), n);
}

static int low_get_cq_event(void *channel, void **cq, void **context)
{
	SEE(V(channel), V(cq), V(context));
	return -1;
}

static ssize_t low_query_gid_table(void *ctx, void *entries, size_t max, u32 flags, size_t size)
{
	SEE(V(ctx), V(entries), max, flags, size);
	return -95;
}

static int low_resolve_addr(void *id, void *src, void *dst, int timeout_ms)
{
	SEE(V(id), V(src), V(dst), (u64)timeout_ms);
	return -1;
}

static void low_destroy_event_channel(void *channel)
{
	SEE(V(channel));
}

static const char *low_wc_status_str(int status)
{
	SEE((u64)status);
	return "a status";
}

static void *low_reg_mr_ex(void *pd, void *attr)
{
	SEE(V(pd), V(attr));
	return P(0xaaa3);
}

const struct stub_fn stub_fns[] = {
	{ "ibv_reg_mr", (void *)low_reg_mr },
	{ "ibv_reg_dmabuf_mr", (void *)low_reg_dmabuf_mr },
	{ "ibv_query_pkey", (void *)low_query_pkey },
	{ "ibv_get_pkey_index", (void *)low_get_pkey_index },
	{ "ibv_attach_mcast", (void *)low_attach_mcast },
	{ "ibv_ack_cq_events", (void *)low_ack_cq_events },
	{ "ibv_get_cq_event", (void *)low_get_cq_event },
	{ "_ibv_query_gid_table", (void *)low_query_gid_table },
	{ "rdma_resolve_addr", (void *)low_resolve_addr },
	{ "rdma_destroy_event_channel", (void *)low_destroy_event_channel },
	{ "ibv_wc_status_str", (void *)low_wc_status_str },
	{ "ibv_reg_mr_ex", (void *)low_reg_mr_ex },
	{ NULL, NULL },
};

/* The exported functions, by their symbols: verbs.h has macros of the same names. */
void *sym_reg_mr(void *pd, void *addr, size_t len, int access) __asm__("ibv_reg_mr");
void *sym_reg_dmabuf_mr(void *pd, u64 off, size_t len, u64 iova, int fd,
			int access) __asm__("ibv_reg_dmabuf_mr");
void *sym_reg_mr_ex(void *pd, void *attr) __asm__("ibv_reg_mr_ex");
void *sym_reg_buf_mr(void *pd, void *buf, void *addr, size_t len,
		     int access) __asm__("ibv_reg_buf_mr");
ssize_t sym_query_gid_table(void *ctx, void *entries, size_t max, u32 flags,
			    size_t size) __asm__("_ibv_query_gid_table");
int sym_query_gid_ex(void *ctx, u32 port, u32 index, void *entry, u32 flags,
		     size_t size) __asm__("_ibv_query_gid_ex");

static void test_verbs(void)
{
	errno = 0;
	CU_ASSERT_PTR_EQUAL(sym_reg_mr(P(1), P(2), 3, -4), P(0xaaa1));
	check_seen(1, 2, 3, (u64)-4, 0, 0);
	CU_ASSERT_PTR_EQUAL(sym_reg_dmabuf_mr(P(1), ~0ull, 3, 1ull << 63, -5, 6), P(0xaaa2));
	check_seen(1, ~0ull, 3, 1ull << 63, (u64)-5, 6);
	CU_ASSERT_EQUAL(ibv_query_pkey(P(1), 255, -3, P(4)), -1);
	check_seen(1, 255, (u64)-3, 4, 0, 0);
	CU_ASSERT_EQUAL(ibv_get_pkey_index(P(1), 2, 0xffff), -77);
	check_seen(1, 2, 0xffff, 0, 0, 0);
	CU_ASSERT_EQUAL(ibv_attach_mcast(P(1), P(2), 0x8001), 22);
	check_seen(1, 2, 0x8001, 0, 0, 0);
	CU_ASSERT_EQUAL(sym_query_gid_table(P(1), P(2), 3, 4, 5), -95);
	check_seen(1, 2, 3, 4, 5, 0);
	CU_ASSERT_PTR_EQUAL(sym_reg_mr_ex(P(1), P(2)), P(0xaaa3));
	check_seen(1, 2, 0, 0, 0, 0);
	ibv_ack_cq_events(P(1), ~0u);
	check_seen(1, ~0u, 0, 0, 0, 0);
	CU_ASSERT_EQUAL(ibv_get_cq_event(P(1), P(2), P(3)), -1);
	check_seen(1, 2, 3, 0, 0, 0);
	CU_ASSERT_STRING_EQUAL(ibv_wc_status_str((enum ibv_wc_status)9), "a status");
	check_seen(9, 0, 0, 0, 0, 0);
}

static void test_cm(void)
{
	CU_ASSERT_EQUAL(rdma_resolve_addr(P(1), P(2), P(3), -4), -1);
	check_seen(1, 2, 3, (u64)-4, 0, 0);
	rdma_destroy_event_channel(P(1));
	check_seen(1, 0, 0, 0, 0, 0);
}

static void test_nobody(void)
{
	CU_ASSERT_EQUAL(tap.state, TAP_OFF);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "");
	CU_ASSERT_PTR_NULL(tap_obj_find(VOBJ_MR, P(0xaaa1)));
}

#define MISSING(call, result)                                                                      \
	do {                                                                                       \
		errno = 0;                                                                         \
		CU_ASSERT_EQUAL(call, result);                                                     \
		CU_ASSERT_EQUAL(errno, ENOSYS);                                                    \
	} while (0)

/* A function that the library below lacks fails as its call fails, and reads no argument. */
static void missing(void)
{
	MISSING(ibv_alloc_pd(P(1)), NULL);
	MISSING(ibv_dealloc_pd(P(1)), ENOSYS);
	MISSING(rdma_listen(P(1), 2), -1);
	MISSING(sym_query_gid_ex(P(1), 2, 3, P(4), 5, 6), ENOSYS);
	MISSING(sym_reg_buf_mr(P(1), P(2), P(3), 4, 5), NULL);
	MISSING(ibv_get_device_list(P(1)), NULL);
	MISSING(rdma_get_devices(P(1)), NULL);
	MISSING(ibv_rate_to_mult(IBV_RATE_10_GBPS), 0);
}

static void test_missing(void)
{
	missing();
	stub_restart(true, true);
	missing();
	stub_restart(false, false);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a call of verbs is the library's, with its arguments, result and errno",
		  test_verbs },
		{ "so is a call of the rdma_cm", test_cm },
		{ "nobody has seen one", test_nobody },
		{ "a function that the library lacks fails with ENOSYS", test_missing },
		{ NULL, NULL },
	};

	return cu_run("tap, exports", tests);
}
