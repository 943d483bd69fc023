/* SPDX-License-Identifier: MIT */
/** DOC: wrappers generated from rows of VCALLS(): same parameters and result, shown to users. */
#ifndef LIBTAP_WRAP_H
#define LIBTAP_WRAP_H

#include "libtap/call.h"
#include "libtap/ops.h"

/* (type name, type name), (name, name), { value, value } of a row's arguments. */
#define TAP_COMMA_0
#define TAP_COMMA_1		  ,
#define TAP_COMMA_2		  ,
#define TAP_COMMA_3		  ,
#define TAP_COMMA_4		  ,
#define TAP_COMMA_5		  ,
#define TAP_PARAM(i, kind, label) TAP_COMMA_##i VA_##kind label
#define TAP_NAME(i, kind, label)  TAP_COMMA_##i label
#define TAP_VALUE(i, kind, label) (u64)(uintptr_t)(label),
#define TAP_PARAMS(...)		  VCALL_MAP(TAP_PARAM, ##__VA_ARGS__)
#define TAP_NAMES(...)		  VCALL_MAP(TAP_NAME, ##__VA_ARGS__)
#define TAP_VALUES(...)		  VCALL_MAP(TAP_VALUE, ##__VA_ARGS__)

/* Results: VOID or VALUE. */
#define TAP_PROBE_void		 ~, VOID
#define TAP_SECOND(a, b, ...)	 b
#define TAP_PICK(...)		 TAP_SECOND(__VA_ARGS__)
#define TAP_KIND(ret)		 TAP_PICK(TAP_PROBE_##ret, VALUE, ~)
#define TAP_JOIN_(a, b)		 a##b
#define TAP_JOIN(a, b)		 TAP_JOIN_(a, b)
#define TAP_KEEP_VOID(to, call)	 call
#define TAP_KEEP_VALUE(to, call) to = (u64)(uintptr_t)(call)
#define TAP_GIVE_VOID(type, v)	 return
#define TAP_GIVE_VALUE(type, v)	 return (type)(v)
#define TAP_PASS_VOID(call)                                                                        \
	do {                                                                                       \
		call;                                                                              \
		return;                                                                            \
	} while (0)
#define TAP_PASS_VALUE(call) return call
/*
 * TAP_BODY() - carry the call out by @lower, and show it to the users.
 */
#define TAP_BODY(name, kind, lower, ...)                                                           \
	u64 argv_[VCALL_ARGS] = { TAP_VALUES(__VA_ARGS__) 0 };                                     \
	struct tap_call c;                                                                         \
                                                                                                   \
	if (!tap_enter())                                                                          \
		TAP_JOIN(TAP_PASS_, TAP_KIND(kind))(lower(TAP_NAMES(__VA_ARGS__)));                \
	if (tap_call_begin(&c, VCALL_##name, argv_))                                               \
		TAP_JOIN(TAP_KEEP_, TAP_KIND(kind))(c.ret, lower(TAP_NAMES(__VA_ARGS__)));         \
	tap_call_end(&c);                                                                          \
	tap_objects_attach(&c);                                                                    \
	tap_leave();                                                                               \
	TAP_JOIN(TAP_GIVE_, TAP_KIND(kind))(VR_##kind, c.ret);

/*
 * TAP_BODY_END() - the same, for a call by which librdmacm ends an object that the program knows,
 * its only argument. The result is 0 if the object is gone.
 */
#define TAP_BODY_END(name, kind, lower, arg)                                                       \
	if (tap_thread.depth) {                                                                    \
		u32 ord_ = tap_end_begin(VCALL_##name, TAP_NAMES(arg));                            \
		int ret_ = lower(TAP_NAMES(arg));                                                  \
                                                                                                   \
		if (!ret_)                                                                         \
			tap_end(VCALL_##name, TAP_NAMES(arg), ord_);                               \
		return ret_;                                                                       \
	}                                                                                          \
	TAP_BODY(name, kind, lower, arg)

#endif
