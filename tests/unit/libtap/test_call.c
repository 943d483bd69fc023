/* SPDX-License-Identifier: MIT */
/* Calls of the control path, as two users see them, above contexts that the test makes up. */
#include "tests/lib/c/cu.h"
#include "tests/lib/c/tap_stub.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the library below --- */

static struct ibv_device device = { .name = "stub0" };
/* Contexts of two providers. The second is older: its table ends early. */
static struct verbs_context one, two;
static struct ibv_pd pd;
static struct ibv_mr mr;
static struct ibv_qp qp;
static int low_errno;
static bool low_ends;

static struct ibv_context *low_open_device(struct ibv_device *dev)
{
	struct verbs_context *v = dev == &device ? &one : &two;

	stub_log("open");
	v->context.device = dev;
	return &v->context;
}

static int low_close_device(struct ibv_context *ctx)
{
	(void)ctx;
	stub_log("close");
	return 0;
}

static struct ibv_pd *low_alloc_pd(struct ibv_context *ctx)
{
	stub_log("alloc_pd");
	pd.context = ctx;
	errno = low_errno;
	return low_errno == ENOMEM ? NULL : &pd;
}

static int low_dealloc_pd(struct ibv_pd *p)
{
	(void)p;
	stub_log("dealloc_pd");
	return low_errno;
}

static struct ibv_mr *low_reg_mr(struct ibv_pd *p, void *addr, size_t len, int access)
{
	(void)addr;
	(void)len;
	(void)access;
	stub_log("reg_mr");
	mr.context = p->context;
	mr.lkey = mr.rkey = 7;
	return &mr;
}

/* Ends the PD and the context, too, as librdmacm does with the last identifier of a device. */
static int low_dereg_mr(struct ibv_mr *m)
{
	stub_log("dereg_mr");
	if (low_ends) {
		ibv_dealloc_pd(&pd);
		ibv_close_device(m->context);
	}
	return 0;
}

/* Calls another function of the API, as librdmacm calls libibverbs. */
static int low_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	(void)attr;
	stub_log("query_device(");
	ibv_alloc_pd(ctx);
	stub_log(")");
	return 0;
}

static int one_post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)q;
	(void)wr;
	(void)bad;
	return 1;
}

static int two_post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)q;
	(void)wr;
	(void)bad;
	return 2;
}

static struct ibv_td *low_alloc_td(struct ibv_context *ctx, struct ibv_td_init_attr *attr)
{
	(void)ctx;
	(void)attr;
	stub_log("alloc_td");
	errno = ENOSPC;
	return NULL;
}

const struct stub_fn stub_fns[] = {
	{ "ibv_open_device", (void *)low_open_device },
	{ "ibv_close_device", (void *)low_close_device },
	{ "ibv_alloc_pd", (void *)low_alloc_pd },
	{ "ibv_dealloc_pd", (void *)low_dealloc_pd },
	{ "ibv_reg_mr", (void *)low_reg_mr },
	{ "ibv_dereg_mr", (void *)low_dereg_mr },
	{ "ibv_query_device", (void *)low_query_device },
	{ NULL, NULL },
};

struct ibv_mr *sym_reg_mr(struct ibv_pd *p, void *addr, size_t len,
			  int access) __asm__("ibv_reg_mr");

static void contexts_make(void)
{
	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	one.sz = sizeof(one);
	one.alloc_td = low_alloc_td;
	one.context.abi_compat = two.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	one.context.ops.post_send = one_post_send;
	two.context.ops.post_send = two_post_send;
	/* Members before this one do not exist. */
	two.sz = sizeof(two) - offsetof(struct verbs_context, ibv_create_flow);
	two.alloc_td = low_alloc_td;
	low_errno = 0;
	low_ends = false;
}

/* Both users are on, and have seen that the first device was opened. */
static struct ibv_context *opened(void)
{
	struct ibv_context *ctx;

	stub_restart(true, true);
	contexts_make();
	ctx = ibv_open_device(&device);
	CU_ASSERT_PTR_EQUAL_FATAL(ctx, &one.context);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> open b.returned a.returned "
					      "a.new b.new b.call< a.call<");
	return ctx;
}

