/* SPDX-License-Identifier: MIT */
/* Reading programs, broken and hostile ones included, and the order of preloads. */
#include "fabric/proto/program.h"
#include "tests/lib/c/cu.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A small program as a linker might write it. */
struct image {
	ElfW(Ehdr) e;
	ElfW(Phdr) load;
	ElfW(Phdr) interp;
	ElfW(Phdr) dynamic;
	ElfW(Dyn) dyn[5];
	char loader[32];
	char strings[64];
};

#define BASE	     0x400000u
#define ADDR(member) (BASE + offsetof(struct image, member))

static int file; /* in memory, and its path */
static char path[64];

static ElfW(Phdr) phdr_of(u32 type, u64 offset, u64 size)
{
	return (ElfW(Phdr)){ .p_type = type,
			     .p_offset = offset,
			     .p_vaddr = BASE + offset,
			     .p_filesz = size,
			     .p_memsz = size };
}

/* It needs libx.so.1 and libasan.so.8. */
static struct image image_good(void)
{
	struct program_file own;
	struct image m = {
		.e = { .e_ident = ELFMAG,
		       .e_type = ET_DYN,
		       .e_phoff = offsetof(struct image, load),
		       .e_phentsize = sizeof(ElfW(Phdr)),
		       .e_phnum = 3 },
		.load = phdr_of(PT_LOAD, 0, sizeof(struct image)),
		.interp = phdr_of(PT_INTERP, offsetof(struct image, loader), 32),
		.dynamic = phdr_of(PT_DYNAMIC, offsetof(struct image, dyn), sizeof(m.dyn)),
		.dyn = { { .d_tag = DT_NEEDED, .d_un.d_val = 1 },
			 { .d_tag = DT_NEEDED, .d_un.d_val = 11 },
			 { .d_tag = DT_STRTAB, .d_un.d_ptr = ADDR(strings) },
			 { .d_tag = DT_STRSZ, .d_un.d_val = 64 } },
		.loader = "/lib/ld-test.so.2",
		.strings = "\0libx.so.1\0libasan.so.8",
	};

	/* The machine of this very program. */
	CU_ASSERT_EQUAL_FATAL(program_read("/proc/self/exe", &own), 0);
	m.e.e_machine = (u16)own.machine;
	m.e.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	m.e.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	return m;
}

static void file_write(const void *data, size_t size)
{
	CU_ASSERT_EQUAL(ftruncate(file, 0), 0);
	CU_ASSERT_EQUAL(pwrite(file, data, size, 0), (ssize_t)size);
}

static int image_read(const struct image *m, struct program_file *p)
{
	file_write(m, sizeof(*m));
	return program_read(path, p);
}

static void test_good(void)
{
	struct image m = image_good();
	struct program_file p;

	CU_ASSERT_EQUAL(image_read(&m, &p), 0);
	CU_ASSERT_EQUAL(p.abi, PROGRAM_ABI_OURS);
	CU_ASSERT_STRING_EQUAL(p.loader, "/lib/ld-test.so.2");
	CU_ASSERT_STRING_EQUAL(p.sanitizer, "libasan.so.8");
	CU_ASSERT_FALSE(p.is_library);
	m.interp.p_type = PT_NULL;
	m.dyn[0].d_tag = DT_SONAME;
	m.dyn[1].d_tag = DT_DEBUG;
	CU_ASSERT_EQUAL(image_read(&m, &p), 0);
	CU_ASSERT_STRING_EQUAL(p.loader, "");
	CU_ASSERT_STRING_EQUAL(p.sanitizer, "");
	CU_ASSERT(p.is_library);
}

