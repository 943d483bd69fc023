/* SPDX-License-Identifier: MIT */
/**
 * DOC: reading programs. See fabric/proto/program.h.
 *
 * elf(5) describes the file. This reads, of a program with our word size and machine code,
 *
 *  1. the header and each program header: PT_INTERP is the loader's path, PT_DYNAMIC the list of
 *     needed libraries;
 *  2. of that list the address of the string table, which a PT_LOAD maps from the file;
 *  3. the name of each needed library.
 */
#include "fabric/proto/program.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PHDRS_MAX   256u /* programs have about 13 */
#define DYNAMIC_MAX 4096u /* entries; programs have about 30 */

#if defined(__x86_64__)
#define MACHINE_OURS EM_X86_64
#elif defined(__aarch64__)
#define MACHINE_OURS EM_AARCH64
#elif defined(__riscv)
#define MACHINE_OURS EM_RISCV
#elif defined(__powerpc64__)
#define MACHINE_OURS EM_PPC64
#elif defined(__s390x__)
#define MACHINE_OURS EM_S390
#else
/* cppcheck-suppress preprocessorErrorDirective ; cppcheck defines no machine */
#error "the number of this machine in elf(5) is missing here"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DATA_OURS ELFDATA2LSB
#else
#define DATA_OURS ELFDATA2MSB
#endif

#define BLOCK 2048u /* headers, and dynamic sections of most programs, in one call */

/**
 * struct elf_file - a program that is being read, and the part of it that was read last. A program
 * has about 40 headers and entries, next to each other.
 */
struct elf_file {
	int fd;
	u64 at;
	size_t n;
	char block[BLOCK];
};

/* Raw system calls: librspreload and others wrap libc's. Return: where the bytes are, or NULL */
static const char *file_bytes(struct elf_file *f, u64 at, size_t n)
{
	ssize_t got;

	if (at > INT64_MAX || n > BLOCK)
		return NULL;
	if (at < f->at || at - f->at > f->n || n > f->n - (at - f->at)) {
		got = syscall(SYS_pread64, f->fd, f->block, BLOCK, (off_t)at);
		f->at = at;
		f->n = got > 0 ? (size_t)got : 0;
	}
	return n <= f->n - (at - f->at) ? f->block + (at - f->at) : NULL;
}

/* All @n bytes at @at. */
static bool file_read(struct elf_file *f, void *to, size_t n, u64 at)
{
	const char *bytes = file_bytes(f, at, n);

	if (bytes)
		memcpy(to, bytes, n);
	return bytes;
}

/* A string of the file that fits into @to with its end. The file may end before @size bytes. */
static bool file_read_string(struct elf_file *f, char *to, size_t size, u64 at)
{
	ssize_t n;

	if (size <= BLOCK && file_read(f, to, size, at))
		return memchr(to, '\0', size);
	n = at <= INT64_MAX ? syscall(SYS_pread64, f->fd, to, size, (off_t)at) : -1;
	return n > 0 && memchr(to, '\0', (size_t)n);
}

static bool phdr_read(struct elf_file *f, const ElfW(Ehdr) * e, u32 i, ElfW(Phdr) * ph)
{
	return e->e_phoff <= INT64_MAX &&
	       file_read(f, ph, sizeof(*ph), e->e_phoff + i * sizeof(*ph));
}

/* Where in the file the byte of an address is. */
static bool elf_find_offset(struct elf_file *f, const ElfW(Ehdr) * e, u64 addr, u64 *offset)
{
	ElfW(Phdr) ph;
	u32 i;

	for (i = 0; i < e->e_phnum && phdr_read(f, e, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || addr < ph.p_vaddr || addr - ph.p_vaddr >= ph.p_filesz)
			continue;
		*offset = ph.p_offset + (addr - ph.p_vaddr);
		return *offset >= ph.p_offset;
	}
	return false;
}

static bool elf_read_dyn(struct elf_file *f, const ElfW(Phdr) * ph, u32 i, ElfW(Dyn) * d)
{
	return i < DYNAMIC_MAX && i < ph->p_filesz / sizeof(*d) &&
	       file_read(f, d, sizeof(*d), ph->p_offset + i * sizeof(*d)) && d->d_tag != DT_NULL;
}

/* Fill in what the dynamic section says. Return: 0 or -EBADMSG. */
static int elf_read_dynamic(struct elf_file *f, const ElfW(Ehdr) * e, const ElfW(Phdr) * ph,
			    struct program_file *p)
{
	u64 strings = 0, offset;
	char name[sizeof(p->sanitizer)];
	ElfW(Dyn) d;
	u32 i;

