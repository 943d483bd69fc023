/* SPDX-License-Identifier: MIT */
/** DOC: wrappers generated from rows of VCALLS(): same parameters and result, the call recorded. */
#ifndef TRACES_RECORD_WRAP_H
#define TRACES_RECORD_WRAP_H

#include "traces/record/call.h"
#include "traces/record/ops.h"
#include "traces/record/start.h"

/* (type name, type name), (name, name), { value, value } of a row's arguments. */
#define REC_COMMA_0
#define REC_COMMA_1		  ,
#define REC_COMMA_2		  ,
#define REC_COMMA_3		  ,
#define REC_COMMA_4		  ,
#define REC_COMMA_5		  ,
#define REC_PARAM(i, kind, label) REC_COMMA_##i VA_##kind label
#define REC_NAME(i, kind, label)  REC_COMMA_##i label
#define REC_VALUE(i, kind, label) (u64)(uintptr_t)(label),
#define REC_PARAMS(...)		  VCALL_MAP(REC_PARAM, ##__VA_ARGS__)
#define REC_NAMES(...)		  VCALL_MAP(REC_NAME, ##__VA_ARGS__)
#define REC_VALUES(...)		  VCALL_MAP(REC_VALUE, ##__VA_ARGS__)

/* Results: VOID or VALUE. */
#define REC_PROBE_void		 ~, VOID
#define REC_SECOND(a, b, ...)	 b
#define REC_PICK(...)		 REC_SECOND(__VA_ARGS__)
#define REC_KIND(ret)		 REC_PICK(REC_PROBE_##ret, VALUE, ~)
#define REC_JOIN_(a, b)		 a##b
#define REC_JOIN(a, b)		 REC_JOIN_(a, b)
#define REC_KEEP_VOID(to, call)	 call
#define REC_KEEP_VALUE(to, call) to = (u64)(uintptr_t)(call)
#define REC_GIVE_VOID(type, v)	 return
#define REC_GIVE_VALUE(type, v)	 return (type)(v)
#define REC_PASS_VOID(call)                                                                        \
	do {                                                                                       \
		call;                                                                              \
		return;                                                                            \
	} while (0)
#define REC_PASS_VALUE(call) return call
/*
 * REC_BODY() - carry the call out by @lower and record it.
 */
#define REC_BODY(name, ret, lower, ...)                                                            \
	u64 argv_[VCALL_ARGS] = { REC_VALUES(__VA_ARGS__) 0 };                                     \
	struct rec_call c;                                                                         \
	u64 result = 0;                                                                            \
                                                                                                   \
	if (!rec_enter())                                                                          \
		REC_JOIN(REC_PASS_, REC_KIND(ret))(lower(REC_NAMES(__VA_ARGS__)));                 \
	rec_call_begin(&c, VCALL_##name, argv_);                                                   \
	REC_JOIN(REC_KEEP_, REC_KIND(ret))(result, lower(REC_NAMES(__VA_ARGS__)));                 \
	rec_call_end(&c, result);                                                                  \
	rec_objects_attach(&c, result);                                                            \
	rec_leave();                                                                               \
	REC_JOIN(REC_GIVE_, REC_KIND(ret))(VR_##ret, result);

#endif
