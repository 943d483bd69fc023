/* SPDX-License-Identifier: MIT */
/* Traces of verbs calls: written by many threads, by a program that is killed; read back. */
#include "tests/lib/c/cu.h"
#include "traces/vtrace/append.h"
#include "traces/vtrace/check.h"
#include "traces/vtrace/read.h"
#include "traces/vtrace/write.h"
#include "traces/vtrace/command_line.h"
#include "emulator/types.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define PER	20000u

static char dir[64];
static struct vt_writer w;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void fresh(void)
{
	char path[96];
	int fd;

	if (dir[0])
		nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	snprintf(dir, sizeof(dir), "/tmp/rdmaemu_vtrace.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/trace", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	CU_ASSERT_FATAL(fd >= 0 && write(fd, "rdmaemu trace 1\n", 16) == 16);
	close(fd);
}

static void begin(void)
{
	CU_ASSERT_EQUAL_FATAL(vt_writer_open(&w, dir), 0);
	CU_ASSERT_EQUAL(vt_writer_put_file(&w, "program", "name unit\n", 10), 0);
}

/* A line, a post with payload, a poll. */
static void write_some(u32 thread, u32 n)
{
	struct vt_rec like = { .thread = thread }, *rec;
	struct vt_wr *wr;
	u64 fact = n;

	like.begin = vt_order_next(&w);
	like.end = vt_order_next(&w);
	CU_ASSERT_EQUAL(
		vt_writer_put_call(&w, &like, "ibv_alloc_pd context=ctx1 = pd1 x=~", 35, &fact, 1),
		0);
	rec = vt_rec_reserve(&w, VT_POST_SEND, sizeof(struct vt_post) + sizeof(*wr) + 16);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rec);
	*(struct vt_post *)vt_rec_body(rec) = (struct vt_post){ .obj = 1, .n = 1, .bad = 1 };
	wr = (struct vt_wr *)((struct vt_post *)vt_rec_body(rec) + 1);
	wr->size = sizeof(*wr) + 16;
	wr->wr_id = n;
	wr->payload = 13;
	wr->flags = VT_WR_BYTES | VT_WR_CRC;
	memset(wr + 1, (int)n, 13);
	wr->crc = vt_crc(0, wr + 1, 13);
	rec->thread = thread;
	rec->begin = vt_order_next(&w);
	rec->end = vt_order_next(&w);
	vt_rec_commit(rec);
}

static void *writer(void *arg)
{
	u32 thread = vt_writer_add_thread(&w), i;

	(void)arg;
	for (i = 0; i < PER; i++)
		write_some(thread, i);
	return NULL;
}

static void test_threads(void)
{
	pthread_t t[THREADS];
	static struct vt_dir d;
	const struct vt_rec *rec;
	struct vt_error err;
	u64 off = 0, last[THREADS + 1] = { 0 }, posts = 0;
	u32 i;

	fresh();
	begin();
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, writer, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	vt_writer_put_note(&w, 1, "a note");
	vt_writer_close(&w);
	CU_ASSERT_PTR_NULL(vt_rec_reserve(&w, VT_NOTE, 8));
	CU_ASSERT_EQUAL_FATAL(vt_dir_open(&d, dir, &err), 0);
	CU_ASSERT_EQUAL_FATAL(d.n_progs, 1);
	CU_ASSERT_EQUAL(d.prog[0].n_threads, THREADS);
	CU_ASSERT_EQUAL(d.prog[0].n_lines, THREADS * PER);
	CU_ASSERT_EQUAL(d.prog[0].n_recs, 2 * THREADS * PER + 2);
	CU_ASSERT(d.prog[0].ended && !d.prog[0].unfinished);
	while ((rec = vt_rec_next(&d.prog[0], &off))) {
		/* Each thread's records are in its order. */
		if (rec->thread) {
			CU_ASSERT(rec->begin > last[rec->thread]);
			last[rec->thread] = rec->begin;
		}
		if (rec->kind == VT_POST_SEND) {
			const struct vt_wr *wr = vt_wr_first(rec);

			posts++;
			CU_ASSERT_EQUAL(vt_wr_bytes(wr)[12], (u8)wr->wr_id);
		}
	}
	CU_ASSERT_EQUAL(posts, THREADS * PER);
	vt_dir_close(&d);
	vt_writer_forget(&w);
}

/*
 * Killed at any moment: all that was complete is there, and the reader says nothing against the
 * rest.
 */