	for (i = 0; elf_read_dyn(f, ph, i, &d); i++) {
		if (d.d_tag == DT_STRTAB)
			strings = d.d_un.d_ptr;
		p->is_library |= d.d_tag == DT_SONAME;
	}
	if (!strings)
		return 0;
	if (!elf_find_offset(f, e, strings, &offset))
		return -EBADMSG;
	for (i = 0; elf_read_dyn(f, ph, i, &d); i++) {
		if (d.d_tag != DT_NEEDED || d.d_un.d_val > UINT32_MAX)
			continue;
		/* A longer name is no sanitizer's. */
		if (!file_read_string(f, name, sizeof(name), offset + d.d_un.d_val) ||
		    !preload_is_sanitizer(name, strlen(name)))
			continue;
		memcpy(p->sanitizer, name, sizeof(name));
		break;
	}
	return 0;
}

static int elf_read_phdrs(struct elf_file *f, const ElfW(Ehdr) * e, struct program_file *p)
{
	ElfW(Phdr) ph;
	int ret = 0;
	u32 i;

	if (e->e_phentsize != sizeof(ph) || e->e_phnum > PHDRS_MAX)
		return -EBADMSG;
	for (i = 0; !ret && i < e->e_phnum; i++) {
		if (!phdr_read(f, e, i, &ph))
			return -EBADMSG;
		if (ph.p_type == PT_INTERP &&
		    !file_read_string(f, p->loader, sizeof(p->loader), ph.p_offset))
			ret = -EBADMSG;
		else if (ph.p_type == PT_DYNAMIC)
			ret = elf_read_dynamic(f, e, &ph, p);
	}
	return ret;
}

static int elf_read(int fd, struct program_file *p)
{
	struct elf_file f = { .fd = fd };
	ElfW(Ehdr) e;

	if (!file_read(&f, &e, sizeof(e), 0))
		return -EBADMSG;
	p->bits = e.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	/* The same place in files of both word sizes. */
	p->machine = e.e_machine;
	if (e.e_ident[EI_DATA] == DATA_OURS && p->bits != 8 * sizeof(void *))
		p->abi = PROGRAM_ABI_WORD_SIZE;
	else if (e.e_ident[EI_DATA] != DATA_OURS || e.e_machine != MACHINE_OURS)
		p->abi = PROGRAM_ABI_MACHINE;
	if (p->abi != PROGRAM_ABI_OURS)
		return 0;
	if (e.e_type != ET_EXEC && e.e_type != ET_DYN)
		return -ENOEXEC;
	return elf_read_phdrs(&f, &e, p);
}

/* The interpreter of a script's first line, without its argument. */
static int script_read(const char *line, struct program_file *p)
{
	size_t n;

	line += 2;
	line += strspn(line, " \t");
	n = strcspn(line, " \t\n");
	if (!n || n >= sizeof(p->script))
		return -ENOEXEC;
	memcpy(p->script, line, n);
	p->script[n] = '\0';
	return 1;
}

/* Return: 0, 1 if it is a script, whose interpreter is in p->script, or -errno. */
static int program_read_file(const char *path, struct program_file *p)
{
	char head[256] = "";
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int ret = -ENOEXEC;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = syscall(SYS_pread64, fd, head, sizeof(head) - 1, 0);
	if (n >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG))
		ret = elf_read((int)fd, p);
	else if (n > 2 && head[0] == '#' && head[1] == '!')
		ret = script_read(head, p);
	syscall(SYS_close, fd);
	return ret;
}

int program_read(const char *path, struct program_file *p)
{
	char script[sizeof(p->script)];
	int ret, depth;

	memset(p, 0, sizeof(*p));
	ret = program_read_file(path, p);
	for (depth = 0; ret == 1 && depth < PROGRAM_SCRIPT_DEPTH; depth++) {
		memcpy(script, p->script, sizeof(script));
		ret = program_read_file(script, p);
	}
	return ret == 1 ? -ELOOP : ret;
}

int program_find(const char *name, const char *search, char path[PATH_MAX])
{
	size_t len = strlen(name), n;

	if (!len || len >= PATH_MAX)
		return -ENOENT;
	if (strchr(name, '/')) {
		memcpy(path, name, len + 1);
		return 0;
	}
	for (; search; search = search[n] ? search + n + 1 : NULL) {
		n = strcspn(search, ":");
		if (n + len + 2 > PATH_MAX)
			continue;
		/* An empty one is the current directory. */
		memcpy(path, n ? search : ".", n ? n : 1);
		path[n ? n : 1] = '/';
		memcpy(path + (n ? n : 1) + 1, name, len + 1);
		if (!syscall(SYS_faccessat, AT_FDCWD, path, X_OK))
			return 0;
	}
	return -ENOENT;
}
