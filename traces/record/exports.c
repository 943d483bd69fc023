/* SPDX-License-Identifier: MIT */
/* Wrappers of the exported functions of the control path, generated from their descriptions. */
#include "traces/calls/desc.h"
#include "traces/record/call.h"
#include "traces/record/next_symbol.h"
#include "traces/record/start.h"
#include "traces/record/wrap.h"

/* The program has found a function here that the library below does not have. Returns the error. */
static __cold u64 wrap_missing_symbol(enum vcall call)
{
	errno = ENOSYS;
	switch (vcall_descs[call].ret) {
	case VRET_ERR:
		return ENOSYS;
	case VRET_M1:
	case VRET_REREG:
		return (u64)-1;
	case VRET_COUNT:
		return (u64)-ENOSYS;
	default:
		return 0;
	}
}

/* Wrappers of exported functions. INL rows are in ops.c, OWN rows below or in poll.c. */
#define EXPORT_SYM(name, ret, ...)                                                                 \
	SHIM_EXPORT VR_##ret wrap_##name(REC_PARAMS(__VA_ARGS__)) __asm__(#name);                  \
	VR_##ret wrap_##name(REC_PARAMS(__VA_ARGS__))                                              \
	{                                                                                          \
		static void *slot;                                                                 \
		__typeof__(&wrap_##name) lower =                                                   \
			(__typeof__(&wrap_##name))rec_next_symbol(&slot, #name);                   \
                                                                                                   \
		if (unlikely(!lower))                                                              \
			REC_JOIN(REC_GIVE_, REC_KIND(ret))                                         \
		(VR_##ret, wrap_missing_symbol(VCALL_##name));                                     \
		REC_BODY(name, ret, lower, ##__VA_ARGS__)                                          \
	}
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
	struct rec_call c;
	int ret;

	lower = (__typeof__(lower))rec_next_symbol(&slot, "_ibv_query_gid_ex");
	if (!lower)
		return ENOSYS;
	if (entry_size < sizeof(*entry) || !rec_enter())
		return lower(context, port_num, gid_index, entry, flags, entry_size);
	rec_call_begin(&c, VCALL_ibv_query_gid_ex, args);
	ret = lower(context, port_num, gid_index, entry, flags, entry_size);
	rec_call_end(&c, (u64)(int64_t)ret);
	rec_leave();
	return ret;
}

ssize_t wrap_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	const u64 args[VCALL_ARGS] = { (uintptr_t)context, (uintptr_t)entries, max_entries, flags };
	static void *slot;
	__typeof__(&wrap_query_gid_table) lower;
	struct rec_call c;
	ssize_t ret;

	lower = (__typeof__(lower))rec_next_symbol(&slot, "_ibv_query_gid_table");
	if (!lower)
		return -ENOSYS;
	if (entry_size != sizeof(*entries) || !rec_enter())
		return lower(context, entries, max_entries, flags, entry_size);
	rec_call_begin(&c, VCALL_ibv_query_gid_table, args);
	ret = lower(context, entries, max_entries, flags, entry_size);
	rec_call_end(&c, (u64)ret);
	rec_leave();
	return ret;
}