/* --- tests --- */

static void test_order(void)
{
	struct ibv_context *ctx = opened();

	CU_ASSERT_PTR_EQUAL(ibv_alloc_pd(ctx), &pd);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> alloc_pd b.returned a.returned "
					      "a.new b.new b.call< a.call<");
	CU_ASSERT_EQUAL(ibv_dealloc_pd(&pd), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> dealloc_pd b.returned a.returned "
					      "b.call< a.call< a.gone b.gone");
	CU_ASSERT_PTR_NULL(tap_obj_find(VOBJ_PD, &pd));
	CU_ASSERT_EQUAL(ibv_close_device(ctx), 0);
	CU_ASSERT_PTR_NULL(tap_ctx_find(ctx));
}

static void test_failure(void)
{
	struct ibv_context *ctx = opened();

	low_errno = ENOMEM;
	errno = 0;
	CU_ASSERT_PTR_NULL(ibv_alloc_pd(ctx));
	CU_ASSERT_EQUAL(errno, ENOMEM);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> alloc_pd b.returned a.returned "
					      "b.call< a.call<");
	low_errno = 0;
	ibv_alloc_pd(ctx);
	low_errno = EBUSY;
	CU_ASSERT_EQUAL(ibv_dealloc_pd(&pd), EBUSY);
	CU_ASSERT_PTR_NOT_NULL(tap_obj_find(VOBJ_PD, &pd));
	low_errno = 0;
	ibv_dealloc_pd(&pd);
	ibv_close_device(ctx);
}

/* The library's errno reaches the program, also the one before a call that does not set it. */
static void test_errno(void)
{
	struct ibv_context *ctx = opened();

	errno = 99;
	ibv_dealloc_pd(ibv_alloc_pd(ctx));
	CU_ASSERT_EQUAL(errno, 0);
	errno = 99;
	sym_reg_mr(&pd, &pd, sizeof(pd), 0);
	CU_ASSERT_EQUAL(errno, 99);
	ibv_dereg_mr(&mr);
	ibv_close_device(ctx);
}

/* A PD is gone when the library has destroyed it, a context before. */
static void test_inner_end(void)
{
	struct ibv_context *ctx = opened();

	ibv_alloc_pd(ctx);
	sym_reg_mr(&pd, &pd, sizeof(pd), 0);
	stub_logged();
	low_ends = true;
	low_errno = EBUSY;
	ibv_dereg_mr(&mr);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> dereg_mr dealloc_pd a.gone b.gone "
					      "close b.returned a.returned b.call< a.call< a.gone "
					      "b.gone");
	CU_ASSERT_PTR_NOT_NULL(tap_obj_find(VOBJ_PD, &pd));
	CU_ASSERT_PTR_NULL(tap_ctx_find(ctx));
	ctx = opened();
	ibv_alloc_pd(ctx);
	sym_reg_mr(&pd, &pd, sizeof(pd), 0);
	stub_logged();
	low_ends = true;
	ibv_dereg_mr(&mr);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> dereg_mr dealloc_pd a.gone b.gone "
					      "a.gone b.gone close b.returned a.returned b.call< "
					      "a.call< a.gone b.gone");
	CU_ASSERT_PTR_NULL(tap_obj_find(VOBJ_PD, &pd));
}

/* Objects that a program leaves in a context. */
static void test_left_in_context(void)
{
	struct ibv_context *ctx = opened();
	struct tap_obj *left;

	ibv_alloc_pd(ctx);
	left = tap_obj_find(VOBJ_PD, &pd);
	CU_ASSERT_PTR_NOT_NULL_FATAL(left);
	CU_ASSERT_PTR_EQUAL(left->ctx_obj, tap_obj_find(VOBJ_CTX, ctx));
	ibv_close_device(ctx);
	CU_ASSERT_PTR_NULL(left->ctx_obj);
	/* Another one is at its address. */
	ctx = opened();
	ibv_alloc_pd(ctx);
	CU_ASSERT_EQUAL(tap_obj_find(VOBJ_CTX, ctx)->n_objects, 1);
	ibv_dealloc_pd(&pd);
	CU_ASSERT_EQUAL(tap_obj_find(VOBJ_CTX, ctx)->n_objects, 0);
	ibv_close_device(ctx);
}

