/* SPDX-License-Identifier: MIT */
/* The mask of devices: what a program sees of a list, and what the library below gets back. */
#include "tests/lib/c/cu.h"
#include "libshim/interpose/interpose.h"
#include "libtap/process.h"

#include <stdlib.h>

/* --- the library below --- */

static struct ibv_device devices[3] = { { .name = "a0" }, { .name = "b0" }, { .name = "b01" } };
static struct ibv_context contexts[3];
static int freed; /* devices of the list that was freed last */

static struct ibv_device **low_get_device_list(int *n)
{
	struct ibv_device **list = calloc(4, sizeof(list[0]));
	int i;

	for (i = 0; list && i < 3; i++)
		list[i] = &devices[i];
	*n = 3;
	return list;
}

static void low_free_device_list(struct ibv_device **list)
{
	for (freed = 0; list[freed]; freed++)
		CU_ASSERT_PTR_EQUAL(list[freed], &devices[freed]);
	free(list);
}

static struct ibv_context **low_get_contexts(int *n)
{
	static struct ibv_context *list[4];
	int i;

	for (i = 0; i < 3; i++) {
		contexts[i].device = &devices[i];
		list[i] = &contexts[i];
	}
	*n = 3;
	return list;
}

void *next_symbol_resolve(void **slot, const char *name)
{
	if (!strcmp(name, "ibv_get_device_list"))
		return *slot = (void *)low_get_device_list;
	if (!strcmp(name, "ibv_free_device_list"))
		return *slot = (void *)low_free_device_list;
	return !strcmp(name, "rdma_get_devices") ? *slot = (void *)low_get_contexts : NULL;
}

void *real_symbol(void **slot, enum real_lib lib, const char *name)
{
	(void)slot;
	(void)lib;
	(void)name;
	return NULL;
}

/* --- tests --- */

/* The next call is the first of a process with this setting. */
static void restart(const char *value)
{
	tap.state = 0;
	tap.live = TAP_NOT_LIVE;
	tap.n = 0;
	setenv("RDMAEMU_REAL", value, 1);
}

/* Whether the program sees @n devices, the first of which is @first. */
static bool sees(const char *value, int n, const struct ibv_device *first)
{
	struct ibv_device **list;
	bool ok;
	int got;

	restart(value);
	list = ibv_get_device_list(&got);
	ok = got == n && list[0] == first && !list[n];
	freed = 0;
	ibv_free_device_list(list);
	return ok && freed == 3;
}

static void test_names(void)
{
	CU_ASSERT(sees("a0", 1, &devices[0]));
	CU_ASSERT(sees("b0", 1, &devices[1]));
	CU_ASSERT(sees("b01,a0", 2, &devices[0]));
	CU_ASSERT(sees(",b0,,", 1, &devices[1]));
	CU_ASSERT(sees("b", 0, NULL));
	CU_ASSERT(sees("none", 0, NULL));
}

static void test_settings(void)
{
	CU_ASSERT(sees("", 3, &devices[0]));
	CU_ASSERT(sees("yes", 3, &devices[0]));
	CU_ASSERT(sees("auto", 3, &devices[0]));
}

/* Lists that are open at the same time, of a program that wants no count. */
static void test_lists(void)
{
	struct ibv_device **first, **second;

	restart("b0");
	first = ibv_get_device_list(NULL);
	second = ibv_get_device_list(NULL);
	CU_ASSERT(first[0] == &devices[1] && !first[1]);
	ibv_free_device_list(first);
	CU_ASSERT_EQUAL(freed, 3);
	CU_ASSERT(second[0] == &devices[1] && !second[1]);
	ibv_free_device_list(second);
	CU_ASSERT_EQUAL(freed, 3);
}

static void test_contexts(void)
{
	struct ibv_context **list;
	int n;

	restart("b01");
	list = rdma_get_devices(&n);
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT(list[0] == &contexts[2] && !list[1]);
}

/* The mask alone watches no objects: calls pass. */
static void test_alone(void)
{
	CU_ASSERT_EQUAL(tap.state, TAP_OFF);
	CU_ASSERT_EQUAL(tap.n, 1);
	CU_ASSERT(!tap_enter());
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "the program sees the devices that are named, the library frees all",
		  test_names },
		{ "other settings of the variable hide nothing", test_settings },
		{ "several lists", test_lists },
		{ "contexts of librdmacm", test_contexts },
		{ "no other call is watched", test_alone },
		{ NULL, NULL },
	};

	return cu_run("tap, device mask", tests);
}
