/* SPDX-License-Identifier: MIT */
/*
 * Reports of a process: a file of its own in the directory that the command has made, which prints
 * them when the program has ended. A report is written at once, by one write(): it stays when the
 * program dies.
 *
 *	program NAME PID
 *	finding NAME
 *	text ...
 *	frame OFFSET FILE	innermost first; FILE may have spaces
 *	other TITLE
 *	frame ...		or: remote PID STACK
 *	end
 *	stack STACK		one that the board names, for reports of other processes
 *	frame ...
 *	end
 *	count N TIMES		the N-th finding of this file, from 0 on
 *
 * The command resolves addresses: DWARF takes memory and time that the program should not pay.
 */
#include "libtap/check/report.h"
#include "libtap/tap.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REPORT_PLACES 512u
#define REPORT_SIZE   (16u << 10)

/* struct report_place - a finding at a place, and how often. */
static struct report_place {
	enum finding_id id;
	check_stack at;
	check_stack other;
	u64 times;
} places[REPORT_PLACES];
static u32 n_places;
static u64 shown[STACKS / 64]; /* stacks, to other processes */
static struct finding_set enabled;
static int fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A file's text under construction; the caller holds the lock. */
static char report_text[REPORT_SIZE];
static size_t report_len;

static __attribute__((format(printf, 1, 2))) void report_put(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(report_text + report_len, sizeof(report_text) - report_len, fmt, ap);
	va_end(ap);
	if (n > 0)
		report_len = min_u64(report_len + (u64)n, sizeof(report_text) - 1);
}

static void report_write(void)
{
	ssize_t n = write(fd, report_text, report_len);

	/* A full disk: the command says which files are cut short. */
	(void)n;
	report_len = 0;
}

/* --- frames --- */

struct report_module {
	uintptr_t address;
	uintptr_t base;
	char file[512];
};

static int report_find_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct report_module *m = arg;
	u32 i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || m->address < from || m->address - from >= p->p_memsz)
			continue;
		m->base = info->dlpi_addr;
		snprintf(m->file, sizeof(m->file), "%s", info->dlpi_name);
		return 1;
	}
	return 0;
}

static void report_put_frames(check_stack stack)
{
	static struct report_module m;
	void *const *frames;
	u32 n = check_stack_frames(stack, &frames), i;

	for (i = 0; i < n; i++) {
		/* The call before the return address. */
		m.address = (uintptr_t)frames[i] - 1;
		m.base = 0;
		m.file[0] = '\0';
		if (!dl_iterate_phdr(report_find_module, &m))
			snprintf(m.file, sizeof(m.file), "?");
		if (!m.file[0]) {
			ssize_t len = readlink("/proc/self/exe", m.file, sizeof(m.file) - 1);

			m.file[len < 0 ? 0 : len] = '\0';
		}
		report_put("frame %lx %s\n", (unsigned long)(m.address - m.base), m.file);
	}
}

/* --- reports --- */

bool check_report_is_on(enum finding_id id)
{
	return finding_set_has(&enabled, id);
}

/* Opens the file with the first report. Return: false: there is no directory any more. */
static bool report_open_file(void)
{
	const char *dir = getenv(FINDING_DIR_ENV);
	char path[4096];
	u32 i;

	for (i = 0; fd < 0 && i < 1000; i++) {
		snprintf(path, sizeof(path), "%s/%d.%u", dir ? dir : "", (int)getpid(), i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd >= 0)
		report_put("program %d %s\n", (int)getpid(), program_invocation_short_name);
	return fd >= 0;
}

static struct report_place *report_find_place(enum finding_id id, check_stack at, check_stack other,
					      bool *is_new)
{
	u32 i;

	*is_new = false;
	for (i = 0; i < n_places; i++)
		if (places[i].id == id && places[i].at == at && places[i].other == other)
			return &places[i];
	if (n_places == REPORT_PLACES)
		return NULL;
	*is_new = true;
	places[n_places] = (struct report_place){ .id = id, .at = at, .other = other };
	return &places[n_places++];
}

/* The other place of a finding: here, or in another process. */
static void report_put_other(struct check_other other, u32 process)
{
	report_put("other %s\n", other.title);
	if (process == (u32)getpid())
		report_put_frames(other.stack);
	else
		report_put("remote %u %u\n", process, other.stack);
}

static void report_make(enum finding_id id, check_stack at, struct check_other other, u32 process,
			const char *fmt, va_list ap)
{
	struct report_place *p;
	char text[1024];
	bool is_new;

	pthread_mutex_lock(&lock);
	p = report_find_place(id, at, other.title ? other.stack : 0, &is_new);
	if (p)
		p->times++;
	if (p && is_new && (fd >= 0 || report_open_file())) {
		vsnprintf(text, sizeof(text), fmt, ap);
		report_put("finding %s\ntext %s\n", finding_defs[id].name, text);
		report_put_frames(at);
		if (other.title)
			report_put_other(other, process);
		report_put("end\n");
		report_write();
	}
	pthread_mutex_unlock(&lock);
}

void check_report(enum finding_id id, struct check_other other, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (!check_report_is_on(id))
		return;
	va_start(ap, fmt);
	report_make(id, check_stack_here(), other, (u32)getpid(), fmt, ap);
	va_end(ap);
	errno = saved;
}

void check_report_at(enum finding_id id, check_stack at, struct check_other other, const char *fmt,
		     ...)
{
	int saved = errno;
	va_list ap;

	if (!check_report_is_on(id))
		return;
	va_start(ap, fmt);
	report_make(id, at, other, (u32)getpid(), fmt, ap);
	va_end(ap);
	errno = saved;
}

void check_report_with(enum finding_id id, check_stack at, struct check_other other, u32 process,
		       const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (!check_report_is_on(id))
		return;
	va_start(ap, fmt);
	report_make(id, at, other, process, fmt, ap);
	va_end(ap);
	errno = saved;
}

void check_report_show(check_stack stack)
{
	u64 bit = 1ull << stack % 64, *word = &shown[stack / 64];
	int saved = errno;

	if (likely(!stack || load_relaxed(word) & bit))
		return;
	pthread_mutex_lock(&lock);
	if (!(*word & bit) && (fd >= 0 || report_open_file())) {
		store_relaxed(word, *word | bit);
		report_put("stack %u\n", stack);
		report_put_frames(stack);
		report_put("end\n");
		report_write();
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* --- start and end --- */

bool check_report_start(void)
{
	const char *list = getenv(FINDING_LIST_ENV), *dir = getenv(FINDING_DIR_ENV);

	/* The command has checked the list; without it nobody would read the reports. */
	return list && dir && !finding_list_parse(list, &enabled);
}

void check_report_finish(void)
{
	u32 i;

	pthread_mutex_lock(&lock);
	for (i = 0; fd >= 0 && i < n_places; i++)
		report_put("count %u %llu\n", i, (unsigned long long)places[i].times);
	if (fd >= 0)
		report_write();
	pthread_mutex_unlock(&lock);
}

void check_report_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	if (fd >= 0)
		close(fd);
	fd = -1;
	n_places = 0;
	report_len = 0;
	memset(shown, 0, sizeof(shown));
}