static void test_other_machines(void)
{
	struct image m = image_good();
	struct program_file p;

	m.e.e_machine ^= 0x40;
	CU_ASSERT_EQUAL(image_read(&m, &p), 0);
	CU_ASSERT_EQUAL(p.abi, PROGRAM_ABI_MACHINE);
	m = image_good();
	m.e.e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
	CU_ASSERT_EQUAL(image_read(&m, &p), 0);
	CU_ASSERT_EQUAL(p.abi, PROGRAM_ABI_WORD_SIZE);
	m = image_good();
	m.e.e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	CU_ASSERT_EQUAL(image_read(&m, &p), 0);
	CU_ASSERT_EQUAL(p.abi, PROGRAM_ABI_MACHINE);
}

static void test_broken(void)
{
	const struct image good = image_good();
	struct program_file p;
	struct image m;

#define BREAK(what, want)                                                                          \
	do {                                                                                       \
		m = good;                                                                          \
		what;                                                                              \
		CU_ASSERT_EQUAL(image_read(&m, &p), want);                                         \
		CU_ASSERT_STRING_EQUAL(p.sanitizer, "");                                           \
	} while (0)

	BREAK(m.e.e_phentsize = 1, -EBADMSG);
	BREAK(m.e.e_phnum = 65535, -EBADMSG);
	BREAK(m.e.e_phoff = ~0ULL - 60, -EBADMSG);
	BREAK(m.e.e_phoff = sizeof(m), -EBADMSG);
	BREAK(m.interp.p_offset = ~0ULL, -EBADMSG);
	BREAK(m.interp.p_offset = sizeof(m), -EBADMSG);
	BREAK(m.e.e_type = ET_CORE, -ENOEXEC);
	BREAK(m.dyn[2].d_un.d_ptr = 4, -EBADMSG);
	BREAK(m.load.p_offset = ~0ULL - 8, -EBADMSG);
	BREAK(m.dyn[1].d_un.d_val = ~0ULL, 0);
	BREAK(m.dyn[1].d_un.d_val = 1000000, 0);
	BREAK(m.dynamic.p_offset = ~0ULL, 0);
	BREAK(m.dynamic.p_filesz = 8, 0);
	BREAK(memset(m.strings, 'a', sizeof(m.strings)), 0);
	/* A dynamic section without an end. */
	m = good;
	m.dynamic.p_filesz = ~0ULL;
	m.dyn[4].d_tag = DT_DEBUG;
	CU_ASSERT_EQUAL(image_read(&m, &p), 0);
	/* Each length of a file that was cut off. */
	for (size_t n = 0; n < sizeof(m); n++) {
		file_write(&good, n);
		CU_ASSERT_NOT_EQUAL(program_read(path, &p), -EFAULT);
	}
}

/* Random damage: the sanitizers of `make check-san` look on. */
static void test_damaged(void)
{
	struct program_file p;
	u32 seed = 7, turn, i;

	for (turn = 0; turn < 3000; turn++) {
		struct image m = image_good();

		for (i = 0; i < 3; i++) {
			seed = seed * 1664525 + 1013904223;
			((u8 *)&m)[16 + (seed >> 8) % (sizeof(m) - 16)] = (u8)(seed >> 24);
		}
		CU_ASSERT(image_read(&m, &p) <= 0);
		CU_ASSERT(strnlen(p.loader, sizeof(p.loader)) < sizeof(p.loader));
		CU_ASSERT(strnlen(p.sanitizer, sizeof(p.sanitizer)) < sizeof(p.sanitizer));
	}
}

static void script_write(const char *line)
{
	file_write(line, strlen(line));
}

