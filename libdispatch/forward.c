/* SPDX-License-Identifier: MIT */
/*
 * The exported functions of libibverbs: each call goes to the library whose device it is about.
 * Most of the data path does not come here, since verbs.h calls it through the context, which
 * belongs to one library. librdmacm does come here, with contexts of the real one.
 *
 * All functions take at most six integers or pointers and return one. The supported machines pass
 * these in the same way whatever their types, so that one signature forwards them all.
 */
#include "libdispatch/cm_side.h"
#include "libdispatch/emulated.h"
#include "libdispatch/functions.h"
#include "libshim/interpose/export.h"

#include <stddef.h>

/* Any function of libibverbs. */
typedef u64 (*side_fn)(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);

#define CONTEXT_FIRST(type)                                                                        \
	_Static_assert(offsetof(struct type, context) == 0, "objects begin with their context")
CONTEXT_FIRST(ibv_pd);
CONTEXT_FIRST(ibv_mr);
CONTEXT_FIRST(ibv_dm);
CONTEXT_FIRST(ibv_comp_channel);
CONTEXT_FIRST(ibv_cq);
CONTEXT_FIRST(ibv_srq);
CONTEXT_FIRST(ibv_qp);
CONTEXT_FIRST(ibv_ah);
_Static_assert(offsetof(struct ibv_context, device) == 0, "a context begins with its device");

#define FAIL_NULL     0
#define FAIL_MINUS1   ((u64)-1)
#define FAIL_ERRNO    ENOSYS
#define FAIL_NEGATIVE ((u64)-ENOSYS)

/* A program's NULL is the real library's to refuse, or to stumble over. */
static bool is_of_device(u64 device)
{
	return is_emulated_device((const struct ibv_device *)(uintptr_t)device);
}

static bool is_of_context(u64 context)
{
	const struct ibv_context *ctx = (const struct ibv_context *)(uintptr_t)context;

	return ctx && is_emulated_device(ctx->device);
}

static bool is_of_object(u64 object)
{
	return object && is_of_context(*(const uintptr_t *)(uintptr_t)object);
}

static bool is_of_nobody(u64 first)
{
	(void)first;
	return false;
}

/* The emulator's rdma_cm calls verbs by name, also before its device is known here. */
static bool is_within_emulated(void)
{
	return cm_side_within() == SIDE_EMULATED;
}

static side_fn function_find(void *slot[2], bool emulated, const char *name)
{
	void *fn;

	fn = emulated ? emulated_symbol(&slot[1], name) : real_symbol_next(&slot[0], name);
	if (!fn)
		errno = ENOSYS;
	return (side_fn)fn;
}

#define FORWARD(name, is_emulated, failure)                                                        \
	SHIM_EXPORT u64 fwd_##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) __asm__(#name);       \
	u64 fwd_##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)                                   \
	{                                                                                          \
		static void *slot[2];                                                              \
		side_fn fn = function_find(slot, is_within_emulated() || is_emulated(a), #name);   \
                                                                                                   \
		return fn ? fn(a, b, c, d, e, f) : (failure);                                      \
	}
#define FORWARD_BY_DEVICE(name, failure)  FORWARD(name, is_of_device, failure)
#define FORWARD_BY_CONTEXT(name, failure) FORWARD(name, is_of_context, failure)
#define FORWARD_BY_OBJECT(name, failure)  FORWARD(name, is_of_object, failure)
#define FORWARD_OTHER(name, failure)	  FORWARD(name, is_of_nobody, failure)

DEVICE_FUNCTIONS(FORWARD_BY_DEVICE)
CONTEXT_FUNCTIONS(FORWARD_BY_CONTEXT)
OBJECT_FUNCTIONS(FORWARD_BY_OBJECT)
OTHER_FUNCTIONS(FORWARD_OTHER)

/* --- by what else --- */

SHIM_EXPORT u64 fwd_import_device(u64 cmd_fd) __asm__("ibv_import_device");
SHIM_EXPORT u64 fwd_fork_init(void) __asm__("ibv_fork_init");
SHIM_EXPORT void fwd_ack_async_event(struct ibv_async_event *event) __asm__("ibv_ack_async_event");
SHIM_EXPORT void *fwd_alloc_buf(struct ibv_pd *pd, size_t size,
				void **buf) __asm__("ibv_alloc_buf");

/* The emulator knows descriptors of its contexts, and refuses others without harm. */
u64 fwd_import_device(u64 cmd_fd)
{
	static void *slot[2];
	side_fn real, emulated = (side_fn)emulated_symbol(&slot[1], "ibv_import_device");
	u64 context = emulated ? emulated(cmd_fd, 0, 0, 0, 0, 0) : 0;

	if (context) {
		struct ibv_context *ctx = (struct ibv_context *)(uintptr_t)context;
		struct ibv_device *const one[] = { ctx->device, NULL };

		emulated_devices_add(one);
		return context;
	}
	real = function_find(slot, false, "ibv_import_device");
	return real ? real(cmd_fd, 0, 0, 0, 0, 0) : 0;
}

/* The emulator has nothing to prepare. */
u64 fwd_fork_init(void)
{
	static void *slot[2];
	side_fn real = function_find(slot, false, "ibv_fork_init");

	return real ? real(0, 0, 0, 0, 0, 0) : ENOSYS;
}

/* The object that an event is about begins with its context. Return: NULL: it is a port, or none */
static const void *event_object(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return event->element.cq;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return event->element.srq;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return event->element.qp;
	case IBV_EVENT_WQ_FATAL:
		return event->element.wq;
	default:
		return NULL;
	}
}

/* Events of ports and devices need no acknowledgement in either library. */
void fwd_ack_async_event(struct ibv_async_event *event)
{
	static void *slot[2];
	bool emulated = is_of_object((uintptr_t)event_object(event));
	side_fn fn = function_find(slot, emulated, "ibv_ack_async_event");

	if (fn)
		fn((uintptr_t)event, 0, 0, 0, 0, 0);
}

/* ibv_free_buf() could not tell whose buffer it gets, so the emulator allocates none. */
void *fwd_alloc_buf(struct ibv_pd *pd, size_t size, void **buf)
{
	static void *slot[2];
	side_fn real;

	if (is_of_object((uintptr_t)pd)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	real = function_find(slot, false, "ibv_alloc_buf");
	return real ? (void *)(uintptr_t)real((uintptr_t)pd, size, (uintptr_t)buf, 0, 0, 0) : NULL;
}