static void test_killed(void)
{
	static struct vt_dir d;
	struct vt_error err = { "" };
	int round, status;
	pid_t pid;
	u32 i;

	for (round = 0; round < 20; round++) {
		fresh();
		pid = fork();
		CU_ASSERT_FATAL(pid >= 0);
		if (!pid) {
			begin();
			for (i = 0;; i++)
				write_some(1, i);
		}
		usleep(300 + 1500 * (unsigned int)round);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		if (vt_dir_open(&d, dir, &err)) {
			/* Killed before it had made its folder. */
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no program in it"));
			continue;
		}
		CU_ASSERT(!d.prog[0].ended && d.prog[0].unfinished <= 1);
		CU_ASSERT(d.prog[0].n_recs / 2 + 1 >= d.prog[0].n_lines);
		vt_dir_close(&d);
	}
}

/* A record that is completed after the trace was opened is not validated, and not read. */
static void test_while_written(void)
{
	static struct vt_dir d;
	const struct vt_rec *rec;
	struct vt_error err = { "" };
	struct vt_rec *late;
	u64 off = 0;
	u32 n = 0;

	fresh();
	begin();
	write_some(1, 0);
	late = vt_rec_reserve(&w, VT_CALL, sizeof(struct vt_call));
	CU_ASSERT_PTR_NOT_NULL_FATAL(late);
	write_some(1, 1);
	CU_ASSERT_EQUAL_FATAL(vt_dir_open(&d, dir, &err), 0);
	CU_ASSERT_EQUAL(d.prog[0].unfinished, 1);
	/* A line that the reader has not got. */
	*(struct vt_call *)vt_rec_body(late) = (struct vt_call){ .line = 1000000 };
	late->begin = late->end = vt_order_next(&w);
	vt_rec_commit(late);
	write_some(1, 2);
	while ((rec = vt_rec_next(&d.prog[0], &off))) {
		CU_ASSERT(rec->kind == VT_POST_SEND || VT_BODY(vt_call, rec)->line <= 2);
		n++;
	}
	CU_ASSERT_EQUAL(n, 4);
	CU_ASSERT_EQUAL(n, d.prog[0].n_recs);
	vt_dir_close(&d);
	vt_writer_close(&w);
	vt_writer_forget(&w);
}

/* Two programs take numbers from one counter, and folders of their own. */
/* Between the reading of lines and of records a live program calls once more. */
static void test_called_meanwhile(void)
{
	static struct vt_dir d;
	struct vt_program *p;
	struct vt_error err;
	char path[96];
	u64 all;
	u32 thread;

	fresh();
	begin();
	thread = vt_writer_add_thread(&w);
	write_some(thread, 1);
	write_some(thread, 2);
	CU_ASSERT_EQUAL_FATAL(vt_dir_open(&d, dir, &err), 0);
	p = &d.prog[0];
	all = p->n_recs;
	CU_ASSERT_EQUAL_FATAL(p->n_lines, 2);
	p->n_lines = 1;
	p->calls_len = p->line_len[0] + 1;
	snprintf(path, sizeof(path), "%s/p1/data", dir);
	CU_ASSERT_EQUAL(vt_program_check(p, path, &err), 0);
	CU_ASSERT_EQUAL(p->n_recs, all / 2);
	/* A trace that lacks the line is broken. */
	snprintf(path, sizeof(path), "%s/p1/calls", dir);
	CU_ASSERT_EQUAL(truncate(path, (off_t)p->calls_len), 0);
	snprintf(path, sizeof(path), "%s/p1/data", dir);
	CU_ASSERT_EQUAL(vt_program_check(p, path, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "a call at line 2; calls has 1 lines"));
	vt_dir_close(&d);
	vt_writer_forget(&w);
}