static void test_scripts(void)
{
	struct program_file p;
	char line[600];

	script_write("#! /proc/self/exe -x\nbody");
	CU_ASSERT_EQUAL(program_read(path, &p), 0);
	CU_ASSERT_STRING_EQUAL(p.script, "/proc/self/exe");
	CU_ASSERT(p.loader[0]);
	snprintf(line, sizeof(line), "#!%s\n", path);
	script_write(line);
	CU_ASSERT_EQUAL(program_read(path, &p), -ELOOP);
	script_write("#!/no/such/interpreter");
	CU_ASSERT_EQUAL(program_read(path, &p), -ENOENT);
	memset(line, 'x', sizeof(line));
	line[0] = '#';
	line[1] = '!';
	file_write(line, sizeof(line));
	CU_ASSERT(program_read(path, &p) < 0);
	script_write("#!\n");
	CU_ASSERT_EQUAL(program_read(path, &p), -ENOEXEC);
	script_write("echo no interpreter\n");
	CU_ASSERT_EQUAL(program_read(path, &p), -ENOEXEC);
	script_write("");
	CU_ASSERT_EQUAL(program_read(path, &p), -ENOEXEC);
	CU_ASSERT_EQUAL(program_read("/", &p), -ENOEXEC);
}

static void test_find(void)
{
	char found[PATH_MAX], name[PATH_MAX + 8];

	CU_ASSERT_EQUAL(program_find("a/b", NULL, found), 0);
	CU_ASSERT_STRING_EQUAL(found, "a/b");
	CU_ASSERT_EQUAL(program_find("sh", "/no/such:/bin", found), 0);
	CU_ASSERT_STRING_EQUAL(found, "/bin/sh");
	CU_ASSERT_EQUAL(program_find("sh", NULL, found), -ENOENT);
	CU_ASSERT_EQUAL(program_find("", "/bin", found), -ENOENT);
	CU_ASSERT_EQUAL(program_find("no such program", "/bin:", found), -ENOENT);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	CU_ASSERT_EQUAL(program_find(name, "/bin", found), -ENOENT);
	name[PATH_MAX - 2] = '\0';
	CU_ASSERT_EQUAL(program_find(name, "/bin", found), -ENOENT);
}

static void preload_is(const char *list, const char *sanitizer, const char *want)
{
	char out[64] = "";

	CU_ASSERT_EQUAL(preload_arrange(list, sanitizer, out, sizeof(out)), want != NULL);
	if (want)
		CU_ASSERT_STRING_EQUAL(out, want);
}

static void test_preload(void)
{
	preload_is("/l/librdmaemu.so", "", NULL);
	preload_is("/l/librdmaemu.so", "libasan.so.8", "libasan.so.8::/l/librdmaemu.so");
	preload_is("libasan.so.8::/l/librdmaemu.so", "libasan.so.8", NULL);
	preload_is("libasan.so.8::/l/librdmaemu.so", "", "/l/librdmaemu.so");
	preload_is("libasan.so.8::/l/librdmaemu.so", "libtsan.so.2",
		   "libtsan.so.2::/l/librdmaemu.so");
	/* The user's own order stays. */
	preload_is("/usr/lib/libasan.so.8:/l/librdmaemu.so", "", NULL);
	preload_is("/usr/lib/libasan.so.8:/l/librdmaemu.so", "libasan.so.8", NULL);
	preload_is("/l/a.so::/l/librdmaemu.so", "", NULL);
	/* It does not fit. */
	preload_is("/l/librdmaemu.so:/a/rather/long/path/of/a/library.so", "libasan.so.8", NULL);
	CU_ASSERT(preload_is_sanitizer("libclang_rt.asan-x86_64.so", 26));
	CU_ASSERT(preload_is_sanitizer("/x/liblsan.so.0", 15));
	CU_ASSERT_FALSE(preload_is_sanitizer("libubsan.so.1", 13));
	CU_ASSERT_FALSE(preload_is_sanitizer("libasan.so:x", 12));
	CU_ASSERT_FALSE(preload_is_sanitizer("", 0));
}

static const struct cu_test tests[] = {
	{ "a dynamic program", test_good },
	{ "other machines and word sizes", test_other_machines },
	{ "broken files", test_broken },
	{ "random damage", test_damaged },
	{ "scripts", test_scripts },
	{ "search", test_find },
	{ "order of preloads", test_preload },
	{ NULL, NULL },
};

int main(void)
{
	file = memfd_create("program", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return cu_run("programs", tests);
}
