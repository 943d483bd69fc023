/* SPDX-License-Identifier: MIT */
/*
 * Turns, steps and settling. See tests/walk_verbs.h.
 *	walk_verbs turns|free STEPS SEED [COMMAND]
 * COMMAND is run by the shell now and then, and once more when everything was destroyed, with the
 * devices still open; it must exit with 0.
 */
#include "tests/walk_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct world *wd;
int me;
struct ibv_context *ctx;

/** struct meeting - where all processes wait for each other. */
struct meeting {
	_Atomic(uint32_t) ready, over, leave;
};

static struct meeting *meeting;
static struct world *worlds[ACTORS];

void vfail(const char *fmt, ...)
{
	va_list ap;

	wd->failed = true;
	printf("not ok random walk through the verbs (actor %d)\n# step %lu of seed %#lx: ", me,
	       (unsigned long)wd->step, (unsigned long)wd->seed);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

uint32_t vpick(uint32_t n)
{
	return (uint32_t)((rnd(&wd->rnd) >> 32) * n >> 32);
}

bool vchance(uint32_t n)
{
	return !vpick(n);
}

struct vobj *vany(int actor, enum vkind kind)
{
	uint32_t from = vpick(VMAX);

	for (uint32_t i = 0; i < VMAX; i++)
		if (wd->obj[actor][kind][(from + i) % VMAX].live)
			return &wd->obj[actor][kind][(from + i) % VMAX];
	return NULL;
}

void expect_ret(const char *verb, int ret, int want)
{
	wd->verbs++;
	wd->refused += want != 0;
	if (ret != want)
		vfail("%s: %d (%s) instead of %d (%s)", verb, ret, strerror(abs(ret)), want,
		      strerror(want));
}

bool expect_ptr(const char *verb, const void *p, int want)
{
	int err = p ? 0 : errno;

	wd->verbs++;
	wd->refused += want != 0;
	if (err != want || (!p && !err))
		vfail("%s: %s, errno %d (%s) instead of %d (%s)", verb, p ? "done" : "NULL", err,
		      strerror(err), want, strerror(want));
	return p != NULL;
}

void vborn(struct vobj *o, void *ptr)
{
	o->ptr = ptr;
	o->live = true;
	o->refs = o->busy = 0;
	for (int i = 0; i < VUSES; i++)
		if (o->uses[i])
			o->uses[i]->refs++;
}

static void vdestroy(struct vobj *o)
{
	int want = o->refs ? EBUSY : 0;

	expect_ret(vkinds[o->kind].name, vkinds[o->kind].destroy(o), want);
	if (want)
		return;
	for (int i = 0; i < VUSES; i++) {
		if (o->uses[i])
			o->uses[i]->refs--;
		o->uses[i] = NULL;
	}
	o->live = false;
}

/* --- turns */

static void give_turn(int actor)
{
	wd->turn = (uint32_t)actor;
	syscall(SYS_futex, &wd->turn, FUTEX_WAKE, ACTORS, NULL, NULL, 0);
}

/* Return: false when the walk is over, for everybody. */
static bool wait_turn(void)
{
	struct timespec look = { .tv_sec = 1 };
	uint32_t turn;

	while ((turn = wd->turn) != (uint32_t)me) {
		if (wd->finished || wd->failed)
			return false;
		syscall(SYS_futex, &wd->turn, FUTEX_WAIT, turn, &look, NULL, 0);
	}
	return !wd->finished && !wd->failed;
}

void run_on(int actor, void (*fn)(struct vobj *, struct vobj *), struct vobj *o, struct vobj *other)
{
	if (actor == me) {
		fn(o, other);
		return;
	}
	wd->call = (struct vcall){ fn, o, other, me };
	give_turn(actor);
	if (!wait_turn())
		_exit(1);
}

/* --- steps */

static enum vkind some_kind(void)
{
	uint32_t sum = 0, r;

	for (int k = 0; k < V_KINDS; k++)
		sum += vkinds[k].weight;
	r = vpick(sum);
	for (int k = 0; k < V_KINDS; k++) {
		if (r < vkinds[k].weight)
			return (enum vkind)k;
		r -= vkinds[k].weight;
	}
	return V_PD;
}

static void step(void)
{
	uint32_t r = vpick(100);
	enum vkind kind = some_kind();
	struct vobj *o;

	if (r < 10) {
		for (int i = 0; i < VMAX; i++) {
			o = &wd->obj[me][kind][i];
			if (o->live)
				continue;
			memset(o->uses, 0, sizeof(o->uses));
			vkinds[kind].create(o);
			break;
		}
	} else if (r < 13) {
		o = vany(me, kind);
		if (o && !o->busy)
			vdestroy(o);
	} else {
		o = vany(me, vchance(8) ? kind : V_QP);
		if (o && vkinds[o->kind].use)
			vkinds[o->kind].use(o);
	}
}

/* Everything of this actor's goes; what others still refer to stays for the next round. */
static bool destroy_mine(void)
{
	bool left = false;

	for (int k = V_KINDS - 1; k >= 0; k--)
		for (int i = 0; i < VMAX; i++) {
			struct vobj *o = &wd->obj[me][k][i];

			if (o->live && !o->busy)
				vdestroy(o);
			left |= o->live;
		}
	return left;
}

static void destroy_all(struct vobj *o, struct vobj *other)
{
	(void)o;
	(void)other;
	while (destroy_mine())
		settle();
}

static void walk(void)
{
	while (wait_turn()) {
		if (wd->call.fn) {
			struct vcall c = wd->call;

			wd->call.fn = NULL;
			c.fn(c.o, c.other);
			give_turn(c.back);
			continue;
		}
		if (wd->step++ < wd->steps) {
			step();
			settle();
			give_turn(wd->first + (int)vpick((uint32_t)wd->actors));
			continue;
		}
		for (int a = 0; a < wd->actors; a++)
			run_on(wd->first + a, destroy_all, NULL, NULL);
		wd->finished = true;
		give_turn(me);
	}
}

/* --- processes */

static void open_device(void)
{
	int flags;

	ctx = rc_open_first();
	wd->gid_index = rc_gid(ctx, &wd->gid);
	flags = fcntl(ctx->async_fd, F_GETFL);
	if (wd->gid_index < 0 || fcntl(ctx->async_fd, F_SETFL, flags | O_NONBLOCK))
		vfail("the device");
}

static int actor_main(int i)
{
	me = i;
	wd = worlds[i];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_device();
	meeting->ready++;
	while (meeting->ready < ACTORS)
		usleep(100);
	walk();
	meeting->over++;
	while (!meeting->leave)
		usleep(1000);
	return wd->failed || ibv_close_device(ctx);
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

static void make_worlds(bool turns, uint64_t steps, uint64_t seed)
{
	uint8_t *area[ACTORS];

	meeting = shared(sizeof(*meeting));
	for (int i = 0; i < ACTORS; i++) {
		area[i] = shared(AREA);
		fill(area[i], AREA_WORD, seed + (uint64_t)i);
	}
	for (int i = 0; i < ACTORS; i++) {
		struct world *w = i && turns ? worlds[0] : shared(sizeof(*w));

		worlds[i] = w;
		if (i && turns)
			continue;
		w->actors = turns ? ACTORS : 1;
		w->first = i;
		w->turn = (uint32_t)i;
		w->seed = seed;
		w->rnd = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15ULL | 1;
		w->steps = steps;
		memcpy(w->area, area, sizeof(area));
		for (int a = 0; a < ACTORS; a++)
			for (int k = 0; k < V_KINDS; k++)
				for (int n = 0; n < VMAX; n++)
					w->obj[a][k][n] =
						(struct vobj){ .kind = (enum vkind)k, .actor = a };
	}
}

/* Return: whether a child has ended before its time. */
static bool one_left(void)
{
	return waitpid(-1, NULL, WNOHANG) != 0;
}

int main(int argc, char **argv)
{
	bool turns = argc > 1 && !strcmp(argv[1], "turns"), good = true;
	uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	uint64_t verbs = 0, refused = 0, completions = 0, errors = 0;
	uint32_t looks = 0;

	if (argc < 2)
		die("usage: walk_verbs turns|free STEPS SEED [COMMAND]");
	make_worlds(turns, steps, seed);
	for (int i = 0; i < ACTORS; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid)
			_exit(actor_main(i));
	}
	while (meeting->over < ACTORS && good) {
		usleep(20000);
		good = !one_left();
		if (argc > 4 && !(++looks % 50))
			good = !system(argv[4]) && good; /* NOLINT: the test's own command */
	}
	if (good && argc > 5)
		good = !system(argv[5]); /* NOLINT */
	meeting->leave = 1;
	for (int i = 0; i < ACTORS; i++) {
		int status = 0;

		if (waitpid(-1, &status, 0) > 0)
			good = good && !status;
		if (!i || !turns) {
			verbs += worlds[i]->verbs;
			refused += worlds[i]->refused;
			completions += worlds[i]->completions;
			errors += worlds[i]->errors;
		}
	}
	note("%s: %lu steps, seed %#lx: %lu verbs, %lu refused; %lu completions, %lu with errors",
	     argv[1], (unsigned long)steps, (unsigned long)seed, (unsigned long)verbs,
	     (unsigned long)refused, (unsigned long)completions, (unsigned long)errors);
	ok(good && verbs > steps / 10 && completions - errors > steps / 10,
	   "random walk through the verbs, %s", argv[1]);
	return tap_failed != 0;
}