static void test_two(void)
{
	static struct vt_dir d;
	static struct vt_writer second;
	struct vt_error err;

	fresh();
	begin();
	CU_ASSERT_EQUAL(vt_writer_open(&second, dir), 0);
	CU_ASSERT_EQUAL(vt_writer_put_file(&second, "program", "name two\n", 9), 0);
	CU_ASSERT_EQUAL(second.num, 2);
	CU_ASSERT_EQUAL(vt_order_next(&w), 1);
	CU_ASSERT_EQUAL(vt_order_next(&second), 2);
	CU_ASSERT_EQUAL(vt_order_next(&w), 3);
	vt_writer_close(&w);
	vt_writer_close(&second);
	CU_ASSERT_EQUAL_FATAL(vt_dir_open(&d, dir, &err), 0);
	CU_ASSERT_EQUAL(d.n_progs, 2);
	CU_ASSERT_STRING_EQUAL(vt_info_get(&d.prog[1].about, "name"), "two");
	CU_ASSERT_PTR_NULL(vt_info_get(&d.prog[1].about, "nothing"));
	vt_dir_close(&d);
	vt_writer_forget(&w);
	vt_writer_forget(&second);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Appended records continue the numbers and times of the existing ones. */
static void test_append(void)
{
	static struct vt_dir d;
	struct vt_error err;
	const struct vt_rec *rec;
	u64 off, last = 0, t_last = 0, n = 0;
	char to[64], order[96];
	struct vt_head h;
	int fd;

	fresh();
	begin();
	write_some(1, 1);
	write_some(1, 2);
	vt_writer_close(&w);
	vt_writer_forget(&w);
	snprintf(to, sizeof(to), "%s", dir);
	dir[0] = '\0';
	fresh();
	begin();
	write_some(1, 3);
	vt_writer_close(&w);
	vt_writer_forget(&w);
	CU_ASSERT_EQUAL(vt_append("/nowhere", dir, &err), -ENOENT);
	CU_ASSERT_EQUAL_FATAL(vt_append(to, dir, &err), 2);
	CU_ASSERT(vt_dir_open(&d, dir, &err) && strstr(err.text, "no program in it"));
	CU_ASSERT_EQUAL_FATAL(vt_dir_open(&d, to, &err), 0);
	CU_ASSERT_EQUAL_FATAL(d.n_progs, 2);
	for (off = 0; (rec = vt_rec_next(&d.prog[0], &off));) {
		last = rec->end > last ? rec->end : last;
		t_last = rec->t_end > t_last ? rec->t_end : t_last;
	}
	for (off = 0; (rec = vt_rec_next(&d.prog[1], &off)); n++)
		CU_ASSERT(rec->begin > last && rec->end >= rec->begin && rec->t_begin > t_last);
	CU_ASSERT(n > 2 && d.prog[1].ended);
	for (off = 0; (rec = vt_rec_next(&d.prog[1], &off));)
		last = rec->end > last ? rec->end : last;
	vt_dir_close(&d);
	snprintf(order, sizeof(order), "%s/order", to);
	fd = open(order, O_RDONLY);
	CU_ASSERT(fd >= 0 && read(fd, &h, sizeof(h)) == sizeof(h) && h.next == last + 1);
	close(fd);
	nftw(to, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void file_gone(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/p1/%s", dir, name);
	CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
}

/*
 * Whether a trace of p1 can be read, and why not; or who can read it, and whether it was recorded.
 */
static bool reads(bool *recorded, char *why, size_t size)
{
	static struct vt_dir d;
	struct vt_error err = { "" };
	bool yes = !vt_dir_open(&d, dir, &err);

	*recorded = yes && !vt_program_is_recorded(&d, &d.prog[0], &err);
	snprintf(why, size, "%s", err.text);
	if (yes)
		vt_dir_close(&d);
	return yes;
}

/* A file that must be there, by the writer's order, is missed by its name. */
static void test_missing(void)
{
	static const char *const names[] = { "calls", "data", "program" };
	char why[512], want[96];
	bool recorded, calls;
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(names); i++) {
		calls = i >= ARRAY_SIZE(names);
		fresh();
		begin();
		if (calls)
			write_some(1, 1);
		vt_writer_close(&w);
		vt_writer_forget(&w);
		CU_ASSERT(reads(&recorded, why, sizeof(why)) && recorded);
		file_gone(names[i % 3]);
		snprintf(want, sizeof(want), "%s/p1/%s: No such file", dir, names[i % 3]);
		CU_ASSERT(!reads(&recorded, why, sizeof(why)));
		CU_ASSERT_PTR_NOT_NULL(strstr(why, want));
	}
	file_gone("data");
	CU_ASSERT(!reads(&recorded, why, sizeof(why)) && strstr(why, "/p1/data: No such file"));
}

/*
 * After each step of a writer that is killed, the trace can be read, and nothing was recorded
 * before the last one.
 */
static void test_killed_at_once(void)
{
	char path[96], why[512];
	struct vt_head h;
	bool recorded;
	int fd;

	fresh();
	snprintf(path, sizeof(path), "%s/p1", dir);
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
	CU_ASSERT(reads(&recorded, why, sizeof(why)) && !recorded);
	snprintf(path, sizeof(path), "%s/p1/calls", dir);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	CU_ASSERT(reads(&recorded, why, sizeof(why)) && !recorded);
	snprintf(path, sizeof(path), "%s/p1/data", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CU_ASSERT(reads(&recorded, why, sizeof(why)) && !recorded);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "/p1/data: expected a head of 64 bytes"));
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, 1 << 20), 0);
	CU_ASSERT(reads(&recorded, why, sizeof(why)) && !recorded);
	h = (struct vt_head){ .magic = VT_MAGIC, .version = VT_VERSION, .order = VT_ORDER };
	CU_ASSERT_EQUAL(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	CU_ASSERT(reads(&recorded, why, sizeof(why)) && !recorded);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "/p1/program: expected"));
	snprintf(path, sizeof(path), "%s/p1/program", dir);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	CU_ASSERT(reads(&recorded, why, sizeof(why)) && !recorded);
	/* There is a program, so there was a head. */
	memset(&h, 0, sizeof(h));
	CU_ASSERT_EQUAL(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	CU_ASSERT(!reads(&recorded, why, sizeof(why)) && strstr(why, "expected a head"));
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, 0), 0);
	CU_ASSERT(!reads(&recorded, why, sizeof(why)) && strstr(why, "expected a head"));
	close(fd);
}

