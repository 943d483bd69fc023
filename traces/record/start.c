/* SPDX-License-Identifier: MIT */
/*
 * Start and end of the recording in a process.
 *
 * A program gets its part of the trace directory with its first call; a program without calls
 * leaves nothing. A child of fork() starts anew with its own first call. Everything recorded is in
 * the files at once, so little is left to do at the end. If that is not reached (kill -9), only
 * this is missing.
 */
#include "traces/record/start.h"
#include "traces/record/devices.h"
#include "traces/record/memory.h"
#include "traces/record/object.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/session.h"
#include "traces/vtrace/command_line.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENV_DIR	    "RDMAEMU_RECORD"
#define ENV_PAYLOAD "RDMAEMU_RECORD_PAYLOAD"
#define ENV_PER_WR  "RDMAEMU_RECORD_PER_WR"
#define ENV_MEMORY  "RDMAEMU_RECORD_MEMORY"
#define ENV_PART    "RDMAEMU_RECORD_PART" /* more lines for the file "program" */
#define ENV_CLOCK   "RDMAEMU_RECORD_CLOCK" /* the fabric's time, for the file "program" */
#define ENV_REAL                                                                                   \
	"RDMAEMU_RECORD_REAL" /* record other devices than the emulator's: write a profile */

#define PER_WR_DEFAULT (64u << 10)
#define MEMORY_DEFAULT (256ull << 20)

/* --- start --- */

static __attribute__((format(printf, 1, 2))) void rec_init_complain(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		syscall(SYS_write, 2, text,
			(size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* Reads a number of bytes from the environment; `rdmaemu record` has checked it. */
static u64 rec_init_env_bytes(const char *name, u64 otherwise)
{
	const char *text = getenv(name);
	char *end;
	u64 v;

	if (!text || !*text)
		return otherwise;
	v = strtoull(text, &end, 10);
	if (*end) {
		rec_init_complain("rdmaemu record: %s=%s: expected a number of bytes\n", name,
				  text);
		return otherwise;
	}
	return v;
}

static enum rec_payload rec_init_env_payload(void)
{
	static const char *const names[] = { "full", "hash", "none" };
	const char *text = getenv(ENV_PAYLOAD);
	u32 i;

	for (i = 0; text && i < ARRAY_SIZE(names); i++)
		if (!strcmp(text, names[i]))
			return (enum rec_payload)i;
	if (text && *text)
		rec_init_complain("rdmaemu record: %s=%s: expected full, hash or none\n",
				  ENV_PAYLOAD, text);
	return REC_FULL;
}

/* Reads a file of /proc/self, with control characters as spaces. Return: @buf */
static const char *rec_init_proc_text(const char *path, char *buf, size_t size)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? 0 : syscall(SYS_read, fd, buf, size - 1);
	long i;

	if (fd >= 0)
		syscall(SYS_close, fd);
	if (n < 0)
		n = 0;
	for (i = 0; i < n; i++)
		if ((u8)buf[i] < ' ')
			buf[i] = ' ';
	while (n && buf[n - 1] == ' ')
		n--;
	buf[n] = '\0';
	return buf;
}

static char about_command[16384];

/* Writes the command line, quoted word by word. */
static void rec_init_put_command(char *line, size_t cap)
{
	static char words[32768];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? 0 : syscall(SYS_read, fd, words, sizeof(words) - 1), at;

	if (fd >= 0)
		syscall(SYS_close, fd);
	line[0] = '\0';
	if (n < 0)
		n = 0;
	words[n] = '\0';
	for (at = 0; at < n && vt_command_add_word(line, cap, words + at);
	     at += (long)strlen(words + at) + 1)
		;
}

/* Return: 0 or -errno */
static int rec_init_write_program(void)
{
	const char *node = getenv("RDMAEMU_NODE"), *part = getenv(ENV_PART),
		   *number = getenv("RDMAEMU_NODE_NUMBER"), *clock = getenv(ENV_CLOCK);
	static char text[2 * sizeof(about_command)];
	char name[64];
	int n;

	rec_init_put_command(about_command, sizeof(about_command));
	n = snprintf(text, sizeof(text),
		     "name %s\ncommand %s\npid %d\nparent %d\nnode %s\nnode-number %s\npayload "
		     "%s\n%s%s%s%s",
		     rec_init_proc_text("/proc/self/comm", name, sizeof(name)), about_command,
		     (int)getpid(), (int)getppid(), node && *node ? node : "node0",
		     number && *number ? number : "0",
		     rec.payload == REC_FULL   ? "full"
		     : rec.payload == REC_HASH ? "hash"
					       : "none",
		     clock ? "fabric-clock " : "", clock ? clock : "", clock ? "\n" : "",
		     part ? part : "");
	if (n < 0 || (size_t)n >= sizeof(text))
		return -EMSGSIZE;
	return vt_writer_put_file(&rec.w, "program", text, (size_t)n);
}

bool rec_start(void)
{
	const char *dir = getenv(ENV_DIR);
	int ret;

	if (!dir || !*dir)
		return false;
	rec.payload = rec_init_env_payload();
	rec.per_wr = (u32)min_u32((u32)rec_init_env_bytes(ENV_PER_WR, PER_WR_DEFAULT), 16u << 20);
	rec.room = rec_init_env_bytes(ENV_MEMORY, MEMORY_DEFAULT);
	rec.real = getenv(ENV_REAL) != NULL;
	ret = vt_writer_open(&rec.w, dir);
	if (ret) {
		rec_init_complain("rdmaemu record: %s: %s: this program is not recorded\n", dir,
				  strerror(-ret));
		return false;
	}
	rec.pid = getpid();
	/* The file must exist before the first record: readers expect it. */
	ret = rec_init_write_program();
	if (!ret)
		return true;
	rec_init_complain("rdmaemu record: %s/program: %s: this program is not recorded\n",
			  rec.w.dir, strerror(-ret));
	vt_writer_forget(&rec.w);
	return false;
}

void rec_fork_child(void)
{
	vt_writer_forget(&rec.w);
	tap_obj_for_each(VOBJ_MR, rec_mr_forget);
	rec_recv_forget();
	rec_devices_reset();
}

/* --- end --- */

static void rec_finish_mr(struct tap_obj *mr)
{
	rec_mr_final(rec_obj_of(mr));
}

static void rec_finish_cq(struct tap_obj *cq)
{
	rec_poll_record_empty(rec_obj_of(cq));
}

void rec_finish(void)
{
	tap_obj_for_each(VOBJ_MR, rec_finish_mr);
	tap_obj_for_each(VOBJ_CQ, rec_finish_cq);
	/*
	 * Other threads may continue until the process is gone: the closed writer takes no more
	 * records.
	 */
	vt_writer_close(&rec.w);
}
