/* SPDX-License-Identifier: MIT */
/*
 * The processes of the walk, and their worlds. See tests/model/walk_verbs.h.
 *	walk_verbs turns|free STEPS SEED [COMMAND [COMMAND]]
 * It runs the first shell command now and then, the second when all objects are destroyed and the
 * devices still open; each must exit with 0.
 */
#include "tests/model/walk_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/** struct meeting - where all processes wait for each other. */
struct meeting {
	_Atomic(uint32_t) ready, over, leave;
};

static struct meeting *meeting;
static struct world *worlds[ACTORS];

static bool never_waits(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static void open_device(void)
{
	struct ibv_port_attr port;

	ctx = rc_open_first();
	wd->gid_index = rc_gid(ctx, &wd->gid);
	chan = ibv_create_comp_channel(ctx);
	if (wd->gid_index < 0 || !chan || ibv_query_port(ctx, 1, &port) ||
	    !never_waits(ctx->async_fd) || !never_waits(chan->fd))
		vfail("the device");
	wd->mtu = 128u << port.active_mtu;
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
	vwalk();
	meeting->over++;
	while (!meeting->leave)
		usleep(1000);
	return wd->failed || ibv_destroy_comp_channel(chan) || ibv_close_device(ctx);
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

/* Headers of frames, at the beginning of what is sent from: to the world's addresses. */
static void write_headers(uint8_t *area, int first)
{
	for (uint32_t i = 0; i < VMACS; i++) {
		const uint8_t hdr[14] = {
			2, 0, 0, 0, (uint8_t)first, (uint8_t)i, 2, 0, 0, 0, 0, 1, 0x88, 0xb5
		}; /* for local experiments */

		memcpy(area + i * MAC_ROOM, hdr, sizeof(hdr));
	}
}

static void make_files(struct world *w)
{
	for (int i = 1; i <= VFILES; i++) {
		w->file[i] = memfd_create("xrcd", 0);
		if (w->file[i] < 0)
			die("memfd_create: %s", strerror(errno));
	}
}

static void make_worlds(bool turns, uint64_t steps, uint64_t seed)
{
	uint8_t *area[ACTORS];

	meeting = shared(sizeof(*meeting));
	for (int i = 0; i < ACTORS; i++) {
		area[i] = shared(AREA);
		fill(area[i], AREA_WORD, seed + (uint64_t)i);
		write_headers(area[i], turns ? 0 : i);
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
		make_files(w);
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

/* Runs one command next to the walk, one at its end. Return: whether both succeeded. */
static bool look_on(const char *meanwhile, const char *at_end)
{
	uint32_t looks = 0;
	bool good = true;

	while (meeting->over < ACTORS && good) {
		usleep(20000);
		good = !one_left();
		if (meanwhile && !(++looks % 50))
			good = !system(meanwhile) && good; /* NOLINT: the test's own command */
	}
	if (good && at_end)
		good = !system(at_end); /* NOLINT */
	return good;
}

int main(int argc, char **argv)
{
	bool turns = argc > 1 && !strcmp(argv[1], "turns"), good;
	uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	uint64_t verbs = 0, refused = 0, completions = 0, errors = 0, flushes = 0, word_writes = 0;

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
	good = look_on(argc > 4 ? argv[4] : NULL, argc > 5 ? argv[5] : NULL);
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
			flushes += worlds[i]->flushes;
			word_writes += worlds[i]->word_writes;
		}
	}
	note("%s: %lu steps, seed %#lx: %lu verbs, %lu refused; %lu completions, %lu with errors; "
	     "%lu FLUSH, %lu ATOMIC_WRITE",
	     argv[1], (unsigned long)steps, (unsigned long)seed, (unsigned long)verbs,
	     (unsigned long)refused, (unsigned long)completions, (unsigned long)errors,
	     (unsigned long)flushes, (unsigned long)word_writes);
	ok(good && verbs > steps / 10 && completions - errors > steps / 10 &&
		   flushes > steps / 5000 && word_writes > steps / 5000,
	   "random walk through the verbs, %s", argv[1]);
	return tap_failed != 0;
}