static void test_words(void)
{
	char line[32] = "", all[256] = "";

	CU_ASSERT(vt_command_add_word(line, sizeof(line), "rping") &&
		  vt_command_add_word(line, sizeof(line), "-c"));
	CU_ASSERT_STRING_EQUAL(line, "rping -c");
	CU_ASSERT(vt_command_is_whole(line) && !vt_command_is_whole(""));
	CU_ASSERT(!vt_command_add_word(line, sizeof(line), "of more than thirty-two characters"));
	CU_ASSERT_STRING_EQUAL(line, "rping -c ...");
	CU_ASSERT(!vt_command_is_whole(line));
	CU_ASSERT(vt_command_add_word(all, sizeof(all), "a b") &&
		  vt_command_add_word(all, sizeof(all), "it's") &&
		  vt_command_add_word(all, sizeof(all), "") &&
		  vt_command_add_word(all, sizeof(all), "...") &&
		  vt_command_add_word(all, sizeof(all), "$x\n"));
	CU_ASSERT_STRING_EQUAL(all, "'a b' 'it'\\''s' '' '...' '$x '");
	CU_ASSERT(vt_command_is_whole(all));
}

/* The file of devices: with it, without it, with a NUL. */
static void test_devices_file(void)
{
	static const char list[] = "device 0 a 0000000000000001\ndevice 1 b 0000000000000002\n";
	static struct vt_dir d;
	struct vt_error err = { "" };
	char path[96];
	struct stat st;

	fresh();
	begin();
	write_some(vt_writer_add_thread(&w), 1);
	CU_ASSERT_EQUAL_FATAL(vt_dir_open(&d, dir, &err), 0);
	CU_ASSERT_EQUAL(d.prog[0].devices.n, 0);
	vt_dir_close(&d);
	CU_ASSERT_EQUAL(vt_writer_add_file(&w, "devices", list, strlen(list)), 0);
	CU_ASSERT_EQUAL(vt_writer_add_file(&w, "devices", "port 1 1 Ethernet 0 0", 21), 0);
	CU_ASSERT_EQUAL_FATAL(vt_dir_open(&d, dir, &err), 0);
	CU_ASSERT(d.prog[0].devices.n == 2 && !d.prog[0].devices.dev[1].n_ports);
	vt_dir_close(&d);
	CU_ASSERT_EQUAL(vt_writer_add_file(&w, "devices", "", 1), 0);
	CU_ASSERT_EQUAL(vt_dir_open(&d, dir, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/p1/devices: expected no NUL"));
	/* Files of the trace as a whole; existing ones stay. */
	CU_ASSERT_EQUAL(vt_writer_put_dir_file(&w, "profile", "ports 1\n", 8), 0);
	CU_ASSERT_EQUAL(vt_writer_put_dir_file(&w, "profile", "ports 2 \n", 9), 0);
	snprintf(path, sizeof(path), "%s/profile", dir);
	CU_ASSERT(!stat(path, &st) && st.st_size == 8);
	vt_writer_forget(&w);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "many threads", test_threads },
		{ "killed while it writes", test_killed },
		{ "read while it is written", test_while_written },
		{ "a call while it is opened", test_called_meanwhile },
		{ "two programs", test_two },
		{ "one trace behind another", test_append },
		{ "files that are missing", test_missing },
		{ "killed before it has its files", test_killed_at_once },
		{ "commands as text", test_words },
		{ "devices: the file", test_devices_file },
		{ NULL, NULL },
	};

	return cu_run("vtrace", tests);
}
