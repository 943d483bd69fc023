/* SPDX-License-Identifier: MIT */
/* The objects of a program on real devices in a status. The program writes them. */
#include "fabric/common/json.h"
#include "fabric/core/fabric.h"
#include "fabric/proto/real_objects.h"
#include "fabric/server/status.h"
#include "tests/lib/c/cu.h"

#include <string.h>
#include <sys/mman.h>

static _Alignas(4096) u8 segment[REAL_OBJECTS_OFF + sizeof(struct real_objects)];
static struct real_objects *const objects = (void *)(segment + REAL_OBJECTS_OFF);
static struct hca *hca; /* only its first client; too large for a variable */
static struct client client;
static struct fabric fabric;

/* A program on real devices, with nothing. */
static void set_up(void)
{
	memset(segment, 0, sizeof(segment));
	client = (struct client){ .seg = (struct seg_hdr *)segment };
	fabric = (struct fabric){ .real = true, .hca = hca, .clients.list = &client };
}

/* Return: the program's object as text, until the next call */
static const char *client_text(struct json_object **o)
{
	*o = json_object_new_object();
	status_real_add(*o, status_real_objects(&fabric, &client));
	return json_text(*o, JSON_C_TO_STRING_PLAIN);
}

static void test_a_program_on_emulated_devices_has_none(void)
{
	set_up();
	CU_ASSERT_PTR_EQUAL(status_real_objects(&fabric, &client), objects);
	fabric.real = false;
	CU_ASSERT_PTR_NULL(status_real_objects(&fabric, &client));
}

static void test_devices_in_use_are_named(void)
{
	char place[STATUS_PLACE];
	struct json_object *o;

	set_up();
	strcpy(objects->device[0].name, "mlx5_0");
	strcpy(objects->device[1].name, "closed");
	strcpy(objects->device[2].name, "mlx5_1");
	objects->device[0].contexts = objects->device[2].contexts = 1;
	CU_ASSERT_PTR_NOT_NULL(strstr(client_text(&o), "\"devices\":[\"mlx5_0\",\"mlx5_1\"]"));
	status_place(o, place, sizeof(place));
	CU_ASSERT_STRING_EQUAL(place, "real devices mlx5_0, mlx5_1");
	json_object_put(o);
}

static void test_a_name_without_an_end_is_printable(void)
{
	char place[STATUS_PLACE];
	struct json_object *o;
	u32 i;

	set_up();
	for (i = 0; i < REAL_DEVICES; i++) {
		memset(objects->device[i].name, '\033', REAL_DEVICE_NAME);
		objects->device[i].contexts = 1;
	}
	CU_ASSERT_PTR_NULL(strpbrk(client_text(&o), "\033\\"));
	status_place(o, place, sizeof(place));
	CU_ASSERT_EQUAL(strlen(place), sizeof(place) - 1);
	json_object_put(o);
}

static void test_queue_pairs_of_nonsense_are_shown(void)
{
	struct json_object *all = json_object_new_array(), *qp;

	set_up();
	memset(objects, 0xff, sizeof(*objects));
	status_real_qps(all, &fabric);
	CU_ASSERT_EQUAL_FATAL(json_length(all), REAL_QPS);
	qp = json_object_array_get_idx(all, 0);
	CU_ASSERT_STRING_EQUAL(json_get_str(qp, "device"), "?");
	CU_ASSERT_STRING_EQUAL(json_get_str(qp, "type"), "?");
	CU_ASSERT_STRING_EQUAL(json_get_str(qp, "state"), "?");
	json_object_put(all);
}

static const struct cu_test tests[] = {
	{ "a program on emulated devices has none", test_a_program_on_emulated_devices_has_none },
	{ "devices in use are named", test_devices_in_use_are_named },
	{ "a name without an end is printable", test_a_name_without_an_end_is_printable },
	{ "queue pairs of nonsense are shown", test_queue_pairs_of_nonsense_are_shown },
	{ NULL, NULL },
};

int main(void)
{
	hca = mmap(NULL, sizeof(*hca), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		   0);
	if (hca == MAP_FAILED)
		return 1;
	return cu_run("status_real", tests);
}
