/* SPDX-License-Identifier: MIT */
/* Fabric time from real time and back, and readers concurrent with a writer. */
#include "emulator/clock.h"
#include "tests/lib/engine/emu.h"

#include "tests/lib/c/cu.h"
#include <pthread.h>
#include <time.h>

static void test_plain(void)
{
	const struct hca_clock c = { 0 };

	CU_ASSERT_EQUAL(hca_clock_at(&c, 12345), 12345);
	CU_ASSERT_EQUAL(hca_clock_real_at(&c, 12345, 99), 12345);
	CU_ASSERT_EQUAL(hca_clock_real_at(&c, ~0ULL, 99), ~0ULL);
	CU_ASSERT_EQUAL(hca_clock_span(&c, 77), 77);
}

static void test_scaled(void)
{
	struct hca_clock c = { .own = 1, .real = 1000, .fabric = 5000, .ppm = 10 * CLOCK_PPM };

	CU_ASSERT_EQUAL(hca_clock_at(&c, 1000), 5000);
	CU_ASSERT_EQUAL(hca_clock_at(&c, 1001), 5010);
	CU_ASSERT_EQUAL(hca_clock_at(&c, 900), 5000); /* taken before the clock was changed */
	CU_ASSERT_EQUAL(hca_clock_span(&c, 7), 70);
	CU_ASSERT_EQUAL(hca_clock_real_at(&c, 4000, 2000), 1000);
	CU_ASSERT_EQUAL(hca_clock_real_at(&c, ~0ULL, 2000), ~0ULL);
	c.ppm = CLOCK_PPM_MIN;
	CU_ASSERT_EQUAL(hca_clock_at(&c, 2000), 5001);
	/* Years are no matter. */
	c.ppm = CLOCK_PPM_MAX;
	CU_ASSERT_EQUAL(hca_clock_at(&c, 1000 + 1000000000000000ULL),
			5000 + 1000000000000000000ULL);
	c.ppm = CLOCK_PPM_MIN;
	CU_ASSERT(hca_clock_real_at(&c, ~0ULL - 1, 2000) == ~0ULL);
}

static void test_stopped(void)
{
	const struct hca_clock c = { .own = 1, .real = 1000, .fabric = 5000 };

	CU_ASSERT_EQUAL(hca_clock_at(&c, 999999), 5000);
	CU_ASSERT_EQUAL(hca_clock_real_at(&c, 5001, 999999), ~0ULL);
	CU_ASSERT_EQUAL(hca_clock_real_at(&c, 5000, 999999), 1000);
	CU_ASSERT_EQUAL(hca_clock_span(&c, 1000), 0);
}

/* At the real time that hca_clock_real_at() returns, the fabric time is reached, and only just. */
static void test_back(void)
{
	u64 seed = 5, at, real;
	bool early = false, late = false;
	u32 i;

	for (i = 0; i < 200000; i++) {
		const struct hca_clock c = {
			.own = 1,
			.real = emu_rnd(&seed) % (1ULL << 50),
			.fabric = 1 + emu_rnd(&seed) % (1ULL << 50),
			.ppm = CLOCK_PPM_MIN + emu_rnd(&seed) % (CLOCK_PPM_MAX - CLOCK_PPM_MIN),
		};

		at = c.fabric + emu_rnd(&seed) % (1ULL << (1 + emu_rnd(&seed) % 50));
		real = hca_clock_real_at(&c, at, c.real);
		early |= hca_clock_at(&c, real) < at;
		late |= real > c.real + 2 && hca_clock_at(&c, real - 2) > at;
	}
	CU_ASSERT_FALSE(early);
	CU_ASSERT_FALSE(late);
}

/* --- a writer and readers --- */

enum { CHANGES = 20000 };
static struct hca_clock shared;
static u64 real_clock;
static u32 over;

/*
 * As fabric/core/clock.c does it, with a real time that moves when it is read. Now and then it
 * loses its CPU half way.
 */
static void *writer(void *arg)
{
	const struct timespec away = { .tv_nsec = 20000000 };
	struct hca_clock v;
	u64 seed = 9, real;
	u32 i;

	(void)arg;
	for (i = 0; i < CHANGES; i++) {
		v = shared;
		if (!shared.own) {
			shared.ppm = CLOCK_PPM;
			exchange(&shared.own, 1);
		}
		exchange(&shared.seq, shared.seq | 1);
		real = __atomic_fetch_add(&real_clock, 1000, __ATOMIC_SEQ_CST);
		store_relaxed(&shared.fabric, hca_clock_at(&v, real));
		if (i % (CHANGES / 8) == CHANGES / 16)
			nanosleep(&away, NULL);
		store_relaxed(&shared.real, real);
		store_relaxed(&shared.ppm, i % 3 ? emu_rnd(&seed) % (20 * CLOCK_PPM) : 0);
		store_release(&shared.seq, (shared.seq | 1) + 1);
	}
	store_release(&over, 1);
	return NULL;
}

static void *reader(void *arg)
{
	u64 now, last = 0;
	bool *back = arg;

	while (!load_acquire(&over)) {
		now = hca_clock_at(&shared, __atomic_fetch_add(&real_clock, 1, __ATOMIC_SEQ_CST));
		*back |= now < last;
		last = now;
	}
	return NULL;
}

static void test_monotonic(void)
{
	bool back[2] = { false, false };
	pthread_t t[3];

	real_clock = 1000000;
	pthread_create(&t[0], NULL, reader, &back[0]);
	pthread_create(&t[1], NULL, reader, &back[1]);
	pthread_create(&t[2], NULL, writer, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	pthread_join(t[2], NULL);
	CU_ASSERT_FALSE(back[0]);
	CU_ASSERT_FALSE(back[1]);
}

/* Readers continue after the writer died, with the values it had published. */
static void test_dead(void)
{
	const struct hca_clock c = {
		.own = 1, .seq = 7, .real = 1000, .fabric = 5000, .ppm = CLOCK_PPM
	};

	CU_ASSERT_EQUAL(hca_clock_at(&c, 1001), 5001);
	CU_ASSERT_EQUAL(hca_clock_at(&c, 1002), 5002);
}

/* Devices' real-time clocks are the host's, or go with the fabric's clock where it is not. */
static void test_wall(void)
{
	struct hca_clock c = { .wall = 7000 };

	CU_ASSERT_EQUAL(hca_clock_wall(&c, 1000, 123456), 123456);
	c = (struct hca_clock){ .own = 1, .real = 1000, .fabric = 5000, .wall = 7000 };
	CU_ASSERT_EQUAL(hca_clock_wall(&c, 2000, 123456), 12000);
	c.ppm = 2 * CLOCK_PPM;
	CU_ASSERT_EQUAL(hca_clock_wall(&c, 2000, 123456), 14000);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "real time", test_plain },
		{ "faster and slower", test_scaled },
		{ "stopped", test_stopped },
		{ "back to real time", test_back },
		{ "it never goes back", test_monotonic },
		{ "one whose writer has died half way", test_dead },
		{ "wall clock time", test_wall },
		{ NULL, NULL },
	};

	return cu_run("clock", tests);
}
