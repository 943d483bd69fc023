/* SPDX-License-Identifier: MIT */
/*
 * rdmaemu.h from a program that is not on the fabric and knows nothing of verbs. Started by
 * tests/e2e/ctl/ctl.t, which also builds it under ASan and UBSan with the library's own sources.
 *	ctl_outside DIR FABRIC VERSION COMMAND
 *		FABRIC has two devices; VERSION is the header's; COMMAND is rdmaemu
 */
#include <errno.h>
#include <math.h>
#include <rdmaemu.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;
static struct rdmaemu *r;

static void ok(int cond, const char *name)
{
	printf("%s %s\n", cond ? "ok" : "not ok", name);
	if (!cond)
		printf("# errno %d: %s\n", errno, r ? rdmaemu_error(r) : "");
	failed += !cond;
}

static void test_open(const char *dir)
{
	char *deep = calloc(1, 5000);

	if (!deep)
		exit(2);
	memset(deep, 'd', 4999);
	ok(!rdmaemu_open_fabric(dir, "nobody") && errno == ENOENT, "there is no such fabric");
	ok(!rdmaemu_open_fabric(deep, "x") && errno == ENAMETOOLONG, "a name that is too long");
	deep[200] = '\0';
	ok(!rdmaemu_open_fabric(deep, "x") && errno == ENAMETOOLONG,
	   "a path that is too long for a socket");
	free(deep);
	rdmaemu_close(NULL);
}

static void test_faults(void)
{
	struct rdmaemu_fault f;
	char big[600];
	int one, two;

	ok(rdmaemu_fault_clear(r) >= 0 && !rdmaemu_fault_next(r, 0, &f), "no rules");
	one = rdmaemu_fault_add(r, "first: fail call=ibv_open_device errno=EMFILE");
	two = rdmaemu_fault_add(r, "  fail  call=ibv_alloc_pd errno=ENOMEM nth=3 ");
	ok(one > 0 && two > one, "two rules");
	ok(rdmaemu_fault_next(r, 0, &f) == 1 && f.id == (uint32_t)one && !strcmp(f.name, "first") &&
		   !f.hits && !f.place[0] && strstr(f.rule, "errno=EMFILE"),
	   "the first");
	ok(rdmaemu_fault_next(r, one, &f) == 1 && f.id == (uint32_t)two && f.name[0] == 'f' &&
		   !rdmaemu_fault_next(r, two, &f),
	   "the second is the last");
	ok(rdmaemu_fault_find(r, "first") == one && rdmaemu_fault_find(r, "third") == -1 &&
		   errno == ENOENT,
	   "by name");
	ok(rdmaemu_fault_add(r, "first: fail call=ibv_alloc_pd errno=ENOMEM") == -1 &&
		   errno == EINVAL,
	   "a name that is taken");
	ok(rdmaemu_fault_add(r, "drop opcode=FLOWER") == -1 && errno == EINVAL &&
		   strstr(rdmaemu_error(r), "FLOWER") && strstr(rdmaemu_error(r), "expected"),
	   "a word that is wrong is named, and what was expected");
	ok(rdmaemu_fault_add(r, "") == -1 && errno == EINVAL, "no rule at all");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	ok(rdmaemu_fault_add(r, big) == -1 && errno == E2BIG, "a rule that is too long");
	ok(rdmaemu_fault_get(r, 0, &f) == -1 && errno == ENOENT &&
		   rdmaemu_fault_get(r, -5, &f) == -1 && errno == ENOENT &&
		   rdmaemu_fault_remove(r, 999999) == -1 && errno == ENOENT &&
		   rdmaemu_fault_remove(r, -1) == -1 && errno == ENOENT &&
		   rdmaemu_fault_wait(r, 0, 1, -1) == -1 && errno == ENOENT,
	   "rules that are not there");
	ok(!rdmaemu_fault_remove(r, one) && rdmaemu_fault_get(r, one, &f) == -1 &&
		   !rdmaemu_fault_get(r, two, &f) && rdmaemu_fault_clear(r) == 1,
	   "remove one, clear the other");
}

static void test_clock(void)
{
	struct rdmaemu_clock c = { 0 }, d = { 0 };

	ok(!rdmaemu_clock_stop(r) && !rdmaemu_clock_get(r, &c) && !c.running, "stop");
	ok(!rdmaemu_clock_advance(r, 1500000000) && !rdmaemu_clock_get(r, &d) &&
		   d.now_ns == c.now_ns + 1500000000,
	   "advance by 1.5 s");
	ok(!rdmaemu_clock_run(r, 2.5) && !rdmaemu_clock_get(r, &c) && c.running && c.scale == 2.5 &&
		   c.now_ns >= d.now_ns,
	   "run at 2.5");
	ok(rdmaemu_clock_run(r, 0.0001) == -1 && errno == ERANGE &&
		   rdmaemu_clock_run(r, NAN) == -1 && errno == ERANGE &&
		   rdmaemu_clock_run(r, -1) == -1 && errno == ERANGE &&
		   rdmaemu_clock_advance(r, UINT64_MAX) == -1 && errno == ERANGE,
	   "out of range");
	ok(!rdmaemu_clock_stop(r) && !rdmaemu_clock_run(r, 0) && !rdmaemu_clock_get(r, &c) &&
		   c.scale == 2.5,
	   "as fast as before");
}

static void test_state(void)
{
	uint64_t value = 1;
	char *text = rdmaemu_status(r);

	ok(text && text[0] == '{' && strstr(text, "\"devices\""), "the status is JSON");
	free(text);
	ok(!rdmaemu_counter(r, "node0", "rdmaemu1", 1, "link_downed", &value) && !value,
	   "a counter of the second device");
}

/* Returns whether `COMMAND fabric VERB --fabric FABRIC` went well. */
static int fabric(const char *const argv[], const char *verb)
{
	char line[8192];

	snprintf(line, sizeof(line), "%s fabric %s --fabric %s", argv[4], verb, argv[2]);
	return !system(line);
}

/* The fabric is stopped, and another one started in its place. */
static void test_restart(const char *const argv[])
{
	struct rdmaemu_fault f;

	ok(rdmaemu_fault_add(r, "fail call=ibv_alloc_pd errno=ENOMEM") > 0 &&
		   fabric(argv, "stop") && fabric(argv, "start") && !rdmaemu_fault_next(r, 0, &f),
	   "a handle goes on with the next fabric of that name");
	ok(fabric(argv, "stop") && rdmaemu_fault_next(r, 0, &f) == -1 && errno == ENOENT,
	   "a fabric that has gone");
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	ok(!strcmp(rdmaemu_version(), argv[3]), "the library's version is the header's");
	test_open(argv[1]);
	r = rdmaemu_open_fabric(argv[1], argv[2]);
	ok(r && !rdmaemu_error(r)[0], "open a fabric by name");
	if (!r)
		return 1;
	test_faults();
	test_clock();
	test_state();
	test_restart((const char *const *)argv);
	rdmaemu_close(r);
	return failed != 0;
}
