/* SPDX-License-Identifier: MIT */
/* Another process's memory file: what of it is mapped, and what is believed of its table. */
#include "fabric/proto/lent_map.h"
#include "tests/lib/c/cu.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE   4096u
#define CLIENT 7u

static struct seg_lent_table table;
static struct lent_map map;
static u64 asked; /* bytes, by the latest call */
static u32 calls;

static void *more_pages(void *ctx, u32 client, u64 size)
{
	void *at = MAP_FAILED;

	CU_ASSERT(ctx == &table && client == CLIENT);
	calls++;
	asked = size;
	if (size <= 2 * SEG_FIRST)
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static u8 *find(u64 addr, u64 *len)
{
	return lent_map_at(&map, &table, addr, len, more_pages, &table, CLIENT);
}

static void table_set(u32 n, const struct seg_lent *range)
{
	lent_map_drop(&map);
	memset(&table, 0, sizeof(table));
	memcpy(table.range, range, n * sizeof(*range));
	table.n = n;
	calls = 0;
}

static void test_ranges(void)
{
	static const struct seg_lent two[] = { { 10 * PAGE, 2 * PAGE, PAGE },
					       { 14 * PAGE, PAGE, 0 } };
	u64 len = 100;
	u8 *base;

	table_set(2, two);
	CU_ASSERT_PTR_NULL(find(10 * PAGE - 1, &len));
	CU_ASSERT_EQUAL(len, 1);
	len = 3 * PAGE;
	base = find(10 * PAGE, &len) - PAGE;
	CU_ASSERT(base == map.map.base && len == 2 * PAGE && calls == 1 && asked == SEG_FIRST);
	len = 2;
	CU_ASSERT_PTR_EQUAL(find(12 * PAGE - 1, &len), base + 3 * PAGE - 1);
	CU_ASSERT_EQUAL(len, 1);
	len = 10 * PAGE;
	CU_ASSERT_PTR_NULL(find(12 * PAGE, &len));
	CU_ASSERT_EQUAL(len, 2 * PAGE);
	len = 8;
	CU_ASSERT_PTR_EQUAL(find(15 * PAGE - 8, &len), base + PAGE - 8);
	CU_ASSERT_PTR_NULL(find(15 * PAGE, &len));
	CU_ASSERT_EQUAL(len, 8);
	CU_ASSERT_EQUAL(calls, 1);
}

static void test_growth(void)
{
	const struct seg_lent far[] = { { PAGE, 3 * SEG_FIRST, 0 } };
	u64 len = 8;
	u8 *first;

	table_set(1, far);
	first = find(PAGE, &len);
	CU_ASSERT(first && calls == 1);
	CU_ASSERT_PTR_NOT_NULL(find(PAGE + SEG_FIRST, &len));
	CU_ASSERT(calls == 2 && asked == 2 * SEG_FIRST);
	*first = 1; /* it stays mapped */
	CU_ASSERT_PTR_NULL(find(PAGE + 2 * SEG_FIRST, &len));
	CU_ASSERT(calls == 3 && asked == 4 * SEG_FIRST);
	CU_ASSERT_PTR_NULL(find(PAGE + 2 * SEG_FIRST, &len));
	CU_ASSERT_EQUAL(calls, 3);
	CU_ASSERT_PTR_NOT_NULL(find(PAGE + SEG_FIRST, &len));
}

/* Whatever the table says, nothing outside of the mapping is found. */
static void test_hostile_table(void)
{
	static const u64 odd[] = {
		0, 1, PAGE, SEG_FIRST, 2 * SEG_FIRST - 1, SEG_SIZE, UINT64_MAX - PAGE, UINT64_MAX
	};
	struct seg_lent r;
	u32 i, n = ARRAY_SIZE(odd);
	u64 len;
	u8 *at;

	for (i = 0; i < n * n * n * n; i++) {
		r = (struct seg_lent){ odd[i % n], odd[i / n % n], odd[i / n / n % n] };
		table_set(1, &r);
		table.n = i % 5 ? 1 : UINT32_MAX;
		len = odd[i / n / n / n];
		at = find(r.addr + 8, &len);
		if (at)
			CU_ASSERT(at >= (u8 *)map.map.base &&
				  len <= map.map.mapped - (u64)(at - (u8 *)map.map.base));
	}
}

static int memory_file(u64 len, int seals)
{
	int fd = memfd_create("lent", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)len) || fcntl(fd, F_ADD_SEALS, seals))
		abort();
	return fd;
}

static int check_and_close(int fd)
{
	int ret = lent_file_check(fd);

	close(fd);
	return ret;
}

static void test_files(void)
{
	char path[] = "/tmp/lentXXXXXX";
	int huge = memfd_create("lent", MFD_ALLOW_SEALING | MFD_HUGETLB);

	CU_ASSERT_EQUAL(check_and_close(memory_file(PAGE, F_SEAL_SHRINK)), 0);
	CU_ASSERT_EQUAL(check_and_close(memory_file(PAGE, F_SEAL_SHRINK | F_SEAL_SEAL)), 0);
	CU_ASSERT_EQUAL(check_and_close(memory_file(PAGE, F_SEAL_GROW)), -EINVAL);
	CU_ASSERT_EQUAL(check_and_close(memory_file(PAGE, F_SEAL_SHRINK | F_SEAL_WRITE)), -EINVAL);
	CU_ASSERT_EQUAL(check_and_close(mkstemp(path)), -EINVAL);
	unlink(path);
	CU_ASSERT_EQUAL(check_and_close(eventfd(0, 0)), -EINVAL);
	CU_ASSERT_EQUAL(lent_file_check(-1), -EINVAL);
	if (huge < 0)
		return;
	if (!fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK))
		CU_ASSERT_EQUAL(lent_file_check(huge), -EINVAL);
	close(huge);
}

static const struct cu_test tests[] = {
	{ "addresses in ranges, between them, and across their ends", test_ranges },
	{ "more of the file is mapped as it is used", test_growth },
	{ "a hostile table leads nowhere", test_hostile_table },
	{ "a file must be in memory, and sealed", test_files },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("lent memory of others", tests);
}