static void test_answer(void)
{
	struct ibv_context *ctx = opened();

	stub_b.answers = "call";
	stub_b.ret = EDQUOT;
	errno = 0;
	CU_ASSERT_PTR_NULL(ibv_alloc_pd(ctx));
	CU_ASSERT_EQUAL(errno, EDQUOT);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> a.returned a.call<");
	stub_a.answers = "call";
	stub_a.ret = EPERM;
	CU_ASSERT_EQUAL(ibv_query_device(ctx, NULL), EPERM);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call>");
	CU_ASSERT_EQUAL(ibv_close_device(ctx), -1);
	CU_ASSERT_EQUAL(errno, EPERM);
	CU_ASSERT_PTR_NOT_NULL(tap_ctx_find(ctx));
	stub_a.answers = stub_b.answers = NULL;
	ibv_close_device(ctx);
}

/* Each kind of result, with the value by which the call's man page reports an error. */
static void test_error_values(void)
{
	static const struct {
		enum vcall call;
		s64 ret;
		int failed;
	} rows[] = {
		{ VCALL_ibv_alloc_pd, 0, EDQUOT },
		{ VCALL_ibv_dealloc_pd, EDQUOT, EDQUOT },
		{ VCALL_ibv_close_device, -1, EDQUOT },
		{ VCALL_ibv_query_gid_table, -EDQUOT, EDQUOT },
		{ VCALL_ibv_get_pkey_index, -1, EDQUOT },
		{ VCALL_ibv_rereg_mr, IBV_REREG_MR_ERR_CMD, EDQUOT },
		{ VCALL_ibv_query_qp_data_in_order, 0, 0 },
	};
	struct tap_call c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		c = (struct tap_call){ .call = rows[i].call };
		tap_call_fail(&c, EDQUOT);
		CU_ASSERT_EQUAL((s64)c.ret, rows[i].ret);
		CU_ASSERT_EQUAL(c.err, EDQUOT);
		CU_ASSERT_EQUAL(vcall_error(c.call, c.ret, c.err), rows[i].failed);
	}
}

static struct tap_call outer; /* as user "a" has seen it */

static void change_to_failure(struct tap_call *c)
{
	CU_ASSERT_EQUAL(c->ret, (uintptr_t)&pd);
	tap_call_fail(c, EIO);
}

static void see(struct tap_call *c)
{
	outer = *c;
}

static void test_change(void)
{
	struct ibv_context *ctx = opened();
	char line[64];

	stub_b.call_returned = change_to_failure;
	stub_a.call_returned = see;
	CU_ASSERT_PTR_NULL(ibv_alloc_pd(ctx));
	CU_ASSERT_EQUAL(errno, EIO);
	CU_ASSERT_EQUAL(outer.ret, 0);
	CU_ASSERT_EQUAL(outer.err, EIO);
	CU_ASSERT_PTR_NULL(tap_obj_find(VOBJ_PD, &pd));
	snprintf(line, sizeof(line), "ibv_alloc_pd context=ctx%u = NULL EIO",
		 tap_obj_ord(VOBJ_CTX, ctx));
	CU_ASSERT_STRING_EQUAL(tap_thread.text->text, line);
	stub_a.call_returned = stub_b.call_returned = NULL;
	ibv_close_device(ctx);
}

static void test_inner(void)
{
	struct ibv_context *ctx = opened();

	CU_ASSERT_EQUAL(ibv_query_device(ctx, &(struct ibv_device_attr){ .max_qp = 1 }), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> query_device( alloc_pd ) b.returned "
					      "a.returned b.call< a.call<");
	CU_ASSERT_PTR_NULL(tap_obj_find(VOBJ_PD, &pd));
	ibv_close_device(ctx);
}

