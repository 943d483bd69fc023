/* SPDX-License-Identifier: MIT */
/* Wrappers of the exported functions of the control path, generated from their descriptions. */
#include "libtap/call.h"
#include "libtap/next_symbol.h"
#include "libtap/wrap.h"

/* The program has found a function here that the library below does not have. Returns the error. */
static __cold u64 wrap_missing_symbol(enum vcall call)
{
	struct tap_call c = { .call = call };

	tap_call_fail(&c, ENOSYS);
	errno = ENOSYS;
	return c.ret;
}

/* Wrappers of exported functions. INL rows are in ops.c, OWN rows below or in ops.c. */
#define EXPORT_BODY(name, ret, body, ...)                                                          \
	SHIM_EXPORT VR_##ret wrap_##name(TAP_PARAMS(__VA_ARGS__)) __asm__(#name);                  \
	VR_##ret wrap_##name(TAP_PARAMS(__VA_ARGS__))                                              \
	{                                                                                          \
		static void *slot;                                                                 \
		__typeof__(&wrap_##name) lower =                                                   \
			(__typeof__(&wrap_##name))tap_next_symbol(&slot, #name);                   \
                                                                                                   \
		if (unlikely(!lower))                                                              \
			TAP_JOIN(TAP_GIVE_, TAP_KIND(ret))                                         \
		(VR_##ret, wrap_missing_symbol(VCALL_##name));                                     \
		body(name, ret, lower, ##__VA_ARGS__)                                              \
	}
#define EXPORT_SYM(name, ret, ...) EXPORT_BODY(name, ret, TAP_BODY, ##__VA_ARGS__)
#define EXPORT_END(name, ret, ...) EXPORT_BODY(name, ret, TAP_BODY_END, ##__VA_ARGS__)
#define EXPORT_INL(name, ret, ...)
#define EXPORT_OWN(name, ret, ...)
#define EXPORT(name, ret, way, ...) EXPORT_##way(name, ret, ##__VA_ARGS__)
VCALLS(EXPORT)

/* verbs.h's inlines of the same names pass the size of their struct to these. */
SHIM_EXPORT int wrap_query_gid_ex(struct ibv_context *context, uint32_t port_num,
				  uint32_t gid_index, struct ibv_gid_entry *entry, uint32_t flags,
				  size_t entry_size) __asm__("_ibv_query_gid_ex");
SHIM_EXPORT ssize_t wrap_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
					 size_t max_entries, uint32_t flags,
					 size_t entry_size) __asm__("_ibv_query_gid_table");

int wrap_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	const u64 args[VCALL_ARGS] = { (uintptr_t)context, port_num, gid_index, (uintptr_t)entry,
				       flags };
	static void *slot;
	__typeof__(&wrap_query_gid_ex) lower;
	struct tap_call c;

	lower = (__typeof__(lower))tap_next_symbol(&slot, "_ibv_query_gid_ex");
	if (!lower)
		return (int)wrap_missing_symbol(VCALL_ibv_query_gid_ex);
	if (entry_size < sizeof(*entry) || !tap_enter())
		return lower(context, port_num, gid_index, entry, flags, entry_size);
	if (tap_call_begin(&c, VCALL_ibv_query_gid_ex, args))
		c.ret = (u64)lower(context, port_num, gid_index, entry, flags, entry_size);
	tap_call_end(&c);
	tap_leave();
	return (int)c.ret;
}

ssize_t wrap_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	const u64 args[VCALL_ARGS] = { (uintptr_t)context, (uintptr_t)entries, max_entries, flags };
	static void *slot;
	__typeof__(&wrap_query_gid_table) lower;
	struct tap_call c;

	lower = (__typeof__(lower))tap_next_symbol(&slot, "_ibv_query_gid_table");
	if (!lower)
		return (ssize_t)wrap_missing_symbol(VCALL_ibv_query_gid_table);
	if (entry_size != sizeof(*entries) || !tap_enter())
		return lower(context, entries, max_entries, flags, entry_size);
	if (tap_call_begin(&c, VCALL_ibv_query_gid_table, args))
		c.ret = (u64)lower(context, entries, max_entries, flags, entry_size);
	tap_call_end(&c);
	tap_leave();
	return (ssize_t)c.ret;
}
