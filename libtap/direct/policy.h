/* SPDX-License-Identifier: MIT */
/**
 * DOC: vendors' interfaces past libibverbs, on real devices: `--real-direct` of rdmaemu(1).
 *
 * A program that has got at the queues of a device by libmlx5 or libefa writes work requests, rings
 * doorbells and reads completions itself: no call tells of them. Three answers:
 *
 *  - allow: it works. Objects that have verbs pointers are registered as those of verbs are, and
 *    users learn which queue pairs have a data path that is not seen.
 *  - hide: the library says that it supports no device, so that programs fall back to verbs.
 *  - refuse: the library supports its devices, and calls that lead past verbs fail, with a line.
 *
 * Programs that load libefa at run time get the tap instead, as they do for libibverbs: it has all
 * of libefa's functions. Those that load libmlx5 get it unless all is allowed: what is not wrapped
 * here does not exist for them.
 */
#ifndef LIBTAP_DIRECT_POLICY_H
#define LIBTAP_DIRECT_POLICY_H

#include "libshim/interpose/interpose.h"
#include "libtap/tap.h"

/** direct_is_hidden() - whether libraries of vendors support no device. */
bool direct_is_hidden(void);
/**
 * direct_may_pass() - whether a call that leads past verbs is carried out. If not, errno is
 * EOPNOTSUPP, and if it is refused, a line on stderr says so.
 */
bool direct_may_pass(const char *call);
/** direct_next() - the function of the vendor's library. Return: NULL: there is none. */
void *direct_next(void **slot, enum real_lib lib, const char *name);
/** direct_queues_opened() - by @call the program may now post to @qp and poll without a call. */
void direct_queues_opened(const struct ibv_qp *qp, const char *call);
/** direct_call_end() - the end of a call that is shown as one of verbs. Return: its result. */
u64 direct_call_end(struct tap_call *c);

/**
 * DIRECT_CREATE() - define the wrapper of a vendor's function that returns a new object, or NULL:
 * it is shown as the call of verbs that creates one like it.
 * @row: that call, whose arguments are the first two
 * @params, @names: of the function's parameters, in parentheses
 */
#define DIRECT_CREATE(lib, fn, type, row, params, names, first, second)                            \
	SHIM_EXPORT type wrap_##fn params __asm__(#fn);                                            \
	type wrap_##fn params                                                                      \
	{                                                                                          \
		const u64 args[VCALL_ARGS] = { (uintptr_t)(first), (uintptr_t)(second) };          \
		static void *slot;                                                                 \
		__typeof__(&wrap_##fn) lower = (__typeof__(lower))direct_next(&slot, lib, #fn);    \
		struct tap_call c;                                                                 \
                                                                                                   \
		if (!lower || direct_is_hidden()) {                                                \
			errno = EOPNOTSUPP;                                                        \
			return NULL;                                                               \
		}                                                                                  \
		if (!tap_enter())                                                                  \
			return lower names;                                                        \
		if (tap_call_begin(&c, VCALL_##row, args))                                         \
			c.ret = (uintptr_t)lower names;                                            \
		return (type)(uintptr_t)direct_call_end(&c);                                       \
	}

#endif