static void test_objects(void)
{
	struct ibv_context *ctx = opened();
	struct tap_obj *o;
	u32 ord;

	ibv_alloc_pd(ctx);
	CU_ASSERT_PTR_EQUAL(sym_reg_mr(&pd, &pd, sizeof(pd), 0), &mr);
	o = tap_obj_find(VOBJ_MR, &mr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	CU_ASSERT_PTR_EQUAL(o->ctx_obj, tap_obj_find(VOBJ_CTX, ctx));
	CU_ASSERT_PTR_EQUAL(tap_obj_find_mr(o->ctx_obj, 7), o);
	CU_ASSERT_PTR_NULL(tap_obj_find(VOBJ_CQ, &mr));
	ord = o->ord;
	stub_logged();
	/* The same address again, whose end nobody has seen. */
	CU_ASSERT_PTR_EQUAL(sym_reg_mr(&pd, &pd, sizeof(pd), 0), &mr);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> reg_mr b.returned a.returned a.gone "
					      "b.gone a.new b.new b.call< a.call<");
	CU_ASSERT_EQUAL(tap_obj_ord(VOBJ_MR, &mr), ord + 1);
	CU_ASSERT_EQUAL(ibv_dereg_mr(&mr), 0);
	o = tap_obj_find(VOBJ_CTX, ctx);
	CU_ASSERT_PTR_NULL(tap_obj_find_mr(o, 7));
	ibv_dealloc_pd(&pd);
	ibv_close_device(ctx);
}

/* Members that a provider does not have stay as they are; each context keeps its own functions. */
static void test_contexts(void)
{
	static struct ibv_device other = { .name = "other0" };
	struct ibv_context *a = opened(), *b = ibv_open_device(&other);
	struct ibv_td_init_attr attr = { 0 };

	CU_ASSERT_PTR_EQUAL_FATAL(b, &two.context);
	CU_ASSERT_PTR_NULL(a->ops.poll_cq);
	CU_ASSERT_PTR_NULL(one.create_cq_ex);
	CU_ASSERT(one.alloc_td != low_alloc_td);
	CU_ASSERT(two.alloc_td == low_alloc_td);
	CU_ASSERT(a->ops.post_send != one_post_send);
	CU_ASSERT_PTR_EQUAL(a->ops.post_send, b->ops.post_send);
	qp.context = a;
	CU_ASSERT_EQUAL(ibv_post_send(&qp, NULL, NULL), 1);
	qp.context = b;
	CU_ASSERT_EQUAL(ibv_post_send(&qp, NULL, NULL), 2);
	stub_logged();
	CU_ASSERT_PTR_NULL(ibv_alloc_td(a, &attr));
	CU_ASSERT_EQUAL(errno, ENOSPC);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.call> b.call> alloc_td b.returned a.returned "
					      "b.call< a.call<");
	ibv_close_device(a);
	ibv_close_device(b);
}

static void test_fork(void)
{
	struct ibv_context *ctx = opened();
	int status;
	pid_t child = fork();

	if (!child) {
		/* The parent's objects have no ordinals; "a" starts anew, "b" is off. */
		bool ok = !tap_obj_ord(VOBJ_CTX, ctx);

		stub_b.on = false;
		ok = ibv_alloc_pd(ctx) == &pd && ok;
		ok = tap_obj_ord(VOBJ_PD, &pd) == 1 && ok;
		ok = !strcmp(stub_logged(), "a.call> alloc_pd a.returned a.new a.call<") && ok;
		_exit(!ok);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFEXITED(status) && !WEXITSTATUS(status));
	ibv_close_device(ctx);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "the outermost user is the first before a call, and the last after it",
		  test_order },
		{ "a call that fails makes and destroys nothing", test_failure },
		{ "errno is the library's", test_errno },
		{ "a user answers a call, and only those further out see it", test_answer },
		{ "a failed call reports its error as its man page says", test_error_values },
		{ "a user changes a result before objects are registered", test_change },
		{ "a call within a call is carried out unseen", test_inner },
		{ "a PD and a context that a library ends within a call are forgotten",
		  test_inner_end },
		{ "objects are found by address and number until they are gone", test_objects },
		{ "objects that are left in a context have none when it is closed",
		  test_left_in_context },
		{ "two providers keep their functions, and members that are not there",
		  test_contexts },
		{ "a child of fork() starts anew", test_fork },
		{ NULL, NULL },
	};

	return cu_run("tap, calls", tests);
}
